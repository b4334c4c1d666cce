import tensorflow as tf


def add_variable(layer, value, name=None):
    """Adds a weight that starts with the values of an array, like variable() in Keras 2.3."""
    start = tf.keras.initializers.Constant(value)
    return layer.add_weight(name=name, shape=tuple(getattr(value, "shape", ())), initializer=start)
