"""Where the walk through a program stands, what every name stands for there, and what was met on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Protocol

import libcst as cst

from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import DeviceChoice, Facts, Guard, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.origins import names_keras
from tfmigrate.understand.program import Program
from tfmigrate.understand.store import Key, Store
from tfmigrate.understand.values import (
    ClassValue,
    Entered,
    Frame,
    FunctionValue,
    Instance,
    ModelObject,
    Opaque,
    Parameter,
    Site,
    Sites,
    Value,
)

_MAX_DEPTH = 24
_WALKS = 40
"""How often a statement may be walked on average, before calls are no longer followed: the cost stays linear."""
_MOST_WALKS = 100_000
"""So many in all, about ten seconds: a library with its callers is walked, but not in every combination of them."""


Reads = Mapping[Key, Value | None]
"""Attributes of objects, with what they were; None for one that was not set."""


@dataclass(frozen=True)
class Summary:
    """What a function without effects returned when it was walked."""

    value: Value
    call: Site
    """Where it was called."""
    made: frozenset[ModelObject]
    """The models it made."""
    given: frozenset[ModelObject]
    """The models that stood behind what it was given."""
    given_sites: Sites
    """Where that was made."""
    objects: tuple[Instance | Opaque | Parameter, ...]
    """Those that it was given whose attributes are followed, a method's own first: of others it returns other things.
    """
    read: Reads
    """What it read of them, and of others."""
    data: Mapping[PlainData, Value]
    """What it returned for the plain data that it was walked with."""


PlainData = tuple[tuple[str | None, Value | None], ...]
"""Of each argument of a call its keyword, and its value where that is plain data."""
_OF_A_WALK = (
    "functions", "classes", "instances", "holders", "entered", "entered_on", "summaries", "copies", "inner",
)  # fmt: skip
"""What is met on a walk, beside the facts."""


class State:
    """What the interpreter carries from statement to statement.

    A function that is given a State looks and notes; one that is given a Walker may walk further code.
    """

    def __init__(self, program: Program, aliases: Sequence[str] = ()) -> None:
        """`aliases`: further qualified names that are multi_gpu_model."""
        self.program = program
        self.aliases = frozenset(aliases)
        self.names_keras = names_keras(program.modules)
        """Whether the program mentions Keras or TensorFlow at all; where it does not, nothing in it is Keras's."""
        self.program_facts = ProgramFacts({module: Facts(module) for module in program.modules})
        self.lasting = self.program_facts
        """The facts that are kept when those of a walk aside are forgotten."""
        self.tops = {module: Frame(module, None, None) for module in program.modules}
        """Each module's top level."""

        # Where the walk stands.
        self.store = Store()
        self.frame = next(iter(self.tops.values()))
        self.unit: Unit = cst.SimpleStatementLine(body=())
        self.guards: tuple[Guard, ...] = ()
        self.scopes: tuple[Entered, ...] = ()
        self.class_body: ClassValue | None = None
        """The class whose body is walked: its names are seen there, and in no function inside it."""
        self.returns: list[Value] = []
        """What the activation has returned so far."""

        # What was met.
        self.functions: list[FunctionValue] = []
        self.classes: list[ClassValue] = []
        self.instances: dict[ClassValue, Value] = {}
        """The first object of each class."""
        self.holders: set[Opaque | Parameter] = set()
        """Objects that are not followed and were given models, or parts of them, as attributes."""
        self.entered: set[cst.CSTNode] = set()
        """Functions that were walked, on whatever object."""
        self.entered_on: set[tuple[ClassValue, cst.CSTNode]] = set()
        """Methods that were walked, with each class that the object they were called on belongs to."""
        self.summaries: dict[cst.CSTNode, Summary] = {}
        self.copies: dict[cst.CSTNode, bool] = {}
        """Whether a function does what multi_gpu_model does, of those that were called."""
        self._reads: dict[Key, Value | None] = {}
        self._globals: dict[Frame, set[str]] = {}
        self.inner: dict[tuple[Module, Value, str], Value] = {}
        """The attributes that `import a.b.c` gave to packages, in the module where it stands, as far as a package on
        the way has no known `__init__.py`."""
        self.effects = 0
        """How many attributes were set, models compiled or trained, and parallel ones used so far: a function that
        does any of this is walked again at each call. One that loads weights into what it builds is not."""
        places = sum(len(module.places) for module in program.modules)
        self.left = max(2 * places, min(2_000 + _WALKS * places, _MOST_WALKS))
        """How many statements may still be walked."""
        self.kept = self.left // 2
        """So many are for what the program does; the rest may be walked again for what expressions stand for."""

    @property
    def facts(self) -> Facts:
        """The facts of the module that is being walked."""
        return self.program_facts.modules[self.frame.module]

    @property
    def site(self) -> Site:
        return Site(self.frame, self.unit)

    def lookup(self, name: str) -> Value | None:
        """What a variable stands for here; None where no known code binds it."""
        member = self.class_body.members.get(name) if self.class_body is not None else None
        if member is not None:
            return member
        frame: Frame | None = self.frame
        while frame is not None:
            value = self.store.get((frame, name))
            if value is not None:
                return value
            frame = frame.closure
        return None

    def bind(self, name: str, value: Value) -> None:
        frame = self.frame
        if name in self._globals.get(frame, ()):
            frame = self.tops[frame.module]
        self.store[(frame, name)] = value

    def attribute(self, owner: Instance | ModelObject | Opaque | Parameter, name: str) -> Value | None:
        """What an attribute of an object was set to; None where no known code set it."""
        value = self.store.get((owner, name))
        self._reads[(owner, name)] = value
        return value

    @contextmanager
    def noting_reads(self) -> Iterator[Reads]:
        """The attributes that are read in the block; the blocks round it read them too."""
        outer, self._reads = self._reads, {}
        try:
            yield self._reads
        finally:
            outer.update(self._reads)
            self._reads = outer

    def still_reads(self, reads: Reads) -> bool:
        """Whether all of these attributes are what they were; if so they count as read."""
        if any(self.store.get(key) != value for key, value in reads.items()):
            return False
        self._reads.update(reads)
        return True

    def declare_global(self, declared: Iterable[str]) -> None:
        self._globals.setdefault(self.frame, set()).update(declared)

    def may_enter(self, function: FunctionValue) -> bool:
        """Whether a function can be walked here: it does not run already, and not too much was walked."""
        active = [frame.function for frame in self.frame.chain()]
        return function.node not in active and len(active) <= _MAX_DEPTH and self.left >= 0

    @contextmanager
    def activation(self, frame: Frame) -> Iterator[list[Value]]:
        """A function, or a module's top level, while it is walked; what it returns gathers in the list."""
        saved = self.frame, self.unit, self.guards, self.scopes, self.returns, self.class_body
        self.frame, self.returns, self.class_body = frame, [], None
        if frame.call is None:
            self.guards = ()
            self.scopes = ()
        try:
            yield self.returns
        finally:
            frame.ended = frame.function is not None
            self.frame, self.unit, self.guards, self.scopes, self.returns, self.class_body = saved

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Code that is called by unknown code, if at all: what it does to objects may be done when others are."""
        before, self.store = self.store, Store(self.store)
        try:
            yield
        finally:
            before.absorb(self.store)
            self.store = before

    @contextmanager
    def aside(self) -> Iterator[ProgramFacts]:
        """Code that is walked once more, only for what its expressions stand for: what else it does is forgotten. What
        is found out about it gathers in facts of its own."""
        saved = {**vars(self)}
        self.__dict__.update((name, copy(saved[name])) for name in _OF_A_WALK)
        self.store = Store(self.store)
        self.program_facts = ProgramFacts({module: Facts(module) for module in self.program.modules})
        for module, facts in self.program_facts.modules.items():
            facts.stars.extend(saved["program_facts"].modules[module].stars)
        try:
            yield self.program_facts
        finally:
            left = self.left
            self.__dict__.update(saved)
            self.left = left

    @contextmanager
    def elsewhere(self, *, frame: Frame | None = None, unit: Unit | None = None) -> Iterator[None]:
        """Another place, while expressions are evaluated as what stands there; what is not given stays."""
        saved = self.frame, self.unit
        self.frame, self.unit = frame or self.frame, unit or self.unit
        try:
            yield
        finally:
            self.frame, self.unit = saved

    def new_model(
        self,
        node: cst.CSTNode,
        sites: Sites = frozenset(),
        on: frozenset[ModelObject] = frozenset(),
        *,
        origin: str,
        maker: str = "",
    ) -> ModelObject:
        """A model that is made here."""
        model = ModelObject(self.site, node, {self.site, *sites}, on, origin, maker)
        self.program_facts.models.append(model)
        return model

    def chooses_devices(self, node: cst.BaseExpression) -> None:
        """Note that the GPUs are chosen or set up here."""
        self.effects += 1
        self.program_facts.device_choices.append(DeviceChoice(node, self.site))

    def builds(self, models: Iterable[ModelObject]) -> None:
        """Note that variables of models may be made here: a Sequential without a shape has none before build()."""
        for model in models:
            model.sites.add(self.site)


class Walker(Protocol):
    """What calls, classes, branches and imports ask of the interpreter: to walk on in another piece of code."""

    @property
    def state(self) -> State: ...

    def load(self, module: Module) -> None:
        """Run a module's top level, once."""

    def block(self, block: cst.Module | cst.BaseSuite) -> bool:
        """Walk a block; False when its end is never reached."""

    def evaluate(self, node: cst.BaseExpression) -> Value:
        """What an expression stands for."""
