"""What a name can stand for: the abstract values that the interpreter carries through a program."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard, Union

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.module import Module
from tfmigrate.walk import children

if TYPE_CHECKING:
    from tfmigrate.understand.lifecycle import Wrap


@dataclass(eq=False)
class Frame:
    """One activation of a function, or a module's top level. `call` is where its caller stands."""

    module: Module
    function: cst.FunctionDef | cst.Lambda | None
    closure: Frame | None
    call: Site | None = None
    call_node: cst.Call | None = None
    """The call expression, whose arguments the parameters stand for."""
    owner: ClassValue | None = None
    """The class whose method runs."""
    receiver: Value | None = None
    """The object whose method runs."""
    outlived: bool = False
    """Whether a function or class was made in it, which may read its variables when it has ended."""
    ended: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether nothing will read its variables any more."""
        return self.ended and not self.outlived

    @property
    def depth(self) -> int:
        return 0 if self.call is None else self.call.frame.depth + 1

    def chain(self) -> Iterator[Frame]:
        """This frame, its caller, and so on outwards."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.call.frame if frame.call is not None else None


@dataclass(frozen=True)
class Site:
    """A unit of the program in one activation."""

    frame: Frame
    unit: Unit

    def chain(self) -> Iterator[Site]:
        """This place, the call it runs under, and so on outwards."""
        site: Site | None = self
        while site is not None:
            yield site
            site = site.frame.call

    @cached_property
    def place(self) -> tuple[str, ...]:
        """File and number of the unit, and those of the calls that lead to it: an order that is the same every time."""
        own = (self.frame.module.path, f"{self.frame.module.order.get(self.unit, 0):09}")
        return own if self.frame.call is None else own + self.frame.call.place

    def lifted(self, frame: Frame) -> Site | None:
        """The place in `frame` under which this one runs, or None where `frame` is no caller of it."""
        return next((site for site in self.chain() if site.frame is frame), None)


Sites = frozenset[Site]


@dataclass(frozen=True)
class Symbol:
    """Something from outside this program, under the name it was imported by."""

    name: str


@dataclass(frozen=True)
class ModuleValue:
    """A module of this program."""

    module: Module


@dataclass(frozen=True)
class Literal:
    """A value that is written out: a number, a text, True, None."""

    value: int | float | str | bool | None


@dataclass(frozen=True)
class Opaque:
    """Something that is not followed further. `origin` says what it is the result of, in words for the user.

    `sites` is where it was called into being, for the result of a call; empty for plain data. `settings` is what the
    standard library reads of files, or of the command line: what its methods return is plain data too.
    """

    origin: str
    sites: Sites = frozenset()
    node: cst.CSTNode | None = None
    settings: bool = False


@dataclass(frozen=True)
class Partial(Opaque):
    """`functools.partial(callee, ...)`: calling it calls `callee` with these arguments and more."""

    callee: Value = field(kw_only=True)
    arguments: Arguments = field(kw_only=True)


def unbound(name: str) -> Opaque:
    """What a name is that no known code binds: a builtin, or one that an unknown module brings."""
    return Opaque(f"the name {name}")


def is_unbound(value: Value) -> TypeGuard[Opaque]:
    return isinstance(value, Opaque) and value == unbound(value.origin.removeprefix("the name "))


@dataclass(frozen=True)
class Visible:
    """What TensorFlow sees of the machine: its devices, those that are GPUs, or how many GPUs.

    A comparison of that number is "several" (two or more) or "one" (at most).
    """

    what: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function without a known caller."""

    frame: Frame
    name: str


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A function or lambda of the program. `owner`: the class whose method it is."""

    node: cst.FunctionDef | cst.Lambda
    closure: Frame
    owner: ClassValue | None = None

    def __post_init__(self) -> None:
        self.closure.outlived = True

    @property
    def module(self) -> Module:
        return self.closure.module

    @cached_property
    def is_generator(self) -> bool:
        return isinstance(self.node, cst.FunctionDef) and contains_yield(self.node)


def is_of_the_program(value: Value) -> bool:
    """Whether a function, class or method is one that the program defines."""
    return isinstance(value, FunctionValue | ClassValue) or (isinstance(value, Method) and value.function is not None)


def _is_object(base: Value) -> bool:
    return base == unbound("object")


@dataclass(eq=False)
class ClassValue:
    """A class of the program. `members` are what its body binds."""

    node: cst.ClassDef
    closure: Frame
    bases: tuple[Value, ...]
    members: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.closure.outlived = True

    def lookup(self, name: str) -> Value | None:
        return next((cls.members[name] for cls in self.ancestors() if name in cls.members), None)

    def ancestors(self) -> Iterator[ClassValue]:
        """This class and those of this program that it descends from, each once."""
        pending: list[ClassValue] = [self]
        seen: set[ClassValue] = set()
        while pending:
            cls = pending.pop()
            if cls not in seen:
                seen.add(cls)
                yield cls
                pending.extend(base for base in reversed(cls.bases) if isinstance(base, ClassValue))

    def methods(self) -> list[FunctionValue]:
        """Its methods, inherited ones included, each name once."""
        members: dict[str, FunctionValue] = {}
        for cls in self.ancestors():
            for name, member in cls.members.items():
                if isinstance(member, FunctionValue):
                    members.setdefault(name, member)
        return list(members.values())

    def unknown_bases(self) -> Iterator[Value]:
        """Base classes that lie in a library or were not followed; `object` is known."""
        for cls in self.ancestors():
            yield from (base for base in cls.bases if not isinstance(base, ClassValue) and not _is_object(base))

    def outside_bases(self) -> Iterator[str]:
        """Names of the library classes this one descends from."""
        pending: list[Value] = [*reversed(self.bases)]
        seen: set[Value] = set()
        while pending:
            base = pending.pop()
            if isinstance(base, Symbol):
                yield base.name
            elif isinstance(base, ClassValue) and base not in seen:
                seen.add(base)
                pending.extend(reversed(base.bases))

    def is_callback(self) -> bool:
        """Whether it descends from a callback of Keras."""
        return any(names.canonical(base).startswith("keras.callbacks.") for base in self.outside_bases())


@dataclass(eq=False)
class Instance:
    """An object of a class of this program; its attributes live in the interpreter's store."""

    cls: ClassValue
    site: Site | None = None
    """Where it was made; None for the object that a class's methods are walked with."""
    call: cst.Call | None = None
    """The call of its class that made it."""


@dataclass(frozen=True)
class Method:
    """`receiver.name`, not yet called; `function` where the class is of this program."""

    receiver: Value
    name: str
    function: FunctionValue | None = None


@dataclass(frozen=True)
class Super:
    """`super()`: an object, seen as a base of `owner`."""

    receiver: Instance | ModelObject
    owner: ClassValue


def _remembered(value: object) -> int:
    """The hash of a value, which costs as much as all that it holds, and is asked for at each join."""
    known: int | None = value.__dict__.get("_hash")
    if known is None:
        known = value.__dict__["_hash"] = hash((type(value), *value.__dict__.values()))
    return known


@dataclass(frozen=True)
class Items:
    """A list or tuple (or its join over a loop) with what is known of its elements."""

    values: tuple[Value, ...]
    kind: str = "tuple"
    counted: bool = True
    """There are just so many elements; else any number, each like one of these."""

    __hash__ = _remembered


@dataclass(frozen=True)
class Mapping:
    """A dict with what is known of its values; the key None stands for all keys that are not known."""

    keys: tuple[str | None, ...]
    values: tuple[Value, ...]

    __hash__ = _remembered


@dataclass(frozen=True)
class Made:
    """A Keras object that belongs to models: kind is layer, tensor, optimizer, metric or generator.

    `models` are the models it was built on (a tensor that is some model's output).
    """

    kind: str
    name: str
    sites: Sites
    models: frozenset[ModelObject] = frozenset()
    config: cst.Call | None = None
    source: cst.CSTNode | None = None
    """The function of a generator."""

    __hash__ = _remembered


def is_tensor(value: Value) -> bool:
    """Whether it is an output of a layer."""
    return isinstance(value, Made) and value.kind == "tensor"


def are_tensors(values: Collection[Value]) -> bool:
    """Whether there is a value, and each is an output of a layer."""
    return bool(values) and all(map(is_tensor, values))


@dataclass(eq=False)
class ModelObject:
    """One model the program constructs. `sites` grows while layers are added to it."""

    site: Site
    node: cst.CSTNode
    sites: set[Site]
    on: frozenset[ModelObject] = frozenset()
    origin: str = "constructed"
    maker: str = ""
    """Qualified name of the class or function of Keras that made it."""
    instance: Instance | None = None

    def base_models(self) -> Iterator[ModelObject]:
        """This model and all it was built on, each once."""
        pending: list[ModelObject] = [self]
        seen: set[ModelObject] = set()
        while pending:
            model = pending.pop()
            if model not in seen:
                seen.add(model)
                yield model
                pending.extend(model.on)


@dataclass(frozen=True)
class Dataset:
    """A tf.data pipeline; `batches` are the calls of batch() on its way."""

    batches: tuple[cst.Call, ...] = ()


OF_DATASET = "an element of a dataset"
"""The origin of what a loop over a tf.data pipeline gives."""


@dataclass(eq=False)
class StrategyObject:
    """A strategy that the program makes. `name` is its class: MirroredStrategy, MultiWorkerMirroredStrategy, ..."""

    name: str
    site: Site
    node: cst.Call


@dataclass(eq=False)
class EstimatorPart:
    """An object of tf.estimator: `name` is its class (Estimator, RunConfig, TrainSpec, DNNClassifier, ...)."""

    name: str
    site: Site
    node: cst.Call
    arguments: Arguments
    base: EstimatorPart | None = None
    """The RunConfig whose replace() made this one."""

    @property
    def chain(self) -> tuple[EstimatorPart, ...]:
        """A RunConfig and those that it was made of by replace(), the first one first."""
        return (*(self.base.chain if self.base is not None else ()), self)


@dataclass(frozen=True)
class ScopeOf:
    """`strategy.scope()`, entered or not."""

    strategy: StrategyObject


@dataclass(frozen=True)
class Entered:
    """A `with` round a place; `strategies` are those whose scope it may enter, empty where that is unknown."""

    block: cst.With
    frame: Frame
    strategies: frozenset[StrategyObject]


@dataclass(frozen=True)
class Parallel:
    """What multi_gpu_model returned."""

    wrap: Wrap


@dataclass(frozen=True)
class Choice:
    """One of several: the two arms of an `if`, joined."""

    options: frozenset[Value]

    __hash__ = _remembered


Value = Union[  # noqa: UP007  (a recursive alias of classes defined below each other)
    Symbol, ModuleValue, Literal, Opaque, Parameter, FunctionValue, ClassValue, Instance, Method, Super, Items,
    Mapping, Made, Visible, ModelObject, Dataset, StrategyObject, EstimatorPart, ScopeOf, Parallel, Choice,
]  # fmt: skip

Arguments = tuple[tuple[str | None, Value], ...]
"""What a call is given, in order, each with its keyword; `*` and `**` where it is spread."""

NOTHING = Literal(None)


def options(value: Value) -> frozenset[Value]:
    """The alternatives of a value: itself, unless it is a Choice."""
    return value.options if isinstance(value, Choice) else frozenset((value,))


def function_of(callee: Value) -> FunctionValue | None:
    """The function of the program that a callee is, or the method of one of its classes."""
    return callee if isinstance(callee, FunctionValue) else callee.function if isinstance(callee, Method) else None


_WITH_YIELDS_OF_THEIR_OWN = frozenset((cst.FunctionDef, cst.Lambda))


def contains_yield(node: cst.FunctionDef) -> bool:
    """Whether a function is a generator; what a function inside it yields does not count."""
    pending: list[cst.CSTNode] = [node.body]
    while pending:
        part = pending.pop()
        if type(part) is cst.Yield:
            return True
        if type(part) not in _WITH_YIELDS_OF_THEIR_OWN:
            pending.extend(children(part))
    return False
