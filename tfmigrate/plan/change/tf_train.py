"""The optimizers of tf.train, and the optimizers of Keras that take the same steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Optimizer:
    """A class of tf.train: its parameters in order, their Keras names, and defaults to write out."""

    keras: str
    parameters: tuple[str, ...]
    renamed: Mapping[str, str]
    defaults: Mapping[str, str]
    """By Keras name."""


_NO_OP = ("use_locking", "name")
OPTIMIZERS: Mapping[str, Optimizer] = {
    "GradientDescentOptimizer": Optimizer("SGD", ("learning_rate", *_NO_OP), {}, {}),
    "MomentumOptimizer": Optimizer(
        "SGD",
        ("learning_rate", "momentum", "use_locking", "name", "use_nesterov"),
        {"use_nesterov": "nesterov"},
        {},
    ),
    "AdagradOptimizer": Optimizer(
        "Adagrad",
        ("learning_rate", "initial_accumulator_value", *_NO_OP),
        {},
        {"initial_accumulator_value": "0.1", "epsilon": "1e-8"},
    ),
    "AdamOptimizer": Optimizer(
        "Adam",
        ("learning_rate", "beta1", "beta2", "epsilon", *_NO_OP),
        {"beta1": "beta_1", "beta2": "beta_2"},
        {"learning_rate": "0.001", "epsilon": "1e-8"},
    ),
    "AdadeltaOptimizer": Optimizer(
        "Adadelta",
        ("learning_rate", "rho", "epsilon", *_NO_OP),
        {},
        {"learning_rate": "0.001", "rho": "0.95", "epsilon": "1e-8"},
    ),
    "FtrlOptimizer": Optimizer(
        "Ftrl",
        (
            "learning_rate", "learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
            "l2_regularization_strength", "use_locking", "name",
        ),
        {},
        {"initial_accumulator_value": "0.1"},
    ),
}  # fmt: skip
REFUSED_OPTIMIZERS: Mapping[str, str] = {
    "RMSPropOptimizer": "RMSPropOptimizer starts its mean of squares at 1, Keras at 0, and no argument changes that: "
    "the first steps differ",
}
