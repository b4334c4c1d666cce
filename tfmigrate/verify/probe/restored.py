"""All that a script of the time of multi_gpu_model needs to run on a TensorFlow that no longer has it.

A same-version structural check: modern arithmetic, the old structure.
"""

import functools
import importlib

from .listed import NoSession
from .restored_attributes import restore_attributes
from .restored_callbacks import restore_callbacks
from .restored_conv_utils import restore_conv_utils
from .restored_files import restore_weight_files
from .restored_generators import restore_generators
from .restored_layers import (
    restore_embedding_gradients,
    restore_embedding_shapes,
    restore_frozen_batch_norm,
    restore_hard_sigmoid,
    restore_layer_defaults,
)
from .restored_losses import restore_targets, restore_words
from .restored_names import restore_modules, restore_names
from .restored_optimizers import (
    bring_old_optimizers,
    restore_optimizers,
    restore_rates,
    restore_shared_optimizers,
    restore_uncompiled_updates,
)
from .restored_penalties import restore_penalties
from .restored_toggles import restore_toggles
from .restored_wrap import restore_multi_gpu_model, restore_taken_over_models


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
    restore_sessions(tf, flavour, machine)
    restore_backend(flavour, machine)
    restore_summary(flavour)
    restore_names(tf, flavour, config.get("names") or {})


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


def restore_sessions(tf, flavour, machine):
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
            ("get_session", NoSession(machine.replicas)),
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
