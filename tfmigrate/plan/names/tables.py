"""The tables of the selected rules, by what they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from tfmigrate.plan import codes
from tfmigrate.plan.names.imports import Moves
from tfmigrate.rules import Default, Rename, Rule

MOVED = ("module", "name", "python name")
"""Kinds of rows that say where a module or a name is now; a "python name" is none of TensorFlow's."""


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
        renames = [rename for rule in chosen for rename in rule.renames]
        moved = {rename.old: rename.new for rename in renames if rename.kind in MOVED}
        # A name that only changes its package is the business of that one rule.
        movers = (rule for rule in chosen if rule.code != codes.STANDALONE_KERAS)
        rule_of = {rename.old: rule.code for rule in movers for rename in rule.renames if rename.kind in MOVED}
        return cls(
            moves=Moves(moved, rule_of),
            arguments=tuple(rename for rename in renames if rename.kind == "argument"),
            gone={rename.old: rename.new for rename in renames if rename.kind == "gone"},
            gone_python={rename.old: rename.new for rename in renames if rename.kind == "gone python name"},
            builtins={rename.old: rename.new for rename in renames if rename.kind == "builtin"},
            gone_arguments=tuple(rename for rename in renames if rename.kind == "gone argument"),
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
