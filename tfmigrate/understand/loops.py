"""What the variables of loops take, one value after the other: `for layer in model.layers`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import libcst as cst

from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bindings_of, bound_once, settled
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk

Loop = cst.For | cst.CompFor


@dataclass(frozen=True)
class Number:
    """A whole number: of range(), or one that enumerate() counts with."""


@dataclass(frozen=True)
class Expression:
    """The value of an expression that is written out: in a list, or before the `for` of a comprehension."""

    node: cst.BaseExpression


@dataclass(frozen=True)
class PartOf:
    """Any element, key or value of what an expression stands for, which is not followed further."""

    node: cst.BaseExpression
    part: Literal["element", "key", "value"] = "element"


Taken = Number | Expression | PartOf


@dataclass(frozen=True)
class _Row:
    """Several values at once, each with what it may be: what zip(), enumerate() and items() give."""

    columns: Sequence[Sequence[Taken | _Row | None]]


_Given = Sequence[Taken | _Row | None]
"""What an element may be; None stands for what is not followed."""
_Followed = Set[cst.CSTNode]
"""What led to an expression: a list may be made from itself."""
_NOTHING: _Followed = frozenset()
_ELEMENTS_OF = {**dict.fromkeys(("list", "tuple", "set", "frozenset", "reversed", "sorted", "iter"), 0), "filter": 1}
"""Builtins that give elements of one of their arguments, with its place."""
_DISPLAYS = (cst.List, cst.Set, cst.Dict, cst.ListComp, cst.SetComp, cst.DictComp)
"""What is written out, and may be changed later."""
_METHODS: dict[str, Literal["key", "value"]] = {"keys": "key", "values": "value"}
_READING = frozenset({*_METHODS, "items", "get", "index", "count", "copy", "union", "intersection", "difference"})
"""Methods of lists, dicts and sets that change nothing of them."""


class Loops:
    """The loops of one module."""

    def __init__(self, module: Module, scopes: Scopes) -> None:
        self._module = module
        self._scopes = scopes

    def taken(self, node: cst.BaseExpression) -> Sequence[Taken | None]:
        """What the variable of a loop may be where it is read: in the innermost loop round it that binds it, or
        anywhere where nothing else binds it.

        None stands for a value that is not followed, and for one that another statement in the loop gives the variable.
        Empty where the name is not the variable of a loop there.
        """
        return self._taken(node, _NOTHING)

    def taken_from(self, binding: Occurrence) -> Sequence[Taken | None]:
        """What a variable is given where it is bound, if that is by a loop."""
        return self._taken_from(binding, _NOTHING)

    def _taken(self, node: cst.BaseExpression, followed: _Followed) -> Sequence[Taken | None]:
        mention = self._scopes.occurrence(node)
        if mention is None or mention.binds:
            return ()
        if node in followed:
            return [None]
        followed = followed | {node}
        bindings = bindings_of(node, self._scopes)
        if len(bindings) == 1:
            return self._taken_from(bindings[0], followed)
        for owner in self._module.ancestors(mention.unit):
            loop = next((binding for binding in bindings if binding.unit is owner and loop_of(binding) is owner), None)
            if loop is not None:
                again = any(owner in self._module.ancestors(binding.unit) for binding in bindings)
                return [*self._taken_from(loop, followed), *([None] if again else [])]
        return ()

    def _taken_from(self, binding: Occurrence, followed: _Followed) -> Sequence[Taken | None]:
        loop = loop_of(binding)
        if loop is None:
            return ()
        return self._at(binding.node, loop.target, self._elements(loop.iter, followed), followed)

    def _at(
        self, name: cst.CSTNode, target: cst.BaseExpression, given: _Given, followed: _Followed
    ) -> Sequence[Taken | None]:
        """What a name in a target gets of a value: `y` of `number, (x, y)`."""
        if target is name:
            return list(chain.from_iterable(self._told(value, followed) for value in given)) or [None]
        parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple | cst.List) else []
        place = next((place for place, part in enumerate(parts) if name in walk(part)), None)
        if place is None:
            return [None]
        columns = [self._columns(value) for value in given]
        known = [column[place] for column in columns if len(column) == len(parts)]
        unknown = [None] if len(known) < len(columns) or not known else []
        return [*chain.from_iterable(self._at(name, parts[place], part, followed) for part in known), *unknown]

    def _told(self, value: Taken | _Row | None, followed: _Followed) -> Sequence[Taken | None]:
        """A value, or what the variable of another loop may be that it is."""
        if isinstance(value, Expression):
            return self._taken(value.node, followed) or [value]
        return [None if isinstance(value, _Row) else value]

    def _columns(self, value: Taken | _Row | None) -> Sequence[_Given]:
        """What stands at each place of a value that is unpacked; nothing where that is not known."""
        if isinstance(value, _Row):
            return value.columns
        parts = settled(value.node, self._scopes) if isinstance(value, Expression) else None
        return [[Expression(element.value)] for element in parts.elements] if isinstance(parts, cst.Tuple) else []

    def _elements(self, node: cst.BaseExpression, followed: _Followed) -> _Given:
        """What any element of a value may be."""
        whole = self._written_out(node)
        if whole in followed:
            return [None]
        lists = self._taken(whole, followed)
        followed = followed | {whole}
        if lists and all(isinstance(value, Expression) for value in lists):
            nodes = (value.node for value in lists if isinstance(value, Expression))
            return list(chain.from_iterable(self._elements(node, followed) for node in nodes))
        if isinstance(whole, cst.List | cst.Tuple | cst.Set):
            return list(
                chain.from_iterable(
                    self._elements(element.value, followed)
                    if isinstance(element, cst.StarredElement)
                    else [Expression(element.value)]
                    for element in whole.elements
                )
            )
        if isinstance(whole, cst.ListComp | cst.SetComp | cst.GeneratorExp):
            return [Expression(whole.elt)]
        if isinstance(whole, cst.Dict | cst.DictComp):
            return self._of_dict(whole, "key")
        if isinstance(whole, cst.BinaryOperation) and isinstance(whole.operator, cst.Add):
            return [*self._elements(whole.left, followed), *self._elements(whole.right, followed)]
        if isinstance(whole, cst.Subscript) and isinstance(whole.slice[0].slice, cst.Slice) and len(whole.slice) == 1:
            return self._elements(whole.value, followed)
        return self._of_call(whole, followed) if isinstance(whole, cst.Call) else [PartOf(whole)]

    def _of_call(self, call: cst.Call, followed: _Followed) -> _Given:
        """What any element may be of what a call returns: of `enumerate(layers)`, `weights.items()`."""
        # Programs for Python 2 import builtins of the same names.
        name = dotted(call.func) if self._is_from_elsewhere(call.func) else ""
        args = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if name in _ELEMENTS_OF and len(args) > _ELEMENTS_OF[name]:
            return self._elements(args[_ELEMENTS_OF[name]], followed)
        if name == "range":
            return [Number()]
        if name == "enumerate" and args:
            return [_Row([[Number()], self._elements(args[0], followed)])]
        if name == "zip" and len(args) == len(call.args):
            return [_Row([self._elements(arg, followed) for arg in args])]
        if isinstance(call.func, cst.Attribute) and not call.args:
            method, owner = call.func.attr.value, call.func.value
            if method == "items":
                return [_Row([self._of_dict(owner, "key"), self._of_dict(owner, "value")])]
            if method in _METHODS:
                return self._of_dict(owner, _METHODS[method])
        return [PartOf(call)]

    def _of_dict(self, node: cst.BaseExpression, part: Literal["key", "value"]) -> _Given:
        whole = self._written_out(node)
        if isinstance(whole, cst.DictComp):
            return [Expression(whole.key if part == "key" else whole.value)]
        if not isinstance(whole, cst.Dict):
            return [PartOf(whole, part)]
        pairs = [element if isinstance(element, cst.DictElement) else None for element in whole.elements]
        return [Expression(pair.key if part == "key" else pair.value) if pair is not None else None for pair in pairs]

    def _written_out(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """What an expression is by another name; by that name where it is written out and may be changed later."""
        whole = settled(node, self._scopes)
        if not isinstance(whole, _DISPLAYS):
            return whole
        while isinstance(node, cst.Name) and self._is_only_read(node):
            node = bound_once(node, self._scopes) or node
        return node

    def _is_only_read(self, node: cst.Name) -> bool:
        """Whether every statement that mentions a variable leaves what it stands for as it is."""
        return not any(mention.node in self._changing for mention in self._scopes.mentions_of(node))

    @cached_property
    def _changing(self) -> Set[cst.CSTNode]:
        """The expressions whose value a statement may change: by a method, an item, or a function of the module."""
        module = self._module
        methods = (call.func for call in module.calls if isinstance(call.func, cst.Attribute))
        items = (item for target in module.all_of(cst.AssignTarget, cst.Del) for item in walk(target.target))
        functions = (call for call in module.calls if isinstance(call.func, cst.Name))
        own = (call for call in functions if not self._is_from_elsewhere(call.func))
        return {
            *(method.value for method in methods if method.attr.value not in _READING),
            *(item.value for item in items if isinstance(item, cst.Subscript)),
            *(arg.value for call in own for arg in call.args),
        }

    def _is_from_elsewhere(self, node: cst.BaseExpression) -> bool:
        """Whether a name is a builtin, or imported."""
        bindings = bindings_of(node, self._scopes)
        return isinstance(node, cst.Name) and all(isinstance(binding.node, cst.ImportAlias) for binding in bindings)


def loop_of(binding: Occurrence) -> Loop | None:
    """The loop that binds a variable."""
    if isinstance(binding.unit, cst.For) and binding.node in walk(binding.unit.target):
        return binding.unit
    scope = binding.scope.node
    clauses = _clauses(scope.for_in) if isinstance(scope, cst.BaseComp) else ()
    return next((clause for clause in clauses if binding.node in walk(clause.target)), None)


def _clauses(clause: cst.CompFor | None) -> Iterator[cst.CompFor]:
    while clause is not None:
        yield clause
        clause = clause.inner_for_in
