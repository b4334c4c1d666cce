"""`pandas.get_dummies(...)`, whose columns were numbers and are Booleans since pandas 2.0."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, passed_as
from tfmigrate.plan.names.context import Context

_DTYPE = 7
"""The place of `dtype`."""


def check(context: Context) -> Iterator[CallChange]:
    for call in context.facts.module.calls:
        if context.facts.called(call) == "pandas.get_dummies" and not has_stars(call):
            if passed_as("dtype", _DTYPE, call) is None:
                quote = context.draft.quote
                message = "the columns of get_dummies() are Booleans since pandas 2.0 and were uint8 before"
                edit = Revision(call, set=(("dtype", f"{quote}uint8{quote}"),))
                yield CallChange(codes.PANDAS_DUMMIES, call.func, message, edit)
