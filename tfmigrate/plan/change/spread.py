"""Arguments that a call is given through `**`, where the dict that holds them serves nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import Revision, has_stars, named_items, quoted, text_of
from tfmigrate.plan.edits import Edit, Replace, Shorten
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, bound_once
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import unbound


@dataclass(frozen=True)
class Handed:
    """One argument, where it is given."""

    name: str
    node: cst.CSTNode
    """Its key, or the argument."""
    value: cst.BaseExpression
    given: cst.Call | cst.DictElement | None
    """The call of dict() or the part of the display that it stands in; None: it is set later, `settings["lr"] = 1`."""
    display: cst.Dict | None = None

    def renamed(self, new: str) -> Edit | Revision:
        if isinstance(self.given, cst.Call):
            return Revision(self.given, renamed=((self.name, new),))
        assert isinstance(self.node, cst.SimpleString)
        return Replace(self.node, (quoted(new, self.node.quote),))

    @property
    def dropped(self) -> Edit | Revision | None:
        """Takes it out; None where it is a statement of its own."""
        if isinstance(self.given, cst.Call):
            return Revision(self.given, dropped=(self.name,))
        if self.given is None or self.display is None:
            return None
        return Shorten(self.display, self.given)


def handed(calls: Sequence[cst.Call], facts: Facts, scopes: Scopes) -> dict[cst.Call, dict[str, Handed]]:
    """What each of some calls, which all take the same arguments, is given through its `**`, by name; nothing for a
    call whose dict, or whose part of it, is made elsewhere or read by more than these calls."""
    spread = {call: [arg.value for arg in call.args if arg.star == "**"] for call in calls}
    known = {node for nodes in spread.values() for node in nodes}
    found = {}
    for call, nodes in spread.items():
        parts = [_parts(node, known, facts, scopes) for node in nodes]
        if parts and all(part is not None for part in parts):
            found[call] = {one.name: one for part in parts for one in part or ()}
    return found


def _parts(
    node: cst.BaseExpression, known: Set[cst.BaseExpression], facts: Facts, scopes: Scopes
) -> list[Handed] | None:
    written = bound_once(node, scopes) if isinstance(node, cst.Name) else node
    parts = _written(written, facts)
    if parts is None or not isinstance(node, cst.Name):
        return parts
    binding = bindings_of(node, scopes)[0].node
    others = {mention.node for mention in scopes.mentions_of(node)} - {binding} - known
    later = _set_later(others, facts)
    if others - later.keys():
        return None
    names = [*(one.name for one in parts), *(one.name for one in later.values())]
    return [*parts, *later.values()] if len(names) == len(set(names)) else None


def _written(node: cst.BaseExpression | None, facts: Facts) -> list[Handed] | None:
    """The parts of a dict that is written out."""
    if isinstance(node, cst.Dict) and named_items(node) is not None:
        elements = [element for element in node.elements if isinstance(element, cst.DictElement)]
        return [Handed(text_of(element.key) or "", element.key, element.value, element, node) for element in elements]
    if not isinstance(node, cst.Call) or facts.values.get(node.func) != unbound("dict"):
        return None
    if has_stars(node) or any(arg.keyword is None for arg in node.args):
        return None
    return [Handed(arg.keyword.value, arg, arg.value, node) for arg in node.args if arg.keyword is not None]


def _set_later(names: Iterable[cst.CSTNode], facts: Facts) -> Mapping[cst.CSTNode, Handed]:
    """What is put into a dict by `name["key"] = value`, by the names there."""
    wanted = set(names)
    found: dict[cst.CSTNode, Handed] = {}
    assignments = facts.module.all_of(cst.Assign) if wanted else ()
    for place, value in ((target.target, one.value) for one in assignments for target in one.targets):
        if isinstance(place, cst.Subscript) and place.value in wanted and len(place.slice) == 1:
            index = place.slice[0].slice
            name = text_of(index.value) if isinstance(index, cst.Index) else None
            if name is not None and isinstance(index, cst.Index):
                found[place.value] = Handed(name, index.value, value, None)
    return found
