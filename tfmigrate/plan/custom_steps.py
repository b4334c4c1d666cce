"""Training loops of one's own: what a function does that `strategy.run` starts on every replica.

Measured with two replicas on TensorFlow 2.21, Keras 2 and 3: apply_gradients() adds up the gradients of the replicas,
so that of a mean over each replica's part becomes N times that of the mean over the batch. An optimizer with slots, or
a metric, made outside the scope fails on Keras 3 and works on Keras 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.interfaces import CallChange, calls_in
from tfmigrate.plan.losses import MEANS
from tfmigrate.plan.outside import SYNCHRONOUS, Scoping, is_plain_sgd
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import FunctionValue, Made, Method, StrategyObject
from tfmigrate.walk import walk

_RUN = frozenset({"run", "experimental_run_v2"})
_BY_HAND = frozenset({"all_reduce", "merge_call"})
"""Methods with which a step adds up, or averages, the gradients itself."""


def misuses(modules: Mapping[Module, Facts], scoping: Scoping) -> Iterator[tuple[Module, CallChange]]:
    """What goes wrong in the steps of custom loops."""
    for facts in modules.values():
        for call in facts.module.calls:
            strategies = _runners(facts, call)
            if not strategies or not call.args or call.args[0].star:
                continue
            for step in facts.options(call.args[0].value):
                if isinstance(step, FunctionValue) and isinstance(step.node, cst.FunctionDef):
                    module = step.closure.module
                    yield from ((module, change) for change in _own_means(modules[module], step.node))
                    yield from _made_outside(modules[module], step.node, strategies, scoping)


def _runners(facts: Facts, call: cst.Call) -> frozenset[StrategyObject]:
    """The strategies whose run() a call is, if it is nothing else."""
    found = facts.options(call.func)
    runs = [
        one.receiver
        for one in found
        if isinstance(one, Method) and one.name in _RUN and isinstance(one.receiver, StrategyObject)
    ]
    synchronous = len(runs) == len(found) and all(strategy.name in SYNCHRONOUS for strategy in runs)
    return frozenset(runs) if synchronous else frozenset()


def _own_means(facts: Facts, step: cst.FunctionDef) -> Iterator[CallChange]:
    """Gradients of a loss that is the mean of each replica's own part, applied as they are."""
    calls = list(calls_in(step))
    methods = {call: call.func.attr.value for call in calls if isinstance(call.func, cst.Attribute)}
    if _BY_HAND.intersection(methods.values()):
        return
    assigned = _assigned_once(step)
    for call, method in methods.items():
        # With a keyword (`experimental_aggregate_gradients=False`) it may add up nothing.
        if method != "apply_gradients" or len(call.args) != 1 or call.args[0].keyword is not None:
            continue
        for gradient in _gradients(call.args[0].value, assigned):
            loss = gradient.args[0].value if gradient.args else None
            mean = assigned.get(loss.value) if isinstance(loss, cst.Name) else loss
            if mean is not None and _is_mean(facts, mean, assigned):
                message = (
                    "each replica takes the gradient of its own mean here, and apply_gradients() adds up those of all "
                    "replicas: with N replicas it is N times that of the mean over the batch; divide the loss by "
                    "num_replicas_in_sync, or take tf.nn.compute_average_loss(...) of one value a sample"
                )
                yield CallChange(codes.MEAN_OF_REPLICA, mean, message, action="warn")


def _assigned_once(step: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    """Names that the step binds once, by a plain assignment, and to what."""
    found: dict[str, cst.BaseExpression] = {}
    bound: list[str] = []
    for node in walk(step.body):
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.NamedExpr):
            bound.extend(name.value for name in walk(node.target) if isinstance(name, cst.Name))
        if isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
            found[node.targets[0].target.value] = node.value
    return {name: value for name, value in found.items() if bound.count(name) == 1}


def _gradients(applied: cst.BaseExpression, assigned: Mapping[str, cst.BaseExpression]) -> Iterator[cst.Call]:
    """The `tape.gradient(loss, ...)` that apply_gradients() is given as it is: `zip(gradients, variables)`."""
    is_zip = isinstance(applied, cst.Call) and isinstance(applied.func, cst.Name) and applied.func.value == "zip"
    if isinstance(applied, cst.Call) and is_zip and applied.args:
        value = applied.args[0].value
        given = assigned.get(value.value) if isinstance(value, cst.Name) else value
        if (
            isinstance(given, cst.Call)
            and isinstance(given.func, cst.Attribute)
            and given.func.attr.value == "gradient"
        ):
            yield given


def _is_mean(facts: Facts, node: cst.BaseExpression, assigned: Mapping[str, cst.BaseExpression]) -> bool:
    """Whether an expression is a mean over all of what the replica has, or a sum of such."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return _is_mean(facts, node.left, assigned) and _is_mean(facts, node.right, assigned)
    if isinstance(node, cst.Name) and node.value in assigned:
        others = {name: value for name, value in assigned.items() if name != node.value}
        return _is_mean(facts, assigned[node.value], others)
    if not isinstance(node, cst.Call) or len(node.args) != 1:
        return False
    argument = node.args[0].value
    divides = any(isinstance(inner, cst.Divide | cst.Multiply) for inner in walk(argument))
    scaled = divides and any(_names_a_number_of_replicas(inner) for inner in walk(argument))
    return facts.symbols.get(node.func) in MEANS and not scaled


def _names_a_number_of_replicas(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and any(word in node.value.lower() for word in ("replica", "gpu", "batch"))


def _made_outside(
    facts: Facts, step: cst.FunctionDef, strategies: frozenset[StrategyObject], scoping: Scoping
) -> Iterator[tuple[Module, CallChange]]:
    """Optimizers that the step applies, and metrics that it updates, made in no scope."""
    for call in calls_in(step):
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in ("apply_gradients", "update_state"):
            continue
        for made in facts.options(call.func.value):
            if not isinstance(made, Made) or made.kind not in ("optimizer", "metric") or is_plain_sgd(made):
                continue
            for site in made.sites:
                if scoping.outside(site, strategies):
                    message = (
                        f"this {made.kind} is made outside the scope of the strategy whose run() uses it: Keras 3 "
                        "fails, Keras 2 does not; make it in the scope"
                    )
                    node = made.config if made.config is not None else site.unit
                    yield site.frame.module, CallChange(codes.COMPILE_OUTSIDE, node, message, action="warn")
