"""In which order the methods that nothing calls are walked: what sets an attribute before what reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from tfmigrate.understand.functions import name_of
from tfmigrate.understand.parameters import first_parameter
from tfmigrate.understand.syntax import attribute_of
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import children, walk


def makers_first(methods: Sequence[FunctionValue]) -> Iterator[FunctionValue]:
    """`__init__`, then the others, each after those that set what it reads, unless they need each other.

    Of those that need each other the ones come first that make what they read themselves, and of these the outermost:
    `fit()` calls `build()`, and `wrap()` replaces the model that one of them must have made.
    """
    order = _Order(methods)
    left = dict.fromkeys(sorted(methods, key=lambda one: name_of(one) != "__init__"))
    while left:
        chosen = order.next_of(left)
        del left[chosen]
        yield chosen


class _Order:
    """Which methods of an object need which others."""

    def __init__(self, methods: Sequence[FunctionValue]) -> None:
        by_name = {name_of(method): method for method in methods}
        mentions = {method: Mentions.of(method.node) for method in methods}
        mentioned = {method: own.mentioned for method, own in mentions.items()}
        self._called = {method: [by_name[n] for n in names if n in by_name] for method, names in mentioned.items()}
        setting = _with_those_of(self._called, {method: own.changed for method, own in mentions.items()})
        begun = _with_those_of(self._called, {method: own.made for method, own in mentions.items()})
        self._of_all = _needs(setting, mentioned)
        """Those that set what a method mentions."""
        self._of_read_first = _needs(begun, {each: own.read_first - begun[each] for each, own in mentions.items()})
        """Those that make what a method reads before it makes it itself."""
        self._of_others = _needs(setting, {method: names - setting[method] for method, names in mentioned.items()})
        """Those that set what a method mentions and does not set itself."""

    def next_of(self, left: Collection[FunctionValue]) -> FunctionValue:
        """The one of some methods to walk first."""
        first = next(iter(left))
        if name_of(first) == "__init__":
            return first
        free = next(self._free(self._of_all, left), None) or self._outermost_that_makes(left)
        return free or next(self._free(self._of_others, left), first)

    def _outermost_that_makes(self, left: Collection[FunctionValue]) -> FunctionValue | None:
        """One that makes what it reads, and that no other such one calls."""
        making = list(self._free(self._of_read_first, left))
        inner = {helper for method in making for helper in self._called[method] if helper is not method}
        return next((method for method in making if method not in inner), None)

    @staticmethod
    def _free(needs: _Needs, left: Collection[FunctionValue]) -> Iterator[FunctionValue]:
        """The methods that depend on no other method in `left`."""
        return (method for method in left if needs[method].isdisjoint(left))


_Attributes = Mapping[FunctionValue, Set[str]]
_Needs = Mapping[FunctionValue, Set[FunctionValue]]


def _with_those_of(called: Mapping[FunctionValue, Sequence[FunctionValue]], own: _Attributes) -> _Attributes:
    """The attributes of each method with those of the methods that it calls on its object."""
    reached = {method: set(attributes) for method, attributes in own.items()}
    grown = True
    while grown:
        sizes = [len(attributes) for attributes in reached.values()]
        for method, inner in called.items():
            reached[method].update(*(reached[helper] for helper in inner))
        grown = sizes != [len(attributes) for attributes in reached.values()]
    return reached


def _needs(providing: _Attributes, read: _Attributes) -> _Needs:
    """The other methods that make an attribute which a method reads."""
    return {
        method: {
            maker for maker, attributes in providing.items() if maker is not method and not names.isdisjoint(attributes)
        }
        for method, names in read.items()
    }


@dataclass(frozen=True)
class Mentions:
    """The attributes of its object that a method mentions."""

    mentioned: Set[str]
    changed: Set[str]
    """Those that it assigns to, or to whose items and attributes."""
    read_first: Set[str]
    """Those that it reads, or calls, above the first line that assigns to them."""
    made: Set[str]
    """Those that it assigns to without having read them."""

    @staticmethod
    @lru_cache(maxsize=1000)  # A class has the methods of its bases, too.
    def of(method: cst.FunctionDef | cst.Lambda) -> Mentions:
        own = first_parameter(method)
        targets = [part.target for part in walk(method.body) if isinstance(part, cst.AssignTarget | cst.AnnAssign)]
        read: set[str] = set()
        made: set[str] = set()
        for part, assigned in _in_order_of_evaluation(method.body):
            name = attribute_of(own, part)
            if name is not None and name not in read | made:
                (made if assigned else read).add(name)
        return Mentions(_attributes_in([method.body], own), _attributes_in(targets, own), read, made)


def _attributes_in(nodes: Iterable[cst.CSTNode], own: str | None) -> Set[str]:
    """The attributes of the object `own` that stand in some nodes."""
    names = (attribute_of(own, part) for node in nodes for part in walk(node))
    return {name for name in names if name is not None}


def _in_order_of_evaluation(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, bool]]:
    """All in a node, what is assigned before what it is assigned to; each with whether it is assigned to."""
    if isinstance(node, cst.Assign | cst.AnnAssign):
        if node.value is not None:
            yield from _in_order_of_evaluation(node.value)
        for target in [assigned.target for assigned in node.targets] if isinstance(node, cst.Assign) else [node.target]:
            for part in [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]:
                yield part, True
                yield from _in_order_of_evaluation(part)
    else:
        yield node, False
        for child in children(node):
            yield from _in_order_of_evaluation(child)
