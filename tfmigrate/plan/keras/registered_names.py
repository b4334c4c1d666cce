"""Names of `get_custom_objects()` in strings: Keras 3 does not look there for losses, metrics and activations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import index_of

_REGISTRY = "keras.utils.get_custom_objects"
_SCOPES = frozenset({"keras.utils.CustomObjectScope", "keras.utils.custom_object_scope"})
_ENDINGS = ("activation", "_regularizer", "_constraint")
"""Arguments of layers whose text Keras 3 looks up among its own names only."""


def registered(migration: Migration) -> frozenset[str]:
    """All names that the program gives to objects of its own."""
    return frozenset(name for facts in migration.facts.modules.values() for name in _registered_in(facts))


def _registered_in(facts: Facts) -> Iterator[str]:
    for node in facts.module.all_of(cst.Call, cst.AssignTarget):
        if isinstance(node, cst.Call):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value == "update":
                if _is_registry(node.func.value, facts):
                    yield from (arg.keyword.value for arg in node.args if arg.keyword is not None)
                    yield from _keys(node.args)
            elif facts.canonical(node.func) in _SCOPES:
                yield from _keys(node.args)
        elif isinstance(node.target, cst.Subscript):
            index = index_of(node.target)
            if _is_registry(node.target.value, facts) and index is not None:
                yield from _texts((index,))


def _is_registry(node: cst.BaseExpression, facts: Facts) -> bool:
    return isinstance(node, cst.Call) and facts.canonical(node.func) == _REGISTRY


def _keys(args: Iterable[cst.Arg]) -> Iterator[str]:
    for arg in args:
        if isinstance(arg.value, cst.Dict):
            yield from _texts(element.key for element in arg.value.elements if isinstance(element, cst.DictElement))


def _texts(nodes: Iterable[cst.BaseExpression]) -> Iterator[str]:
    yield from (text for node in nodes if (text := text_of(node)) is not None)


def check(context: Context) -> Iterator[CallChange]:
    """The object that is registered, in the place of its name."""
    known = context.migration.once(registered)
    if not known:
        return
    done: set[cst.BaseExpression] = set()
    for node in _places(context.facts, context.scopes):
        text = text_of(node)
        if text in known and node not in done:
            done.add(node)
            message = (
                f"Keras 3 does not look up {text!r} among the custom objects for losses, metrics and activations: "
                "the object itself is passed"
            )
            code = (f"{context.tf}.keras.utils.get_custom_objects()[", node, "]")
            yield CallChange(codes.REGISTERED_NAMES, node, message, Replace(node, code))


def _places(facts: Facts, scopes: Scopes) -> Iterator[cst.BaseExpression]:
    """The literals that name such an object in compile() or in a layer."""
    for use in keras_calls(facts, "compile"):
        named = named_arguments(use.call, COMPILE) or keywords(use.call)
        for name in ("loss", "metrics"):
            if name in named:
                yield from _literals(named[name].value, scopes)
    for call in facts.module.calls:
        name = facts.canonical(call.func)
        if not name.startswith("keras.layers."):
            continue
        for keyword, arg in keywords(call).items():
            if keyword.endswith(_ENDINGS):
                yield from _literals(arg.value, scopes)
        if name == "keras.layers.Activation" and call.args and call.args[0].keyword is None:
            yield from _literals(call.args[0].value, scopes)


def _literals(node: cst.BaseExpression, scopes: Scopes) -> Iterator[cst.BaseExpression]:
    node = settled(node, scopes)
    if isinstance(node, cst.List | cst.Tuple):
        for element in node.elements:
            yield from _literals(element.value, scopes)
    elif isinstance(node, cst.Dict):
        for entry in node.elements:
            yield from _literals(entry.value, scopes)
    elif isinstance(node, cst.SimpleString):
        yield node
