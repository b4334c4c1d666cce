"""multi_gpu_model on a TensorFlow that no longer has it, and what else a script of its time needs to run at all.

A same-version structural check: modern arithmetic, the old structure. Slices, one tower per replica under its device,
concatenation; the last replica takes the remainder, as in keras/utils/multi_gpu_utils.py of Keras 2.3.1.
"""

import functools
import importlib
import inspect
import itertools
import os
import shutil
import sys
import types

import numpy as np

from . import calls, flavours, remainder
from .genuine import REPLICAS
from .restored_attributes import restore_attributes
from .restored_callbacks import new_name, restore_callbacks
from .restored_conv_utils import restore_conv_utils
from .restored_names import HOMES, restore_modules, restore_names
from .restored_optimizers import (
    bring_old_optimizers,
    restore_optimizers,
    restore_rates,
    restore_shared_optimizers,
    restore_uncompiled_updates,
)
from .restored_penalties import mark_wrapped, restore_penalties
from .restored_toggles import restore_toggles

EXTRA_MODULES = ("multi_gpu_utils", "training_utils")
PARALLEL = "_tfmigrate_parallel"
"""On what multi_gpu_model answers, and on what takes over its attributes: that answer."""


def install(tf, found, machine, config, evenly=False):
    flavour, defaults = found[0], config.get("defaults") or {}
    old, standalone = config.get("old_optimizers", False), config.get("standalone", False)
    restore_modules(flavour, config.get("moved") or {})
    restore_multi_gpu_model(tf, flavour, machine, evenly, config.get("whole_batches", False))
    restore_taken_over_models(flavour)
    restore_model_arguments(flavour)
    restore_conv_utils(flavour)
    restore_attributes(tf, flavour)
    restore_generators(tf, flavour)
    if old:
        bring_old_optimizers(flavour)
    restore_optimizers(flavour, defaults, config.get("places") or {}, old, standalone)
    restore_uncompiled_updates(flavour)
    restore_rates(flavour)
    restore_layer_defaults(flavour, defaults)
    restore_hard_sigmoid(tf, flavour)
    if flavour.is_keras3 or (old and standalone):
        restore_embedding_gradients(flavour)
    if flavour.is_keras3:
        restore_embedding_shapes(flavour)
        restore_toggles(flavour)
        restore_words(flavour, config.get("words") or {})
        restore_targets(tf)
    restore_shared_optimizers(flavour)
    if config.get("frozen_by_batch"):
        restore_frozen_batch_norm(tf, flavour)
    restore_callbacks(tf, flavour, standalone)
    restore_penalties(flavour, config.get("forgets_late_penalties", False))
    restore_weight_files(flavour)
    restore_sessions(tf, flavour)
    restore_backend(flavour, machine)
    restore_summary(flavour)
    restore_names(tf, flavour, config.get("names") or {})


# -- multi_gpu_model


def restore_multi_gpu_model(tf, flavour, machine, evenly, whole=False):
    parallel_layer = replicas_layer(tf, flavour.root, evenly, whole)

    def multi_gpu_model(model, gpus=None, cpu_merge=True, cpu_relocation=False):
        ids = list(gpus) if isinstance(gpus, (list, tuple)) else list(range(machine.replicas if gpus is None else gpus))
        if len(ids) <= 1:
            raise ValueError(
                "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. "
                "Received: `gpus=%s`" % (gpus,)
            )
        if max(ids) >= machine.replicas:
            raise ValueError(
                "To call `multi_gpu_model` with `gpus=%s`, we expect the following devices to be "
                "available: %s. However this machine only has: %s."
                % (gpus, ["/gpu:%d" % i for i in ids], ["/gpu:%d" % i for i in range(machine.replicas)])
            )
        keras = flavour.root
        if cpu_relocation:
            model = keras.models.clone_model(model)
        mark_wrapped(model)
        inputs = list(model.inputs)
        replicas = parallel_layer(model, [machine.devices[i] for i in ids])
        outputs = as_list(replicas(inputs if len(inputs) > 1 else inputs[0]))
        # Layers that carry the template's output names, on which losses and metrics are keyed.
        merged = [
            keras.layers.Activation("linear", name=name)(output)
            for name, output in zip(distinct(output_names(model)), outputs)
        ]
        parallel = keras.models.Model(inputs, merged if len(merged) > 1 else merged[0])
        object.__setattr__(parallel, REPLICAS, len(ids))
        object.__setattr__(parallel, PARALLEL, parallel)
        return parallel

    for home in HOMES:
        module = flavours.optional(home)
        if module is None:
            continue
        module.multi_gpu_model = multi_gpu_model
        for name in EXTRA_MODULES:
            extra = sys.modules.get(home + "." + name) or types.ModuleType(home + "." + name)
            extra.multi_gpu_model = multi_gpu_model
            sys.modules[extra.__name__] = extra
            setattr(module, name, extra)
    for namespace in flavour.namespaces:
        namespace.utils.multi_gpu_model = multi_gpu_model


def restore_taken_over_models(flavour):
    """A class of the script's own that takes over all that a parallel model has (`self.__dict__.update`) is called as
    that one was: in Keras 2.3 every Model could be, today only those that Keras itself makes of layers."""
    model_class = flavour.root.models.Model
    original = model_class.call

    @functools.wraps(original)
    def call(self, *args, **kwargs):
        parallel = vars(self).get(PARALLEL, self)
        return original(self, *args, **kwargs) if parallel is self else parallel(*args, **kwargs)

    model_class.call = call


def restore_model_arguments(flavour):
    """`Model(input=x, output=y)` is Keras 1, and Keras 2.3 took it still."""
    model_class = flavour.root.models.Model
    functional = importlib.import_module(
        "keras.src.models.functional" if flavour.is_keras3 else "tf_keras.src.engine.functional"
    )
    model_class.__new__ = staticmethod(with_plural_names(model_class.__new__))
    for cls in (model_class, functional.Functional):
        cls.__init__ = with_plural_names(cls.__init__)


def with_plural_names(original):
    @functools.wraps(original)
    def made(*args, **kwargs):
        for old in ("input", "output"):
            if old in kwargs:
                kwargs[old + "s"] = kwargs.pop(old)
        return original(*args, **kwargs)

    return made


def output_names(model):
    """Keras 3's Sequential does not name its outputs; the layer that makes one does."""
    return getattr(model, "output_names", None) or [output._keras_history.operation.name for output in model.outputs]


def distinct(names):
    """Output names, numbered where a Siamese network repeats one."""
    counts, result = {}, []
    for name in names:
        if list(names).count(name) > 1:
            counts[name] = counts.get(name, 0) + 1
            name = "%s_%d" % (name, counts[name])
        result.append(name)
    return result


def replicas_layer(tf, keras, evenly, whole):
    class Replicas(keras.layers.Layer):
        """Runs the template on one slice of the batch per device and joins what comes out."""

        def __init__(self, template, devices, **kwargs):
            super(Replicas, self).__init__(**kwargs)
            self.template = template
            self.replica_devices = list(devices)

        @property
        def metrics(self):
            """None: those of a template that is compiled too are its own; Keras 3 fails on them, not yet built."""
            return []

        @property
        def layers(self):
            return [self.template]

        __getattr__ = of_template

        def call(self, inputs, training=None):
            if whole:
                return self.template(inputs, training=training)
            towers = []
            for i, device in enumerate(self.replica_devices):
                with tf.device(device):
                    part = tf.nest.map_structure(functools.partial(self.slice, index=i), inputs)
                    towers.append(as_list(self.template(part, training=training)))
            merged = [self.joined(outputs) for outputs in zip(*towers)]
            return merged if len(merged) > 1 else merged[0]

        def joined(self, outputs):
            """As Keras's concatenate() joined them, their masks with them, which the loss reads."""
            whole = tf.concat(outputs, axis=0)
            masks = [getattr(output, "_keras_mask", None) for output in outputs]
            if all(mask is not None for mask in masks):
                whole._keras_mask = tf.concat(masks, axis=0)
            return whole

        def slice(self, values, index):
            if evenly:
                return remainder.even_slice(tf, values, index, len(self.replica_devices))
            step = tf.shape(values)[0] // len(self.replica_devices)
            last = index == len(self.replica_devices) - 1
            return values[index * step :] if last else values[index * step : (index + 1) * step]

        def compute_output_shape(self, input_shape):
            shapes = [tuple(output.shape) for output in self.template.outputs]
            return shapes if len(shapes) > 1 else shapes[0]

        def get_config(self):
            config = super(Replicas, self).get_config()
            config["template"] = keras.saving.serialize_keras_object(self.template)
            config["devices"] = self.replica_devices
            return config

        @classmethod
        def from_config(cls, config):
            template = keras.saving.deserialize_keras_object(config.pop("template"))
            return cls(template, **config)

    return Replicas


def of_template(replicas, name):
    """`parallel.layers[-2].save(...)`: the template stands there among the layers of a real parallel model."""
    template = vars(replicas).get("template")
    if template is None or name.startswith("_"):
        raise AttributeError("'Replicas' object has no attribute '%s'" % name)
    return getattr(template, name)


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


# -- training from generators


def restore_generators(tf, flavour):
    model_class = flavour.trainers[0][0]
    original_fit = model_class.fit
    signature = inspect.signature(original_fit)
    parameters = signature.parameters
    gone = [name for name in ("workers", "use_multiprocessing", "max_queue_size") if name not in parameters]

    @functools.wraps(original_fit)
    def fit(self, x=None, *args, **kwargs):
        for name in gone:
            kwargs.pop(name, None)
        if "validation_data" in kwargs:
            kwargs["validation_data"] = without_loss(tf, kwargs["validation_data"])
        if not calls.weighs_classes(kwargs.get("class_weight")):
            kwargs.pop("class_weight", None)  # "auto", an array: an error today
        return original_fit(self, without_loss(tf, x), *args, **kwargs)

    def fit_generator(
        self,
        generator,
        steps_per_epoch=None,
        epochs=1,
        verbose=1,
        callbacks=None,
        validation_data=None,
        validation_steps=None,
        validation_freq=1,
        class_weight=None,
        max_queue_size=10,
        workers=1,
        use_multiprocessing=False,
        shuffle=True,
        initial_epoch=0,
    ):
        return self.fit(
            generator,
            steps_per_epoch=steps_per_epoch,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            class_weight=class_weight,
            shuffle=shuffle,
            initial_epoch=initial_epoch,
        )

    def evaluate_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ):
        return self.evaluate(without_loss(tf, generator), steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ):
        return self.predict(without_loss(tf, generator), steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_classes(self, x, batch_size=32, verbose=0):
        probabilities = self.predict(x, batch_size=batch_size, verbose=verbose)
        if probabilities.shape[-1] > 1:
            return probabilities.argmax(axis=-1)
        return (probabilities > 0.5).astype("int32")

    # The recorder reads from the signature what a call asks for.
    fit.__signature__ = signature.replace(
        parameters=list(parameters.values())
        + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in gone]
    )
    model_class.fit = fit
    for function in (fit_generator, evaluate_generator, predict_generator, predict_classes):
        setattr(model_class, function.__name__, function)
    model_class.predict_proba = lambda self, x, batch_size=32, verbose=0: self.predict(
        x, batch_size=batch_size, verbose=verbose
    )


def without_loss(tf, data):
    """A plain generator as a dataset: Keras 3 looks at a generator's first batches and drops them."""
    if calls.source_of(data) != "generator" or isinstance(data, (tuple, list)):
        return data
    first = as_tuples(next(data))
    kinds = tf.nest.map_structure(
        lambda part: tf.TensorSpec((None,) + np.shape(part)[1:], np.asarray(part).dtype), first
    )
    return tf.data.Dataset.from_generator(
        lambda: (as_tuples(batch) for batch in itertools.chain([first], data)), output_signature=kinds
    )


def as_tuples(batch):
    """A batch with its lists as tuples and its arrays as copies: what comes of a dataset may be written over."""
    if isinstance(batch, (list, tuple)):
        return tuple(as_tuples(part) for part in batch)
    if isinstance(batch, dict):
        return {name: as_tuples(part) for name, part in batch.items()}
    return np.array(batch)


# -- defaults and arguments of their time


def restore_layer_defaults(flavour, defaults):
    for name, values in defaults.items():
        for cls in flavours.classes(flavour, "layers", [name]):
            cls.__init__ = with_defaults(cls.__init__, values)


GATES = {"ConvLSTM2D": {"recurrent_activation": "hard_sigmoid"}}
"""Up to TensorFlow 2.15 (keras/layers/rnn/conv_lstm2d.py), tf.keras's as standalone Keras's."""


def restore_frozen_batch_norm(tf, flavour):
    """A frozen BatchNormalization took the mean and variance of the batch in training, and left its own (TFM445)."""
    for cls in flavours.classes(flavour, "layers", ["BatchNormalization"]):
        cls.call = by_batch(tf, cls.call)


def by_batch(tf, original):
    @flavours.standing_for(original)
    def call(self, inputs, *args, **kwargs):
        training = args[0] if args else kwargs.get("training")
        if training is None or training is False or self.trainable:
            return original(self, inputs, *args, **kwargs)
        rank = len(inputs.shape)
        kept = [axis % rank for axis in ([self.axis] if isinstance(self.axis, int) else self.axis)]
        mean, variance = tf.nn.moments(inputs, [axis for axis in range(rank) if axis not in kept], keepdims=True)
        beta = tf.reshape(self.beta, tf.shape(mean)) if self.center else None
        gamma = tf.reshape(self.gamma, tf.shape(mean)) if self.scale else None
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)

    return call


def restore_hard_sigmoid(tf, flavour):
    """By that name Keras 3 means x / 6 + 0.5 (keras/src/activations/activations.py, 3.15)."""
    if not flavour.is_keras3:
        return
    module = importlib.import_module("keras.src.activations")

    def hard_sigmoid(x):
        return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)

    flavours.everywhere(module.hard_sigmoid, hard_sigmoid)
    module.ALL_OBJECTS_DICT["hard_sigmoid"] = hard_sigmoid
    restore_layer_defaults(flavour, GATES)


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


def restore_embedding_gradients(flavour):
    """Keras 3 squares the gradients of a row that occurs twice in a batch one by one; a regularizer of nothing makes
    the gradient dense, as it was. Standalone Keras's was dense for each of its optimizers, tf.keras's for none."""
    regularizer = flavour.root.regularizers.L2(0.0)
    for cls in flavours.classes(flavour, "layers", ["Embedding"]):
        cls.__init__ = with_defaults(cls.__init__, {"embeddings_regularizer": regularizer})


def restore_embedding_shapes(flavour):
    for cls in flavours.classes(flavour, "layers", ["Embedding"]):
        cls.__init__ = with_input_shape(cls.__init__)


def with_input_shape(original):
    """An Embedding that comes first in a Sequential knew its input by `input_length`, which Keras 3 drops: the model
    then has no input before it is trained, and nothing to wrap."""

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        length = kwargs.pop("input_length", None)
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = tuple(length) if isinstance(length, (list, tuple)) else (length,)
        return original(self, *args, **kwargs)

    return __init__


def with_defaults(original, values):
    signature = inspect.signature(original)

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        bound = signature.bind_partial(self, *args, **kwargs).arguments
        for parameter, value in values.items():
            if parameter not in bound:
                kwargs[parameter] = value
        return original(self, *args, **kwargs)

    return __init__


def restore_weight_files(flavour):
    if not flavour.is_keras3:
        return
    model = flavour.root.models.Model
    model.save_weights = saving_as_asked(model.save_weights, flavour)
    model.load_weights = loading_as_asked(model.load_weights, flavour)


def saving_as_asked(original, flavour):
    """Keras 3 wants an ending of its own; the script may look for its file by the name that it gave."""

    @functools.wraps(original)
    def save_weights(self, filepath, *args, **kwargs):
        asked, path = str(filepath), new_name(str(filepath), True, flavour)
        original(self, path, *args, **kwargs)
        if path != asked:
            os.replace(path, asked)

    return save_weights


def loading_as_asked(original, flavour):
    """Keras 3 tells the formats apart by the ending."""

    @functools.wraps(original)
    def load_weights(self, filepath, *args, **kwargs):
        asked, path = str(filepath), new_name(str(filepath), True, flavour)
        if path == asked or not is_todays(asked):
            return original(self, path if os.path.exists(path) else asked, *args, **kwargs)
        shutil.copyfile(asked, path)
        try:
            return original(self, path, *args, **kwargs)
        finally:
            os.remove(path)

    return load_weights


def is_todays(path):
    """Whether weights are in the format of Keras 3, whatever the file is called."""
    h5py = importlib.import_module("h5py")
    if not os.path.isfile(path) or not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return "layer_names" not in file.attrs and "model_weights" not in file


def restore_sessions(tf, flavour):
    """Sessions configure memory growth and placement; here they configure nothing, and must not fail."""
    for name in (
        "ConfigProto",
        "Session",
        "GPUOptions",
        "set_random_seed",
        "placeholder",
        "get_default_graph",
        "global_variables_initializer",
        "InteractiveSession",
        "logging",
    ):
        if not hasattr(tf, name):
            setattr(tf, name, getattr(tf.compat.v1, name))
    for namespace in flavour.namespaces:
        backend = namespace.backend
        for name, answer in (
            ("set_session", None),
            ("get_session", None),
            ("set_learning_phase", None),
            ("set_image_dim_ordering", None),
        ):
            if not hasattr(backend, name) or flavour.is_keras3:
                setattr(backend, name, lambda *args, _answer=answer: _answer)


def restore_backend(flavour, machine):
    """`K.tensorflow_backend._get_available_gpus()`, by which old scripts count their GPUs."""
    for namespace in flavour.namespaces:
        backend = namespace.backend
        backend._get_available_gpus = lambda: ["/device:GPU:%d" % i for i in range(machine.replicas)]
        if not hasattr(backend, "placeholder"):
            backend.placeholder = lambda shape=None, ndim=None, dtype=None, sparse=False, name=None: flavour.root.Input(
                batch_shape=shape or (None,) * ndim, dtype=dtype, name=name
            )
        if not hasattr(backend, "tensorflow_backend"):
            backend.tensorflow_backend = backend


def restore_summary(flavour):
    for namespace in flavour.namespaces:
        if not hasattr(namespace.utils, "print_summary"):
            namespace.utils.print_summary = lambda model, *given, **named: model.summary(*given, **named)


# -- modules that moved
