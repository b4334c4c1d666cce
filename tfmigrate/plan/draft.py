"""A plan in the making: what will be done to one module, and what is reported about it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.edits import Arguments, Edit, Plan, Remove, Replace, Unwrap, carried, codes_of, place_of
from tfmigrate.plan.selection import LEFT_ALONE, Selection
from tfmigrate.result import Action, Finding
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.loops import Loops
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.syntax import dotted, sole_name
from tfmigrate.understand.values import Frame
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import nodes_of, text_of

_UNUSED = "this `tfmigrate: skip` suppresses nothing"


@dataclass
class Draft:
    """One module's facts and what has been decided so far."""

    facts: Facts
    scopes: Scopes
    selection: Selection
    edits: list[Edit] = field(default_factory=list)
    noted: list[Finding] = field(default_factory=list)
    """What is reported as far as it is selected and not suppressed."""
    tf: str = field(init=False)
    """The name that TensorFlow has in this module, or the one it will get."""

    def __post_init__(self) -> None:
        self.tf = self._tensorflow()

    @property
    def module(self) -> Module:
        return self.facts.module

    @cached_property
    def loops(self) -> Loops:
        """What the variables of the module's loops take."""
        return Loops(self.module, self.scopes)

    @cached_property
    def quote(self) -> str:
        """The quotation mark that the module uses most."""
        strings = [part.value for part in self.module.all_of(cst.SimpleString)]
        single = sum(text.lstrip("bBrRuU").startswith("'") for text in strings)
        return "'" if single > len(strings) - single else '"'

    def plan(self) -> Plan:
        """The finished plan."""
        reported = self.findings
        unused = (
            Finding(comment.line, comment.column, codes.UNUSED_SUPPRESSION, _UNUSED, "warn")
            for comment in self.selection.unused(reported)
        )
        return Plan(tuple(self.edits), tuple(sorted({*reported, *unused})))

    # ---- what is reported ----

    @property
    def settings(self) -> Settings:
        return self.selection.settings

    @property
    def findings(self) -> list[Finding]:
        """What is reported of all that was noted so far."""
        return list(self.selection.applied(self.noted))

    def allows(self, code: str, node: cst.CSTNode) -> bool:
        """Whether a code is selected, and not suppressed at this place."""
        return self.selection.allows(code, self.module.position(node)[0])

    def leave(self, code: str, node: cst.CSTNode) -> None:
        """Report that a `tfmigrate: skip` comment leaves this place alone, where one does."""
        self.noted.append(Finding(*self.module.position(node), code, LEFT_ALONE, "suppressed"))

    def change(self, code: str, node: cst.CSTNode, message: str, *edits: Edit, action: Action = "rewrite") -> bool:
        """Make edits and report them, if this place allows the code. Returns whether it does."""
        if not self.allows(code, node):
            self.leave(code, node)
            return False
        self.edits.extend(edits)
        self.say(code, node, message, action)
        return True

    def say(self, code: str, node: cst.CSTNode, message: str, action: Action, trail: tuple[str, ...] = ()) -> None:
        """Report something at a place; what is not a rewrite can be suppressed there. Of code that never runs, nothing
        is said that it would do."""
        if action == "warn" and node in self.module.unreached:
            return
        self.noted.append(Finding(*self.module.position(node), code, message, action, trail=trail))

    # ---- what stands where ----

    def first_place(self) -> cst.CSTNode:
        """Where the module changes first, from the top."""
        return min(map(place_of, self.edits), key=self.module.position)

    def scope_of(self, frame: Frame) -> LexicalScope:
        """The variables of an activation's function, or of the module."""
        return self.scopes.by_node[frame.function or self.module.tree]

    def scope_round(self, unit: Unit) -> LexicalScope:
        """The variables visible at a unit."""
        for owner in self.module.ancestors(unit):
            if owner in self.scopes.by_node:
                return self.scopes.by_node[owner]
        return self.scopes.module

    def vanishing(self) -> frozenset[cst.CSTNode]:
        """Every Name that stands in what the edits so far take out."""
        staying = set(carried(self.edits))
        taken = ((edit, _taken_out(edit)) for edit in self.edits)
        return frozenset(name for edit, names in taken if names for name in names - _carried_off(edit, staying))

    def reaches_into(
        self, name: str, round_: cst.CSTNode | None = None, *, except_in: Iterable[cst.CSTNode] = ()
    ) -> bool:
        """Whether any edit so far writes `name`, or code with an attribute of it; `round_`: only those inside it;
        `except_in`: none of those inside these."""
        pattern = re.compile(rf"(?<![\w.]){re.escape(name)}\.")
        places = {place for place, code in self.written() if code == name or pattern.search(code)}
        for left_out in except_in if places else ():
            places.difference_update(walk(left_out))
        return bool(places) if round_ is None else not places.isdisjoint(walk(round_))

    def writes(self, name: str, inside: Container[cst.CSTNode] | None = None) -> bool:
        """Whether any edit so far writes code that reads `name`; `inside`: at one of these nodes."""
        read = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!=)")
        return any(read.search(code) and (inside is None or place in inside) for place, code in self.written())

    def written(self) -> Iterator[tuple[cst.CSTNode, str]]:
        """The code that the edits so far write, each with a node of the place it goes to."""
        for edit in self.edits:
            yield from ((place_of(edit), text_of(code)) for code in codes_of(edit))

    def _tensorflow(self) -> str:
        for statement, unit in self.module.imports:
            if self.module.places[unit].owner is None and isinstance(statement, cst.Import):
                for alias, bound, _ in imports_of(statement):
                    if dotted(alias.name) == "tensorflow":
                        return bound
        same = {one.targets[0].target for one in self.takes_tensorflow}
        if all(m.node in same or _is_tensorflow(m.node) for m in self.scopes.bindings("tf")):
            return "tf"
        return self.scopes.fresh("tf", self.scopes.module)

    @property
    def takes_tensorflow(self) -> list[cst.Assign]:
        """`tf = K.tf` at the top level, which an import says too."""
        statements = (only_statement(unit) for unit in self.module.tree.body)
        return [
            one
            for one in statements
            if isinstance(one, cst.Assign)
            and sole_name(one) == "tf"
            and names.canonical(self.facts.symbols.get(one.value, "")) == "tensorflow"
            and self.allows(codes.MOVED_MODULES, one)
        ]


def _is_tensorflow(node: cst.CSTNode) -> bool:
    """Whether an import binds TensorFlow itself."""
    return isinstance(node, cst.ImportAlias) and dotted(node.name) == "tensorflow"


def _carried_off(edit: Edit, staying: Set[cst.CSTNode]) -> set[cst.Name]:
    """The names in what is written elsewhere of that which one edit changes."""
    if not staying:
        return set()
    place = place_of(edit)
    inside = (node for node in walk(place) if node is not place and node in staying)
    return {name for node in inside for name in _names_in(node)}


def _taken_out(edit: Edit) -> set[cst.Name]:
    """The names that stand in what one edit takes out, and in nothing that it puts back."""
    if isinstance(edit, Remove):
        return set(_names_in(edit.node))
    if isinstance(edit, Replace):
        return set(_names_in(edit.node)).difference(*map(_names_in, edit.parts))
    if isinstance(edit, Unwrap):
        return set(_names_in(edit.unit)).difference(_names_in(edit.suite) if edit.suite is not None else ())
    if isinstance(edit, Arguments):
        gone = {name for argument in edit.call.args for name in _names_in(argument.value)}
        if edit.function is not None:
            gone.update(_names_in(edit.call.func))
        parts = (
            part for kept_argument in edit.arguments for part in nodes_of((kept_argument.value, *kept_argument.code))
        )
        return gone.difference(*map(_names_in, parts))
    return set()


def _names_in(node: cst.CSTNode) -> list[cst.Name]:
    return nodes_in(node, cst.Name)
