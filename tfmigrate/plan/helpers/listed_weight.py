import tensorflow as tf


def add_variable(layer, value, name=None):
    """Adds a weight that begins as an array, as variable() did in Keras 2.3."""
    start = tf.keras.initializers.Constant(value)
    return layer.add_weight(name=name, shape=tuple(getattr(value, "shape", ())), initializer=start)
