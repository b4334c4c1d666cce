"""`layer.name.split("_")[1]`: what a program reads out of the names that Keras gives layers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.keras.loads_by_name import NamesRead
from tfmigrate.plan.keras.unnamed_layers import unnamed_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Made

_TAKING_APART = frozenset({"split", "rsplit", "partition", "rpartition"})
_DIGITS = re.compile(r"\\d|\[0-9|\[1-9").search


def parts_of_names(migration: Migration) -> tuple[NamesRead, ...]:
    """What takes names of layers apart, where the program makes layers without a name. The part before the first
    underscore is left out: it is the same in every version."""
    layers = {kind: list(calls) for kind, calls in migration.once(unnamed_layers).items() if kind != "Input"}
    modules = migration.facts.modules.values() if layers else ()
    return tuple(NamesRead(facts.module, node, layers, by_file=False) for facts in modules for node in _parts(facts))


def _parts(facts: Facts) -> Iterator[cst.BaseExpression]:
    subscripts = facts.module.all_of(cst.Subscript)
    beginnings = {subscript.value for subscript in subscripts if facts.module.code(subscript).endswith("[0]")}
    for subscript in subscripts:
        if _is_name_of_layer(subscript.value, facts):
            yield subscript
    for call in facts.module.calls:
        func = call.func
        texts = [text_of(arg.value) for arg in call.args]
        if not isinstance(func, cst.Attribute):
            continue
        if func.attr.value in _TAKING_APART and texts[:1] == ["_"] and _is_name_of_layer(func.value, facts):
            if call not in beginnings or func.attr.value.startswith("r"):
                yield call
        elif facts.symbols.get(func, "").startswith("re.") and texts and _DIGITS(texts[0] or ""):
            if any(_is_name_of_layer(arg.value, facts) for arg in call.args[1:]):
                yield call


def _is_name_of_layer(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether an expression is `layer.name` of a layer of a model."""
    if not isinstance(node, cst.Attribute) or node.attr.value != "name":
        return False
    known = facts.options(node.value)
    return bool(known) and all(isinstance(each, Made) and each.kind in ("layer", "layers") for each in known)
