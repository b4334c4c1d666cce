"""Runs a script under the probe and lets it train every other epoch without: `alternate.py SCRIPT ARGS`, as verify
runs a script.

The step that Keras makes by itself and the one that the probe taps take turns in one `fit`: one process, one model, the
same data, so that a busy machine slows both and what is left between them is the probe.
"""

import runpy
import statistics
import sys
import time

import tensorflow as tf

WARMING = 2
"""Epochs that trace, one each way."""


class Turns(tf.keras.callbacks.Callback):
    """Prints the milliseconds of a step each way, by the clock and of all processors: the medians of the epochs, and
    that of the ratios of each epoch to the one before it."""

    def on_train_begin(self, logs=None):
        model = self.model
        watched = model.train_step, model.train_function
        model.train_step, model.train_function = vars(model)["_tfmigrate_train_step"], None
        type(model).make_train_function.__wrapped__(model)
        self.ways = (model.train_step, model.train_function), watched
        self.spent = []

    def on_epoch_begin(self, epoch, logs=None):
        self.model.train_step, self.model.train_function = self.ways[epoch % 2]
        self.began = time.perf_counter(), time.process_time()

    def on_epoch_end(self, epoch, logs=None):
        now = time.perf_counter(), time.process_time()
        steps = self.params["steps"]
        self.spent.append([1e3 * (end - begin) / steps for begin, end in zip(self.began, now)])

    def on_train_end(self, logs=None):
        for name, spent in zip(("clock", "processors"), zip(*self.spent[WARMING:])):
            bare, probed = spent[::2], spent[1::2]
            ratio = statistics.median(p / b for b, p in zip(bare, probed))
            print(f"{name}: {statistics.median(bare):.3f} {statistics.median(probed):.3f} {ratio:.4f}")


fit = tf.keras.Model.fit


def in_turns(model, *args, callbacks=(), **kwargs):
    return fit(model, *args, callbacks=[*callbacks, Turns()], **kwargs)


tf.keras.Model.fit = in_turns
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
