"""The arguments that an `__init__` of the program forwards to that of another class."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.change.calls import text_of, truth_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import default_of, parameters_of, reaching
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Symbol, Value
from tfmigrate.walk import calls_in, walk


@dataclass(frozen=True)
class Given:
    """What is passed for a parameter."""

    node: cst.BaseExpression | None
    """None where something may be passed that cannot be read."""
    facts: Facts
    """Of the module that it stands in."""

    @property
    def text(self) -> str | None:
        return text_of(self.node)

    @property
    def truth(self) -> bool | None:
        """Whether it counts as true, where that is written out."""
        return truth_of(self.node) if self.node is not None else None


@dataclass(frozen=True)
class Passed:
    """All that a call passes."""

    placed: Sequence[Given] = ()
    named: Mapping[str, Given] = field(default_factory=dict)
    more_placed: bool = False
    """Whether it may pass more by place, as `*args` do that are not known."""
    more_named: bool = False

    def given(self, parameters: Sequence[str]) -> dict[str, Given]:
        """What is passed by name, and for these parameters by their place."""
        return {**dict(zip(parameters, self.placed, strict=False)), **self.named}


@dataclass(frozen=True)
class ForwardingInit:
    """An `__init__` of the program, which forwards what it is given."""

    method: FunctionValue
    facts: Facts
    migration: Migration

    def calls(
        self, cls: ClassValue, rest: Sequence[Value], bases: Set[str]
    ) -> Iterator[tuple[cst.Call, Sequence[Value]]]:
        """The calls in it of the `__init__` of another class, each with the classes that are asked for theirs."""
        for call in calls_of_inits(self.method.node):
            holder = call.func.value if isinstance(call.func, cst.Attribute) else None
            if isinstance(holder, cst.Call):
                above = self._named_by_super(holder)
                if above is None:
                    yield call, rest
                elif above in (order := ancestry(cls)):
                    yield call, order[order.index(above) + 1 :]
            elif holder is not None and self._passes_itself(call):
                (value, *more) = self._values(holder)
                if not more and isinstance(value, ClassValue) and descends(value, bases):
                    yield call, ancestry(value)
                elif not more and isinstance(value, Symbol):
                    yield call, (value,)

    def _values(self, node: cst.BaseExpression) -> list[Value | None]:
        symbol = self.facts.symbols.get(node)
        return [Symbol(symbol)] if symbol is not None else [*self.facts.options(node)] or [None]

    def _named_by_super(self, call: cst.Call) -> Value | None:
        """The class that `super(Class, self)` names; None for the one that it stands in."""
        values = self._values(call.args[0].value) if call.args else [None]
        return values[0] if len(values) == 1 and isinstance(values[0], ClassValue | Symbol) else None

    def _passes_itself(self, call: cst.Call) -> bool:
        own = [param.name.value for param in positional(self.method.node.params)[:1]]
        return bool(call.args) and [dotted(call.args[0].value)] == own

    def passed(self, handed: cst.Call, given: Passed) -> Passed:
        """What a call in it passes on, where it is itself given `given`."""
        values, rest = self._bound(given)
        params = self.method.node.params
        star = params.star_arg.name.value if isinstance(params.star_arg, cst.Param) else ""
        stars = params.star_kwarg.name.value if params.star_kwarg is not None else ""
        placed: list[Given] = []
        named: dict[str, Given] = {}
        more_placed = more_named = False
        for arg in arguments_of(handed):
            whole = arg.value.value if isinstance(arg.value, cst.Name) else ""
            if arg.star == "*":
                known = bool(star) and whole == star and self._is_as_given(star, handed)
                placed += rest.placed if known and not more_placed else ()
                more_placed = more_placed or not known or rest.more_placed
            elif arg.star:
                kept = self._rest(stars, rest, handed) if stars and whole == stars else Passed(more_named=True)
                named = {**kept.named, **named}
                more_named = more_named or kept.more_named
            elif arg.keyword is not None:
                named[arg.keyword.value] = self._value(arg.value, values, handed)
            elif not more_placed:
                placed.append(self._value(arg.value, values, handed))
        return Passed(placed, named, more_placed, more_named)

    def _bound(self, given: Passed) -> tuple[dict[str, Given], Passed]:
        """What its parameters stand for, and what is left for `*args` and `**kwargs`."""
        params = self.method.node.params
        places = [param.name.value for param in positional(params)[1:]]
        declared = parameters_of(self.method.node)[1:]
        values = dict(zip(places, given.placed, strict=False))
        values.update({name: value for name, value in given.named.items() if name in declared})
        for name in declared:
            if name not in values:
                default = default_of(name, self.method.node)
                if given.more_named or (given.more_placed and name in places):
                    values[name] = Given(None, self.facts)
                elif default is not None:
                    values[name] = Given(default, self.facts)
        named = {name: value for name, value in given.named.items() if name not in declared}
        return values, Passed(given.placed[len(places) :], named, given.more_placed, given.more_named)

    def _value(self, node: cst.BaseExpression, values: Mapping[str, Given], handed: cst.Call) -> Given:
        """A parameter stands for what is passed for it, and whatever else is written for itself."""
        name = node.value if isinstance(node, cst.Name) else ""
        return values[name] if name in values and self._is_as_given(name, handed) else Given(node, self.facts)

    def _is_as_given(self, name: str, handed: cst.Call) -> bool:
        """Whether a parameter is bound to nothing else above the call that hands it on."""
        module = self.facts.module
        scopes = self.migration.scopes_of(module)
        bindings = reaching(name, scopes.by_node[self.method.node], scopes)
        place = module.position(handed)
        return sum(module.position(binding.node) < place for binding in bindings) == 1

    def _rest(self, name: str, given: Passed, handed: cst.Call) -> Passed:
        """What `**kwargs` hold of what was given by name, where the call hands them on."""
        changes = _changed_keys(name, self.method.node, self.migration.scopes_of(self.facts.module))
        if changes is None or not self._is_as_given(name, handed):
            return Passed(more_named=True)
        unread = {key for key in given.named if key in changes.removed} | changes.set
        return Passed(
            named={**given.named, **dict.fromkeys(unread, Given(None, self.facts))}, more_named=given.more_named
        )


@dataclass(frozen=True)
class _Changes:
    """The keys of a dict that a function changes."""

    removed: Set[str]
    set: Set[str]


def _changed_keys(name: str, function: cst.CSTNode, scopes: Scopes) -> _Changes | None:
    """Those of its `**kwargs`; None where it may change others."""
    removed: set[str] = set()
    written: set[str] = set()
    clear: set[cst.CSTNode] = set()
    for node in walk(function):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            key, method = text_of(node.args[0].value) if node.args else None, node.func.attr.value
            if method == "get" or (method in ("pop", "setdefault") and key is not None):
                clear.add(node.func.value)
                if dotted(node.func.value) == name and method != "get":
                    (removed if method == "pop" else written).add(key or "")
        elif isinstance(node, cst.AssignTarget | cst.AugAssign):
            key = _key_of(node.target)
            if key is not None and isinstance(node.target, cst.Subscript) and dotted(node.target.value) == name:
                clear.add(node.target.value)
                written.add(key)
        else:
            clear.update(_only_read(node))
    mentions = scopes.of_variable(name, scopes.by_node[function])
    return _Changes(removed, written) if all(one.binds or one.node in clear for one in mentions) else None


def _only_read(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A dict that is unpacked, or asked for a key."""
    if isinstance(node, cst.Arg) and node.star == "**":
        yield node.value
    elif isinstance(node, cst.ComparisonTarget) and isinstance(node.operator, cst.In | cst.NotIn):
        yield node.comparator
    elif isinstance(node, cst.Arg | cst.Assign | cst.Return) and isinstance(node.value, cst.Subscript):
        yield node.value.value


def _key_of(node: cst.BaseExpression) -> str | None:
    index = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    return text_of(index.value) if isinstance(index, cst.Index) else None


def calls_of_inits(function: cst.CSTNode) -> list[cst.Call]:
    """The calls of an `__init__` in a function."""
    methods = [call for call in calls_in(function) if isinstance(call.func, cst.Attribute)]
    return [call for call in methods if isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__"]


def names_class(call: cst.Call) -> bool:
    """Whether it is `Class.__init__(self, ...)`."""
    func = call.func
    return isinstance(func, cst.Attribute) and func.attr.value == "__init__" and not isinstance(func.value, cst.Call)


def arguments_of(call: cst.Call) -> Sequence[cst.Arg]:
    """What a call passes to an `__init__`, without the object."""
    return call.args[1:] if names_class(call) else call.args


def passed_in(args: Sequence[cst.Arg], facts: Facts) -> Passed:
    stars = [arg.star for arg in args]
    places = args[: stars.index("*")] if "*" in stars else args
    return Passed(
        [Given(arg.value, facts) for arg in places if arg.keyword is None and not arg.star],
        {arg.keyword.value: Given(arg.value, facts) for arg in args if arg.keyword is not None},
        "*" in stars,
        "**" in stars,
    )


def descends(cls: ClassValue, bases: Container[str]) -> bool:
    return any(names.canonical(base) in bases for base in cls.outside_bases())


def ancestry(cls: ClassValue) -> list[Value]:
    """A class and what it descends from, in the order in which they are asked for a method."""
    met: list[Value] = []
    pending: list[Value] = [cls]
    while pending:
        value = pending.pop()
        met.append(value)
        pending.extend(reversed(value.bases) if isinstance(value, ClassValue) else ())
    last = {value: place for place, value in enumerate(met)}
    return sorted(last, key=lambda value: last[value])
