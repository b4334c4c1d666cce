import tensorflow as tf


class Epochs(tf.keras.utils.Sequence):
    """A Sequence in epochs of `steps` batches, each of which continues where the last one ended."""

    def __init__(self, data, steps):
        super().__init__()
        self.data = data
        self.workers = getattr(data, "workers", 1)
        self.use_multiprocessing = getattr(data, "use_multiprocessing", False)
        self.max_queue_size = getattr(data, "max_queue_size", 10)
        self.steps = steps
        self.steps = -int(-(steps or len(data)) // 1)  # rounded up, as old Keras counted
        # Keras 3 also ends an epoch before the first one.
        self.first = -self.steps if hasattr(super(), "on_epoch_begin") else 0

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        return self.data[(self.first + index) % len(self.data)]

    def on_epoch_end(self):
        passes, self.first = divmod(self.first + self.steps, len(self.data))
        if passes:
            self.data.on_epoch_end()
