"""The optimizers of a model function, of tf.train and of Keras: what Keras calls them, and their settings."""

import numpy as np

NAMES = {
    "GradientDescentOptimizer": ("sgd", {"_learning_rate": "learning_rate"}),
    "MomentumOptimizer": (
        "sgd",
        {"_learning_rate": "learning_rate", "_momentum": "momentum", "_use_nesterov": "nesterov"},
    ),
    "AdagradOptimizer": (
        "adagrad",
        {"_learning_rate": "learning_rate", "_initial_accumulator_value": "initial_accumulator_value"},
    ),
    "AdamOptimizer": ("adam", {"_lr": "learning_rate", "_beta1": "beta_1", "_beta2": "beta_2", "_epsilon": "epsilon"}),
    "AdadeltaOptimizer": ("adadelta", {"_lr": "learning_rate", "_rho": "rho", "_epsilon": "epsilon"}),
    "RMSPropOptimizer": (
        "rmsprop",
        {"_learning_rate": "learning_rate", "_decay": "rho", "_momentum": "momentum", "_epsilon": "epsilon"},
    ),
    "FtrlOptimizer": (
        "ftrl",
        {
            "_learning_rate": "learning_rate",
            "_learning_rate_power": "learning_rate_power",
            "_initial_accumulator_value": "initial_accumulator_value",
            "_l1_regularization_strength": "l1_regularization_strength",
            "_l2_regularization_strength": "l2_regularization_strength",
        },
    ),
}
"""Class of tf.train -> the name of Keras's, and where it keeps what Keras calls so."""
LINEAR = ("GradientDescentOptimizer", "MomentumOptimizer")
"""Those whose steps are as large as the gradients and the rate are."""
SMALL = {"adagrad": {"epsilon": 1e-8}}
"""tf.train's Adagrad has no epsilon; beside an accumulator of 0.1 and more, 1e-8 is below float32's resolution."""


def settings_of(optimizer):
    """The settings of an optimizer of Keras."""
    config = optimizer.get_config()
    rate = config.get("learning_rate")
    if isinstance(rate, dict):
        config["learning_rate"] = {"class_name": rate.get("class_name")}
    kinds = (int, float, bool, np.number, dict)
    return dict((key, part) for key, part in config.items() if isinstance(part, kinds))


def rate_of(optimizer):
    if hasattr(optimizer, "get_config"):
        rate = optimizer.get_config().get("learning_rate")
        return None if isinstance(rate, dict) else float(rate)
    for place in ("_lr", "_learning_rate"):
        value = getattr(optimizer, place, None)
        if value is not None and not callable(value):
            return float(value) if isinstance(value, (int, float)) else value
    return None


def places_of(places):
    return next(place for place, key in places.items() if key == "learning_rate")


SCHEDULES = (
    ("ExponentialDecay", "ExponentialDecay"),
    ("InverseTimeDecay", "InverseTimeDecay"),
    ("PolynomialDecay", "PolynomialDecay"),
    ("CosineDecay", "CosineDecay"),
    ("PiecewiseConstant", "PiecewiseConstantDecay"),
)


def schedule_name(rate):
    name = getattr(rate, "name", "")
    for scope, keras in SCHEDULES:
        if name.startswith(scope):
            return keras
    return name
