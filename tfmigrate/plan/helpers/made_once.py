import tensorflow as tf


def made_once(layer, name, make):
    """The variable that `make` makes the first time; a graph of TensorFlow 1 was built once, and held one."""
    if name not in vars(layer):
        with tf.init_scope():
            variable = make()
        object.__setattr__(layer, name, lambda: variable)  # in a function: it is none of the layer's weights
    return getattr(layer, name)()
