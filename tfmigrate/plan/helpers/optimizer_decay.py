import tensorflow as tf


class OptimizerDecay(tf.keras.callbacks.Callback):
    """Trains each batch at rate / (1 + decay * step), with the decay stored in the optimizer."""

    def on_train_batch_begin(self, batch, logs=None):
        optimizer = self.model.optimizer
        self.rate = float(optimizer.learning_rate.numpy())
        step = int(optimizer.iterations.numpy())
        optimizer.learning_rate.assign(self.rate / (1 + getattr(optimizer, "rate_decay", 0.0) * step))
        self.decayed = float(optimizer.learning_rate.numpy())

    def on_train_batch_end(self, batch, logs=None):
        learning_rate = self.model.optimizer.learning_rate
        if float(learning_rate.numpy()) == self.decayed:  # No other callback has set it.
            learning_rate.assign(self.rate)
