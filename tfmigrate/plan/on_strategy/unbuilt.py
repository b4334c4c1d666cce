"""Optimizers of custom loops whose slots the first step makes, on all replicas at once and while tf.function traces it.

Measured with two replicas on TensorFlow 2.21: Keras 3 fails there, with every optimizer but plain SGD, whether
tf.function is round the step or round run(). It runs once the optimizer is built in the scope, without tf.function,
with one replica, and on Keras 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.on_strategy.custom_steps import Run, applied
from tfmigrate.plan.on_strategy.outside import order_of
from tfmigrate.plan.on_strategy.scoping import Scoping
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue, Made, Method, StrategyObject
from tfmigrate.walk import calls_in

_COMPILES = "tensorflow.function"


def unbuilt(
    runs: Iterable[Run], modules: Mapping[Module, Facts], scoping: Scoping, on_keras_3: Callable[[Module], bool]
) -> Iterator[tuple[Module, CallChange]]:
    """The optimizers that a compiled step of these runs applies and nothing has built."""
    built = {optimizer for facts in modules.values() for optimizer in _built(facts)}
    compiled = {function for facts in modules.values() for function in _compiled(facts)}
    in_compiled = {call for function in compiled for call in calls_in(function)}
    for run in runs:
        if not any(map(_may_have_replicas, run.strategies)):
            continue
        for step in run.steps:
            if run.call not in in_compiled and step.node not in compiled:
                continue
            for optimizers in applied(step, modules[step.module]):
                sites = [
                    (site, optimizer)
                    for optimizer in optimizers - built
                    for site in optimizer.sites
                    if on_keras_3(site.frame.module) and not scoping.outside(site, run.strategies)
                ]
                if sites:
                    # One of several that an `if` chooses from stands for them all.
                    site, optimizer = min(sites, key=lambda made: order_of(made[0]))
                    message = (
                        "the first step creates the variables of this optimizer, and tf.function compiles it: with "
                        "several replicas Keras 3 fails there (You must feed a value for placeholder tensor); first "
                        "call its build(model.trainable_variables) in the scope (TensorFlow 2.11 and later)"
                    )
                    node = optimizer.config if optimizer.config is not None else site.unit
                    yield site.frame.module, CallChange(codes.UNBUILT_OPTIMIZER, node, message, action="warn")


def _may_have_replicas(strategy: StrategyObject) -> bool:
    """Whether a strategy may have several replicas in one process. What several workers do was not measured."""
    named = named_arguments(strategy.node, ("devices", "cross_device_ops")) or {}
    devices = named["devices"].value if "devices" in named else None
    one = isinstance(devices, cst.List | cst.Tuple) and len(devices.elements) == 1
    return strategy.name == "MirroredStrategy" and not one


def _built(facts: Facts) -> Iterator[Made]:
    """The optimizers on which the module calls build(); those that it hands to compile() may be built by fit()."""
    for call in facts.module.calls:
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "build":
            yield from _optimizers(facts, call.func.value)
        if last_attribute(call.func) == "compile":
            for arg in call.args:
                yield from _optimizers(facts, arg.value)


def _optimizers(facts: Facts, node: cst.BaseExpression) -> Iterator[Made]:
    for option in facts.options(node):
        if isinstance(option, Made) and option.kind == "optimizer":
            yield option


def _compiled(facts: Facts) -> Iterator[cst.CSTNode]:
    """The functions that tf.function() decorates, or is called with."""
    for function in facts.module.all_of(cst.FunctionDef):
        makers = (entry.decorator.func if isinstance(entry.decorator, cst.Call) else entry.decorator
                  for entry in function.decorators)  # fmt: skip
        if any(facts.symbols.get(maker) == _COMPILES for maker in makers):
            yield function
    for call in facts.module.calls:
        if facts.called(call) == _COMPILES and call.args:
            for option in facts.options(call.args[0].value):
                given = option.function if isinstance(option, Method) else option
                if isinstance(given, FunctionValue):
                    yield given.node
