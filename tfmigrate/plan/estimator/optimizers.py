"""The optimizer of a model function, its schedule, and what it minimises."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, named_arguments
from tfmigrate.plan.change.tf_train import OPTIMIZERS, REFUSED_OPTIMIZERS
from tfmigrate.plan.estimator.layers import SCHEDULES
from tfmigrate.plan.estimator.reader import Reader
from tfmigrate.plan.estimator.things import Gradients, Loss, Optimizer, Plain, Rate, Step, Thing, TrainOp
from tfmigrate.written import Written


def read_optimizer(reader: Reader, node: cst.Call, name: str) -> Thing:
    if name in REFUSED_OPTIMIZERS:
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, REFUSED_OPTIMIZERS[name])
    known = OPTIMIZERS.get(name)
    named = named_arguments(node, known.parameters) if known is not None else None
    if known is None or named is None:
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, f"tf.train.{name} is not understood")
    settings: dict[str, Written | Rate] = {}
    for key, arg in named.items():
        if key in ("use_locking", "name"):
            continue
        thing = reader.read(arg.value)
        if key not in known.parameters or not isinstance(thing, Plain | Rate):
            raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, arg.value, f"`{key}=` is not understood")
        settings[known.renamed.get(key, key)] = thing if isinstance(thing, Rate) else Written.at(arg.value)
    if name == "MomentumOptimizer" and any(isinstance(value, Rate) for value in settings.values()):
        raise reader.refuse(
            codes.ESTIMATOR_OPTIMIZER,
            node,
            "TensorFlow 1 multiplies the momentum by the rate of this step, Keras by the rate of each past step: "
            "they differ under a schedule",
        )
    for key, code in known.defaults.items():
        settings.setdefault(key, Written.of(code))
    return Optimizer(Written.of(f"{reader.tf}.keras.optimizers.{known.keras}"), tuple(settings.items()))


def read_schedule(reader: Reader, node: cst.Call, name: str) -> Thing:
    keras, parameters = SCHEDULES[name]
    named = named_arguments(node, parameters)
    step = named.get("global_step", named.get("x")) if named is not None else None
    if named is None or step is None or not isinstance(reader.read(step.value), Step):
        raise reader.refuse(
            codes.ESTIMATOR_OPTIMIZER, node, "this schedule follows something other than the global step"
        )
    settings: list[tuple[str, Written]] = []
    for key, arg in named.items():
        if arg is step or key == "name":
            continue
        reader.needs_plain(arg.value)
        new = {"learning_rate": "initial_learning_rate"}.get(key, key)
        settings.append((new, Written.at(arg.value)))
    return Rate(Written.of(f"{reader.tf}.keras.optimizers.schedules.{keras}"), tuple(settings))


def read_compute_gradients(reader: Reader, node: cst.Call, optimizer: Optimizer) -> Thing:
    named = named_arguments(node, ("loss",))
    loss = reader.read(named["loss"].value) if named is not None and set(named) == {"loss"} else None
    if not isinstance(loss, Loss):
        message = "compute_gradients() has arguments other than a loss that tfmigrate can follow"
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, message)
    return Gradients(optimizer, loss)


def read_apply_gradients(reader: Reader, node: cst.Call, optimizer: Optimizer) -> Thing:
    """Gradients that nothing was done to, applied: as minimize() does."""
    named = named_arguments(node, ("grads_and_vars", "global_step", "name"))
    if named is None or not set(named) <= {"grads_and_vars", "global_step", "name"} or "grads_and_vars" not in named:
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, "the arguments of apply_gradients() cannot be read")
    gradients = reader.read(named["grads_and_vars"].value)
    if not isinstance(gradients, Gradients) or gradients.optimizer != optimizer:
        message = "these gradients are not those returned by compute_gradients() of this optimizer"
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, message)
    _counts_steps(reader, node, "apply_gradients", named)
    return TrainOp(optimizer, gradients.loss)


def _counts_steps(reader: Reader, node: cst.Call, method: str, named: Mapping[str, cst.Arg]) -> None:
    if "global_step" not in named or is_none(named["global_step"].value):
        message = f"{method}() has no global_step=, so the Estimator never counts a step and `steps=` never ends it"
        raise reader.refuse(codes.ESTIMATOR_OPTIMIZER, node, message)


def read_minimize(reader: Reader, node: cst.Call, optimizer: Optimizer) -> Thing:
    named = named_arguments(node, ("loss", "global_step"))
    if named is None or not set(named) <= {"loss", "global_step", "name"} or "loss" not in named:
        raise reader.refuse(
            codes.ESTIMATOR_OPTIMIZER, node, "minimize() has arguments other than the loss and the step"
        )
    loss = reader.read(named["loss"].value)
    if not isinstance(loss, Loss):
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, "the minimized value is not a loss that tfmigrate can follow")
    _counts_steps(reader, node, "minimize", named)
    return TrainOp(optimizer, loss)
