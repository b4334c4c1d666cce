"""`class Mixed(_Merge)`: the base of Keras's own merging layers, which was private and is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.module import names_imported
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import ClassValue
from tfmigrate.walk import walk

_BASE = "keras.layers._Merge"
_MERGING = "_merge_function"
_SIMPLE = {"__init__", "get_config", _MERGING}
"""Methods that mean the same in a layer of its own."""
_MASKS = re.compile(r"\bmask_zero\b|\bMasking\b")


def check(context: Context) -> Iterator[CallChange]:
    """A layer that only says how it merges becomes a Layer with `call`."""
    for node, cls in {cls.node: cls for cls in context.facts.classes}.items():
        if len(node.bases) != 1 or context.facts.canonical(node.bases[0].value) != _BASE:
            continue
        merging = _merging(cls, context)
        if merging is None or context.migration.once(_masks) or node in context.migration.once(_inherited):
            continue
        base = node.bases[0].value
        message = "the base class _Merge of Keras is gone: a Layer whose call() merges its inputs does the same"
        more = (Replace(merging.name, "call"),)
        yield CallChange(codes.MERGE_LAYERS, base, message, Replace(base, _layer(context)), more=more)


def _masks(migration: Migration) -> bool:
    return any(_MASKS.search(module.text) for module in migration.facts.modules)


def _inherited(migration: Migration) -> frozenset[cst.CSTNode]:
    """The classes of the program that other classes are derived from."""
    classes = [cls for facts in migration.facts.modules.values() for cls in facts.classes]
    return frozenset(ancestor.node for cls in classes for ancestor in cls.ancestors() if ancestor is not cls)


def _merging(cls: ClassValue, context: Context) -> cst.FunctionDef | None:
    """The method that merges, where all else in the class means the same in a class derived from Layer."""
    methods: dict[str, cst.FunctionDef] = {}
    for member in units_of(cls.node.body):
        if isinstance(member, cst.FunctionDef):
            methods[member.name.value] = member
        elif not _is_text_or_pass(member):
            return None
    merging = methods.get(_MERGING)
    if merging is None or methods.keys() - _SIMPLE or merging.decorators or len(positional(merging.params)) != 2:
        return None
    for method in methods.values():
        for node in walk(method):
            # Its private methods and attributes, and what it calls by name.
            private = last_attribute(node) in _OF_THE_BASE
            if private or (isinstance(node, cst.Name | cst.Attribute) and context.facts.canonical(node) == _BASE):
                return None
    return merging


_OF_THE_BASE = {_MERGING, "_reshape_required", "_compute_elemwise_op_output_shape", "call", "build", "compute_mask"}


def _is_text_or_pass(unit: cst.CSTNode) -> bool:
    return isinstance(unit, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Pass) or (isinstance(small, cst.Expr) and isinstance(small.value, cst.BaseString))
        for small in unit.body
    )


def _layer(context: Context) -> str:
    """What the module calls Keras's Layer."""
    imported = names_imported(context.facts.module)
    own = (bound for bound, full in imported if names.canonical(full) in ("keras.layers.Layer", _OLD_LAYER))
    return next(own, f"{context.tf}.keras.layers.Layer")


_OLD_LAYER = "keras.engine.topology.Layer"
