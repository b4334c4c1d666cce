"""Keras with a `train_step`: tf.keras from 2.2, tf_keras, Keras 3.

Two places to stand. `make_train_function` gives the function that runs one step, from outside. `train_step` runs inside
it, in each replica: a tap there sees what was truly trained on, whatever pipeline it came through, and hears what the
metric of the loss is told, which is the batch's own loss where the metric answers with the mean of an epoch. Both pass
out as one call from the graph, as soon as the loss is known, and are hashed while the step goes on. So do the gradients
of the first step, from where its tape gives them: before they are clipped, or added up over the replicas.
"""

import functools
import threading
import time

import numpy as np

from . import remainder, streams
from .content import added, rows_anyhow, rows_sketch
from .eager_batches import Batch, Layout, Share
from .eager_data import ordered, row_of_zeros
from .graph import PROBE_LEARNING_RATE, dense, epoch_callback, loss_text, of_outputs, settings
from .towers import replicas_of


class EagerKeras(object):
    workers = 1  # one is no thread here, and 0 is refused

    def __init__(self, flavour, recorder):
        import tensorflow

        self.tf = tensorflow
        self.flavour = flavour
        self.recorder = recorder
        self.batch = Batch()
        self.seen = []
        """Of a validation batch, by replica: (rows, what they hold, the same in a sketch)."""
        self.tracing = threading.local()
        """Of the step that this thread traces, and each replica has its own. `told`: what the metric of the loss is
        told; `model`: the one that is trained; `gradients`: (weights, gradients) of it."""

    def install(self, trainer):
        if not hasattr(trainer, "make_train_function") or not hasattr(trainer, "train_step"):
            return False
        self.trainer = trainer
        self.hear_tapes()
        self.wrap(trainer, "make_train_function", "train_function", "train_step", self.run_train)
        self.wrap(trainer, "make_test_function", "test_function", "test_step", self.run_test)
        return True

    def wrap(self, trainer, maker, attribute, step_name, run):
        original = getattr(trainer, maker)
        adapter = self

        @functools.wraps(original)
        def make(model, *args, **kwargs):
            adapter.tap(model, step_name)
            one_step_at_a_time(model)
            before = getattr(model, attribute, None)
            original(model, *args, **kwargs)
            function = getattr(model, attribute)
            if function is not before or not hasattr(function, "_tfmigrate"):
                watched = functools.partial(run, model, function)
                watched._tfmigrate = True
                setattr(model, attribute, watched)
            return getattr(model, attribute)

        setattr(trainer, maker, make)

    def hear_tapes(self):
        """The gradients that a step's tape gives for the weights of its model are kept, as they are given."""
        tape, adapter = self.tf.GradientTape, self
        original = tape.gradient

        @functools.wraps(original)
        def gradient(self, target, sources, *args, **kwargs):
            answer = original(self, target, sources, *args, **kwargs)
            model = getattr(adapter.tracing, "model", None)
            if model is not None and isinstance(sources, (list, tuple)):
                if set(map(id, sources)) == set(map(id, model.trainable_weights)):
                    adapter.tracing.gradients = list(zip(sources, answer))
            return answer

        tape.gradient = self.tf.autograph.experimental.do_not_convert(gradient)

    def tap(self, model, step_name):
        """Lets the model's own step, or the script's override of it, pass the batch by on its way."""
        mark = "_tfmigrate_" + step_name
        if mark in vars(model):
            return
        original = getattr(model, step_name)
        outside = self.tf.autograph.experimental.do_not_convert
        rate_now, pass_out = outside(self.rate_now), outside(functools.partial(self.pass_out, model))
        pass_out_gradients = outside(self.pass_out_gradients)
        listen, count = outside(functools.partial(self.listen, model)), outside(functools.partial(self.count, model))

        def train_step(data):
            listen()
            rate = rate_now(model.optimizer)
            answer = original(self.shared(model, data))
            pass_out_gradients()
            pass_out(data, rate)
            return answer

        def test_step(data):
            count(data)
            return original(data)

        step = train_step if step_name == "train_step" else test_step
        object.__setattr__(model, mark, original)
        object.__setattr__(model, step_name, step)

    def shared(self, model, data):
        """The batch with the sample weights of an even share, where that is asked for and can be."""
        if not self.recorder.shares_evenly or remainder.replicas_of(model) < 2:
            return data
        weighted = None
        if not overridden(model, self.trainer, "train_step"):
            weighted = remainder.weighted_data(self.tf, model, data)
        call = self.recorder.current(model)
        if weighted is None and call is not None:
            call.entry.weighable = False
        return data if weighted is None else weighted

    def with_weights(self, model, arguments):
        """Each step's data is given them as it comes."""

    def listen(self, model):
        """Hears from here on, in this thread, what the metric of the loss is told, until `pass_out`; and the gradients
        of the model's weights, until `pass_out_gradients`."""
        self.tracing.told = []
        self.tracing.gradients = None
        self.tracing.model = model if self.recorder.gradient else None  # which may get its weights in this very step
        tracker = loss_tracker(model, overridden(model, self.trainer, "train_step"))
        if tracker is None or "_tfmigrate" in vars(tracker):
            return
        tell = tracker.update_state

        def update_state(values, sample_weight=None):
            losses = getattr(self.tracing, "told", None)
            if losses is not None:
                losses.append((values, sample_weight))
            return tell(values, sample_weight=sample_weight)

        object.__setattr__(tracker, "_tfmigrate", True)
        object.__setattr__(tracker, "update_state", self.tf.autograph.experimental.do_not_convert(update_state))

    def told_losses(self):
        """Their sum and their count, in a list; of none where a function of its own told them, or in another shape."""
        told, self.tracing.told = self.tracing.told, None
        sums_and_counts = [sum_and_count(self.tf, values, weight) for values, weight in told]
        if not sums_and_counts or None in sums_and_counts:
            return []
        sums = [self.tf.add_n(column) for column in zip(*sums_and_counts)]
        if self.has_others_elsewhere():
            sums = self.tf.distribute.get_replica_context().all_reduce(self.tf.distribute.ReduceOp.SUM, sums)
        return sums

    def rate_now(self, optimizer):
        """The learning rate of the step to come, in a list of one; of none where the optimizer has none to tell."""
        try:
            return [self.tf.identity(self.tf.cast(learning_rate(optimizer), self.tf.float32))]
        except Exception:  # an optimizer of the script's own, or none: its training step is its own
            return []

    def count(self, model, data):
        """Counts the rows of this replica's batch, and keeps what they hold."""

        def keep(rows, *arrays):
            whole = all(array.ndim and len(array) == rows for array in arrays)
            content, sketch = (rows_anyhow(arrays), rows_sketch(arrays)) if whole else (None, None)
            self.seen.append((int(rows), content, sketch))
            return np.int64(0)

        leaves = [leaf for leaf in self.tf.nest.flatten(data) if leaf is not None]
        if not leaves or not hasattr(leaves[0], "get_shape"):
            return
        shape = self.tf.shape(leaves[0])
        whole = all(self.tf.is_tensor(leaf) and hasattr(leaf, "get_shape") for leaf in leaves)
        arrays = ordered(self.tf, model, data) if whole else []
        self.tf.numpy_function(keep, [shape[0] if shape.shape[0] else 0] + arrays, self.tf.int64)

    def pass_out_gradients(self):
        """Hands those of this replica to Python, in the first step: they are as large as the weights."""
        tf = self.tf
        heard, self.tracing.gradients, self.tracing.model = self.tracing.gradients, None, None
        heard = [(variable, gradient) for variable, gradient in heard or () if gradient is not None]
        if not heard:
            return
        weights, gradients = [id(variable) for variable, _ in heard], [gradient for _, gradient in heard]
        if self.has_others_elsewhere():
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, [dense(gradient) for gradient in gradients])

        def keep(*arrays):
            self.batch.gradients.append((weights, arrays))
            return np.int64(0)

        wanted = tf.numpy_function(lambda: np.bool_(self.batch.wants_gradients), [], tf.bool)
        tf.cond(
            tf.ensure_shape(wanted, []),
            lambda: tf.numpy_function(keep, [dense(gradient) for gradient in gradients], tf.int64),
            lambda: tf.constant(0, tf.int64),
        )

    def has_others_elsewhere(self):
        """Whether other machines have some of the replicas."""
        strategy = self.tf.distribute.get_strategy()
        everywhere = strategy.num_replicas_in_sync
        return everywhere > 1 and len(strategy.extended.worker_devices) < everywhere

    def pass_out(self, model, data, rate):
        """Hands the batch of this replica, sum and count of its losses and the learning rate to Python."""
        tf = self.tf
        leaves = tf.nest.flatten(data)
        tensors = [leaf for leaf in leaves if leaf is not None]
        wanted = ordered(tf, model, data)
        if not all(tf.is_tensor(leaf) and hasattr(leaf, "get_shape") for leaf in tensors):
            if not all(isinstance(leaf, np.ndarray) for leaf in tensors):
                self.recorder.note("ragged or sparse batches have no fingerprint")
                tensors = wanted = []
        order = [next(i for i, tensor in enumerate(tensors) if tensor is array) for array in wanted]
        passed = tf.nest.flatten(data[2]) if isinstance(data, (tuple, list)) and len(data) > 2 else []
        weights = [i for i, tensor in enumerate(tensors) if any(tensor is array for array in passed)]
        share = Share(self.told_losses(), rate, tensors, Layout(order, weights))
        context = tf.distribute.get_replica_context()
        if context is None:
            self.hand_over(tf.distribute.get_strategy(), share)
        else:
            context.merge_call(self.hand_over, args=(share,))

    def hand_over(self, strategy, shares):
        """One call for all replicas here, for each costs 0.06 ms, whatever it carries (TensorFlow 2.21, measured)."""
        shares = strategy.experimental_local_results(shares)

        def keep(*arrays):
            arrays = iter(arrays)
            for share in shares:
                losses, rate, parts = ([next(arrays) for _ in tensors] for tensors in share.tensors)
                self.batch.keep(losses, rate, parts, share.layout)
            return np.int64(0)

        self.tf.numpy_function(
            keep, [tensor for share in shares for tensors in share.tensors for tensor in tensors], self.tf.int64
        )

    # -- steps

    def run_train(self, model, function, iterator):
        recorder = self.recorder
        call = recorder.current(model)
        if call is None:
            return function(iterator)
        entry, first = call.entry, call.steps == 0
        own_step = overridden(model, self.trainer, "train_step")
        self.batch = Batch()
        self.batch.wants_gradients = first and recorder.gradient and call.index == entry.first_fit
        started = time.time()
        logs = function(iterator)
        loss = raw_loss(logs) if self.batch.loss is None else self.batch.loss
        seconds = time.time() - started
        if self.batch.loss is None:
            recorder.note(
                "model %d: losses are recorded as its own training step reports them" % entry.index
                if own_step
                else "model %d: this Keras hides its loss metric, so the recorded losses are means over the epoch "
                     "so far" % entry.index
            )
        whole_in_each = call.name == "train_on_batch" and self.flavour.is_keras3
        leaves, content = self.batch.whole(whole_in_each)
        weights = self.batch.weights(whole_in_each)
        recorder.step(call, loss, leaves, content, self.batch.learning_rate, seconds, weights)
        if self.batch.loss is not None and isinstance(logs, dict) and "loss" in logs:
            logs = dict(logs, loss=np.float32(recorder.running_loss(call)))
        if first and entry.leaves is not None and call.index == entry.first_fit:
            recorder.snapshot(entry, call, "after_first_update", self.read(entry.leaves))
            if recorder.gradient:
                self.sgd_probe(model, call, own_step)
        recorder.budget.end_where_slow(call)
        return logs

    def run_test(self, model, function, iterator):
        if self.recorder.current(model) is None:
            return function(iterator)
        self.seen = []
        logs = function(iterator)
        contents, sketches = [content for _, content, _ in self.seen], [sketch for _, _, sketch in self.seen]
        self.recorder.validation_batch(
            model,
            sum(rows for rows, _, _ in self.seen),
            None if None in contents else sum(contents),
            functools.reduce(added, sketches) if sketches else None,
        )
        return logs

    def sgd_probe(self, model, call, own_step):
        """Where one plain SGD step would have led, from the gradients that the first step gave its optimizer."""
        entry, gradient = call.entry, self.batch.gradient()
        scaled = "LossScale" in type(model.optimizer).__name__
        if own_step or scaled or not gradient or entry.initial is None:
            why = "its loss is scaled" if scaled else "it has its own training step"
            self.recorder.note("no SGD probe for model %d: %s" % (entry.index, why))
            return
        moved = [
            (value - PROBE_LEARNING_RATE * gradient[id(variable)]).astype(value.dtype)
            if id(variable) in gradient
            else value
            for variable, value in zip(entry.leaves, entry.initial)
        ]
        self.recorder.snapshot(entry, call, "sgd_probe", moved)

    # -- questions

    def is_built(self, model):
        return bool(model.built) and bool(model.weights)

    def ensure_built(self, model, data):
        """Builds a model that has no input shape yet by its data's, so that it has weights to align."""
        if self.is_built(model):
            return
        inputs = row_of_zeros(self.tf, data)
        if inputs is None:
            return
        try:
            with model.distribute_strategy.scope():
                model(inputs)
        except Exception as error:
            self.recorder.note("model %s could not be built before its first step: %s" % (model.name, error))

    def read(self, variables):
        return [np.array(variable.numpy()) for variable in variables]

    def assign(self, variables, values):
        for variable, value in zip(variables, values):
            restore(variable, value)

    def replicas(self, model):
        count = int(model.distribute_strategy.num_replicas_in_sync)
        return count if count > 1 else replicas_of(model)

    def optimizer_settings(self, model):
        return type(model.optimizer).__name__.lower(), settings(model.optimizer)

    def loss_name(self, model):
        return loss_text(getattr(model, "loss", None) if not self.flavour.is_keras3 else compiled_loss(model))

    def loss_weights(self, model):
        compiled = getattr(model, "_compile_loss" if self.flavour.is_keras3 else "compiled_loss", None)
        return of_outputs(getattr(compiled, "_user_loss_weights", None), model)

    def metric_names(self, model):
        return [str(getattr(metric, "name", metric)) for metric in getattr(model, "metrics", [])]

    def epoch_callback(self, call, seed):
        """Keras 3 draws a batch from a dataset to build the model, and starts the dataset anew: so must its stream."""
        again = functools.partial(streams.reseed, seed) if seed is not None and self.flavour.is_keras3 else None
        return epoch_callback(self.flavour.root.callbacks.Callback, self.recorder, call, again)


def one_step_at_a_time(model):
    """Several steps in one call would report one loss for all; XLA could not call the tap."""
    steps = getattr(model, "_steps_per_execution", None)
    if steps is not None and hasattr(steps, "assign"):
        steps.assign(1)
    elif getattr(model, "steps_per_execution", 1) != 1:
        model.steps_per_execution = 1
    for name in ("jit_compile", "_jit_compile"):
        if getattr(model, name, False):
            try:
                setattr(model, name, False)
            except AttributeError:
                continue


def learning_rate(optimizer):
    """As a tensor, a variable or a number, for the step that `iterations` count to."""
    if hasattr(optimizer, "_decayed_lr"):
        # What Nadam keeps as its decay is that of its momentum (TensorFlow 1.15 to 2.10, optimizer_v2/nadam.py).
        nadam = type(optimizer).__name__ == "Nadam"
        return optimizer.learning_rate if nadam else optimizer._decayed_lr("float32")
    # Where a schedule is set, tf_keras answers `learning_rate` with the value of the step before.
    rate = getattr(optimizer, "_learning_rate", None)
    if rate is None or not callable(rate):
        rate = optimizer.learning_rate
    return rate(optimizer.iterations) if callable(rate) and not hasattr(rate, "numpy") else rate


def loss_tracker(model, own_step):
    """The metric that holds the running mean of the loss; None where a step of the script's own keeps none by the name
    "loss" and so reports the batch's loss itself."""
    compiled = getattr(model, "compiled_loss", None) if not hasattr(model, "_loss_tracker") else None
    tracker = getattr(model, "_loss_tracker", None)
    for name in ("_total_loss_mean", "_loss_metric"):  # tf_keras; tf.keras 2.2 and 2.3
        tracker = tracker or getattr(compiled, name, None)
    if not own_step:
        return tracker
    for metric in model.metrics:
        if metric is not tracker and metric.name == "loss" and type(metric).__name__ == "Mean":
            return metric
    return None


def sum_and_count(tf, values, weight):
    """What `Mean.update_state(values, sample_weight=weight)` adds to its two variables; None where these are tensors of
    another graph, or of shapes that it would fit to each other in ways of its own."""
    graph = tf.compat.v1.get_default_graph()
    if not tf.executing_eagerly() and any(getattr(tensor, "graph", graph) is not graph for tensor in (values, weight)):
        return None
    values = tf.cast(values, tf.float32)
    weight = tf.ones_like(values) if weight is None else tf.cast(weight, tf.float32)
    if weight.shape.rank not in (0, values.shape.rank):
        return None
    return tf.reduce_sum(values * weight), tf.reduce_sum(tf.broadcast_to(weight, tf.shape(values)))


def restore(variable, value):
    """Assigns a value that was read. A variable summed over replicas on reading divides it by itself, again."""
    variable.assign(np.asarray(value, dtype=dtype_of(variable)))


def dtype_of(variable):
    dtype = variable.dtype
    return getattr(dtype, "as_numpy_dtype", dtype)


def raw_loss(logs):
    value = logs.get("loss") if isinstance(logs, dict) else logs
    if value is None:
        return float("nan")
    return float(np.asarray(value.numpy() if hasattr(value, "numpy") else value).mean())


def overridden(model, trainer, name):
    for owner in type(model).__mro__:
        if name in vars(owner):
            return owner is not trainer and owner.__module__.split(".")[0] not in ("keras", "tf_keras", "tensorflow")
    return False


def compiled_loss(model):
    compiled = getattr(model, "_compile_loss", None)
    return getattr(compiled, "_user_loss", None) if compiled is not None else None
