import tensorflow as tf


def made_once(layer, name, make):
    """The variable that `make` makes the first time, as the graph of TensorFlow 1 held one."""
    if name not in vars(layer):
        with tf.init_scope():
            variable = make()
        # In a function, so that Keras does not take it for a weight of the layer.
        object.__setattr__(layer, name, lambda: variable)
    return getattr(layer, name)()
