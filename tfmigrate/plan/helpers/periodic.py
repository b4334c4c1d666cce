import tensorflow as tf


class PeriodicCheckpoint(tf.keras.callbacks.ModelCheckpoint):
    """Saves every `period` epochs; Keras 3 has no argument for this."""

    def __init__(self, *args, period=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.every = period
        self.waited = 0

    def on_epoch_end(self, epoch, logs=None):
        self.waited += 1
        if self.waited >= self.every:
            self.waited = 0
            super().on_epoch_end(epoch, logs)
