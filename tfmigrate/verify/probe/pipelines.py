"""tf.data without its tuner, which decides how many rows are prepared at once and never which.

A tuned pipeline that ends waits for its tuner to wake up, for up to several seconds (measured in TensorFlow 2.21: six
epochs on four logical CPUs take 12 s of processor either way, and 24 s of the clock with the tuner, 13 s without).
"""

import functools


def install(tf):
    """Every dataset is iterated without the tuner, but one that asks for it."""
    dataset = getattr(getattr(tf, "data", None), "Dataset", None)
    # What every iterator calls first, from TensorFlow 2.4 on; before, only runs without tf.data are made.
    prepared = getattr(dataset, "_apply_debug_options", None)
    if prepared is None:
        return

    @functools.wraps(prepared)
    def untuned(self):
        asked = getattr(self.options(), "autotune", None)
        if asked is not None and asked.enabled is None:
            options = tf.data.Options()
            options.autotune.enabled = False
            self = self.with_options(options)
        return prepared(self)

    dataset._apply_debug_options = untuned
