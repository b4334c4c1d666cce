"""`try: return tf.log(x)` above `except AttributeError: return tf.math.log(x)`, which runs on every TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import errors_of
from tfmigrate.walk import walk

_OF_TABLES = frozenset({codes.MOVED_MODULES, codes.TENSORFLOW_1})
_ANY = frozenset({"Exception", "BaseException", ""})
"""Handlers of every error; "" is a bare `except`."""


def answered(facts: Facts) -> Callable[[CallChange], bool]:
    """Tells of a change whether the program does without it, since it expects that the old name or keyword is gone."""
    expected: dict[cst.CSTNode, frozenset[str]] = {}
    for tried in facts.module.all_of(cst.Try):
        if errors := frozenset(_answered(tried, facts)):
            expected.update((node, errors) for node in walk(tried.body))

    def is_answered(change: CallChange) -> bool:
        error = "TypeError" if isinstance(change.node, cst.Arg) else "AttributeError"
        return change.code in _OF_TABLES and not expected.get(change.node, frozenset()).isdisjoint({error, *_ANY})

    return is_answered


def _answered(tried: cst.Try, facts: Facts) -> Iterator[str]:
    """The errors at which a `try` of one statement takes another one of its kind, of TensorFlow or Keras, instead."""
    statement = _only(tried.body)
    if statement is None or tried.orelse is not None or tried.finalbody is not None:
        return
    for handler in tried.handlers:
        other = _only(handler.body)
        if other is None or not _are_alternatives(statement, other):
            continue
        symbols = (facts.symbols.get(node, "") for node in walk(other))
        if any(symbol.partition(".")[0] in ("tensorflow", "keras") for symbol in symbols):
            yield from errors_of(handler)


def _only(suite: cst.BaseSuite) -> cst.CSTNode | None:
    units = units_of(suite)
    return only_statement(units[0]) if len(units) == 1 else None


def _are_alternatives(statement: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether both return something, or set the same variable."""
    if isinstance(statement, cst.Assign) and isinstance(other, cst.Assign):
        pairs = zip(statement.targets, other.targets, strict=False)
        return len(statement.targets) == len(other.targets) and all(one.deep_equals(two) for one, two in pairs)
    return isinstance(statement, cst.Return) and isinstance(other, cst.Return)
