"""Training loops of one's own: what a function does that `strategy.run` starts on every replica.

Measured with two replicas on TensorFlow 2.21, Keras 2 and 3: apply_gradients() adds up the gradients of the replicas,
so that of a mean over each replica's part becomes N times that of the mean over the batch. An optimizer with slots
made outside the scope fails on Keras 3 and works on Keras 2; a model fails on both; metrics work anywhere. A variable
that a step adds to goes up once for each replica where it was made outside, and once in all where it was made inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.on_strategy.outside import is_plain_sgd, sites_of
from tfmigrate.plan.on_strategy.scoping import Scoping, may_be_mirrored
from tfmigrate.plan.on_strategy.step_means import Program, functions_among, own_means
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bindings_of, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import OF_DATASET, FunctionValue, Made, Method, ModelObject, Opaque, StrategyObject
from tfmigrate.walk import calls_in, walk

_RUN = frozenset({"run", "experimental_run_v2"})
_ADDS = frozenset({"assign_add", "assign_sub"})
_REPLICA = frozenset({"replica_id_in_sync_group", "get_replica_context"})
_VARIABLES = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})


def misuses(
    runs: Iterable[Run],
    modules: Mapping[Module, Facts],
    scopes_of: Callable[[Module], Scopes],
    scoping: Scoping,
    trainings: Iterable[Use],
    scoped: Set[ModelObject],
) -> Iterator[tuple[Module, CallChange]]:
    """What goes wrong in the steps of custom loops, and in those that fit() takes from the classes of its models.

    `runs`: see runs(). `trainings`: the calls that train the models in `scoped`, which are those in a scope.
    """
    program = Program(modules, scopes_of)
    for run in runs:
        yield from ((run.facts.module, change) for change in _whole_batches(run.facts, run.call))
        for step in run.steps:
            yield from ((step.module, change) for change in own_means(program, step))
            yield from _made_outside(modules[step.module], step, run.strategies, scoping)
            yield from _built_outside(program, step, run.strategies, scoping)
            yield from _counted_outside(modules, step, run.strategies, scoping)
    classes = {
        model.instance.cls: None for use in trainings for model in use.models & scoped if model.instance is not None
    }
    for cls in classes:
        own = cls.lookup("train_step")
        if isinstance(own, FunctionValue):
            yield from ((own.module, change) for change in own_means(program, own))


@dataclass(frozen=True)
class Run:
    """A call of a strategy's run(), and the functions of the program that it may start on every replica."""

    facts: Facts
    call: cst.Call
    strategies: frozenset[StrategyObject]
    steps: tuple[FunctionValue, ...]


def runs(modules: Mapping[Module, Facts]) -> Iterator[Run]:
    """Every run() of a mirrored strategy."""
    for facts in modules.values():
        for call in facts.module.calls:
            strategies = _runners(facts, call)
            if strategies and call.args and not call.args[0].star:
                functions = functions_among(facts.options(call.args[0].value))
                steps = tuple(step for step in functions if isinstance(step.node, cst.FunctionDef))
                yield Run(facts, call, strategies, steps)


def applied(step: FunctionValue, facts: Facts) -> Iterator[frozenset[Made]]:
    """What each apply_gradients() of a step may apply, but for optimizers that keep nothing for each weight."""
    for optimizer, _ in _applications(step):
        made = (one for one in facts.options(optimizer) if isinstance(one, Made) and one.kind == "optimizer")
        yield frozenset(one for one in made if not is_plain_sgd(one))


def _applications(step: FunctionValue) -> Iterator[tuple[cst.BaseExpression, cst.Call]]:
    """Each apply_gradients() of a step, with what it is called on."""
    for call in calls_in(step.node):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "apply_gradients":
            yield call.func.value, call


def _whole_batches(facts: Facts, call: cst.Call) -> Iterator[CallChange]:
    """A batch of a dataset that was not distributed, handed to run(): every replica computes all of it."""
    arguments = keywords(call).get("args") or (
        call.args[1] if len(call.args) > 1 and not call.args[1].keyword else None
    )
    if arguments is None or not isinstance(arguments.value, cst.Tuple | cst.List):
        return
    for element in arguments.value.elements:
        values = facts.options(element.value)
        if values and all(isinstance(option, Opaque) and option.origin == OF_DATASET for option in values):
            message = (
                "this batch comes from a dataset that was not distributed: every replica computes all of it, which "
                "is no faster, and all gradients are added up; loop over "
                "strategy.experimental_distribute_dataset(...)"
            )
            yield CallChange(codes.WHOLE_BATCH, element.value, message, action="warn")
            return


def _runners(facts: Facts, call: cst.Call) -> frozenset[StrategyObject]:
    """The strategies whose run() a call is, if it is nothing else."""
    values = facts.options(call.func)
    runs = [
        option.receiver
        for option in values
        if isinstance(option, Method) and option.name in _RUN and isinstance(option.receiver, StrategyObject)
    ]
    strategies = frozenset(runs)
    return strategies if len(runs) == len(values) and may_be_mirrored(strategies) else frozenset()


def _made_outside(
    facts: Facts, step: FunctionValue, strategies: frozenset[StrategyObject], scoping: Scoping
) -> Iterator[tuple[Module, CallChange]]:
    """Optimizers that the step applies, made in no scope."""
    for optimizer in frozenset[Made]().union(*applied(step, facts)):
        for site in optimizer.sites:
            if scoping.outside(site, strategies):
                message = (
                    "this optimizer is created outside the scope of the strategy whose run() uses it: Keras 3 "
                    "fails, Keras 2 does not; create it in the scope"
                )
                node = optimizer.config if optimizer.config is not None else site.unit
                yield site.frame.module, CallChange(codes.COMPILE_OUTSIDE_SCOPE, node, message, action="warn")


def _built_outside(
    program: Program, step: FunctionValue, strategies: frozenset[StrategyObject], scoping: Scoping
) -> Iterator[tuple[Module, CallChange]]:
    """Models whose weights the step changes, built in no scope."""
    facts, scopes = program.modules[step.module], program.scopes_of(step.module)
    for node in _variables_applied(step):
        models = set(_models(facts, node.value))
        bound = {model for binding in bindings_of(node.value, scopes)
                 if (value := value_of(binding)) is not None for model in _models(facts, value)}  # fmt: skip
        outside = {m for m in models | bound if all(scoping.outside(site, strategies) for site in sites_of(m))}
        # Where one name has a model of each kind, the other is built later, only to evaluate with.
        for model in models if outside == models | bound else ():
            message = (
                "this model is built outside the scope of the strategy whose run() trains it: its variables belong "
                "to no replica, and training fails; build it in the scope"
            )
            change = CallChange(codes.MODEL_OUTSIDE_SCOPE, model.node, message, action="warn")
            yield model.site.frame.module, change


def _counted_outside(
    modules: Mapping[Module, Facts],
    step: FunctionValue,
    strategies: frozenset[StrategyObject],
    scoping: Scoping,
) -> Iterator[tuple[Module, CallChange]]:
    """`count.assign_add(1)` in a step, of a variable that is made in no scope: there is one for all replicas."""
    if not any(strategy.name == "MirroredStrategy" for strategy in strategies) or _tells_replicas_apart(step):
        return
    for call in calls_in(step.node):
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _ADDS:
            continue
        for made in modules[step.module].options(call.func.value):
            if not isinstance(made, Opaque) or not isinstance(made.node, cst.Call) or not made.sites:
                continue
            known = all(modules[site.frame.module].called(made.node) == "tensorflow.Variable" for site in made.sites)
            if known and all(scoping.outside(site, strategies) for site in made.sites):
                message = (
                    "this variable is created outside the scope of the strategy, so all replicas share it and each "
                    "adds to it: with N replicas a step counts N times; create it in the scope, with "
                    "aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA"
                )
                yield step.module, CallChange(codes.COUNTED_OUTSIDE, call, message, action="warn")


def _tells_replicas_apart(step: FunctionValue) -> bool:
    """Whether a step asks which replica it runs on."""
    return any(isinstance(node, cst.Attribute) and node.attr.value in _REPLICA for node in walk(step.node))


def _models(facts: Facts, node: cst.BaseExpression) -> Iterator[ModelObject]:
    yield from (option for option in facts.options(node) if isinstance(option, ModelObject))


def _variables_applied(step: FunctionValue) -> Iterator[cst.Attribute]:
    """`model.trainable_variables` in `optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."""
    for _, call in _applications(step):
        for node in (node for arg in call.args for node in walk(arg.value)):
            if isinstance(node, cst.Attribute) and node.attr.value in _VARIABLES:
                yield node
