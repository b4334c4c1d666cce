"""`layer.trainable_weights.pop()`: standalone Keras gave its own list away, and changed when somebody changed it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Instance, ModelObject, Opaque, Parallel
from tfmigrate.walk import nodes_in, walk

_OF_LAYERS = frozenset({"trainable_weights", "non_trainable_weights"})
_CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})


def check(context: Context) -> Iterator[CallChange]:
    """Warn where a program of standalone Keras changes such a list in place, and that had an effect in its version."""
    facts = context.facts
    if not any(names.flavour(name) == "keras" for known in context.modules.values() for name in known.symbols.values()):
        return
    version = context.settings.written_for("keras")
    of_layers = _OF_LAYERS if (version or (2, 2)) < (2, 3) else frozenset[str]()
    of_models = frozenset({"layers"}) if (version or (2, 3)) < (2, 4) else frozenset[str]()
    for node, changed in _changes(facts):
        name, receiver = changed.attr.value, facts.module.code(changed.value)
        if name in of_layers and not _is_something_else(changed, context):
            message = (
                f"up to Keras 2.2 this changed which weights are trained; `{receiver}.{name}` is now a new list each "
                "time, and the line does nothing: set `trainable` of the layer, or create the weight with "
                "add_weight(trainable=...)"
            )
            yield CallChange(codes.CHANGED_LISTS, node, message, action="warn")
        elif name in of_models and (_is_model(changed, facts) or _has_layers_of_keras(changed, facts)):
            after = f"what `{receiver}.layers[-1]` and the like mean afterwards has changed"
            if _is_waited_for(node, changed, facts):
                after = "a `while` that waits for it never ends; write which layer is meant"
            message = (
                f"in standalone Keras this changed the list of the model itself; `{receiver}.layers` is now a new "
                f"list each time, and the line does nothing: {after}"
            )
            yield CallChange(codes.CHANGED_LISTS, node, message, action="warn")


def _changes(facts: Facts) -> Iterator[tuple[cst.CSTNode, cst.Attribute]]:
    """The calls, assignments and `del` that change a list in place, each with the list."""
    for call in facts.module.calls:
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in _CHANGING:
            if isinstance(call.func.value, cst.Attribute):
                yield call, call.func.value
    for node in facts.module.all_of(cst.AssignTarget, cst.Del):
        target = node.target
        if isinstance(target, cst.Subscript) and isinstance(target.value, cst.Attribute):
            yield target, target.value


def _is_something_else(changed: cst.Attribute, context: Context) -> bool:
    """Whether the list is surely not that of a layer. A model's was a new list at each reading even then."""
    values = context.facts.options(changed.value)
    moved = context.tables.moves.moved
    return bool(values) and all(
        isinstance(value, ModelObject | Parallel)
        or (isinstance(value, Instance) and not any(names.is_layer(moved(base)) for base in value.cls.outside_bases()))
        for value in values
    )


def _is_model(changed: cst.Attribute, facts: Facts) -> bool:
    """Whether the list is surely that of a model other than a Sequential, whose list was always a new one."""
    values = facts.options(changed.value)
    return bool(values) and all(
        isinstance(value, ModelObject) and not value.instance and not value.maker.endswith("Sequential")
        for value in values
    )


_OF_KERAS = frozenset({"input_shape", "output_shape", "outbound_nodes", "inbound_nodes", "output", "input"})
"""What a layer of Keras has, and hardly anything else that somebody keeps in a list named `layers`."""


def _has_layers_of_keras(changed: cst.Attribute, facts: Facts) -> bool:
    """Whether the list is that of something unknown, elsewhere asked for layers of Keras: `net.layers[-1].output`."""
    for value in facts.options(changed.value):
        if not isinstance(value, ModelObject | Opaque) or getattr(value, "maker", "").endswith("Sequential"):
            return False
    return any(
        isinstance(node.value, cst.Subscript) and node.attr.value in _OF_KERAS and changed.deep_equals(node.value.value)
        for node in facts.module.all_of(cst.Attribute)
    )


def _is_waited_for(node: cst.CSTNode, changed: cst.Attribute, facts: Facts) -> bool:
    """Whether a `while` round the line asks for that list."""
    return any(
        any(changed.deep_equals(part) for part in nodes_in(loop.test, cst.Attribute)) and node in walk(loop.body)
        for loop in facts.module.all_of(cst.While)
    )
