"""Regularizers whose strengths had other defaults."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.rules import Default

_BOTH = "keras.regularizers.l1_l2"
_STRENGTHS = ("l1", "l2")
"""Its parameters, in order."""


def check(context: Context) -> Iterator[CallChange]:
    """`l1_l2(l1=1e-4)` had `l2=0.01` in every Keras 2, and has none in Keras 3; `'l1_l2'` is an error there."""
    facts, tables, tf = context.facts, context.tables, context.tf
    rows = {row.argument: row for row in tables.defaults if row.of == _BOTH}
    for call in facts.module.calls if rows else ():
        known = facts.canonical(call.func)
        if known == _BOTH and not has_stars(call):
            positional = sum(arg.keyword is None for arg in call.args)
            missing = [
                rows[name]
                for position, name in enumerate(_STRENGTHS)
                if name in rows and position >= positional and name not in keywords(call)
            ]
            if missing:
                edit = Revision(call, set=tuple((row.argument, repr(row.old)) for row in missing))
                yield CallChange(codes.REGULARIZER_DEFAULTS, call, _story(missing), edit)
        elif known.startswith("keras.layers."):
            yield from _named(call, list(rows.values()), tf)


def _named(call: cst.Call, rows: list[Default], tf: str) -> Iterator[CallChange]:
    for name, arg in keywords(call).items():
        if name.endswith("_regularizer") and text_of(arg.value) == "l1_l2":
            written = ", ".join(f"{row.argument}={row.old!r}" for row in {row.argument: row for row in rows}.values())
            edit = Replace(arg.value, f"{tf}.{_BOTH}({written})")
            message = "Keras 3 knows no regularizer named 'l1_l2': written out with the strengths it had"
            yield CallChange(codes.REGULARIZER_DEFAULTS, arg.value, message, edit)


def _story(missing: list[Default]) -> str:
    was = " and ".join(f"{row.argument} was {row.old}" for row in missing)
    return f"l1_l2(): {was} by default and is {missing[0].new} in Keras 3: written out"
