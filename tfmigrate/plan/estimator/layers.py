"""What a model function of TensorFlow 1 calls, and what Keras calls it. Names are those without `compat.v1`.

Sources: tensorflow/python/layers/*.py, ops/losses/losses_impl.py, ops/metrics_impl.py and training/*.py of
TensorFlow 1.15; each optimizer's and schedule's arithmetic is measured by tests/plan/test_estimator_arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """A function of tf.layers: `parameters` are those after `inputs`, in order; the first `plain` may stay without
    their names, since Keras has them in the same places."""

    keras: str
    parameters: tuple[str, ...]
    plain: int
    dropped: frozenset[str] = frozenset()
    """Parameters that Keras decides by itself."""
    training: bool = False
    """Whether it does nothing unless `training=` says so."""


_KERNEL = (
    "kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer", "activity_regularizer",
    "kernel_constraint", "bias_constraint", "trainable", "name", "reuse",
)  # fmt: skip
_CONV = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation", "use_bias")
_TRANSPOSED = tuple(name for name in _CONV if name != "dilation_rate")
_POOL = ("pool_size", "strides", "padding", "data_format", "name")
_DENSE = Layer("Dense", ("units", "activation", "use_bias", *_KERNEL), 1)
_DROPOUT = Layer("Dropout", ("rate", "noise_shape", "seed", "training", "name"), 1, frozenset({"training"}), True)
_FLATTEN = Layer("Flatten", ("name", "data_format"), 0)
_NORM = Layer(
    "BatchNormalization",
    (
        "axis", "momentum", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer",
        "moving_mean_initializer", "moving_variance_initializer", "beta_regularizer", "gamma_regularizer",
        "beta_constraint", "gamma_constraint", "training", "trainable", "name", "reuse", "renorm", "renorm_clipping",
        "renorm_momentum", "fused",
    ),
    0,
    frozenset({"training", "fused"}),
    True,
)  # fmt: skip

LAYERS: Mapping[str, Layer] = {
    "dense": _DENSE,
    "conv1d": Layer("Conv1D", (*_CONV, *_KERNEL), 2),
    "conv2d": Layer("Conv2D", (*_CONV, *_KERNEL), 2),
    "conv3d": Layer("Conv3D", (*_CONV, *_KERNEL), 2),
    "conv2d_transpose": Layer("Conv2DTranspose", (*_TRANSPOSED, *_KERNEL), 2),
    "max_pooling2d": Layer("MaxPooling2D", _POOL, 2),
    "average_pooling2d": Layer("AveragePooling2D", _POOL, 2),
    "max_pooling1d": Layer("MaxPooling1D", _POOL, 2),
    "average_pooling1d": Layer("AveragePooling1D", _POOL, 2),
    "max_pooling3d": Layer("MaxPooling3D", _POOL, 2),
    "average_pooling3d": Layer("AveragePooling3D", _POOL, 2),
    "flatten": _FLATTEN,
    "dropout": _DROPOUT,
    "batch_normalization": _NORM,
}
LAYER_CLASSES: Mapping[str, Layer] = {layer.keras: layer for layer in LAYERS.values()} | {
    "MaxPooling2D": LAYERS["max_pooling2d"],
    "Conv2D": LAYERS["conv2d"],
}
UNKNOWN_TO_KERAS = frozenset({"reuse", "renorm", "renorm_clipping", "renorm_momentum", "noise_shape"})
"""Arguments that have no place in Keras, or mean something else there."""
REGULARIZERS = frozenset(
    {"kernel_regularizer", "bias_regularizer", "activity_regularizer", "beta_regularizer", "gamma_regularizer"}
)
"""TensorFlow 1 only collects what they return; Keras adds it to the loss."""

ACTIVATIONS: Mapping[str, str] = {
    "nn.relu": "relu",
    "nn.relu6": "relu6",
    "nn.elu": "elu",
    "nn.selu": "selu",
    "nn.tanh": "tanh",
    "tanh": "tanh",
    "nn.softplus": "softplus",
    "nn.softsign": "softsign",
    "nn.sigmoid": "sigmoid",
    "sigmoid": "sigmoid",
    "nn.softmax": "softmax",
}
CALLABLE = frozenset({"nn.leaky_relu", "nn.swish"})
"""Functions that stay as the `activation=` of a layer, and stand in a Lambda between layers."""
READINGS = frozenset({"nn.sigmoid", "sigmoid", "nn.softmax"})
"""Activations that mostly turn logits into what is read, after the last layer."""

INITIALIZERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "zeros_initializer": ("Zeros", {}),
    "ones_initializer": ("Ones", {}),
    "constant_initializer": ("Constant", {}),
    "initializers.zeros": ("Zeros", {}),
    "initializers.ones": ("Ones", {}),
    "initializers.constant": ("Constant", {}),
    "glorot_uniform_initializer": ("GlorotUniform", {}),
    "glorot_normal_initializer": ("GlorotNormal", {}),
    "initializers.glorot_uniform": ("GlorotUniform", {}),
    "initializers.glorot_normal": ("GlorotNormal", {}),
    "initializers.he_normal": ("HeNormal", {}),
    "initializers.he_uniform": ("HeUniform", {}),
    "truncated_normal_initializer": ("TruncatedNormal", {"stddev": "1.0"}),
    "random_normal_initializer": ("RandomNormal", {"stddev": "1.0"}),
    "random_uniform_initializer": ("RandomUniform", {"minval": "0.0", "maxval": "1.0"}),
    "variance_scaling_initializer": ("VarianceScaling", {}),
    "initializers.truncated_normal": ("TruncatedNormal", {"stddev": "1.0"}),
    "initializers.random_normal": ("RandomNormal", {"stddev": "1.0"}),
    "initializers.random_uniform": ("RandomUniform", {"minval": "0.0", "maxval": "1.0"}),
    "initializers.variance_scaling": ("VarianceScaling", {}),
    "contrib.layers.xavier_initializer": ("GlorotUniform", {}),
}
"""Name -> (class of keras.initializers, defaults of TensorFlow 1 that are others in Keras)."""
POSITIONS: Mapping[str, int] = {"minval": 0, "maxval": 1, "mean": 0, "stddev": 1}
"""Where those defaults stand among the parameters, in TensorFlow 1 as in Keras."""


@dataclass(frozen=True)
class Loss:
    """A function of tf.losses with labels first and predictions second; `labels` and `predictions` are those names."""

    keras: str
    labels: str
    predictions: str
    parameters: tuple[str, ...] = ("weights",)
    """After the two, in order."""


LOSSES: Mapping[str, Loss] = {
    "mean_squared_error": Loss("MeanSquaredError", "labels", "predictions"),
    "absolute_difference": Loss("MeanAbsoluteError", "labels", "predictions"),
    "huber_loss": Loss("Huber", "labels", "predictions", parameters=("weights", "delta")),
    "sparse_softmax_cross_entropy": Loss("SparseCategoricalCrossentropy", "labels", "logits"),
    "softmax_cross_entropy": Loss("CategoricalCrossentropy", "onehot_labels", "logits"),
    "sigmoid_cross_entropy": Loss("BinaryCrossentropy", "multi_class_labels", "logits"),
}
KEPT_LOSS_ARGUMENTS: Mapping[str, str] = {"delta": "delta", "label_smoothing": "label_smoothing"}
IGNORED_LOSS_ARGUMENTS = frozenset({"scope", "loss_collection"})
MEANS = frozenset({"SUM_BY_NONZERO_WEIGHTS", "MEAN", "SUM_OVER_BATCH_SIZE"})
"""Reductions that are the mean where no weights are given."""

CROSS_ENTROPIES: Mapping[str, str] = {
    "nn.sparse_softmax_cross_entropy_with_logits": "SparseCategoricalCrossentropy",
    "nn.softmax_cross_entropy_with_logits": "CategoricalCrossentropy",
    "nn.softmax_cross_entropy_with_logits_v2": "CategoricalCrossentropy",
    "nn.sigmoid_cross_entropy_with_logits": "BinaryCrossentropy",
}
"""Called by keyword, under a tf.reduce_mean over all of it."""


SCHEDULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "exponential_decay": (
        "ExponentialDecay",
        ("learning_rate", "global_step", "decay_steps", "decay_rate", "staircase", "name"),
    ),
    "inverse_time_decay": (
        "InverseTimeDecay",
        ("learning_rate", "global_step", "decay_steps", "decay_rate", "staircase", "name"),
    ),
    "polynomial_decay": (
        "PolynomialDecay",
        ("learning_rate", "global_step", "decay_steps", "end_learning_rate", "power", "cycle", "name"),
    ),
    "cosine_decay": ("CosineDecay", ("learning_rate", "global_step", "decay_steps", "alpha", "name")),
    "piecewise_constant": ("PiecewiseConstantDecay", ("x", "boundaries", "values", "name")),
}
"""Name in tf.train -> class of keras.optimizers.schedules and the old parameters. The step is Keras' own."""

LOGGING_HOOKS = frozenset({"train.LoggingTensorHook", "train.StepCounterHook"})

METRICS: Mapping[str, str] = {
    "mean_squared_error": "MeanSquaredError",
    "mean_absolute_error": "MeanAbsoluteError",
    "root_mean_squared_error": "RootMeanSquaredError",
}
"""Of the model's output itself. `accuracy` goes by the labels' form."""
