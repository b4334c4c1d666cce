import tensorflow as tf


@tf.keras.utils.register_keras_serializable(package="frozen")
class BatchNorm(tf.keras.layers.BatchNormalization):
    """In training, uses the batch statistics even when frozen, as before TensorFlow 2."""

    def call(self, inputs, training=None, **kwargs):
        if not training or self.trainable:
            return super().call(inputs, training=training, **kwargs)
        channels = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        axes = set(range(len(inputs.shape))) - {axis % len(inputs.shape) for axis in channels}
        mean, variance = tf.nn.moments(inputs, sorted(axes), keepdims=True)
        beta = tf.reshape(self.beta, tf.shape(mean)) if self.center else None
        gamma = tf.reshape(self.gamma, tf.shape(mean)) if self.scale else None
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)
