import tensorflow as tf


@tf.keras.utils.register_keras_serializable(package="keras_2")
def keras_2_hard_sigmoid(x):
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)
