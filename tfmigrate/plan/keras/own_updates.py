"""Optimizers of the program's own that compute their steps in get_updates(), which TensorFlow 2 never calls."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.functions import mentions
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.blocks import units_of
from tfmigrate.walk import walk


def check(context: Context) -> Iterator[CallChange]:
    """Each such class that the program uses; one that nothing names does no harm."""
    for cls in context.facts.classes:
        bases = [base for base in cls.outside_bases() if names.canonical(base).startswith("keras.optimizers.")]
        method = _get_updates(cls.node)
        if bases and method is not None and _is_named_outside(cls.node, context):
            title = cls.node.name.value
            message = (
                f"{title} computes its steps in get_updates(), which TensorFlow 2 never calls: write the step for "
                "one variable in update_step(self, gradient, variable, learning_rate), or use an optimizer that "
                "Keras has"
            )
            yield CallChange(codes.OWN_UPDATES, method.name, message, action="warn")


def _get_updates(cls: cst.ClassDef) -> cst.FunctionDef | None:
    methods = (unit for unit in units_of(cls.body) if isinstance(unit, cst.FunctionDef))
    return next((method for method in methods if method.name.value == "get_updates"), None)


def _is_named_outside(cls: cst.ClassDef, context: Context) -> bool:
    """Whether anything but the class itself and import statements names it."""
    own = set(walk(cls))
    return any(node not in own for node in mentions(cls.name.value, context.modules))
