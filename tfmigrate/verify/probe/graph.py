"""Keras in a TensorFlow 1 graph: standalone Keras up to 2.3, tf.keras without eager execution.

All its training goes through one `train_function`, called with NumPy arrays (inputs, targets, sample weights) and
answering the batch's own loss first: the one place to stand.
"""

import functools
import importlib
import time

import numpy as np

from . import remainder
from .content import fingerprint_of, rows_anyhow, rows_sketch
from .towers import replicas_of

PROBE_LEARNING_RATE = 0.01


class GraphKeras(object):
    workers = 0  # generators run in the main thread

    def __init__(self, flavour, recorder):
        self.flavour = flavour
        self.recorder = recorder
        self.backend = flavour.root.backend

    def install(self, trainer):
        if not hasattr(trainer, "_make_train_function"):
            return False
        adapter = self

        def wrap(name, attribute, wrapper):
            original = getattr(trainer, name)

            @functools.wraps(original)
            def make(model, *args, **kwargs):
                result = original(model, *args, **kwargs)
                function = getattr(model, attribute)
                if function is not None and not isinstance(function, Watched):
                    setattr(model, attribute, Watched(function, functools.partial(wrapper, model, function)))
                return result

            setattr(trainer, name, make)

        wrap("_make_train_function", "train_function", adapter.train_step)
        wrap("_make_test_function", "test_function", adapter.test_step)
        return True

    # -- steps

    def train_step(self, model, function, inputs):
        recorder = self.recorder
        call = recorder.current(model)
        if call is None:
            return function(inputs)
        inputs = list(inputs)
        counts = len(model._feed_inputs), len(model._feed_targets)
        leaves = [[array] for array in inputs[: sum(counts)]]
        if not all(isinstance(array, np.ndarray) for (array,) in leaves):
            recorder.note("batches that reach a TensorFlow 1 graph as tensors have no fingerprint")
            leaves = None
        weights = inputs[sum(counts) : sum(counts) + len(getattr(model, "_feed_sample_weights", None) or [])]
        entry, first = call.entry, call.steps == 0
        if recorder.shares_evenly:
            weighted = remainder.weighted_inputs(model, inputs)
            entry.weighable = weighted is not None
            inputs = weighted or inputs
        learning_rate = self.learning_rate(model.optimizer)
        if first and entry.initial is not None and not hasattr(entry, "probed") and recorder.gradient:
            entry.probed = True
            self.sgd_probe(model, function, inputs, call)
        started = time.time()
        outputs = function(inputs)
        seconds = time.time() - started
        loss = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
        recorder.step(
            call,
            float(np.asarray(loss)),
            leaves,
            fingerprint_of(leaves) if leaves else None,
            learning_rate,
            seconds,
            weights if all(isinstance(array, np.ndarray) for array in weights) else None,
        )
        if first and entry.leaves is not None and call.index == entry.first_fit:
            recorder.snapshot(entry, call, "after_first_update", self.read(entry.leaves))
        recorder.budget.end_where_slow(call)
        return outputs

    def test_step(self, model, function, inputs):
        inputs = list(inputs)
        if inputs and isinstance(inputs[0], np.ndarray) and inputs[0].ndim:
            arrays = inputs[: len(model._feed_inputs) + len(model._feed_targets)]
            whole = all(isinstance(array, np.ndarray) and array.ndim for array in arrays)
            content, sketch = (rows_anyhow(arrays), rows_sketch(arrays)) if whole else (None, None)
            self.recorder.validation_batch(model, int(inputs[0].shape[0]), content, sketch)
        return function(inputs)

    def sgd_probe(self, model, function, inputs, call):
        """Where one plain SGD step would lead, from the gradient the optimizer is given; nothing is updated."""
        entry = call.entry
        backend = self.backend
        try:
            parameters = list(model._collected_trainable_weights)
            gradients = backend.gradients(model.total_loss, parameters)
            chosen = [(p, dense(g)) for p, g in zip(parameters, gradients) if g is not None]
            placeholders = model._feed_inputs + model._feed_targets + model._feed_sample_weights
            phase = self.learning_phase(model)
            fed = [value for value in inputs]
            if phase is not None and len(fed) > len(placeholders):
                placeholders = placeholders + [phase]
            values = backend.function(placeholders, [g for _, g in chosen])(fed[: len(placeholders)])
            by_id = {id(p): np.asarray(value) for (p, _), value in zip(chosen, values)}
        except Exception as error:  # a diagnosis must not end the run it is made on
            self.recorder.note("no SGD probe for model %d: %s" % (entry.index, error))
            return
        moved = [
            value - PROBE_LEARNING_RATE * by_id[id(variable)] if id(variable) in by_id else value
            for variable, value in zip(entry.leaves, entry.initial)
        ]
        self.recorder.snapshot(entry, call, "sgd_probe", moved)

    def learning_phase(self, model):
        phase = getattr(self.backend, "symbolic_learning_phase", self.backend.learning_phase)()
        return None if isinstance(phase, int) else phase

    # -- questions

    def is_built(self, model):
        return getattr(model, "built", True) and bool(model.weights)

    def with_weights(self, model, arguments):
        """tf.keras 1.15 feeds sample weights only where the script gives some; ones change nothing."""
        x, outputs = arguments.get("x"), len(model.outputs or ())
        given = [arguments.get(name) for name in ("sample_weight", "class_weight")]
        if self.flavour.name == "keras" or any(weights is not None for weights in given):
            return
        first = x[0] if isinstance(x, (list, tuple)) else next(iter(x.values())) if isinstance(x, dict) else x
        if isinstance(first, np.ndarray):
            ones = [np.ones(len(first), np.float32) for _ in range(outputs)]
            arguments["sample_weight"] = ones if outputs > 1 else ones[0]

    def ensure_built(self, model, data):
        """A graph model that has no input shape is built by its first fit; only then are there weights to align."""

    def read(self, variables):
        return [np.array(value) for value in self.backend.batch_get_value(list(variables))]

    def assign(self, variables, values):
        self.backend.batch_set_value(list(zip(variables, values)))

    def replicas(self, model):
        strategy = getattr(model, "_distribution_strategy", None) or getattr(model, "_distribute_strategy", None)
        if strategy is not None:
            return int(strategy.num_replicas_in_sync)
        return replicas_of(model)

    def learning_rate(self, optimizer):
        try:
            rate = getattr(optimizer, "lr", None)
            if rate is None:
                rate = optimizer.learning_rate
            value = float(self.backend.get_value(rate))
            # What tf.keras's Nadam keeps as its decay is that of its momentum.
            decay = 0.0 if type(optimizer).__name__ == "Nadam" else getattr(optimizer, "decay", 0.0)
            decay = float(decay) if isinstance(decay, (int, float)) else float(self.backend.get_value(decay))
            if decay:
                value /= 1.0 + decay * float(self.backend.get_value(optimizer.iterations))
            return value
        except Exception:  # a schedule in a graph has no value to read
            return None

    def optimizer_settings(self, model):
        optimizer = model.optimizer
        options = settings(optimizer)
        if self.flavour.name == "keras" and "clipnorm" in options:
            options["global_clipnorm"] = options.pop("clipnorm")  # what standalone Keras did is called that today
        return type(optimizer).__name__.lower(), options

    def loss_name(self, model):
        return loss_text(getattr(model, "loss", None))

    def loss_weights(self, model):
        return of_outputs(getattr(model, "loss_weights", None), model)

    def metric_names(self, model):
        return [str(name) for name in getattr(model, "metrics_names", [])]

    def epoch_callback(self, call, seed):
        return epoch_callback(self.flavour.root.callbacks.Callback, self.recorder, call)


class Watched(object):
    """A Keras function with something in front of it; everything else about it is the function's own."""

    def __init__(self, function, step):
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_step", step)

    def __call__(self, inputs):
        return self._step(inputs)

    def __getattr__(self, name):
        return getattr(self._function, name)

    def __setattr__(self, name, value):
        setattr(self._function, name, value)


def dense(gradient):
    """An embedding's gradient comes as the rows that were touched."""
    if hasattr(gradient, "indices"):
        return importlib.import_module("tensorflow").convert_to_tensor(gradient)
    return gradient


def settings(optimizer):
    try:
        return dict(optimizer.get_config())
    except Exception as error:
        return {"unreadable": str(error)}


def loss_text(loss):
    """How a `compile(loss=...)` is named: a string, a function's name, or those of each output."""
    if isinstance(loss, dict):
        return ", ".join("%s: %s" % (key, loss_text(loss[key])) for key in sorted(loss))
    if isinstance(loss, (list, tuple)):
        return ", ".join(loss_text(item) for item in loss)
    if loss is None or isinstance(loss, str):
        return str(loss)
    return getattr(loss, "name", None) or getattr(loss, "__name__", None) or type(loss).__name__


def of_outputs(weights, model):
    """loss_weights, a number for each output in the model's order; none where all are 1, or none is a number."""
    names = list(getattr(model, "output_names", None) or [])
    if isinstance(weights, dict):
        weights = [weights.get(name, 1.0) for name in (names if set(weights) <= set(names) else sorted(weights))]
    try:
        numbers = [float(weight) for weight in np.atleast_1d(weights if weights is not None else [])]
    except (TypeError, ValueError):
        return []
    return numbers if any(weight != 1.0 for weight in numbers) else []


def epoch_callback(base, recorder, call, before_training=None):
    class RecordEpochs(base):
        def on_train_begin(self, logs=None):
            if before_training is not None:
                before_training()

        def on_epoch_begin(self, epoch, logs=None):
            recorder.epoch_begin(call, epoch)

        def on_epoch_end(self, epoch, logs=None):
            recorder.epoch_end(call, logs)
            if recorder.budget.is_over(call):
                self.model.stop_training = True

    return RecordEpochs()
