"""The edits of a plan, by the nodes that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

import libcst as cst

from tfmigrate.edit.reach import edited
from tfmigrate.plan.edits import (
    Append,
    Arguments,
    Branch,
    Collapse,
    Edit,
    Forget,
    ImportNames,
    Insert,
    Move,
    Remark,
    Remove,
    Replace,
    Scope,
    Shorten,
    Signature,
    Unwrap,
    carried,
    of_kind,
)
from tfmigrate.written import Code


class EditsByNode:
    """What becomes of each node of a program."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = edits

    # ---- statements ----

    @cached_property
    def removed(self) -> set[cst.CSTNode]:
        return {edit.node for edit in of_kind(self._edits, Remove)}

    @cached_property
    def imports(self) -> Mapping[cst.CSTNode, ImportNames]:
        return {edit.node: edit for edit in of_kind(self._edits, ImportNames)}

    @cached_property
    def compounds(self) -> Mapping[cst.CSTNode, Unwrap | Branch]:
        """Compound statements of which at most the content stays, and those that become an `if`."""
        return {edit.unit: edit for edit in self._edits if isinstance(edit, Unwrap | Branch)}

    @cached_property
    def signatures(self) -> Mapping[cst.CSTNode, Signature]:
        return {edit.function: edit for edit in of_kind(self._edits, Signature)}

    @cached_property
    def collapsing(self) -> Mapping[cst.CSTNode, Collapse]:
        """Choices that may have become one."""
        return {edit.node: edit for edit in of_kind(self._edits, Collapse)}

    @cached_property
    def scopes(self) -> Mapping[cst.CSTNode, Scope]:
        """By the first unit in each."""
        return {edit.units[0]: edit for edit in of_kind(self._edits, Scope)}

    @cached_property
    def inserts(self) -> Mapping[cst.CSTNode, Sequence[Insert]]:
        """What is inserted before each unit, in its order."""
        inserts: dict[cst.CSTNode, list[Insert]] = {}
        for edit in sorted(of_kind(self._edits, Insert), key=attrgetter("rank")):
            inserts.setdefault(edit.before, []).append(edit)
        return inserts

    @cached_property
    def moves(self) -> Sequence[Move]:
        return of_kind(self._edits, Move)

    # ---- expressions ----

    @cached_property
    def replaced(self) -> Mapping[cst.CSTNode, Sequence[Replace]]:
        """The replacements of each node, inside out."""
        return _layers(of_kind(self._edits, Replace))

    @cached_property
    def appended(self) -> Mapping[cst.CSTNode, str | Code]:
        return {edit.node: edit.code for edit in of_kind(self._edits, Append)}

    @cached_property
    def shortened(self) -> Mapping[cst.CSTNode, set[cst.CSTNode]]:
        """Elements that dicts lose."""
        elements: dict[cst.CSTNode, set[cst.CSTNode]] = {}
        for edit in of_kind(self._edits, Shorten):
            elements.setdefault(edit.node, set()).add(edit.element)
        return elements

    @cached_property
    def calls(self) -> Mapping[cst.CSTNode, Arguments]:
        return {edit.call: edit for edit in of_kind(self._edits, Arguments)}

    @cached_property
    def parts(self) -> set[cst.CSTNode]:
        """The nodes that are written again, in the place of others."""
        others = (edit for edit in self._edits if isinstance(edit, Insert | Branch | Append))
        replacements = (edit for layers in self.replaced.values() for edit in layers)
        return set(carried((*replacements, *self.calls.values(), *others)))

    @cached_property
    def concerned(self) -> set[cst.CSTNode]:
        """All nodes that an edit speaks of."""
        return {*edited(self._edits), *self.parts}

    # ---- comments ----

    @cached_property
    def remarks(self) -> Mapping[cst.CSTNode, str]:
        return {edit.node: edit.comment for edit in of_kind(self._edits, Remark)}

    @cached_property
    def forgotten(self) -> set[cst.CSTNode]:
        return {edit.node for edit in of_kind(self._edits, Forget)}

    @cached_property
    def moved_comments(self) -> Mapping[cst.CSTNode, set[cst.CSTNode]]:
        """The units whose comments move to what is inserted, with what that is inserted before."""
        places: dict[cst.CSTNode, set[cst.CSTNode]] = {}
        for edit in of_kind(self._edits, Insert):
            for unit in edit.comments_of:
                places.setdefault(unit, set()).add(edit.before)
        return places


def _layers(edits: Iterable[Replace]) -> dict[cst.CSTNode, tuple[Replace, ...]]:
    """The replacements of each node, inside out: several that put something round it are put round each other."""
    layers: dict[cst.CSTNode, tuple[Replace, ...]] = {}
    for edit in dict.fromkeys(edits):
        others = layers.get(edit.node, ())
        rounds = tuple(other for other in others if edit.node in other.parts)
        layers[edit.node] = (*others, edit) if edit.node in edit.parts else (edit, *rounds)
    return layers
