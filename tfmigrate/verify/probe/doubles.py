"""Computes in float64, where rounding is so small that it does not grow into anything in a few steps."""

import functools
import importlib

from . import flavours


def install(tf, found):
    """Before the script makes anything: the type of floats is asked for by each layer, loss and metric."""
    for flavour in found:
        for namespace in flavour.namespaces:
            namespace.backend.set_floatx("float64")
        if flavour.name == "keras":
            backend = importlib.import_module("keras.backend.tensorflow_backend")
            spare_fused_kernels(tf, backend)
            keep_doubles(backend)
    for owner in [tf] + [namespace.backend for flavour in found for namespace in flavour.namespaces]:
        if hasattr(owner, "cast"):
            owner.cast = to_doubles(tf, owner.cast)
    if hasattr(tf, "to_float"):
        tf.to_float = tf.to_double
    kernels = flavours.optional("tensorflow.python.ops.gen_nn_ops")
    if kernels is not None:
        flavours.everywhere(kernels.in_top_kv2, of_single_floats(tf, kernels.in_top_kv2))
    if any(flavour.is_keras3 for flavour in found):
        read_signs_of_doubles(tf)


def to_doubles(tf, cast):
    """What the script itself casts to float32, so that it goes with the floats that Keras makes."""

    @functools.wraps(cast)
    def casting(x, dtype, *args, **kwargs):
        return cast(x, "float64" if tf.as_dtype(dtype) == tf.float32 else dtype, *args, **kwargs)

    return casting


def of_single_floats(tf, kernel):
    """The kernel behind the accuracy of the first k classes knows float32 alone; nothing trains by it."""

    @functools.wraps(kernel)
    def in_top_kv2(predictions, *args, **kwargs):
        return kernel(tf.dtypes.cast(predictions, tf.float32), *args, **kwargs)

    return in_top_kv2


def read_signs_of_doubles(tf):
    """Keras 3 casts to float32 for the bit of the sign, which argmax() and with it every accuracy asks for."""
    original = importlib.import_module("keras.src.backend.tensorflow.numpy").signbit

    def signbit(x):
        x = tf.convert_to_tensor(x)
        return tf.less(tf.bitcast(x, tf.int64), 0) if x.dtype == tf.float64 else original(x)

    flavours.everywhere(original, signbit)


def keep_doubles(backend):
    """Keras before 2.2 made float32 of what a convolution gets: those of TensorFlow before 1.8 knew nothing else."""
    for dimensions in (1, 2, 3):
        name = "_preprocess_conv%dd_input" % dimensions
        setattr(backend, name, asking_no_type(backend, getattr(backend, name)))


def asking_no_type(backend, original):
    @functools.wraps(original)
    def prepared(*args, **kwargs):
        dtype = backend.dtype
        backend.dtype = lambda x: None
        try:
            return original(*args, **kwargs)
        finally:
            backend.dtype = dtype

    return prepared


def spare_fused_kernels(tf, backend):
    """Standalone Keras normalizes pictures by a kernel that knows float32 alone; tf.keras asks for it where it fits."""

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
