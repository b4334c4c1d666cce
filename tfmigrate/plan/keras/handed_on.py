"""What reaches the `__init__` of a class of Keras, through those of the program's classes that descend from it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from tfmigrate.plan.keras.forwarding import ForwardingInit, Given, Passed, ancestry, descends, passed_in
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.values import ClassValue, FunctionValue, Symbol, Value


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
class Construction:
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
    """All objects that a program makes of some classes of Keras and their subclasses."""

    subclasses: Subclasses
    made: Sequence[Construction]

    def made_in(self, module: Module) -> list[Construction]:
        """Those that the calls of a module make."""
        return [one for one in self.made if one.facts.module is module]

    def of_class(self, cls: ClassValue) -> list[Construction]:
        """The objects of a class of the program, and of those that descend from it."""
        return [one for one in self.made if one.cls is not None and cls in one.cls.ancestors()]

    def all(self) -> list[Construction]:
        """These, and what classes that nothing makes an object of begin with, as far as they say it themselves."""
        return [*self.made, *self.never_made]

    @cached_property
    def never_made(self) -> Sequence[Construction]:
        known, run = self.subclasses.migration.facts.modules.values(), {one.handed for one in self.made}
        classes = {cls.node: cls for facts in known for cls in facts.classes if descends(cls, self.subclasses.bases)}
        said = map(self.subclasses.said_by, classes.values())
        return [one for one in said if one is not None and one.handed not in run]


@dataclass(frozen=True)
class Subclasses:
    """The classes of a program that descend from some of Keras, and how their objects begin."""

    migration: Migration
    bases: Mapping[str, Sequence[str]]
    """Those of Keras, each with the parameters of its `__init__` in order."""

    def objects(self) -> Objects:
        modules = self.migration.facts.modules.values()
        return Objects(self, [one for facts in modules for call in facts.module.calls for one in self._of(call, facts)])

    def _of(self, call: cst.Call, facts: Facts) -> Iterator[Construction]:
        """Each way in which a call makes an object of such a class, or of one of Keras itself."""
        base = facts.symbols.get(call.func, "")
        passed = passed_in(call.args, facts)
        if names.canonical(base) in self.bases:
            yield self._construction(_Way(call, facts), base, passed)
        for cls in own_classes(call, facts, self.bases.keys()):
            yield from self._through(_Way(call, facts, cls), ancestry(cls), passed)

    def call_of_keras(self, cls: ClassValue) -> tuple[FunctionValue, cst.Call] | None:
        """The `__init__` of a class, with the one call in it that runs that of Keras; None where there are others."""
        method = cls.members.get("__init__")
        forwarding = self._forwarding(method)
        if not isinstance(method, FunctionValue) or forwarding is None:
            return None
        calls = [
            call
            for call, left in forwarding.calls(cls, ancestry(cls)[1:], self.bases.keys())
            if isinstance(_first_with_init(left, self.bases.keys()), Symbol)
        ]
        return (method, calls[0]) if len(calls) == 1 else None

    def said_by(self, cls: ClassValue) -> Construction | None:
        """What the call of Keras's `__init__` in that of a class passes, whatever the class is made with."""
        known = self.call_of_keras(cls)
        forwarding = self._forwarding(known[0]) if known is not None else None
        base = _first_with_init([one for one in ancestry(cls) if isinstance(one, Symbol)], self.bases.keys())
        if known is None or forwarding is None or not isinstance(base, Symbol):
            return None
        passed = forwarding.passed(known[1], Passed(more_placed=True, more_named=True))
        return self._construction(_Way(known[1], forwarding.facts, cls), base.name, passed)

    def _forwarding(self, method: Value | None) -> ForwardingInit | None:
        if isinstance(method, FunctionValue) and positional(method.node.params):
            return ForwardingInit(method, self.migration.facts.modules[method.module], self.migration)
        return None

    def _construction(self, way: _Way, base: str, passed: Passed) -> Construction:
        given = passed.given(self.bases[names.canonical(base)])
        hidden = passed.more_placed or passed.more_named
        return Construction(way.call, base, given, hidden, way.facts, way.cls, way.steps)

    def _through(self, way: _Way, left: Sequence[Value], passed: Passed) -> Iterator[Construction]:
        """`left`: the classes whose `__init__` may be the one that is run, in the order in which they are asked."""
        asked = _first_with_init(left, self.bases.keys())
        if isinstance(asked, Symbol):
            yield self._construction(way, asked.name, passed)
        method = asked.members["__init__"] if isinstance(asked, ClassValue) else None
        forwarding = self._forwarding(method)
        if not isinstance(asked, ClassValue) or forwarding is None or way.cls is None:
            return
        if forwarding.method in [step.method for step in way.steps]:
            return
        call, facts = (way.steps[-1].handed, way.steps[-1].facts) if way.steps else (way.call, way.facts)
        for handed, later in forwarding.calls(way.cls, left[left.index(asked) + 1 :], self.bases.keys()):
            step = Step(forwarding.method, (facts.module, call), handed, asked, forwarding.facts)
            further = replace(way, steps=(*way.steps, step))
            yield from self._through(further, later, forwarding.passed(handed, passed))


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


def own_classes(call: cst.Call, facts: Facts, bases: Container[str]) -> list[ClassValue]:
    """The classes of the program that a call may make an object of, where they descend from one of these."""
    classes = [value for value in ordered(facts.options(call.func)) if isinstance(value, ClassValue)]
    return [cls for cls in classes if descends(cls, bases)]
