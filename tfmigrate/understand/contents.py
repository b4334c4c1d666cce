"""What a value is made of: the places where its parts were made, the models in it, and of what kind it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    options,
)


def sites_of(value: Value) -> Sites:
    """Where the Keras parts of a value were made; empty for data and the like."""
    if isinstance(value, Made):
        return value.sites
    return frozenset(value.sites) if isinstance(value, ModelObject) else all_sites(_parts(value))


def all_sites(values: Iterable[Value]) -> Sites:
    return frozenset().union(*map(sites_of, values))


def opaque_sites(value: Value) -> Sites:
    """As sites_of, and where an unknown value flows in as a tensor or a layer, the place it came from."""
    if isinstance(value, Opaque):
        return value.sites
    if isinstance(value, Method):
        return opaque_sites(value.receiver)
    return sites_of(value) if isinstance(value, Made | ModelObject) else all_opaque_sites(_parts(value))


def all_opaque_sites(values: Iterable[Value]) -> Sites:
    return frozenset().union(*map(opaque_sites, values))


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
    return frozenset().union(*map(models_of, values))


def _parts(value: Value) -> Iterable[Value]:
    """What a value stands for, holds, or is one of."""
    if isinstance(value, Parallel):
        return (value.wrap.template,)
    if isinstance(value, Items | Mapping):
        return value.values
    return value.options if isinstance(value, Choice) else ()


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


def is_keras(value: Value) -> bool:
    """Whether a value is, or contains, a model or a part of one; what a generator yields is data."""
    return any(
        isinstance(option, ModelObject | Parallel)
        or (isinstance(option, Made) and option.kind != "generator")
        or (isinstance(option, Items | Mapping) and any(is_keras(item) for item in option.values))
        for option in options(value)
    )
