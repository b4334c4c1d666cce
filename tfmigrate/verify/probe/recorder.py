"""The trace as it is written: who trains, with what, and what came of each step."""

import platform
import resource
import sys
import time

import numpy as np

from . import callers, facts, predictions, weights
from .budget import Budget
from .content import added, sketch_of, values_of
from .draws import Dropouts
from .lines import Lines
from .starts import Starts, weights_file

KEPT_BATCHES = 32
"""Of so many steps some of the batch's values are kept; of later ones the sketch alone."""


class Call(object):
    """One training call under way (or all `train_on_batch` calls of one model)."""

    def __init__(self, index, entry, name, asked, at=None):
        self.index = index
        self.entry = entry
        self.name = name
        self.asked = asked
        self.at = at
        """Where in the script; of `train_on_batch` the first."""
        self.epoch = 0
        self.step = 0
        self.largest_batch = None
        self.first_epoch_steps = 0
        self.first_epoch_samples = 0
        self.validation_samples = 0
        self.validation_content = 0
        """Modulo 2 ** 64, whatever the order of the rows; None where some could not be read."""
        self.validation_sketch = ()
        """See content.rows_sketch; empty before the first rows."""
        self.written = False
        self.first_epoch_over = False
        self.epoch_loss = 0.0
        self.epoch_weight = 0
        self.steps = 0
        self.epochs = 0
        """That are over."""
        self.cut = False
        """It was ended before what the script asked for."""
        self.whole = None
        """Steps of its epochs as written; None where nobody knows."""


class Entry(object):
    """One model that was trained."""

    def __init__(self, index, model, adapter):
        self.index = index
        self.model = model
        self.adapter = adapter
        self.leaves = None
        self.initial = None
        self.first_fit = None
        self.weighable = True
        """Its samples can be given weights of their own (see remainder)."""


class Recorder(object):
    """Knows the training calls, models and predictions of a run, and writes what comes of them."""

    def __init__(self, config):
        self.config = config
        self.aligned = config.get("aligned", True)
        self.shares_evenly = config.get("shares_evenly", False)
        self.gradient = self.aligned and config.get("gradient", True)
        """Whether the gradient of the first step is recorded."""
        self.lines = Lines(config["output"])
        self.write, self.note = self.lines.write, self.lines.note
        self.budget = Budget(config, self.lines)
        self.starts = Starts(config, self.lines)
        self.dropouts = Dropouts()
        self.machine = None
        self.entries = []
        self.active = []
        self.batch_calls = {}
        self.calls = 0
        self.predicted = False
        """A batch may hold what a model made."""
        self.predicting = False
        """In a call that is recorded, and may make others."""
        self.predictors = []
        self.predictions = 0
        self.predicted_rows = 0
        self.predict_seconds = 0.0
        self.started = time.time()
        self.started_event = False
        self.train_seconds = 0.0
        self.train_samples = 0

    # -- the run

    def write_start(self, adapter=None):
        if self.started_event:
            return
        self.started_event = True
        tensorflow = sys.modules.get("tensorflow")
        self.write(
            "start",
            python=platform.python_version(),
            tensorflow=getattr(tensorflow, "__version__", ""),
            keras=adapter.flavour.version if adapter else "",
            flavour=adapter.flavour.name if adapter else "",
            devices=list(self.machine.devices) if self.machine else [],
            device_kind=self.machine.kind if self.machine else "",
            replicas=self.config["replicas"],
            numpy=np.__version__,
        )

    def finish(self, ok, error):
        self.write_start()
        seconds, samples = self.train_seconds, self.train_samples
        if not self.calls:
            seconds, samples = self.predict_seconds, self.predicted_rows
        self.write(
            "end",
            ok=ok,
            error=error,
            seconds=time.time() - self.started,
            train_seconds=self.train_seconds,
            samples_per_second=samples / seconds if seconds > 0 else None,
            peak_memory_bytes=peak_memory(),
            peak_gpu_memory_bytes=peak_gpu_memory(self.machine),
            packages=versions(self.config.get("imports", [])),
        )
        self.lines.close()

    # -- training calls

    def current(self, model):
        """The call under way on this model, or None."""
        for call in reversed(self.active):
            if call.entry.model is model:
                return call
        return None

    def begin(self, model, adapter, name, asked):
        """Starts a training call: `asked` holds what the script asked for (source, epochs, shuffle, ...)."""
        entry = self.entry(model, adapter)
        call = Call(self.calls, entry, name, asked, callers.place(self.config))
        self.calls += 1
        self.active.append(call)
        if entry.first_fit is None:
            entry.first_fit = call.index
            self.first_call(entry, call)
        optimizer = adapter.optimizer_settings(model)
        self.write(
            "compile",
            model=entry.index,
            fit=call.index,
            optimizer=optimizer[0],
            config=optimizer[1],
            loss=adapter.loss_name(model),
            loss_weights=adapter.loss_weights(model),
            metrics=adapter.metric_names(model),
            at=callers.compiled_at(model),
            own_apply="apply" in getattr(getattr(model, "optimizer", None), "__dict__", ()),
        )
        return call

    def batch_call(self, model, adapter, asked):
        """The one call that all `train_on_batch` of a model belong to."""
        call = self.batch_calls.get(id(model))
        if call is None:
            call = self.begin(model, adapter, "train_on_batch", asked)
            self.active.remove(call)
            self.batch_calls[id(model)] = call
        return call

    def entry(self, model, adapter):
        for entry in self.entries:
            if entry.model is model:
                return entry
        entry = Entry(len(self.entries), model, adapter)
        self.entries.append(entry)
        self.write_start(adapter)
        return entry

    def first_call(self, entry, call):
        """Lists the model's weights, gives it the other run's initial ones, and keeps what it starts from."""
        model, adapter, starts = entry.model, entry.adapter, self.starts
        if not adapter.is_built(model):
            self.note(
                "model %d (%s) has no weights before its first step, so they could not be aligned or recorded"
                % (entry.index, model.name)
            )
            return
        entry.leaves = weights.of_model(model)
        trainable = set(id(variable) for variable in weights.trained_in(model))
        starts.keep_own(adapter, [variable for variable in entry.leaves if id(variable) not in starts.aligned])
        theirs = starts.theirs(weights_file(entry.index, "initial"))
        self.write(
            "model",
            index=entry.index,
            name=model.name,
            replicas=adapter.replicas(model),
            weights=[
                [weights.name_of(variable), weights.shape_of(variable), id(variable) in trainable]
                for variable in entry.leaves
            ],
            own=[starts.own_start(variable, theirs, i) for i, variable in enumerate(entry.leaves)],
            **facts.of_model(model),
        )
        if self.config.get("initial_weights"):
            starts.load(entry, theirs)
        for variable in entry.leaves:
            starts.aligned[id(variable)] = variable
        entry.initial = adapter.read(entry.leaves)
        self.snapshot(entry, call, "initial", entry.initial)

    def meet(self, model, adapter):
        self.starts.meet(model, adapter, self.calls > 0)

    def snapshot(self, entry, call, moment, values):
        name = weights_file(entry.index, moment)
        self.lines.save(name, values)
        self.write("weights", model=entry.index, fit=call.index, moment=moment, file=name)

    # -- predictions

    def prediction(self, model, adapter, call, data, outputs, seconds):
        """One call that predicted, while nothing is trained. `data`: the arrays that it was given, or None."""
        index = self.predictor(model, adapter)
        inputs, answers = predictions.arrays_of(data), predictions.arrays_of(outputs)
        if answers is None:
            self.note("the result of %s of %s is not an array, so it could not be recorded" % (call, model.name))
        fingerprint, sketch = (None, None) if inputs is None else predictions.content(inputs)
        full = self.predictions < predictions.IN_FULL
        rows = len(answers[0]) if answers else None
        self.write(
            "prediction",
            model=index,
            call=call,
            samples=rows,
            fingerprint=fingerprint,
            sketch=sketch,
            outputs=[predictions.summary(array, full) for array in answers or ()],
            at=callers.place(self.config),
        )
        if self.predictions:  # the first is also the tracing
            self.predict_seconds += seconds
            self.predicted_rows += rows or 0
        self.predictions += 1

    def predictor(self, model, adapter):
        """The index of a model that predicts. A template and its parallel model share their weights, and are one."""
        for index, (models, leaves) in enumerate(self.predictors):
            if any(other is model for other in models):
                return index
        leaves = weights.of_model(model)
        for index, (models, others) in enumerate(self.predictors):
            if leaves and set(map(id, leaves)) == set(map(id, others)):
                models.append(model)
                break
        else:
            index = len(self.predictors)
            self.predictors.append(([model], leaves))
            self.lines.save("predictor-%d.npz" % index, adapter.read(leaves))
        self.write_start(adapter)
        self.write(
            "predictor",
            index=index,
            name=model.name,
            replicas=adapter.replicas(model),
            weights=[[weights.name_of(variable), weights.shape_of(variable), True] for variable in leaves],
            file="predictor-%d.npz" % index,
            **facts.of_model(model),
        )
        return index

    # -- steps

    def step(self, call, loss, leaves, fingerprint, learning_rate, seconds, weights=None):
        """One optimizer step. `leaves` are the batch's inputs then targets in order, each as the list of its parts (or
        None, which has no fingerprint either); `seconds` the step's own wall time; `weights` those of the samples, an
        array for each output that has some, or None where nobody could look."""
        samples = sketch = values = None
        loss += self.left_out(call)
        if leaves:
            samples = sum(len(part) for part in leaves[0]) if leaves[0][0].ndim else None
            sketch = sketch_of(leaves)
            values = self.keep_batch(call, leaves) if sketch and self.budget.taken < KEPT_BATCHES else None
        self.write(
            "step",
            fit=call.index,
            epoch=call.epoch,
            step=call.step,
            loss=loss,
            samples=samples,
            fingerprint=fingerprint,
            sketch=sketch,
            values=values,
            made=self.predicted,
            weighed=weighed(weights, samples),
            learning_rate=learning_rate,
            shared_evenly=self.shares_evenly and call.entry.weighable,
        )
        call.step += 1
        self.budget.count()
        if call.steps:
            self.train_seconds += seconds
            self.train_samples += samples or 0
        call.steps += 1
        call.epoch_loss += loss * (samples or 1)
        call.epoch_weight += samples or 1
        if not call.first_epoch_over:
            call.first_epoch_steps += 1
            call.first_epoch_samples += samples or 0
            if samples is not None:
                call.largest_batch = max(samples, call.largest_batch or 0)

    def left_out(self, call):
        """What this Keras leaves out of the loss that is reported, and the old one did not."""
        penalty = facts.frozen_penalty(call.entry.model)
        if penalty:
            self.note(
                "model %d: the penalties of its frozen weights are included here; Keras 3 leaves them out of the "
                "loss, which does not change the training" % call.entry.index
            )
        return penalty

    def keep_batch(self, call, leaves):
        """Keeps some of a batch's values; returns the name of the file."""
        values = values_of(leaves)
        if values is None:
            return None
        name = "batch-%d-%d-%d.npz" % (call.index, call.epoch, call.step)
        self.lines.save(name, values)
        return name

    def running_loss(self, call):
        return call.epoch_loss / call.epoch_weight if call.epoch_weight else 0.0

    def epoch_begin(self, call, epoch):
        call.epoch, call.step, call.epoch_loss, call.epoch_weight = epoch, 0, 0.0, 0

    def epoch_end(self, call, logs):
        numbers = {}
        for key, value in (logs or {}).items():
            try:
                numbers[key] = float(np.asarray(value))
            except (TypeError, ValueError):
                continue
        if call.epoch_weight:
            numbers["loss"] = self.running_loss(call)
        if "val_loss" in numbers:
            numbers["val_loss"] += self.left_out(call)
        self.write("epoch", fit=call.index, epoch=call.epoch, logs=numbers)
        call.first_epoch_over = True
        self.write_fit(call)

    def validation_batch(self, model, samples, content, sketch):
        call = self.current(model)
        if call is not None and not call.first_epoch_over:
            call.validation_samples += samples
            known = content is not None and call.validation_content is not None and not self.predicted
            call.validation_content = (call.validation_content + content) % (1 << 64) if known else None
            call.validation_sketch = sketch if call.validation_sketch == () else added(call.validation_sketch, sketch)

    def write_fit(self, call):
        """Written when the first epoch is over, so that its counts are what happened and not what was meant."""
        if call.written:
            return
        call.written = True
        batches = call.name == "train_on_batch"
        asked = call.asked
        self.write(
            "fit",
            index=call.index,
            model=call.entry.index,
            call=call.name,
            source=asked["source"],
            epochs=asked["epochs"],
            global_batch_size=call.largest_batch,
            steps_per_epoch=None if batches else call.first_epoch_steps or None,
            samples=None if batches else call.first_epoch_samples or None,
            shuffle=asked["shuffle"],
            validation_samples=call.validation_samples or None,
            validation_content=self.content_of_validation(call),
            validation_sketch=call.validation_sketch or None,
            callbacks=asked.get("callbacks", []),
            watched=asked.get("watched", []),
            dropped=sorted(self.dropouts.asked),
            class_weight=asked["class_weight"],
            sample_weight=asked["sample_weight"],
            at=call.at,
        )

    def content_of_validation(self, call):
        """None too where a generator made the rows, which may have gone further in one world than in another."""
        stands = call.validation_samples and call.asked.get("validation") in ("arrays", "dataset", "sequence")
        return "%016x" % call.validation_content if stands and call.validation_content is not None else None

    def end(self, call):
        if call in self.active:
            self.active.remove(call)
        self.write_fit(call)
        entry = call.entry
        if entry.leaves is not None and call.steps:
            self.snapshot(entry, call, "final", entry.adapter.read(entry.leaves))

    def close_calls(self):
        """Ends what has no end of its own: the `train_on_batch` calls."""
        for call in list(self.batch_calls.values()):
            self.end(call)
        self.batch_calls = {}


def weighed(weights, samples):
    """The trace's Step.weighed."""
    if weights is None or not samples:
        return None
    excess = [np.asarray(array, dtype=np.float64) - 1.0 for array in weights]
    return [sum(float(part.mean()) for part in excess), sum(float((part**2).mean()) for part in excess)]


def peak_memory():
    """Bytes of host memory at its highest. In a fork the libraries' pages that only its server has used do not count:
    391 MiB where a new interpreter has 691 (TensorFlow 2.21, a small model)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_gpu_memory(machine):
    """Bytes that TensorFlow's tensors took on all GPUs together, at the highest of each; None without GPUs."""
    if machine is None or not machine.kind.endswith("GPU"):
        return None
    told = sys.modules["tensorflow"].config.experimental.get_memory_info
    return sum(told(name.strip("/").upper())["peak"] for name in machine.devices)


def versions(names):
    """Of the modules that are imported and tell their version."""
    pairs = ((name, getattr(sys.modules.get(name), "__version__", None)) for name in names)
    return dict((name, version) for name, version in pairs if isinstance(version, str))
