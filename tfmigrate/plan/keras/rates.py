"""The learning rate as a program reads and sets it while it trains."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import Instance, Made, Method, ModelObject, Opaque, Parallel, Parameter, Value, options

SETTERS = frozenset({"keras.callbacks.ReduceLROnPlateau", "keras.callbacks.LearningRateScheduler"})
"""The callbacks of Keras that set the learning rate."""
_RATES = ("lr", "learning_rate")


def check(context: Context) -> Iterator[CallChange]:
    """`optimizer.lr` is `optimizer.learning_rate`, and `K.set_value(optimizer.lr, x)` is its `assign(x)`.

    `K.set_value` of Keras 3 fails on every variable; `assign` works on Keras 2 and 3, under a strategy too.
    """
    facts = context.facts
    rates = _rates(facts)
    setters: set[cst.CSTNode] = set()
    for call, attribute in _set_values(facts, rates):
        setters.add(attribute)
        yield CallChange(
            codes.OPTIMIZER_RATE,
            call,
            "K.set_value() fails in Keras 3: the learning rate is assigned instead",
            Replace(
                call,
                (attribute.value, ".learning_rate.assign(", call.args[1].value, ")"),
            ),
        )
    for attribute in rates:
        if attribute.attr.value == "lr" and attribute not in setters:
            yield CallChange(
                codes.OPTIMIZER_RATE,
                attribute,
                "the optimizer's attribute `lr` is `learning_rate` now",
                Replace(attribute, (attribute.value, ".learning_rate")),
            )
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value in ("decay", "initial_decay") and _is_optimizer(node.value, facts):
            yield CallChange(
                codes.OPTIMIZER_RATE,
                node,
                f"Keras 3 optimizers have no attribute `{node.attr.value}`: `decay=` becomes a schedule, and then "
                "`learning_rate` is the decayed rate; remove the computation here",
                action="warn",
            )


def _rates(facts: Facts) -> list[cst.Attribute]:
    return [
        node
        for node in facts.module.all_of(cst.Attribute)
        if node.attr.value in _RATES and _is_optimizer(node.value, facts)
    ]


def _set_values(facts: Facts, rates: list[cst.Attribute]) -> Iterator[tuple[cst.Call, cst.Attribute]]:
    """Calls of `K.set_value` on a learning rate, with what they set."""
    for call in facts.module.calls:
        if facts.canonical(call.func) != "keras.backend.set_value" or has_stars(call):
            continue
        if len(call.args) == 2 and call.args[0].value in rates and isinstance(call.args[0].value, cst.Attribute):
            yield call, call.args[0].value


def _is_optimizer(node: cst.BaseExpression, facts: Facts) -> bool:
    value = facts.values.get(node)
    if value is None:
        return False
    if all(isinstance(option, Made) and option.kind == "optimizer" for option in options(value)):
        return True
    if options(value) <= _compiled_with(facts):
        return True
    if isinstance(node, cst.Name):  # `optimizer = self.model.optimizer`, in a method of the callback
        return any(facts.values.get(known) == value for known in _of_callbacks(facts))
    if not isinstance(node, cst.Attribute) or node.attr.value != "optimizer":
        return False
    owners = [o for option in options(value) if isinstance(option, Method) for o in options(option.receiver)]
    # Where the model is unknown on one of several paths, the attribute is that of a model there too.
    if any(isinstance(owner, ModelObject | Parallel) for owner in owners) and all(
        isinstance(owner, ModelObject | Parallel | Opaque) for owner in owners
    ):
        return True
    return node in _of_callbacks(facts)


def _of_callbacks(facts: Facts) -> list[cst.Attribute]:
    """Each `self.model.optimizer` of a callback of Keras, whose model Keras itself sets."""
    return [
        node
        for node in facts.module.all_of(cst.Attribute)
        if node.attr.value == "optimizer" and dotted(node.value) == "self.model" and _in_callback(node, facts)
    ]


def _compiled_with(facts: Facts) -> frozenset[Value]:
    """What models are compiled with whose class is unknown, such as `optimizers.get(name)`: an optimizer, or its name,
    of which nobody reads an attribute."""
    compiles = (use for use in facts.uses if use.method == "compile" and use.is_of_model)
    given = (use.argument(0, "optimizer") for use in compiles)
    known = frozenset(option for value in given if value is not None for option in options(value))
    return frozenset(
        option
        for option in known
        if isinstance(option, Parameter) or (type(option) is Opaque and isinstance(option.node, cst.Call))
    )


def _in_callback(node: cst.Attribute, facts: Facts) -> bool:
    """Whether `self` of `self.model.optimizer` is a callback of Keras."""
    root = node.value.value if isinstance(node.value, cst.Attribute) else None
    value = facts.values.get(root) if root is not None else None
    return value is not None and all(
        isinstance(option, Instance) and option.cls.is_callback() for option in options(value)
    )


def rates_set(facts: Facts) -> Iterator[tuple[cst.CSTNode, str]]:
    """Each place of a module that sets the learning rate of an optimizer, and what does it there.

    A class of the program that descends from a callback of Keras which sets it is not among them.
    """
    for node in facts.module.all_of(cst.Call, cst.AssignTarget, cst.AugAssign):
        if isinstance(node, cst.Call):
            known = facts.canonical(node.func)
            if known == "keras.backend.set_value" and node.args and _is_rate(node.args[0].value):
                yield node, "K.set_value()"
            elif isinstance(node.func, cst.Attribute) and node.func.attr.value == "assign":
                if _is_rate(node.func.value):
                    yield node, "assign()"
        elif isinstance(node.target, cst.Attribute):
            owner = node.target.value
            if _is_rate(node.target) and (_named_optimizer(owner) or _is_optimizer(owner, facts)):
                yield node, "an assignment"


def _is_rate(node: cst.BaseExpression) -> bool:
    return last_attribute(node) in _RATES


def _named_optimizer(node: cst.BaseExpression) -> bool:
    """`anything.optimizer`, as every model of Keras keeps its optimizer."""
    return last_attribute(node) == "optimizer"
