"""What the callbacks of old Keras took and kept, and those of current Keras do not."""

import functools
import inspect

import numpy as np

from . import flavours
from .restored_attributes import Computed

JUDGING = (("EarlyStopping", ()), ("ReduceLROnPlateau", ()), ("ModelCheckpoint", ("fmeasure",)))
BOARD = (
    "log_dir", "histogram_freq", "batch_size", "write_graph", "write_grads", "write_images", "embeddings_freq",
    "embeddings_layer_names", "embeddings_metadata", "embeddings_data", "update_freq",
)  # fmt: skip
"""What TensorBoard of Keras 2.3.1 on TensorFlow 1 took, in order."""


def restore_callbacks(tf, flavour, standalone):
    """`standalone`: the seventh place of ModelCheckpoint was its period, which is how often it saves."""
    for name, beginnings in JUDGING:
        for cls in flavours.classes(flavour, "callbacks", [name]):
            cls.__init__ = judging_by_name(cls.__init__, beginnings)
    period = list(inspect.signature(flavour.root.callbacks.ModelCheckpoint).parameters).index("save_freq") - 1
    for cls in flavours.classes(flavour, "callbacks", ["ModelCheckpoint"]):
        cls.__init__ = counting(cls.__init__, period if standalone else None, flavour)
    for cls in flavours.classes(flavour, "callbacks", ["TensorBoard"]):
        cls.__init__ = without_what_is_gone(cls.__init__, BOARD if standalone else ())
        cls.writer = Computed(functools.partial(summary_writer, tf))


def judging_by_name(original, beginnings):
    """Keras 2.3.1 took from the monitor's name what is better; Keras 3 asks the metrics and fails where none has it.

    `beginnings`: of names of which more is better, beside those with `acc` in them.
    """
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        bound = signature.bind_partial(self, *args, **kwargs)
        monitor = bound.arguments.get("monitor", "val_loss")
        if bound.arguments.get("mode") not in ("min", "max"):
            bound.arguments["mode"] = "max" if "acc" in monitor or monitor.startswith(beginnings) else "min"
        return original(*bound.args, **bound.kwargs)

    return __init__


def counting(original, place, flavour):
    """ModelCheckpoint with what its own on_epoch_end() used, for classes that override that. `place`: of `period`."""

    @functools.wraps(original)
    def __init__(self, filepath, *args, **kwargs):
        period = kwargs.pop("period", args[place] if place is not None and len(args) > place else 1)
        args = args[:place]
        weights_only = kwargs.get("save_weights_only") or (len(args) > 3 and args[3])
        original(self, new_name(str(filepath), weights_only, flavour), *args, **kwargs)
        self.period, self.epochs_since_last_save = period, 0
        if flavour.is_keras3 and self.best is None:
            less = self.mode == "min"
            self.monitor_op, self.best = (np.less, np.inf) if less else (np.greater, -np.inf)

    return __init__


def without_what_is_gone(original, places):
    """`places`: the names of what is passed without one."""
    taken = inspect.signature(original).parameters

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        kwargs.update(zip(places, args))
        return original(
            self, *args[len(places) :], **{name: value for name, value in kwargs.items() if name in taken}
        )

    return __init__


def summary_writer(tf, board):
    """`tensorboard.writer`, made when it is first asked for."""
    with tf.Graph().as_default():  # in eager mode there is no FileWriter
        board.writer = tf.compat.v1.summary.FileWriter(board.log_dir)
    return board.writer


def new_name(path, weights_only, flavour):
    """Keras 3 takes one ending for weights, and two for models; the file's content is the script's own affair."""
    if not flavour.is_keras3:
        return path
    if weights_only:
        return path if path.endswith(".weights.h5") else path + ".weights.h5"
    return path if path.endswith((".keras", ".h5")) else path + ".h5"
