import tensorflow as tf


def made_once(layer, name, make):
    """The variable that `make` creates on the first call, like the one in a TensorFlow 1 graph."""
    if name not in vars(layer):
        with tf.init_scope():
            variable = make()
        # In a function, so that Keras does not treat it as a weight of the layer.
        object.__setattr__(layer, name, lambda: variable)
    return getattr(layer, name)()
