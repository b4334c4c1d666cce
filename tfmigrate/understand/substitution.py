"""An expression written for another place by what its parts become there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from tfmigrate.understand import own_attributes
from tfmigrate.understand.expressions import names_in, operands
from tfmigrate.understand.folding import folded
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.on_the_way import literal_key
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Frame, Site
from tfmigrate.walk import nodes_in
from tfmigrate.written import Written

if TYPE_CHECKING:
    from tfmigrate.understand.carrier import Carrier


class Unavailable(Exception):
    """An expression cannot be shown to give the same value there."""


@dataclass(frozen=True)
class Way:
    """Where an expression is carried to, and through which others the way led so far."""

    target: Frame
    before: cst.CSTNode
    visible: str = ""
    steps: frozenset[tuple[Site, cst.BaseExpression]] = frozenset()
    known: dict[tuple[Site, cst.BaseExpression], Written] = field(default_factory=dict)
    """What has been carried on this way already."""


class Substitution:
    """Writes what an expression means, at another place."""

    def __init__(self, carrier: Carrier, source: Site, way: Way) -> None:
        self._carrier, self._source, self._way = carrier, source, way
        self._own: frozenset[str] = frozenset()
        self._items: set[cst.BaseExpression] = set()
        """Lists and dicts of which one item is read."""

    def expression(self, node: cst.BaseExpression) -> Written | None:
        """What to write for an expression; None to keep it. Raises Unavailable."""
        if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name | cst.Attribute):
            key = literal_key(node)
            if key is not None:
                if not self._is_environment(node.value):
                    self._carrier.check_that_nothing_changes(node.value, key, self._source, self._way)
                self._items.add(node.value)
        elif isinstance(node, cst.Name | cst.Attribute) and node not in self._items:
            self._carrier.check_that_nothing_changes(node, None, self._source, self._way)
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Attribute):
            carried = self._attribute(node)
            if carried is not None:
                return carried
            if self._is_of_a_caller(node):
                return self._of_a_caller(node)
        if self._way.visible and isinstance(node, cst.Call) and self._carrier.counts_gpus(node, self._source):
            try:
                return self._of_parts(node)
            except Unavailable:
                return Written.of(self._way.visible)
        return self._of_parts(node)

    def _is_environment(self, node: cst.BaseExpression) -> bool:
        """Whether it is `os.environ`, whose items are looked after where devices are chosen."""
        return self._carrier.symbol(node, self._source) == "os.environ"

    def _is_of_a_caller(self, node: cst.Attribute) -> bool:
        """Whether an attribute is that of `self`, and the object another function's."""
        source = self._source.frame
        own = receiver_of(source.function)
        return isinstance(node.value, cst.Name) and node.value.value == own and source is not self._way.target

    def _of_a_caller(self, node: cst.Attribute) -> Written | None:
        """The attribute of the object by the caller's name for it; where it has none, what the attribute was set to."""
        ways = (self._of_parts, self._of_origin)
        first, second = reversed(ways) if self._carrier.to_origins else ways
        try:
            return first(node)
        except Unavailable:
            return second(node)

    def _of_origin(self, node: cst.Attribute) -> Written:
        return self._carrier.attribute_made(node.attr.value, self._source, self._way)

    def _of_parts(self, node: cst.BaseExpression) -> Written | None:
        """What to write for an expression by what its parts are; None to keep it. Raises Unavailable."""
        outer = self._own
        if isinstance(node, cst.Lambda | cst.BaseComp):
            self._own = outer | _own_names(node)
        try:
            below = {part: self.expression(part) for part in operands(node)}
        finally:
            self._own = outer
        parts = {part: new for part, new in below.items() if new is not None}
        if parts and isinstance(node, cst.FormattedString):
            raise Unavailable  # the quotes of what is put in may end it
        return folded(Written.at(node, parts)) if parts else None

    def _name(self, node: cst.Name) -> Written | None:
        if node.value in self._own:
            return None
        carried = self._carrier.name(node.value, self._source, self._way)
        if carried is not None and self._own and self._own & names_in(carried.tree):
            raise Unavailable  # it would be another name in there
        return carried

    def _attribute(self, node: cst.Attribute) -> Written | None:
        text = dotted(node) or self._source.frame.module.code(node)
        source, target, before = self._source.frame, self._way.target, self._way.before
        name, attribute = node.value, node.attr.value
        settled = own_attributes.is_settled(text, target, before)
        if isinstance(name, cst.Name):
            receiver = own_attributes.same_object(name.value, source, target) if source is not target else None
            if receiver is not None and own_attributes.is_early(attribute, source, target, before):
                return Written.of(f"{receiver}.{attribute}")
            if name.value == receiver_of(source.function) and (receiver is not None or not settled):
                return self._carrier.attribute_value(attribute, self._source, self._way)
            if name.value == receiver_of(source.function) and source is not target:
                if not own_attributes.is_untouched(attribute, self._source, target, before):
                    return self._carrier.attribute_made(attribute, self._source, self._way)
        if not settled:
            raise Unavailable
        self._carrier.check_that_nothing_sets(node, self._source, self._way)
        return None


def _own_names(node: cst.Lambda | cst.BaseComp) -> frozenset[str]:
    """What a comprehension or a lambda binds for itself. Raises Unavailable where it reads a name of the same kind."""
    if isinstance(node, cst.Lambda):
        return frozenset(part.name.value for part in nodes_in(node.params, cst.Param))
    own: frozenset[str] = frozenset()
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        own, clause = own | names_in(clause.target), clause.inner_for_in
    if own & names_in(node.for_in.iter):
        raise Unavailable  # `[i for i in i]`
    return own
