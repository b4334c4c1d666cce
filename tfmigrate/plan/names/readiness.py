"""Names and keywords that the target TensorFlow does not have, from the index of public names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.excused import Excused
from tfmigrate.plan.names.lacks import Lack, Reader
from tfmigrate.plan.names.public_names import public_names
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.target import LEGACY_KERAS, Target
from tfmigrate.settings import NAMES, Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    if any(code.startswith(NAMES) for code in context.tables.wanted):
        yield from missing_names(context.facts, context.settings, context.tables, others, context.unread)


def missing_names(
    facts: Facts,
    settings: Settings,
    tables: Tables,
    done: Sequence[CallChange] = (),
    unread: Set[cst.ImportAlias] = frozenset(),
    within: tuple[str, ...] = ("",),
) -> Iterator[CallChange]:
    """A warning for each name, at its import where that alone already fails, and for each keyword.

    `done`: the changes made, which leave nothing to say about what they take out. What a test of the version or of the
    name itself guards is left alone, and so is a name that the module sets.
    `unread`: names that are imported and never read; of these an import that fails goes.
    `within`: what the names in question begin with.
    """
    target = Target(public_names(), settings.target, LEGACY_KERAS in facts.module.text)
    lacks = list(Reader(facts, tables, target, within).lacks())
    if lacks:
        excused = Excused(facts, done)
        phrases = _Phrases(tables, target)
        for lack in lacks:
            if not excused.covers(lack):
                finding = phrases.told(lack)
                yield _without_import(finding, lack.alias) if lack.alias in unread else finding


def _without_import(change: CallChange, alias: cst.ImportAlias | None) -> CallChange:
    assert alias is not None
    message = f"{change.message.partition(': ')[0]}, and nothing here uses it: its import is removed"
    return replace(change, message=message, action="rewrite", edit=Remove(alias))


class _Phrases:
    """Says what is lacking, in which versions it was, and what stands in its place."""

    def __init__(self, tables: Tables, target: Target) -> None:
        self._tables, self._target = tables, target

    def told(self, lack: Lack) -> CallChange:
        return self._keyword(lack) if lack.call is not None else self._name(lack)

    def _name(self, lack: Lack) -> CallChange:
        missing = self._target.missing(lack.name) or lack.name
        advice = self._advice(lack.written) or self._advice(lack.name)
        was = self._target.was_in(missing, lack.written.rsplit(".", lack.name.count(".") - missing.count("."))[0])
        if was:
            new = self._target.renamed(lack.name)
            text = f"{missing} is not in {self._target.title(missing)} (it was in {was})"
            advice = advice or (f"it is {new}" if new else "")
        else:
            text = f"{missing} is in no {self._target.span(missing)}"
        if not advice:
            near = self._nearest(lack.name, missing)
            advice = f"did you mean {near}?" if near else ""
        code = codes.NAME_IS_GONE if was else codes.NO_SUCH_NAME
        return CallChange(code, lack.node, f"{text}: {advice}" if advice else text, action="warn")

    def _nearest(self, name: str, missing: str) -> str | None:
        """Where the name stands, or one spelt like it; else, where a module that it is in is missing, one like that."""
        near = self._target.nearest(name)
        if near is None and name.count(".") > missing.count("."):
            module = self._target.nearest(missing)
            beside = module is not None and module.rpartition(".")[0] == missing.rpartition(".")[0]
            near = module if beside else None
        return near

    def _advice(self, name: str) -> str:
        """What the tables say about a name, or about the module it stands in."""
        parts = (names.canonical(name) if names.flavour(name) else name).split(".")
        heads = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self._tables.gone[head] for head in heads if head in self._tables.gone), "")

    def _keyword(self, lack: Lack) -> CallChange:
        of = names.canonical(lack.name)
        rows = [*self._tables.gone_arguments, *self._tables.arguments]
        ofs = (of, "keras.optimizers") if names.is_optimizer(of) else (of,)
        row = next((row for row in rows if row.old == lack.keyword and row.of in ofs and row.new), None)
        took = self._target.took_in(lack.name, lack.keyword)
        text = f"{_called(lack.name)}() has no argument `{lack.keyword}` in {self._target.title(lack.name)}"
        if took:
            text += f" (it did in {took})"
        near = difflib.get_close_matches(lack.keyword, lack.known, n=1, cutoff=0.7)
        if row is not None:
            text += f": it is `{row.new}`" if row.kind == "argument" else f": {row.new}"
        elif near:
            text += f"; did you mean `{near[0]}`?"
        return CallChange(codes.NAME_IS_GONE if took else codes.UNKNOWN_KEYWORD, lack.node, text, action="warn")


def _called(name: str) -> str:
    """`Model.fit` for a method, the whole name for anything else."""
    parts = name.split(".")
    return ".".join(parts[-2:]) if len(parts) > 2 and parts[-2] in ("Model", "Sequential") else name
