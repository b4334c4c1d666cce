"""What a value is made of: the places where its parts were made, the models in it, and of what kind it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tfmigrate.understand.values import (
    Choice,
    ClassValue,
    Instance,
    Items,
    Made,
    Mapping,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    Sites,
    Value,
    kept,
    options,
)

_Part = TypeVar("_Part")


def united(sets: Sequence[frozenset[_Part]]) -> frozenset[_Part]:
    """What is in any of them: the largest itself where that holds the others, as each set may hold thousands."""
    largest = max(sets, key=len, default=frozenset[_Part]())
    others = [one for one in sets if one is not largest and not one <= largest]
    return largest.union(*others) if others else largest


@dataclass(frozen=True)
class _Places:
    """Where the parts of a value were made."""

    known: Sites = frozenset()
    models: frozenset[ModelObject] = frozenset()
    """Models among them: their places are asked for each time, as layers are added to a model after it was made."""

    @staticmethod
    def together(places: Iterable[_Places]) -> _Places:
        each = tuple(places)
        return _Places(united([one.known for one in each]), united([one.models for one in each]))

    def sites(self) -> Sites:
        return self.known.union(*(model.sites for model in self.models)) if self.models else self.known


def sites_of(value: Value) -> Sites:
    """Where the Keras parts of a value were made; empty for data and the like."""
    return value.sites if isinstance(value, Made) else _places(value).sites()


def all_sites(values: Iterable[Value]) -> Sites:
    return united([*map(sites_of, values)])


@kept
def _places(value: Value) -> _Places:
    if isinstance(value, Made):
        return _Places(value.sites)
    if isinstance(value, ModelObject):
        return _Places(models=frozenset((value,)))
    return _Places.together(map(_places, _parts(value)))


def opaque_sites(value: Value) -> Sites:
    """As sites_of, and where an unknown value flows in as a tensor or a layer, the place it came from."""
    return value.sites if isinstance(value, Made) else _opaque_places(value).sites()


def all_opaque_sites(values: Iterable[Value]) -> Sites:
    return united([*map(opaque_sites, values)])


@kept
def _opaque_places(value: Value) -> _Places:
    if isinstance(value, Opaque):
        return _Places(value.sites)
    if isinstance(value, Method):
        return _opaque_places(value.receiver)
    return (
        _places(value)
        if isinstance(value, Made | ModelObject)
        else _Places.together(map(_opaque_places, _parts(value)))
    )


@kept
def models_of(value: Value) -> frozenset[ModelObject]:
    """The models a value is or contains; a parallel model counts as its template."""
    if isinstance(value, ModelObject):
        return frozenset((value,))
    return value.models if isinstance(value, Made) else all_models(_parts(value))


def classes_of(value: Value) -> Iterator[ClassValue]:
    """The classes of the objects that a value, or a list of values, holds."""
    for option in options(value):
        if isinstance(option, Instance):
            yield option.cls
        elif isinstance(option, Items):
            for item in option.values:
                yield from classes_of(item)


def all_models(values: Iterable[Value]) -> frozenset[ModelObject]:
    return united([*map(models_of, values)])


def _parts(value: Value) -> Iterable[Value]:
    """What a value stands for, holds, or is one of."""
    if isinstance(value, Parallel):
        return (value.wrap.template,)
    if isinstance(value, Items | Mapping):
        return value.values
    return value.options if isinstance(value, Choice) else ()


@kept
def holds_model(value: Value) -> bool:
    """Whether a model itself is at hand in a value; a tensor that comes out of one does not count."""
    if isinstance(value, Items | Mapping):
        return any(holds_model(item) for item in value.values)
    return any(
        isinstance(option, ModelObject | Parallel) or (isinstance(option, Items | Mapping) and holds_model(option))
        for option in options(value)
    )


def is_layer(value: Value | None) -> bool:
    """Whether a value is a layer of Keras or of a class of the program; a model is one too."""
    return isinstance(value, ModelObject) or (isinstance(value, Made) and value.kind == "layer")


@kept
def is_keras(value: Value) -> bool:
    """Whether a value is, or contains, a model or a part of one; what a generator yields is data."""
    return any(
        isinstance(option, ModelObject | Parallel)
        or (isinstance(option, Made) and option.kind != "generator")
        or (isinstance(option, Items | Mapping) and any(is_keras(item) for item in option.values))
        for option in options(value)
    )
