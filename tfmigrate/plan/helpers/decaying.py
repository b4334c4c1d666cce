import tensorflow as tf


class LearningRateDecay(tf.keras.callbacks.Callback):
    """Trains each batch at rate / (1 + decay * step); between batches the rate is undivided."""

    def __init__(self, decay):
        super().__init__()
        self.decay = decay

    def on_train_batch_begin(self, batch, logs=None):
        optimizer = self.model.optimizer
        self.rate = float(optimizer.learning_rate.numpy())
        step = int(optimizer.iterations.numpy())
        optimizer.learning_rate.assign(self.rate / (1 + self.decay * step))
        self.decayed = float(optimizer.learning_rate.numpy())

    def on_train_batch_end(self, batch, logs=None):
        learning_rate = self.model.optimizer.learning_rate
        if float(learning_rate.numpy()) == self.decayed:  # No other callback has set it.
            learning_rate.assign(self.rate)
