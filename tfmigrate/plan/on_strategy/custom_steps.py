"""Training loops of one's own: what a function does that `strategy.run` starts on every replica.

Measured with two replicas on TensorFlow 2.21, Keras 2 and 3: apply_gradients() adds up the gradients of the replicas,
so that of a mean over each replica's part becomes N times that of the mean over the batch. An optimizer with slots
made outside the scope fails on Keras 3 and works on Keras 2; a model fails on both; metrics work anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.keras.sample_shapes import MEANS
from tfmigrate.plan.on_strategy.outside import is_plain_sgd, sites_of
from tfmigrate.plan.on_strategy.scoping import Scoping, may_be_mirrored
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import Module, last_attribute
from tfmigrate.understand.reaching import added, bindings_of, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import (
    OF_DATASET,
    FunctionValue,
    Made,
    Method,
    ModelObject,
    Opaque,
    StrategyObject,
    Value,
)
from tfmigrate.walk import calls_in, values_returned, walk

_RUN = frozenset({"run", "experimental_run_v2"})
_BY_HAND = frozenset({"all_reduce", "merge_call"})
"""Methods with which a step adds up, or averages, the gradients itself."""
_WEIGHTS = re.compile(r"weight|alpha|beta|gamma|lambda|coef")
_SUMS = frozenset(
    {"tensorflow.add_n", "tensorflow.math.add_n", "tensorflow.reduce_sum", "tensorflow.math.reduce_sum"}
)
_Part = Literal["mean", "penalty"]
_VARIABLES = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})
_BINDERS = frozenset({"staticmethod", "classmethod"})


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
    program = _Program(modules, scopes_of)
    for run in runs:
        yield from ((run.facts.module, change) for change in _whole_batches(run.facts, run.call))
        for step in run.steps:
            yield from ((step.module, change) for change in _own_means(program, step))
            yield from _made_outside(modules[step.module], step, run.strategies, scoping)
            yield from _built_outside(modules[step.module], step, run.strategies, scoping)
    classes = {
        model.instance.cls: None for use in trainings for model in use.models & scoped if model.instance is not None
    }
    for cls in classes:
        own = cls.lookup("train_step")
        if isinstance(own, FunctionValue):
            yield from ((own.module, change) for change in _own_means(program, own))


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
                functions = _functions(facts.options(call.args[0].value))
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
                "this batch comes from a dataset that was not distributed: every replica computes all of it, which is "
                "no faster, and the gradients of all are added up; loop over "
                "strategy.experimental_distribute_dataset(...)"
            )
            yield CallChange(codes.WHOLE_BATCH, element.value, message, action="warn")
            return


def _functions(values: Iterable[Value]) -> Iterator[FunctionValue]:
    """The functions of the program among some values, those of methods too."""
    for value in values:
        function = value.function if isinstance(value, Method) else value
        if isinstance(function, FunctionValue):
            yield function


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


def _own_means(program: _Program, step: FunctionValue) -> Iterator[CallChange]:
    """Gradients of a loss that is the mean of each replica's own part, applied as they are."""
    body = _Body.of(program, step)
    calls = list(calls_in(step.node))
    methods = {call: call.func.attr.value for call in calls if isinstance(call.func, cst.Attribute)}
    if body is None or _BY_HAND.intersection(methods.values()):
        return
    for call, method in methods.items():
        # With a keyword (`experimental_aggregate_gradients=False`) it may add up nothing.
        if method != "apply_gradients" or len(call.args) != 1 or call.args[0].keyword is not None:
            continue
        for gradient in body.gradients(call.args[0].value):
            loss = gradient.args[0].value if gradient.args else None
            if loss is not None and body.is_mean(loss):
                message = (
                    "each replica takes the gradient of its own mean here, and apply_gradients() adds up those of all "
                    "replicas: with N replicas it is N times that of the mean over the batch; divide the loss by "
                    "num_replicas_in_sync, or take tf.nn.compute_average_loss(...) of one value per sample"
                )
                yield CallChange(codes.MEAN_OF_REPLICA, next(iter(body.values_of(loss)), loss), message, action="warn")


def _sum_of(parts: Iterable[_Part | None]) -> _Part | None:
    """What a sum is: a mean once one of its parts is."""
    known = set(parts)
    if None in known or not known:
        return None
    return "mean" if "mean" in known else "penalty"


@dataclass(frozen=True)
class _Program:
    modules: Mapping[Module, Facts]
    scopes_of: Callable[[Module], Scopes]


@dataclass(frozen=True)
class _Body:
    """What a function computes, as far as its plain assignments tell."""

    program: _Program
    facts: Facts
    read: Set[cst.CSTNode] = frozenset()
    """This function and those that call it, which are being read."""
    following: Set[str] = frozenset()
    """The names whose values are being read."""

    @classmethod
    def of(cls, program: _Program, function: FunctionValue, read: Set[cst.CSTNode] = frozenset()) -> _Body | None:
        facts = program.modules.get(function.module)
        if (
            facts is None
            or function.node in read
            or not isinstance(function.node, cst.FunctionDef)
            or function.is_generator
        ):
            return None
        return cls(program, facts, read | {function.node})

    def values_of(self, node: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
        """What a name is bound to and has added to it, in the order of the text; nothing if it is bound otherwise."""
        scopes = self.program.scopes_of(self.facts.module)
        if isinstance(node, cst.Name) and node.value in self.following:
            return ()
        values = [value_of(binding) or added(binding) for binding in bindings_of(node, scopes)]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else ()

    def only_value(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What a name is, where it is bound in one place."""
        values = self.values_of(node)
        return values[0] if len(values) == 1 else None

    def gradients(self, applied: cst.BaseExpression) -> Iterator[cst.Call]:
        """The `tape.gradient(loss, ...)` that apply_gradients() is given as it is: `zip(gradients, variables)`."""
        listed = isinstance(applied, cst.Call) and isinstance(applied.func, cst.Name) and applied.func.value == "list"
        if listed and isinstance(applied, cst.Call) and len(applied.args) == 1:
            applied = applied.args[0].value
        is_zip = isinstance(applied, cst.Call) and isinstance(applied.func, cst.Name) and applied.func.value == "zip"
        if isinstance(applied, cst.Call) and is_zip and applied.args:
            value = applied.args[0].value
            expression = self.only_value(value) if isinstance(value, cst.Name) else value
            if (
                isinstance(expression, cst.Call)
                and isinstance(expression.func, cst.Attribute)
                and expression.func.attr.value == "gradient"
            ):
                yield expression

    def is_mean(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a mean over all of what the replica has, or a weighted sum of such and of penalties
        on weights, which are the same on every replica."""
        return self._part(node) == "mean"

    def _part(self, node: cst.BaseExpression) -> _Part | None:
        """What an expression adds to a loss, where that is known."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            return _sum_of(map(self._part, (node.left, node.right)))
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            sides = ((node.left, node.right), (node.right, node.left))
            return next((self._part(other) for left, other in sides if _is_weight(left)), None)
        if isinstance(node, cst.Name):
            inner = replace(self, following=self.following | {node.value})
            return _sum_of(map(inner._part, self.values_of(node)))
        if not isinstance(node, cst.Call):
            return None
        if self._is_penalty(node):
            return "penalty"
        return "mean" if self._takes_mean(node) or self._returns_mean(node) else None

    def _is_penalty(self, call: cst.Call) -> bool:
        """`tf.add_n(model.losses)`, the penalties that the layers of a model collect."""
        builtin = isinstance(call.func, cst.Name) and call.func.value == "sum"
        given = call.args[0].value if len(call.args) == 1 else None
        summed = last_attribute(given) == "losses"
        return summed and (builtin or self.facts.called(call) in _SUMS)

    def _takes_mean(self, call: cst.Call) -> bool:
        if self.facts.called(call) not in MEANS or len(call.args) != 1:
            return False
        argument = call.args[0].value
        divides = any(isinstance(inner, cst.Divide | cst.Multiply) for inner in walk(argument))
        return not (divides and any(_names_a_number_of_replicas(inner) for inner in walk(argument)))

    def _returns_mean(self, call: cst.Call) -> bool:
        """Whether a function of the program is called that returns such a mean, whichever of its returns is taken."""
        values = self.facts.options(call.func)
        plain = (function for function in _functions(values) if self._is_plain(function))
        bodies = [(function, _Body.of(self.program, function, self.read)) for function in plain]
        return len(bodies) == len(values) > 0 and all(
            body is not None and body.returns_mean(function) for function, body in bodies
        )

    def _is_plain(self, function: FunctionValue) -> bool:
        """Whether no decorator changes what a function returns."""
        facts = self.program.modules.get(function.module)
        decorators = function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()
        made_by = [
            decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
            for decorator in decorators
        ]
        return facts is not None and all(
            facts.symbols.get(maker) == "tensorflow.function"
            or (isinstance(maker, cst.Name) and maker.value in _BINDERS)
            for maker in made_by
        )

    def returns_mean(self, function: FunctionValue) -> bool:
        returned = list(values_returned(function.node.body))
        return bool(returned) and all(value is not None and self.is_mean(value) for value in returned)


def _is_weight(node: cst.BaseExpression) -> bool:
    """What one part of a loss counts more than another by, and no share of the batch."""
    if isinstance(node, cst.Integer):
        return True
    name = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(name, cst.Name) and _WEIGHTS.search(name.value.lower()) is not None


def _names_a_number_of_replicas(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and any(word in node.value.lower() for word in ("replica", "gpu", "batch"))


def _made_outside(
    facts: Facts, step: FunctionValue, strategies: frozenset[StrategyObject], scoping: Scoping
) -> Iterator[tuple[Module, CallChange]]:
    """Optimizers that the step applies, made in no scope."""
    for optimizer in frozenset[Made]().union(*applied(step, facts)):
        for site in optimizer.sites:
            if scoping.outside(site, strategies):
                message = (
                    "this optimizer is made outside the scope of the strategy whose run() uses it: Keras 3 fails, "
                    "Keras 2 does not; make it in the scope"
                )
                node = optimizer.config if optimizer.config is not None else site.unit
                yield site.frame.module, CallChange(codes.COMPILE_OUTSIDE_SCOPE, node, message, action="warn")


def _built_outside(
    facts: Facts, step: FunctionValue, strategies: frozenset[StrategyObject], scoping: Scoping
) -> Iterator[tuple[Module, CallChange]]:
    """Models whose weights the step changes, built in no scope."""
    for node in _variables_applied(step):
        models = [option for option in facts.options(node.value) if isinstance(option, ModelObject)]
        for model in models:
            if all(scoping.outside(site, strategies) for site in sites_of(model)):
                message = (
                    "this model is built outside the scope of the strategy whose run() trains it: its variables belong "
                    "to no replica, and training fails; build it in the scope"
                )
                change = CallChange(codes.MODEL_OUTSIDE_SCOPE, model.node, message, action="warn")
                yield model.site.frame.module, change


def _variables_applied(step: FunctionValue) -> Iterator[cst.Attribute]:
    """`model.trainable_variables` in `optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."""
    for _, call in _applications(step):
        for node in (node for arg in call.args for node in walk(arg.value)):
            if isinstance(node, cst.Attribute) and node.attr.value in _VARIABLES:
                yield node
