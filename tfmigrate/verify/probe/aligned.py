"""Takes out of a run what is random or a matter of timing, so that two worlds can be compared step by step.

Initial weights, order of the data, dropout and noise, and the random streams of Python and NumPy. What the script
asked for is recorded before it is neutralised.
"""

import functools
import importlib
import os
import random
import time

import numpy as np

from . import draws, facts, flavours, shuffles, streams, weights

RECURRENT_CELLS = ("SimpleRNNCell", "LSTMCell", "GRUCell")
CONVOLUTIONAL = ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")


def install(tf, found, seed, recorder):
    streams.seed_all(tf, seed)
    for module in (random, np.random):
        module.seed = streams.unless_at_item(module.seed)
    settle_variables(tf, found)
    settle_losses(found)
    silence_noise(tf, found, recorder.dropouts)
    streams.own_streams(found, seed)
    round_rates(found)
    if hasattr(tf, "data"):
        shuffles.watch(still=True)
    for flavour in found:
        for layer_class in flavour.layer_classes:
            weights.stamp_layers(layer_class)
        facts.watch_loading(flavour)
        facts.watch_losses(flavour)
        if flavour.name == "keras":
            settle_iterations(flavour)
        settle_pictures(flavour)


def settle_pictures(flavour):
    """ImageDataGenerator draws for each flip, asked for or not, from Keras 2.2 on, and before that for those alone that
    are asked for: what is drawn behind a picture does not follow from how many numbers that one took."""
    for namespace in flavour.namespaces:
        image = flavours.at_path(namespace, "preprocessing.image")
        generator = getattr(image, "ImageDataGenerator", None)
        # random_transform() is made of get_random_transform() where there is one.
        name = next((n for n in ("get_random_transform", "random_transform") if hasattr(generator, n)), None)
        if name is not None:
            setattr(generator, name, drawing_once(getattr(generator, name)))


def drawing_once(original):
    if hasattr(original, "__wrapped__"):
        return original

    @functools.wraps(original)
    def draw(*args, **kwargs):
        state = np.random.get_state()
        try:
            return original(*args, **kwargs)
        finally:
            np.random.set_state(state)
            np.random.rand()

    return draw


def settle_arithmetic(tf, found, recorder, deterministic):
    """TF32 keeps ten bits of a product; kernels that add in any order differ from run to run. Where an operation has no
    other kernel on GPUs (`deterministic` is false then), cuDNN's at least are settled, and nothing is compiled by XLA,
    as nothing is where all are deterministic (Keras 3.15.1, model_supports_jit)."""
    experimental = flavours.at_path(tf, "config.experimental")
    tf32 = getattr(experimental, "enable_tensor_float_32_execution", None)
    if tf32 is not None:
        tf32(False)
    determinism = getattr(experimental, "enable_op_determinism", None)
    if not deterministic:
        os.environ["TF_CUDNN_DETERMINISTIC"] = "1"
        for flavour in found:
            if flavour.is_keras3:
                importlib.import_module("keras.src.trainers.trainer").model_supports_jit = lambda model: False
    elif determinism is not None:
        determinism()
        # Refused from now on, though nobody trains by the clock (TensorFlow 2.21).
        tf.timestamp = lambda name=None: tf.numpy_function(time.time, [], tf.float64, name=name)
    else:
        os.environ["TF_DETERMINISTIC_OPS"] = "1"
        recorder.note("TensorFlow %s promises no determinism of its kernels" % tf.__version__)


def settle_variables(tf, found):
    """Standalone Keras before 2.3 made variables of the old kind, which hand out their own memory: an update of one
    layer's weights could come before the gradient of the layer below had read them (seen as an Adam step that goes the
    other way for half of the weights). Variables of the new kind, as Keras 2.3 makes them, are read once, for the loss
    and its gradient. That Keras asks `if self.bias` (Conv2DTranspose, 2.1.6), which is true of the old kind, and writes
    `lr *= ...` in its optimizers, which makes a tensor of the old kind and is refused by the new one."""
    new_kind = flavours.at_path(tf, "compat.v1.enable_resource_variables")
    versions = [flavours.minor(flavour.version) for flavour in found if flavour.name == "keras"]
    if new_kind is None or not any(version < (2, 3) for version in versions):
        return
    new_kind()
    variables = importlib.import_module("tensorflow.python.ops.resource_variable_ops")
    variables.ResourceVariable.__bool__ = lambda self: True
    for name in ("add", "sub", "mul", "truediv", "pow"):
        setattr(variables.ResourceVariable, "__i%s__" % name, lambda self, other: NotImplemented)


LOSSES = {"tf_keras": "tf_keras.src.backend", "tf.keras": "keras.src.backend.tensorflow.nn"}


def settle_losses(found):
    """Crossentropy of a softmax is computed from its logits where Keras finds it. multi_gpu_model hid it behind a
    Concatenate, so that probabilities were used, cut off at 1e-7: so they are on every side."""
    for flavour in found:
        module = flavours.optional(LOSSES[flavour.name]) if flavour.name in LOSSES else None
        if hasattr(module, "_get_logits"):
            module._get_logits = lambda output, from_logits, op_type, fn_name: (output, from_logits)


def silence_noise(tf, found, dropouts):
    def call(self, inputs, training=None):
        return inputs

    for flavour in found:
        for layer in flavours.classes(flavour, "layers", facts.NOISE):
            layer.call = call
        for cell in flavours.classes(flavour, "layers", RECURRENT_CELLS):
            if "__init__" in vars(cell):
                cell.__init__ = without_dropout(cell.__init__, lambda cell: cell)
        for layer in flavours.classes(flavour, "layers", CONVOLUTIONAL):  # whose cells have no public name
            if "__init__" in vars(layer):
                layer.__init__ = without_dropout(layer.__init__, lambda layer: layer.cell)
        for wrapper in flavours.classes(flavour, "layers", ("Bidirectional",)):
            if "__init__" in vars(wrapper):
                wrapper.__init__ = remembering(wrapper.__init__)
    draws.install(tf, found, dropouts)


def without_dropout(original, cell_of):
    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        cell = cell_of(self)
        if hasattr(cell, facts.ASKED):
            return
        asked = dict((name, getattr(cell, name)) for name in ("dropout", "recurrent_dropout") if hasattr(cell, name))
        object.__setattr__(cell, facts.ASKED, asked)
        for name in asked:
            setattr(cell, name, 0.0)

    return __init__


def remembering(original):
    """Bidirectional copies the layer that it is given, by its settings, of which dropout is none any more: one
    direction or both, which differs from Keras to Keras. It keeps what its layer was asked for."""

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        layer = args[0] if args else kwargs.get("layer")
        asked = [getattr(cell, facts.ASKED, {}) for cell in facts.cells(layer)]
        object.__setattr__(self, facts.ASKED, asked)

    return __init__


OPTIMIZERS = ("SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "AdamW", "Adamax", "Nadam", "Ftrl")
RATES = ("beta_1", "beta_2", "rho")


def round_rates(found):
    """Old Keras subtracts a float32 beta_2 from 1, Keras 3 and tf_keras a double: 1 - 0.999 differs by 1.3e-5 of
    itself, so Adam's first step by 6.4e-6, and the losses of a steep curve by 2e-5 after fifteen steps (measured;
    2e-7 with the rates rounded). That is arithmetic, no matter of the migration: round to float32 on every side."""
    for flavour in found:
        for optimizer in flavours.classes(flavour, "optimizers", OPTIMIZERS):
            if "__init__" in vars(optimizer):
                optimizer.__init__ = with_rounded_rates(optimizer.__init__)


def with_rounded_rates(original):
    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        for name in RATES:
            if isinstance(vars(self).get(name), float):
                setattr(self, name, float(np.float32(vars(self)[name])))

    return __init__


def settle_iterations(flavour):
    """Standalone Keras adds 1 to an optimizer's step counter while the update rule reads it, in no fixed order
    (seen as Adam starting at t = 2). The rule is written for the value before: read first, then add."""
    backend = importlib.import_module(flavour.root.__name__ + ".backend")
    tensorflow_backend = flavours.optional(flavour.root.__name__ + ".backend.tensorflow_backend") or backend
    tf = importlib.import_module("tensorflow")
    base = flavour.root.optimizers.Optimizer
    for optimizer in set(
        value for value in vars(flavour.root.optimizers).values() if isinstance(value, type) and issubclass(value, base)
    ):
        if "get_updates" in vars(optimizer):
            optimizer.get_updates = reading_first(optimizer.get_updates, backend, tensorflow_backend, tf)


def reading_first(original, backend, tensorflow_backend, tf):
    @functools.wraps(original)
    def get_updates(self, *args, **kwargs):
        counter = getattr(self, "iterations", None)
        if counter is None:
            return original(self, *args, **kwargs)
        before = tf.identity(counter)
        update_add, cast = backend.update_add, backend.cast

        def add_after_reading(x, increment):
            if x is not counter:
                return update_add(x, increment)
            with tf.control_dependencies([before]):
                return update_add(x, increment)

        def cast_before(x, dtype):
            return cast(before if x is counter else x, dtype)

        modules = (backend, tensorflow_backend)
        for module in modules:
            module.update_add, module.cast = add_after_reading, cast_before
        try:
            return original(self, *args, **kwargs)
        finally:
            for module in modules:
                module.update_add, module.cast = update_add, cast

    return get_updates
