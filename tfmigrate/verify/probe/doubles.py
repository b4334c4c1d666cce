"""Computes in float64, where rounding is so small that it does not grow into anything in a few steps."""

import importlib

from . import flavours


def install(tf, found):
    """Before the script makes anything: the type of floats is asked for by each layer, loss and metric."""
    for flavour in found:
        for namespace in flavour.namespaces:
            namespace.backend.set_floatx("float64")
        if flavour.name == "keras":
            spare_fused_kernels(tf)


def spare_fused_kernels(tf):
    """Standalone Keras normalizes pictures by a kernel that knows float32 alone; tf.keras asks for it where it fits."""
    backend = importlib.import_module("keras.backend.tensorflow_backend")

    def in_training(x, gamma, beta, reduction_axes, epsilon=1e-3):
        last = list(reduction_axes) == list(range(backend.ndim(x)))[:-1]
        plain = backend._regular_normalize_batch_in_training if last else backend._broadcast_normalize_batch_in_training
        return plain(x, gamma, beta, reduction_axes, epsilon=epsilon)

    def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
        return tf.nn.batch_normalization(x, mean, var, beta, gamma, epsilon)

    in_training.__name__ = "_fused_normalize_batch_in_training"
    for replacement in (in_training, batch_normalization):
        original = getattr(backend, replacement.__name__, None)  # 2.1.6 has no fused one
        if original is not None:
            flavours.everywhere(original, replacement)
