"""The tables of the selected rules, by what they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tfmigrate.plan import codes
from tfmigrate.plan.names.imports import Moves
from tfmigrate.rules import Default, Rename, Rule

MOVED = ("module", "name", "python name")
"""Kinds of rows that say where a module or a name is now; a "python name" is none of TensorFlow's."""


def _rows(rules: Iterable[Rule], *kinds: str) -> Iterator[tuple[Rule, Rename]]:
    """The rows of some kinds, and the rules that they stand in."""
    return ((rule, row) for rule in rules for row in rule.renames if row.kind in kinds)


def _new_names(rules: Iterable[Rule], *kinds: str) -> dict[str, str]:
    """What such rows say in place of each old name."""
    return {row.old: row.new for _, row in _rows(rules, *kinds)}


@dataclass(frozen=True)
class Tables:
    """The tables of all selected rules, by what they are asked for."""

    moves: Moves
    arguments: tuple[Rename, ...]
    """Of every class and function but optimizers', whose values matter too."""
    gone: dict[str, str]
    """Names that no longer exist -> what to do about it, in words."""
    gone_python: dict[str, str]
    """The same of names that are not TensorFlow's."""
    builtins: dict[str, str]
    """Names of NumPy that were builtins of Python -> the builtin."""
    gone_arguments: tuple[Rename, ...]
    """Arguments that no longer exist and did something."""
    codes: dict[Rename | Default, str]
    """The rule that each row stands in."""
    defaults: tuple[Default, ...]
    wanted: frozenset[str]

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, rules: tuple[Rule, ...], wanted: frozenset[str]) -> Tables:
        """Raises nothing; a rule that is not wanted contributes nothing. Nearly all programs ask for the same."""
        chosen = [rule for rule in rules if rule.code in wanted]
        # A name that only changes its package is the business of that one rule.
        movers = [rule for rule in chosen if rule.code != codes.STANDALONE_KERAS]
        return cls(
            moves=Moves(_new_names(chosen, *MOVED), {row.old: rule.code for rule, row in _rows(movers, *MOVED)}),
            arguments=tuple(row for _, row in _rows(chosen, "argument")),
            gone=_new_names(chosen, "gone"),
            gone_python=_new_names(chosen, "gone python name"),
            builtins=_new_names(chosen, "builtin"),
            gone_arguments=tuple(row for _, row in _rows(chosen, "gone argument")),
            codes={
                **{rename: rule.code for rule in chosen for rename in rule.renames},
                **{default: rule.code for rule in chosen for default in rule.defaults},
            },
            defaults=tuple(default for rule in chosen for default in rule.defaults),
            wanted=wanted,
        )

    @cached_property
    def of_models(self) -> dict[str, tuple[str, str]]:
        """Method of a model -> what it is called now, and the rule that says so."""
        rows = ((row, code) for row, code in self.codes.items() if isinstance(row, Rename) and row.kind == "method")
        return {row.old: (row.new, code) for row, code in rows}

    @cached_property
    def of_optimizers(self) -> dict[str, str]:
        """What every optimizer's arguments are called now."""
        return {row.old: row.new for row in self.arguments if row.of == "keras.optimizers" and row.new}
