"""What a deciding rule looks at: one module that leaves the old Keras, in its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.names.tables import Tables
from tfmigrate.settings import Settings
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Facts, ProgramFacts
from tfmigrate.understand.loops import Loops
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import ModelObject, options

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Migration:
    """The program that a module belongs to."""

    facts: ProgramFacts
    drafts: Mapping[Module, Draft]
    leaving: Set[Module] = frozenset()
    """The modules that leave the old Keras."""
    single: Set[ModelObject] = frozenset()
    """Models that no strategy has to do with."""
    raised: Mapping[cst.Call, Sequence[Unit]] = field(default_factory=dict)
    """The sessions whose settings must be made further up: see late_devices.Raised."""
    spreads: bool = True
    """Whether anything may run on several replicas; False in a program that only imports multi_gpu_model."""
    _known: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def scopes_of(self, module: Module) -> Scopes:
        """The variables of a module of the program."""
        return self.drafts[module].scopes

    def once(self, find: Callable[[Migration], _T]) -> _T:
        """What `find` answers about the program, computed once for all its modules."""
        if find not in self._known:
            self._known[find] = find(self)
        known: _T = self._known[find]
        return known


@dataclass(frozen=True, eq=False)
class Context:
    """One module, for the rules that decide about it: each is a module of plan/ with a function check(context)."""

    draft: Draft
    tables: Tables
    migration: Migration
    unread: Set[cst.ImportAlias] = frozenset()
    """What the module imports and nothing reads."""

    @property
    def facts(self) -> Facts:
        return self.draft.facts

    @property
    def scopes(self) -> Scopes:
        return self.draft.scopes

    @property
    def loops(self) -> Loops:
        return self.draft.loops

    @property
    def settings(self) -> Settings:
        return self.draft.settings

    @property
    def tf(self) -> str:
        """The name of TensorFlow in the module."""
        return self.draft.tf

    @property
    def quote(self) -> str:
        return self.draft.quote

    @property
    def modules(self) -> Mapping[Module, Facts]:
        """All modules of the program."""
        return self.migration.facts.modules

    @property
    def single(self) -> Set[ModelObject]:
        return self.migration.single

    def models_of(self, call: cst.Call) -> set[ModelObject]:
        """The models that a method may be called on here."""
        return {model for use in self.facts.uses if use.call is call for model in use.models}

    @cached_property
    def spread(self) -> Facts:
        """The facts of the module, without the uses of models that no strategy has to do with."""
        facts = self.draft.facts
        if not self.migration.spreads:
            return replace(facts, uses=[])
        return replace(facts, uses=[use for use in facts.uses if not options(use.receiver) <= self.single])
