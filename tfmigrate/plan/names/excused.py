"""What is lacking and not reported, because it is guarded, set, or taken out by another rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords
from tfmigrate.plan.edits import Arguments, Remove, Replace, Unwrap
from tfmigrate.plan.names.lacks import Lack
from tfmigrate.understand.guarded import guarded
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk


class Excused:
    """What is not reported: what asks first, what the module sets itself, and what another rule did or reported."""

    def __init__(self, facts: Facts, done: Sequence[CallChange]) -> None:
        self._facts = facts
        told = (node for change in done for node in (change.node, *change.speaks_for))
        self._done = {*taken_out(done), *told}
        self._nodes = {*guarded(facts.module), *self._done}
        self._keywords: set[tuple[cst.Call, str]] = set()
        for edit in (edit for change in done for edit in change.edits):
            if isinstance(edit, Revision):
                changed = (*(old for old, _ in edit.renamed), *edit.dropped, *(name for name, _ in edit.set))
                self._keywords.update((edit.call, name) for name in changed)
            elif isinstance(edit, Arguments):
                self._keywords.update((edit.call, name) for name in keywords(edit.call))
                if edit.method:
                    self._nodes.add(edit.call.func)
        self._set = frozenset(self._assigned())

    def covers(self, lack: Lack) -> bool:
        if lack.node in self._nodes:
            return True
        if lack.call is not None:
            return lack.call.func in self._nodes or (lack.call, lack.keyword) in self._keywords
        if isinstance(lack.node, cst.Call):
            return lack.node.func in self._nodes or f".{lack.name.rpartition('.')[2]}" in self._set
        if isinstance(lack.node, cst.Import | cst.ImportFrom):
            symbols = self._facts.symbols.items()
            reads = [node for node, full in symbols if full == lack.written and isinstance(node, cst.Name)]
            if reads and all(node in self._done for node in reads):  # and so the import goes
                return True
        return any(lack.written == own or lack.written.startswith(f"{own}.") for own in self._set)

    def _assigned(self) -> Iterator[str]:
        """Names of a library that the module sets, as `tf.foo = ...` and setattr do; ".foo" for any other object."""
        for unit in self._facts.module.places:
            for small in unit.body if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ():
                for target in small.targets if isinstance(small, cst.Assign) else ():
                    if isinstance(target.target, cst.Attribute):
                        yield f"{self._facts.symbols.get(target.target.value, '')}.{target.target.attr.value}"
                call = small.value if isinstance(small, cst.Expr) else None
                if isinstance(call, cst.Call) and dotted(call.func) == "setattr" and call.args:
                    yield self._facts.symbols.get(call.args[0].value, "setattr")


def taken_out(changes: Sequence[CallChange]) -> Iterator[cst.CSTNode]:
    """Every node inside what the changes take out or replace."""
    for change in changes:
        for edit in change.edits:
            if isinstance(edit, Unwrap):
                kept = set(walk(edit.suite)) if edit.suite is not None else set()
                yield from (node for node in walk(edit.unit) if node not in kept)
            elif isinstance(edit, Remove):
                yield from walk(edit.node)
            elif isinstance(edit, Revision):
                yield from (arg for arg in edit.call.args if arg.keyword and arg.keyword.value in edit.dropped)
            elif isinstance(edit, Arguments) and edit.function is not None:
                yield from walk(edit.call.func)
            elif isinstance(edit, Replace):
                parts = {node for part in edit.parts for node in walk(part)}
                yield from (node for node in walk(edit.node) if node not in parts)
