"""What reaches the `__init__` of a class of Keras, through those of the program's classes that descend from it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import libcst as cst

from tfmigrate.plan.change.calls import text_of, truth_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
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
class Step:
    """An `__init__` of the program on the way."""

    method: FunctionValue
    caller: tuple[Module, cst.Call]
    """What runs it: the call that makes the object, or one in the `__init__` of a class that descends from its."""
    handed: cst.Call
    """The call in it that leads on."""
    cls: ClassValue
    """The class that defines it."""
    facts: Facts
    """Of its module."""


@dataclass(frozen=True)
class Beginning:
    """One way from a call that makes an object to the `__init__` of Keras's class."""

    call: cst.Call
    base: str
    """The qualified name of Keras's class."""
    named: Mapping[str, Given]
    """What reaches it, by its names there."""
    hidden: bool
    """Whether more may, that cannot be read."""
    facts: Facts
    """Of the module that the call stands in."""
    cls: ClassValue | None = None
    """The class of the program that the object is of; None where it is Keras's own."""
    steps: Sequence[Step] = ()

    def given(self, name: str) -> Given | None:
        """What reaches a parameter; None where nothing does."""
        return self.named.get(name) or (Given(None, self.facts) if self.hidden else None)

    @property
    def through(self) -> dict[cst.FunctionDef, tuple[Module, cst.Call]]:
        """The functions on the way, each with the call that runs it."""
        return {step.method.node: step.caller for step in self.steps if isinstance(step.method.node, cst.FunctionDef)}

    @property
    def calls(self) -> list[tuple[cst.Call, Facts]]:
        """The calls on the way, each with its module's facts: the one that makes the object, and those in the steps."""
        return [(self.call, self.facts), *((step.handed, step.facts) for step in self.steps)]

    @property
    def handed(self) -> cst.Call:
        """The one that Keras's `__init__` is run by."""
        return self.calls[-1][0]


@dataclass(frozen=True)
class Objects:
    """All objects that a program makes of some classes of Keras and their heirs."""

    heirs: Heirs
    made: Sequence[Beginning]

    def made_in(self, module: Module) -> list[Beginning]:
        """Those that the calls of a module make."""
        return [one for one in self.made if one.facts.module is module]

    def of_class(self, cls: ClassValue) -> list[Beginning]:
        """The objects of a class of the program, and of those that descend from it."""
        return [one for one in self.made if one.cls is not None and cls in one.cls.ancestors()]

    def all(self) -> list[Beginning]:
        """These, and what classes that nothing makes an object of begin with, as far as they say it themselves."""
        return [*self.made, *self.never_made]

    @cached_property
    def never_made(self) -> Sequence[Beginning]:
        known, run = self.heirs.migration.facts.modules.values(), {one.handed for one in self.made}
        classes = {cls.node: cls for facts in known for cls in facts.classes if descends(cls, self.heirs.bases)}
        said = map(self.heirs.said_by, classes.values())
        return [one for one in said if one is not None and one.handed not in run]


@dataclass(frozen=True)
class Heirs:
    """The classes of a program that descend from some of Keras, and how their objects begin."""

    migration: Migration
    bases: Mapping[str, Sequence[str]]
    """Those of Keras, each with the parameters of its `__init__` in order."""

    def objects(self) -> Objects:
        modules = self.migration.facts.modules.values()
        return Objects(self, [one for facts in modules for call in facts.module.calls for one in self._of(call, facts)])

    def _of(self, call: cst.Call, facts: Facts) -> Iterator[Beginning]:
        """Each way in which a call makes an object of such a class, or of one of Keras itself."""
        base = facts.symbols.get(call.func, "")
        passed = _passed(call.args, facts)
        if names.canonical(base) in self.bases:
            yield self._begun(_Way(call, facts), base, passed)
        for cls in own_classes(call, facts, self.bases.keys()):
            yield from self._through(_Way(call, facts, cls), _order(cls), passed)

    def call_of_keras(self, cls: ClassValue) -> tuple[FunctionValue, cst.Call] | None:
        """The `__init__` of a class, with the one call in it that runs that of Keras; None where there are others."""
        method = cls.members.get("__init__")
        handing = self._handing(method)
        if not isinstance(method, FunctionValue) or handing is None:
            return None
        calls = [
            call
            for call, left in handing.calls(cls, _order(cls)[1:], self.bases.keys())
            if isinstance(_first_with_init(left, self.bases.keys()), Symbol)
        ]
        return (method, calls[0]) if len(calls) == 1 else None

    def said_by(self, cls: ClassValue) -> Beginning | None:
        """What the call of Keras's `__init__` in that of a class passes, whatever the class is made with."""
        known = self.call_of_keras(cls)
        handing = self._handing(known[0]) if known is not None else None
        base = _first_with_init([one for one in _order(cls) if isinstance(one, Symbol)], self.bases.keys())
        if known is None or handing is None or not isinstance(base, Symbol):
            return None
        passed = handing.passed(known[1], Passed(more_placed=True, more_named=True))
        return self._begun(_Way(known[1], handing.facts, cls), base.name, passed)

    def _handing(self, method: Value | None) -> _Handing | None:
        if isinstance(method, FunctionValue) and positional(method.node.params):
            return _Handing(method, self.migration.facts.modules[method.module], self.migration)
        return None

    def _begun(self, way: _Way, base: str, passed: Passed) -> Beginning:
        given = passed.given(self.bases[names.canonical(base)])
        hidden = passed.more_placed or passed.more_named
        return Beginning(way.call, base, given, hidden, way.facts, way.cls, way.steps)

    def _through(self, way: _Way, left: Sequence[Value], passed: Passed) -> Iterator[Beginning]:
        """`left`: the classes whose `__init__` may be the one that is run, in the order in which they are asked."""
        asked = _first_with_init(left, self.bases.keys())
        if isinstance(asked, Symbol):
            yield self._begun(way, asked.name, passed)
        method = asked.members["__init__"] if isinstance(asked, ClassValue) else None
        handing = self._handing(method)
        if not isinstance(asked, ClassValue) or handing is None or way.cls is None:
            return
        if handing.method in [step.method for step in way.steps]:
            return
        call, facts = (way.steps[-1].handed, way.steps[-1].facts) if way.steps else (way.call, way.facts)
        for handed, later in handing.calls(way.cls, left[left.index(asked) + 1 :], self.bases.keys()):
            step = Step(handing.method, (facts.module, call), handed, asked, handing.facts)
            further = replace(way, steps=(*way.steps, step))
            yield from self._through(further, later, handing.passed(handed, passed))


@dataclass(frozen=True)
class _Way:
    """A way that is being followed."""

    call: cst.Call
    facts: Facts
    cls: ClassValue | None = None
    steps: Sequence[Step] = ()


def _first_with_init(classes: Sequence[Value], bases: Container[str]) -> Value | None:
    """The class whose `__init__` is run: one of the program that has it, or one of Keras's."""
    for cls in classes:
        if isinstance(cls, Symbol) and names.canonical(cls.name) in bases:
            return cls
        if isinstance(cls, ClassValue) and "__init__" in cls.members:
            return cls
    return None


@dataclass(frozen=True)
class _Handing:
    """An `__init__` of the program, which hands on what it is given."""

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
                elif above in (order := _order(cls)):
                    yield call, order[order.index(above) + 1 :]
            elif holder is not None and self._passes_itself(call):
                (value, *more) = self._values(holder)
                if not more and isinstance(value, ClassValue) and descends(value, bases):
                    yield call, _order(value)
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


def _passed(args: Sequence[cst.Arg], facts: Facts) -> Passed:
    stars = [arg.star for arg in args]
    places = args[: stars.index("*")] if "*" in stars else args
    return Passed(
        [Given(arg.value, facts) for arg in places if arg.keyword is None and not arg.star],
        {arg.keyword.value: Given(arg.value, facts) for arg in args if arg.keyword is not None},
        "*" in stars,
        "**" in stars,
    )


def own_classes(call: cst.Call, facts: Facts, bases: Container[str]) -> list[ClassValue]:
    """The classes of the program that a call may make an object of, where they descend from one of these."""
    classes = [value for value in ordered(facts.options(call.func)) if isinstance(value, ClassValue)]
    return [cls for cls in classes if descends(cls, bases)]


def descends(cls: ClassValue, bases: Container[str]) -> bool:
    return any(names.canonical(base) in bases for base in cls.outside_bases())


def _order(cls: ClassValue) -> list[Value]:
    """A class and what it descends from, in the order in which they are asked for a method."""
    met: list[Value] = []
    pending: list[Value] = [cls]
    while pending:
        value = pending.pop()
        met.append(value)
        pending.extend(reversed(value.bases) if isinstance(value, ClassValue) else ())
    last = {value: place for place, value in enumerate(met)}
    return sorted(last, key=lambda value: last[value])
