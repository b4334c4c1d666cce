"""`@interfaces.legacy_get_updates_support` on methods of one's own: keras.legacy is gone."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove
from tfmigrate.plan.names.context import Context

_DECORATORS = "keras.legacy.interfaces.legacy_"


def check(context: Context) -> Iterator[CallChange]:
    """The decorators go: all that they did was to take the arguments of Keras 1, too."""
    facts = context.facts
    for function in facts.module.all_of(cst.FunctionDef):
        for decorator in function.decorators:
            if facts.canonical(decorator.decorator).startswith(_DECORATORS):
                message = "keras.legacy is gone; the decorator translated Keras 1 arguments and is removed"
                yield CallChange(codes.LEGACY_DECORATORS, decorator.decorator, message, Remove(decorator))
