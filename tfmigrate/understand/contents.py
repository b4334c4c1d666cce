"""What a value is made of: the places where its parts were made, the models in it, and of what kind it is."""

from __future__ import annotations

from collections.abc import Iterable

from tfmigrate.understand.values import (
    Choice,
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
    if isinstance(value, ModelObject):
        return frozenset(value.sites)
    if isinstance(value, Parallel):
        return sites_of(value.wrap.template)
    if isinstance(value, Items | Mapping):
        return all_sites(value.values)
    if isinstance(value, Choice):
        return all_sites(value.options)
    return frozenset()


def all_sites(values: Iterable[Value]) -> Sites:
    return frozenset().union(*(sites_of(value) for value in values))


def opaque_sites(value: Value) -> Sites:
    """As sites_of, and where an unknown value flows in as a tensor or a layer, the place it came from."""
    if isinstance(value, Opaque):
        return value.sites
    if isinstance(value, Method):
        return opaque_sites(value.receiver)
    if isinstance(value, Parallel):
        return opaque_sites(value.wrap.template)
    if isinstance(value, Items | Mapping):
        return all_opaque_sites(value.values)
    if isinstance(value, Choice):
        return all_opaque_sites(value.options)
    return sites_of(value)


def all_opaque_sites(values: Iterable[Value]) -> Sites:
    return frozenset().union(*(opaque_sites(value) for value in values))


def models_of(value: Value) -> frozenset[ModelObject]:
    """The models a value is or contains; a parallel model counts as its template."""
    if isinstance(value, ModelObject):
        return frozenset((value,))
    if isinstance(value, Parallel):
        return models_of(value.wrap.template)
    if isinstance(value, Made):
        return value.models
    if isinstance(value, Items | Mapping):
        return all_models(value.values)
    if isinstance(value, Choice):
        return all_models(value.options)
    return frozenset()


def all_models(values: Iterable[Value]) -> frozenset[ModelObject]:
    return frozenset().union(*(models_of(value) for value in values))


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
