"""Old Keras, as its sources have it: what rules, the judge of verify and its probe must know alike.

Defaults that changed are rows of the rules' pages, which `rules.old_defaults()` reads for verify.
"""

from __future__ import annotations

from collections.abc import Mapping

LOSS_WORDS: Mapping[str, str] = {
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
    "huber_loss": "huber",
    "cosine_proximity": "cosine_similarity",
}
"""Names of losses that Keras 3 does not know; current Keras 2 and Keras 3 both know the new ones."""
SHORT_LOSSES: Mapping[str, str] = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "kld": "kl_divergence",
}
"""Losses by their short names, in small or capital letters."""
MOVED_MODULES: Mapping[str, tuple[str, ...]] = {
    "layers.core": ("layers",), "layers.convolutional": ("layers",), "layers.pooling": ("layers",),
    "layers.recurrent": ("layers",), "layers.normalization": ("layers",), "layers.merge": ("layers",),
    "layers.advanced_activations": ("layers",), "layers.embeddings": ("layers",), "layers.wrappers": ("layers",),
    "layers.noise": ("layers",), "layers.local": ("layers",), "layers.convolutional_recurrent": ("layers",),
    "utils.np_utils": ("utils",), "utils.generic_utils": ("utils",), "utils.data_utils": ("utils",),
    "utils.vis_utils": ("utils",), "utils.io_utils": ("utils",), "backend.tensorflow_backend": ("backend",),
    "engine": ("layers", "models"), "engine.topology": ("layers", "models"), "engine.base_layer": ("layers",),
    "engine.training": ("models", "layers"), "engine.network": ("models",), "objectives": ("losses",),
}  # fmt: skip
"""Old module path -> the public modules that have its names now."""
LAST_WITH_MULTI_GPU_MODEL = (2, 3)
"""Of keras as of tensorflow."""
FIRST_WITH_SIGMOID: Mapping[str, tuple[int, int]] = {"keras": (2, 3), "tf.keras": (2, 0)}
"""First version, of keras or of tensorflow, whose LSTM and GRU have `recurrent_activation='sigmoid'`."""
FIRST_WITH_RESET_AFTER: Mapping[str, tuple[int, int]] = {"keras": (2, 4), "tf.keras": (2, 0)}
"""First version whose GRU has `reset_after=True`; Keras 2.4 is tf.keras by another name."""
FIRST_WITH_ACCURACY_BY_WIDTH: Mapping[str, tuple[int, int]] = {"keras": (2, 4), "tf.keras": (2, 2)}
"""First version whose `metrics=['accuracy']` goes by the width of the output alone, and not by the loss too."""
FIRST_WITH_MASKED_MEAN_OF_ALL: Mapping[str, tuple[int, int]] = {"keras": (2, 3)}
"""First version that divides a masked loss by all time steps; tf.keras did so in 1.15 as in 2.3."""


def freezes_by_batch(flavour: str, tensorflow: tuple[int, ...] | None) -> bool:
    """Whether a frozen BatchNormalization of this Keras uses the mean and variance of the batch in training: that of
    standalone Keras, and of tf.keras before TensorFlow 2 (measured, see the page of TFM445)."""
    return flavour == "keras" or (tensorflow is not None and tensorflow < (2,))


def forgets_late_penalties(flavour: str, version: tuple[int, ...]) -> bool:
    """Whether a penalty that is added to a layer once multi_gpu_model has wrapped its model counts for nothing: so it
    is in standalone Keras before 2.3 (measured, see the page of TFM407)."""
    return flavour == "keras" and version < (2, 3)


def recurrent_defaults(flavour: str, version: tuple[int, ...]) -> dict[str, dict[str, object]]:
    """What LSTM and GRU took by default in this version of keras or tensorflow and take no longer: layer to argument to
    value (tools/compare_defaults.py)."""
    gates = {"recurrent_activation": "hard_sigmoid"} if version < FIRST_WITH_SIGMOID[flavour] else {}
    order = {"reset_after": False} if version < FIRST_WITH_RESET_AFTER[flavour] else {}
    return {"LSTM": {**gates}, "LSTMCell": {**gates}, "GRU": {**gates, **order}, "GRUCell": {**gates, **order}}


Parameters = Mapping[str, tuple[str, ...]]
"""What optimizers took in which place, class in lower case to parameters; the rate was called `lr`."""

FIRST: Parameters = {
    "sgd": ("learning_rate", "momentum", "decay", "nesterov"),
    "rmsprop": ("learning_rate", "rho", "epsilon", "decay"),
    "adagrad": ("learning_rate", "epsilon", "decay"),
    "adadelta": ("learning_rate", "rho", "epsilon", "decay"),
    "adam": ("learning_rate", "beta_1", "beta_2", "epsilon", "decay", "amsgrad"),
    "adamax": ("learning_rate", "beta_1", "beta_2", "epsilon", "decay"),
    "nadam": ("learning_rate", "beta_1", "beta_2", "epsilon", "schedule_decay"),
}
"""Keras up to 2.2.5 (keras/optimizers.py), and so tf.keras up to TensorFlow 1.13."""
KERAS_2_3: Parameters = {
    "sgd": ("learning_rate", "momentum", "nesterov"),
    "rmsprop": ("learning_rate", "rho"),
    "adagrad": ("learning_rate",),
    "adadelta": ("learning_rate", "rho"),
    "adam": ("learning_rate", "beta_1", "beta_2", "amsgrad"),
    "adamax": ("learning_rate", "beta_1", "beta_2"),
    "nadam": ("learning_rate", "beta_1", "beta_2"),
}
"""Keras 2.3.1, by inspect.signature."""
TODAY: Parameters = {
    "sgd": ("learning_rate", "momentum", "nesterov"),
    "rmsprop": ("learning_rate", "rho", "momentum", "epsilon", "centered"),
    "adagrad": ("learning_rate", "initial_accumulator_value", "epsilon"),
    "adadelta": ("learning_rate", "rho", "epsilon"),
    "adam": ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad"),
    "adamax": ("learning_rate", "beta_1", "beta_2", "epsilon"),
    "nadam": ("learning_rate", "beta_1", "beta_2", "epsilon"),
}
"""tf.keras of TensorFlow 1.15 and 2.3, Keras 3.15 and tf_keras 2.21, by inspect.signature, as far as all four agree."""

CHANGED: Mapping[str, tuple[int, ...]] = {"keras": (2, 3), "tf.keras": (1, 14)}
"""The version of keras and of tensorflow from which on the places were others."""
SINCE: Mapping[str, Parameters] = {"keras": KERAS_2_3, "tf.keras": TODAY}

SWITCHES = frozenset({"nesterov", "amsgrad", "centered"})
"""The parameters that are on or off."""
