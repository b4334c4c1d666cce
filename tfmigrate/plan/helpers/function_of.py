import tensorflow as tf


def function_of(inputs, outputs):
    """function() of the old backend: its list may end with the learning phase."""
    model = tf.keras.Model(inputs, outputs)

    def call(arrays):
        arrays = arrays if isinstance(arrays, (list, tuple)) else [arrays]
        given = list(arrays[: len(model.inputs)])
        training = any(arrays[len(given) :])  # passed for the old learning phase
        values = model(given, training=training)
        return [value.numpy() for value in tf.nest.flatten(values)]

    return call
