"""Stands in front of every training call: what was asked is recorded, then the order of the data is fixed."""

import functools
import inspect
import sys
import time

from . import callers, facts, iterators, limits, passes, pipelines, shuffles, streams
from .eager import EagerKeras
from .graph import GraphKeras

SEEDED = "_tfmigrate_seeded"
EPOCHS = "_tfmigrate_epochs"


def install(flavour, recorder):
    for trainer, in_graph in flavour.trainers:
        adapter = (GraphKeras if in_graph else EagerKeras)(flavour, recorder)
        if not adapter.install(trainer):
            recorder.note("training with %s %s cannot be recorded" % (flavour.name, flavour.version))
            continue
        for name in ("fit", "fit_generator"):
            if name in vars(trainer):
                setattr(trainer, name, training_call(getattr(trainer, name), name, adapter, recorder))
        if "train_on_batch" in vars(trainer):
            trainer.train_on_batch = batch_call(trainer.train_on_batch, adapter, recorder)
        for name in ("predict", "predict_on_batch", "predict_generator"):
            if name in vars(trainer):
                setattr(trainer, name, inference_call(getattr(trainer, name), name, adapter, recorder))
        if (trainer, in_graph) == flavour.trainers[0]:
            for owner in facts.owners(flavour, "compile"):
                owner.compile = callers.compiling(owner.compile, recorder)
            for name in ("save", "save_weights"):
                for owner in facts.owners(flavour, name):
                    setattr(owner, name, saving_call(getattr(owner, name), adapter, recorder))


def training_call(original, name, adapter, recorder):
    signature = inspect.signature(original)

    @functools.wraps(original)
    def fit(self, *args, **kwargs):
        if recorder.current(self) is not None:
            return original(self, *args, **kwargs)
        if "nb_epoch" in kwargs and "epochs" in signature.parameters:  # Keras 1's name, still taken by Keras 2
            kwargs["epochs"] = kwargs.pop("nb_epoch")
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            return original(self, *args, **kwargs)  # says itself what is wrong with the call
        arguments = bound.arguments
        data = arguments.get("x", arguments.get("generator"))
        settle = recorder.aligned
        seed = recorder.config["seed"] + recorder.calls
        if settle:
            streams.reseed(seed)
        asked = what_was_asked(arguments, signature, data, recorder.config)
        steps, left = arguments.get("steps_per_epoch"), recorder.budget.left
        whole = limits.steps_of(arguments, asked["source"])
        if left == 0:
            recorder.budget.cut(recorder.calls, asked["epochs"], whole, 0)
        remark = limits.shorten(arguments, signature, asked["source"], recorder.budget.limits(whole))
        if remark:
            recorder.note(remark)
        if left is not None and arguments.get("validation_data") is not None:
            source = source_of(arguments["validation_data"])
            limits.shorten_validation(arguments, signature, source, recorder.budget.steps)
        if recorder.config["world"] == "migrated" and "generator" in (asked["source"], asked["validation"]):
            pipelines.keep_buffers("a Python iterator")
        if asked["source"] == "sequence":
            passes.go_on(arguments, steps, recorder)
            data = arguments.get("x", arguments.get("generator"))
        adapter.ensure_built(self, data)
        call = recorder.begin(self, adapter, name, asked)
        call.whole = whole
        try:
            if recorder.shares_evenly:
                adapter.with_weights(self, arguments)
            if settle:
                neutralise(arguments, signature, adapter.workers, recorder.config)
            recording = adapter.epoch_callback(call, seed if settle and asked["source"] == "dataset" else None)
            arguments["callbacks"] = with_recorder(arguments.get("callbacks"), recording)
            history = original(self, **by_name(arguments, signature))
        finally:
            recorder.end(call)
        recorder.budget.end_of_call(call, left)
        return history

    return fit


def inference_call(original, name, adapter, recorder):
    """What a model that was not trained yet predicts goes into the training of others, so it is aligned before. While
    nothing is trained, what is predicted is recorded, for it may be all that the script is for."""

    @functools.wraps(original)
    def predict(self, *args, **kwargs):
        recorder.predicted = True
        if recorder.calls or recorder.predicting:
            recorder.meet(self, adapter)
            return original(self, *args, **kwargs)
        data = args[0] if args else kwargs.get("x", kwargs.get("generator"))
        source = source_of(data)
        if recorder.aligned:
            if source == "sequence":
                fix_sequence(data, recorder.config["seed"])
            adapter.ensure_built(self, data)
        recorder.meet(self, adapter)
        recorder.predicting = True
        started = time.time()
        try:
            outputs = original(self, *args, **kwargs)
        finally:
            recorder.predicting = False
        seconds = time.time() - started
        recorder.prediction(self, adapter, name, data if source == "arrays" else None, outputs, seconds)
        return outputs

    return predict


def saving_call(original, adapter, recorder):
    """A file of weights may be loaded again, by another model or for another fold."""

    @functools.wraps(original)
    def save(self, *args, **kwargs):
        if recorder.aligned:
            recorder.meet(self, adapter)
        return original(self, *args, **kwargs)

    return save


def by_name(arguments, signature):
    """All but `self` as keywords: the old `fit_generator` takes only three arguments by position."""
    named = {}
    for name, value in list(arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named


def batch_call(original, adapter, recorder):
    signature = inspect.signature(original)

    @functools.wraps(original)
    def train_on_batch(self, *args, **kwargs):
        if recorder.current(self) is not None:
            return original(self, *args, **kwargs)
        try:
            arguments = signature.bind(self, *args, **kwargs).arguments
        except TypeError:
            return original(self, *args, **kwargs)
        recorder.budget.end_of_batches(recorder.calls, recorder.batch_calls.values())
        adapter.ensure_built(self, arguments.get("x"))
        call = recorder.batch_call(
            self,
            adapter,
            {
                "source": "arrays",
                "epochs": 1,
                "shuffle": "none",
                "class_weight": weighs_classes(arguments.get("class_weight")),
                "sample_weight": arguments.get("sample_weight") is not None,
            },
        )
        recorder.active.append(call)
        try:
            return original(self, *args, **kwargs)
        finally:
            recorder.active.remove(call)

    return train_on_batch


def what_was_asked(arguments, signature, data, config):
    source = source_of(data)

    def given(name):
        default = signature.parameters[name].default if name in signature.parameters else None
        return arguments.get(name, default)

    epochs = int(given("epochs")) - int(given("initial_epoch") or 0)
    if config.get("epochs") and given("epochs") > config["epochs"] + (given("initial_epoch") or 0):
        arguments["epochs"] = config["epochs"] + (given("initial_epoch") or 0)
    shuffle = given("shuffle")
    if source == "dataset":
        asked = shuffles.of(data)
    elif source == "generator" or not shuffle:
        asked = "none"
    else:
        asked = "batches" if source == "sequence" or shuffle == "batch" else "full"
    return {
        "source": source,
        "epochs": epochs,
        "shuffle": asked,
        "class_weight": weighs_classes(given("class_weight")),
        "sample_weight": given("sample_weight") is not None or third_component(data, source),
        "validation": source_of(given("validation_data")),
        "callbacks": [type(callback).__name__ for callback in callbacks_in(given("callbacks"))],
        "watched": watched(callbacks_in(given("callbacks"))),
    }


def callbacks_in(callbacks):
    """A list of them, a CallbackList, one alone or none."""
    callbacks = getattr(callbacks, "callbacks", callbacks)
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]


def watched(callbacks):
    """Each callback that waits for a value of the logs, with the value's name."""
    waiting = [callback for callback in callbacks if getattr(callback, "save_best_only", True)]
    names = [(type(callback).__name__, getattr(callback, "monitor", None)) for callback in waiting]
    return [[kind, name] for kind, name in names if isinstance(name, str)]


def weighs_classes(class_weight):
    """Keras up to 2.3 and TensorFlow 1 ignore all but a dict, or one for each output: "auto", an array (measured)."""
    outputs = class_weight if isinstance(class_weight, list) else [class_weight]
    return any(isinstance(weights, dict) for weights in outputs)


def third_component(data, source):
    """Does each element of a dataset carry a sample weight?"""
    spec = getattr(data, "element_spec", None)
    return source == "dataset" and isinstance(spec, tuple) and len(spec) == 3


def source_of(data):
    bases = [base.__name__ for base in type(data).__mro__]
    if "DatasetV2" in bases or "DatasetV1" in bases or "DistributedDataset" in bases:
        return "dataset"
    if any(name in bases for name in passes.SEQUENCES):
        return "sequence"
    if hasattr(data, "__next__") or hasattr(data, "next"):
        return "generator"
    return "arrays"


def neutralise(arguments, signature, workers, config):
    if "shuffle" in signature.parameters:
        arguments["shuffle"] = False
    for name, value in (("workers", workers), ("use_multiprocessing", False)):
        if name in signature.parameters:
            arguments[name] = value
    for argument in ("x" if "x" in arguments else "generator", "validation_data"):
        source = arguments.get(argument)
        if source_of(source) == "sequence":
            fix_sequence(source, config["seed"])
        elif hasattr(source, "__next__"):
            arguments[argument] = iterators.numbered(source)


def fix_sequence(sequence, seed):
    """Each item of a Sequence draws from a stream seeded by its index: Kerases differ in how often they look at one.
    The same for Sequences that it hands on."""
    arrays = [sequence]
    for array in arrays:
        fix_one_sequence(array, seed)
        parts = [part for part in getattr(array, "__dict__", {}).values() if source_of(part) == "sequence"]
        arrays.extend(part for part in parts if all(part is not known for known in arrays))


def fix_one_sequence(sequence, seed):
    if getattr(sequence, "shuffle", None) is True:
        sequence.shuffle = False  # keras_preprocessing's iterators shuffle by themselves
    owner = type(sequence)
    if isinstance(getattr(owner, "workers", None), property):  # Keras 3: several threads change the order of batches
        if sequence.workers > 1 or sequence.use_multiprocessing:
            sequence.workers, sequence.use_multiprocessing = 1, False
    if SEEDED in vars(owner):
        return
    setattr(owner, SEEDED, True)
    original = owner.__getitem__

    @functools.wraps(original)
    def __getitem__(self, index):
        outer = getattr(streams.LOOKING, "at_item", False)
        streams.LOOKING.at_item = False
        with streams.reseeded(seed + (int(index) % (1 << 31))):
            streams.LOOKING.at_item = True
            try:
                return original(self, index)
            finally:
                streams.LOOKING.at_item = outer

    owner.__getitem__ = __getitem__
    if hasattr(owner, "on_epoch_end"):
        owner.on_epoch_end = between_epochs(owner.on_epoch_end, seed)


def between_epochs(original, seed):
    """What a Sequence shuffles between two epochs follows from their number. Keras 3 calls this once more, before the
    first epoch (EpochIterator.reset, 3.15), which puts every epoch's order one on: here it does not, but for the class
    of TFM409, which begins one epoch early for it."""

    @functools.wraps(original)
    def on_epoch_end(self):
        caller = sys._getframe(1).f_back
        if caller is not None and caller.f_code.co_name == "reset":
            is_reset = caller.f_globals.get("__name__", "").endswith("epoch_iterator")
            if is_reset and not begins_early(self):
                return None
        number = getattr(self, EPOCHS, 0)
        setattr(self, EPOCHS, number + 1)
        with streams.reseeded(seed + number):
            return original(self)

    return on_epoch_end


def begins_early(sequence):
    """Whether it is an object of the class of TFM409, before its first epoch; attributes of these names may be a
    script's own, and hold anything."""
    first, steps = getattr(sequence, "first", None), getattr(sequence, "steps", None)
    return isinstance(first, int) and isinstance(steps, int) and 0 < steps == -first


def with_recorder(callbacks, recording):
    if callbacks is None:
        return [recording]
    if isinstance(callbacks, (list, tuple)):
        return [recording] + list(callbacks)
    if hasattr(callbacks, "callbacks"):  # a CallbackList
        callbacks.append(recording)
        return callbacks
    return [recording, callbacks]
