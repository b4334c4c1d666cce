"""The learning rate in what a CSVLogger wrote, and in a table of a training's history."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_false, passed_as, text_of
from tfmigrate.plan.keras.callbacks import rate_asked
from tfmigrate.plan.keras.rates import SETTERS
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.loops import PartOf, Taken
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import LexicalScope
from tfmigrate.understand.syntax import index_of, last_attribute

_LOGGER = "keras.callbacks.CSVLogger"


def check(context: Context) -> Iterator[CallChange]:
    """`table["lr"]` and `table.lr` ask for the column that there is; a file begun by Keras 2 is not continued."""
    facts = context.facts
    callbacks = context.migration.once(_callbacks)
    for key, table, node in _Tables(context, _LOGGER in callbacks).asked(context.quote):
        yield rate_asked(key, table, node)
    for call in facts.module.calls:
        if facts.canonical(call.func) == _LOGGER and callbacks & SETTERS:
            append = passed_as("append", 2, call)
            if append is not None and not is_false(append.value):
                yield CallChange(codes.RATE_IN_LOGS, call, _CONTINUED, action="warn")


_CONTINUED = (
    "the learning rate is a column `lr` after `loss` in a file of Keras 2, and `learning_rate` before it in one of "
    "Keras 3: rows appended to an old file land in the wrong columns; start a new file"
)


def _callbacks(migration: Migration) -> frozenset[str]:
    """The callbacks of Keras that the program mentions."""
    known = (names.canonical(name) for facts in migration.facts.modules.values() for name in facts.symbols.values())
    return frozenset(name for name in known if name.startswith("keras.callbacks."))


class _Tables:
    """Which expressions of a module are tables, or rows of one, of what a training logged."""

    def __init__(self, context: Context, logs_to_file: bool) -> None:
        self._facts, self._scopes, self._loops = context.facts, context.scopes, context.loops
        self._logs_to_file = logs_to_file
        self._own = set(self._set_here())

    def asked(self, quote: str) -> Iterator[tuple[cst.SimpleString, cst.BaseExpression, cst.BaseExpression]]:
        """Each "lr" that a table is asked for, alone or in a list of columns; with the table, and what asks."""
        for node in self._facts.module.all_of(cst.Subscript):
            for key in _columns(node):
                if isinstance(key, cst.SimpleString) and text_of(key) == "lr" and self._is_logged(node.value):
                    yield key, node.value, node
        for asking in self._facts.module.all_of(cst.Attribute):
            if asking.attr.value == "lr" and self._is_logged(asking.value):
                yield cst.SimpleString(f"{quote}lr{quote}"), asking.value, asking
        for compared in self._facts.module.all_of(cst.Comparison):
            (target, *others), key = compared.comparisons, compared.left
            if not others and isinstance(target.operator, cst.In | cst.NotIn) and isinstance(key, cst.SimpleString):
                if text_of(key) == "lr" and self._is_logged(target.comparator):
                    yield key, target.comparator, compared

    def _is_logged(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a table of logs, whose column `lr` the program does not set itself."""
        return isinstance(node, cst.Name) and self._variable(node) not in self._own and self._is_table(node)

    def _set_here(self) -> Iterator[tuple[str, LexicalScope | None]]:
        """The variables whose column `lr` the program sets."""
        for target in self._facts.module.all_of(cst.AssignTarget):
            node = target.target
            columns = _columns(node) if isinstance(node, cst.Subscript) else []
            if isinstance(node, cst.Subscript | cst.Attribute) and isinstance(node.value, cst.Name):
                if last_attribute(node) == "lr" or "lr" in map(text_of, columns):
                    yield self._variable(node.value)

    def _is_table(self, node: cst.Name) -> bool:
        """Whether a name stands for a table that a file or a History is read into, or for a row of such a file."""
        if self._logs_to_file and any(map(self._is_row, self._loops.taken(node))):
            return True
        value = settled(node, self._scopes)
        if not isinstance(value, cst.Call):
            return False
        name = self._facts.called(value)
        if name == "pandas.DataFrame" and value.args:
            first = value.args[0].value
            return last_attribute(first) == "history"
        return self._logs_to_file and name in ("pandas.read_csv", "pandas.read_table")

    def _is_row(self, value: Taken | None) -> bool:
        """Whether a value is what a loop takes from `csv.DictReader(file)`."""
        over = value.node if isinstance(value, PartOf) else None
        return self._facts.called(over) == "csv.DictReader"

    def _variable(self, node: cst.Name) -> tuple[str, LexicalScope | None]:
        return self._scopes.variable(node)


def _columns(node: cst.Subscript) -> list[cst.BaseExpression]:
    """The columns that are asked for: one in `table["a"]`, several in `table[["a", "b"]]`."""
    index = index_of(node)
    if index is None:
        return []
    return [each.value for each in index.elements] if isinstance(index, cst.List) else [index]
