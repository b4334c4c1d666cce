"""Words for losses and metrics that Keras 3 no longer knows, and targets of the type of the predictions."""

import functools
import importlib


def restore_words(flavour, words):
    """Losses and metrics by words that Keras 3 does not know; it looks for them in these two dicts alone."""
    for kind in ("losses", "metrics"):
        known = importlib.import_module("keras.src." + kind).ALL_OBJECTS_DICT
        for old, new in words.items():
            known.setdefault(old, called(getattr(flavour.root.losses, new), old))


def restore_targets(tf):
    """Old Keras cast what it had to predict to floats; Keras 3 gives a metric the data's own type (TFM215)."""
    wrapper = importlib.import_module("keras.src.metrics.reduction_metrics").MeanMetricWrapper
    original = wrapper.update_state

    @functools.wraps(original)
    def update_state(self, y_true, y_pred, sample_weight=None):
        if hasattr(y_true, "dtype") and hasattr(y_pred, "dtype") and y_true.dtype != tf.string:
            y_true = tf.cast(y_true, y_pred.dtype)
        return original(self, y_true, y_pred, sample_weight)

    wrapper.update_state = update_state


def called(function, name):
    """The function under another name, which logs show."""

    def same(y_true, y_pred):
        return function(y_true, y_pred)

    same.__name__ = name
    return same
