"""tf.estimator under a MirroredStrategy: its training, seen from inside the graph.

Each `Estimator.train` is one training call of one epoch. A hook of our own asks every step for what the replicas were
fed, for the losses that their model functions returned, and at the first step for the gradients.
"""

import functools
import glob
import importlib
import os

import numpy as np

from . import flavours, shuffles, streams, weights
from .content import fingerprint_of
from .estimator_models import Features, Flavour, GraphModel, described_layers, first, name_of, parts_of
from .estimator_optimizers import LINEAR, NAMES, SMALL, places_of, rate_of, schedule_name, settings_of
from .graph import PROBE_LEARNING_RATE


def wanted(config):
    """Whether any file of the program mentions estimators; nothing is changed for the others."""
    for path in glob.glob(os.path.join(config["cwd"], "**", "*.py"), recursive=True):
        with open(path, "rb") as file:
            if b"estimator" in file.read():
                return True
    return False


def install(tf, recorder):
    """Stands in front of Estimator.train."""
    module = importlib.import_module("tensorflow_estimator.python.estimator.estimator")
    optimizer = importlib.import_module("tensorflow.python.training.optimizer").Optimizer
    owner = module.Estimator
    watcher = Watcher(tf, recorder)
    owner.train = watcher.train(owner.train)
    owner._call_model_fn = watcher.call_model_fn(owner._call_model_fn)
    owner._call_input_fn = watcher.call_input_fn(owner._call_input_fn)
    optimizer.compute_gradients = watcher.compute_gradients(optimizer.compute_gradients)
    of_keras = flavours.optional("tensorflow.python.keras.optimizer_v2.optimizer_v2")
    if hasattr(of_keras, "OptimizerV2"):  # what a Keras model trains with in model_to_estimator()
        of_keras.OptimizerV2.get_gradients = watcher.get_gradients(of_keras.OptimizerV2.get_gradients)
    silence_dropout(watcher)
    layer = tf.keras.layers.Layer
    layer.add_weight = watcher.add_weight(layer.add_weight)


def silence_dropout(watcher):
    """Dropout passes on what it gets; that it was asked for, in training, is noted."""

    def call(self, inputs, training=False):
        if training is True:
            watcher.dropped(self.rate)
        return inputs

    for name in (
        "tensorflow.python.layers.core",
        "tensorflow.python.keras.legacy_tf_layers.core",
        "keras.legacy_tf_layers.core",
    ):
        module = flavours.optional(name)
        if module is not None:
            module.Dropout.call = call


def keras_model_of(estimator, tf):
    """The Keras model of which model_to_estimator() made an Estimator, or None."""
    function = vars(estimator).get("_model_fn")
    contents = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    return next((part for part in contents if isinstance(part, tf.keras.models.Model)), None)


class Training(object):
    """One Estimator.train under way: what its graph holds."""

    def __init__(self, estimator):
        self.estimator = estimator
        self.parts = {}
        """replica -> (tensors it is fed, its loss)"""
        self.gradients = {}
        """replica -> [(gradient, variable)]"""
        self.dropouts = []
        """The rates of the first replica's."""
        self.described = []
        """See described_layers()."""
        self.divided = 1
        """By what the gradients are divided once more: an optimizer of tf.train divides by the number of replicas what
        a Keras model has divided by it. The trace has whole gradients, and a lower rate."""
        self.optimizer = None
        self.mirrored = ()
        self.variables = None
        """The first replica's."""
        self.trainable = ()
        self.shuffle = "unknown"


class Watcher(object):
    """The Estimators of a run. One trains at a time."""

    def __init__(self, tf, recorder):
        self.tf = tf
        self.v1 = tf.compat.v1
        self.recorder = recorder
        self.models = []
        self.training = None
        self.mode = None
        """The mode of the model function that is being called."""
        self.flavour = Flavour(tf.__version__)
        self.session = None
        self.values = {}
        self.makers = {}
        """name of a variable -> the number of the layer that made it, in the order in which layers are made"""

    # -- what the graph is made of

    def train(self, original):
        @functools.wraps(original)
        def train(estimator, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
            if self.training is not None:
                return original(estimator, input_fn, hooks, steps, max_steps, saving_listeners)
            self.training = Training(estimator)
            recorder, left, asked = self.recorder, self.recorder.budget.left, steps or max_steps
            before = recorder.budget.taken
            if left == 0:
                recorder.budget.cut(recorder.calls, 1, asked, 0)
            if left is not None and steps is None:  # a new Estimator's global step is the number of steps taken
                max_steps = min(max_steps or recorder.budget.steps, recorder.budget.steps)
            elif left is not None:
                steps = min(steps, left)
            streams.reseed(self.recorder.config["seed"] + self.recorder.calls)
            try:
                hook = recording_hook(self.v1.train.SessionRunHook, self, self.training)
                answer = original(estimator, input_fn, list(hooks or []) + [hook], steps, max_steps, saving_listeners)
            finally:
                self.training = None
            if left is not None and recorder.budget.taken - before >= left and asked != left:
                recorder.budget.cut(recorder.calls - 1, 1, asked, left)
            return answer

        return train

    def call_input_fn(self, original):
        @functools.wraps(original)
        def call_input_fn(estimator, input_fn, mode, *args, **kwargs):
            self.seed_graph()
            spec = original(estimator, input_fn, mode, *args, **kwargs)
            if self.training is not None and mode == "train":
                self.training.shuffle = shuffles.of(spec)
            return spec

        return call_input_fn

    def call_model_fn(self, original):
        @self.tf.autograph.experimental.do_not_convert
        @functools.wraps(original)
        def call_model_fn(estimator, features, labels, mode, config):
            self.mode = mode
            self.seed_graph()
            if isinstance(features, dict):
                features = Features(features)
            keras = keras_model_of(estimator, self.tf)
            dropouts = self.recorder.dropouts
            dropouts.in_model_function = self.dropped if keras is None and mode == "train" else None
            try:
                spec = original(estimator, features, labels, mode, config)
            finally:
                dropouts.in_model_function = None
            if self.training is not None and mode == "train":
                nest = self.tf.nest
                chosen = features.chosen() if isinstance(features, Features) else features
                arrays = nest.flatten(chosen) + ([] if labels is None else nest.flatten(labels))
                loss = spec.loss
                if keras is not None:  # which divides it by the number of replicas
                    replicas = self.tf.distribute.get_strategy().num_replicas_in_sync
                    loss = loss * replicas
                    self.training.described = described_layers(keras)
                    if not hasattr(self.training.optimizer, "get_config"):
                        self.training.divided = replicas
                self.training.parts[self.replica()] = (arrays, loss)
            return spec

        return call_model_fn

    def add_weight(self, original):
        @functools.wraps(original)
        def add_weight(layer, *args, **kwargs):
            variable = original(layer, *args, **kwargs)
            number = getattr(layer, weights.CREATED, None)
            if self.mode == "train" and number is not None and self.replica() == 0:
                self.makers.setdefault(name_of(variable), number)
            return variable

        return add_weight

    def by_layer(self, variables):
        """Variables in the order in which their layers were made, which is that of the migrated script's too; a graph
        has them in the order in which layers are first called."""
        if all(name_of(variable) in self.makers for variable in variables):
            return sorted(variables, key=lambda variable: self.makers[name_of(variable)])
        return variables

    def compute_gradients(self, original):
        @functools.wraps(original)
        def compute_gradients(optimizer, *args, **kwargs):
            training = self.training if self.mode == "train" else None
            if training is not None and training.variables is None:
                self.optimized(training, optimizer)
            result = original(optimizer, *args, **kwargs)
            if training is not None:
                training.gradients[self.replica()] = [(g, name_of(v)) for g, v in result if g is not None]
            return result

        return compute_gradients

    def get_gradients(self, original):
        """As compute_gradients, of an optimizer of Keras."""

        @functools.wraps(original)
        def get_gradients(optimizer, loss, params):
            training = self.training if self.mode == "train" else None
            if training is not None and training.variables is None:
                self.optimized(training, optimizer)
            result = original(optimizer, loss, params)
            if training is not None:
                pairs = zip(result, self.tf.nest.flatten(params))
                training.gradients[self.replica()] = [(g, name_of(v)) for g, v in pairs if g is not None]
            return result

        return get_gradients

    def optimized(self, training, optimizer):
        """Note what there is before an optimizer makes variables of its own."""
        step = self.v1.train.get_global_step()
        trainable = set(name_of(variable) for variable in self.v1.trainable_variables())
        own = set(name_of(variable) for variable in getattr(optimizer, "weights", ()))
        training.mirrored = self.by_layer([
            variable
            for variable in self.v1.global_variables()
            if variable is not step and name_of(variable) != "global_step" and "/replica_" not in variable.name
            and name_of(variable) not in own
        ])  # fmt: skip
        # A mirrored variable grows the graph when it is asked for what it has not; its parts do not.
        training.variables = [first(variable) for variable in training.mirrored]
        training.trainable = [v for v in training.variables if name_of(v) in trainable]
        training.optimizer = optimizer

    def seed_graph(self):
        """Kernels that promise determinism want a seed, and an Estimator makes a graph for each call."""
        if self.v1.get_default_graph().seed is None:
            self.v1.set_random_seed(self.recorder.config["seed"])

    def dropped(self, rate):
        if self.training is not None and self.mode == "train" and self.replica() == 0:
            self.training.dropouts.append(rate)

    def replica(self):
        context = self.tf.distribute.get_replica_context()
        replica = getattr(context, "replica_id_in_sync_group", 0)
        constant = (
            replica
            if isinstance(replica, int)
            else importlib.import_module("tensorflow.python.framework.tensor_util").constant_value(replica)
        )
        return int(constant if constant is not None else 0)

    # -- what the recorder asks

    def model_of(self, estimator):
        for model in self.models:
            if model.estimator is estimator:
                return model
        self.models.append(GraphModel(estimator))
        return self.models[-1]

    def is_built(self, model):
        return bool(model.weights)

    def read(self, variables):
        if self.session is None:
            return [self.values[name_of(variable)] for variable in variables]
        return [np.array(value) for value in self.session.run(list(variables))]

    def assign(self, variables, values):
        for variable, value in zip(variables, values):
            for part, place, operation in self.assignments[name_of(variable)]:
                self.session.run(operation, {place: value})

    def replicas(self, model):
        return len(self.training.parts) if self.training is not None else 1

    def optimizer_settings(self, model):
        optimizer = self.training.optimizer
        if hasattr(optimizer, "get_config"):
            return type(optimizer).__name__.lower(), settings_of(optimizer)
        name, places = NAMES.get(type(optimizer).__name__, (type(optimizer).__name__.lower(), {}))
        config = dict(SMALL.get(name, {}))
        for place, key in places.items():
            value = getattr(optimizer, place, None)
            config[key] = value if isinstance(value, (int, float, bool)) else "a schedule"
        if config.get("learning_rate") == "a schedule":
            config["learning_rate"] = {"class_name": schedule_name(getattr(optimizer, places_of(places)))}
        elif "learning_rate" in config and type(optimizer).__name__ in LINEAR:
            config["learning_rate"] /= self.training.divided
        return name, config

    def loss_name(self, model):
        return "model_fn's"

    def loss_weights(self, model):
        return []

    def metric_names(self, model):
        return []

    # -- the hook's work

    def begin(self, training):
        """While the graph can still grow: the operations that set the initial weights."""
        self.assignments = {}
        for variable in training.mirrored:
            own = []
            for part in parts_of(variable):
                place = self.v1.placeholder(part.dtype.base_dtype, part.shape)
                own.append((part, place, self.v1.assign(part, place)))
            self.assignments[name_of(variable)] = own
        training.rate = rate_of(training.optimizer)
        if isinstance(training.rate, float) and type(training.optimizer).__name__ in LINEAR:
            training.rate /= training.divided
        training.dense = [
            [(self.tf.convert_to_tensor(part) * training.divided, name) for part, name in training.gradients[replica]]
            for replica in sorted(training.gradients)
        ]

    def started(self, training, session):
        recorder = self.recorder
        self.session = session
        model = self.model_of(training.estimator)
        model.weights = list(training.variables)
        model.trainable_weights = list(training.trainable)
        model.dropouts, model.described = training.dropouts, training.described
        training.call = recorder.begin(
            model,
            self,
            "train",
            {
                "source": "dataset",
                "epochs": 1,
                "shuffle": training.shuffle,
                "class_weight": False,
                "sample_weight": False,
            },
        )
        training.call.entry.leaves = weights.of_model(model)
        recorder.epoch_begin(training.call, 0)

    def wanted_values(self, training):
        seen = {
            "arrays": [training.parts[replica][0] for replica in sorted(training.parts)],
            "losses": [training.parts[replica][1] for replica in sorted(training.parts)],
        }
        if training.rate is not None and not isinstance(training.rate, float):
            seen["rate"] = training.rate
        if training.call.steps == 0:
            seen["gradients"] = [[gradient for gradient, _ in own] for own in training.dense]
        return seen

    def stepped(self, training, values, session, seconds):
        recorder, call = self.recorder, training.call
        self.session = session
        leaves = [[np.atleast_1d(part) for part in parts] for parts in zip(*values["arrays"])]
        rate = values.get("rate", training.rate)
        first_step = call.steps == 0
        loss, rate = float(np.mean(values["losses"])), None if rate is None else float(rate)
        recorder.step(call, loss, leaves, fingerprint_of(leaves), rate, seconds)
        entry = call.entry
        if first_step and entry.initial is not None and call.index == entry.first_fit:
            recorder.snapshot(entry, call, "after_first_update", self.read(entry.leaves))
            self.sgd_probe(training, values["gradients"])

    def sgd_probe(self, training, gradients):
        """Where one plain SGD step would lead: each replica's gradient is its share, their sum the whole."""
        entry, total = training.call.entry, {}
        for own, found in zip(training.dense, gradients):
            for (_, name), value in zip(own, found):
                total[name] = total.get(name, 0.0) + value
        moved = [
            value - PROBE_LEARNING_RATE * total[name_of(variable)] if name_of(variable) in total else value
            for variable, value in zip(entry.leaves, entry.initial)
        ]
        self.recorder.snapshot(entry, training.call, "sgd_probe", moved)

    def ended(self, training, session):
        self.session = session
        leaves = training.call.entry.leaves
        self.values = dict(zip([name_of(variable) for variable in leaves], self.read(leaves)))
        self.session = None
        self.recorder.epoch_end(training.call, {})
        self.recorder.end(training.call)


def recording_hook(base, watcher, training):
    import time

    class Recording(base):
        def begin(self):
            watcher.begin(training)

        def after_create_session(self, session, coord):
            watcher.started(training, session)

        def before_run(self, run_context):
            self.since = time.time()
            return watcher.v1.train.SessionRunArgs(watcher.wanted_values(training))

        def after_run(self, run_context, run_values):
            watcher.stepped(training, run_values.results, run_context.session, time.time() - self.since)

        def end(self, session):
            watcher.ended(training, session)

    return Recording()
