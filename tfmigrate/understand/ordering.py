"""Values and places in an order that is the same in every run, which that of a set is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter

from tfmigrate.understand.values import (
    ClassValue,
    EstimatorPart,
    FunctionValue,
    Instance,
    Literal,
    Made,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    Site,
    Sites,
    StrategyObject,
    Symbol,
    Value,
    options,
)


def in_order(value: Value) -> list[Value]:
    """The alternatives in an order that is the same in every run, which that of a set is not."""
    return ordered(options(value))


def ordered(values: Collection[Value]) -> list[Value]:
    """Values in an order that is the same in every run."""
    return sorted(values, key=_rank) if len(values) > 1 else list(values)


def _rank(value: Value) -> tuple[str, ...]:
    """What tells two alternatives apart by the text of the program alone."""
    kind = type(value).__name__
    if isinstance(value, Symbol):
        return kind, value.name
    if isinstance(value, Method):
        return kind, value.name, *_rank(value.receiver)
    if isinstance(value, Instance):
        return kind, *_rank(value.cls), *_place(value.site)
    if isinstance(value, FunctionValue | ClassValue):
        return kind, value.closure.module.path, f"{value.closure.module.order.get(value.node, 0):09}"
    if isinstance(value, ModelObject | StrategyObject | EstimatorPart):
        return kind, *_place(value.site)
    if isinstance(value, Parallel):
        return kind, *_place(value.wrap.site)
    if isinstance(value, Opaque):
        return kind, value.origin, *_places(value.sites)
    if isinstance(value, Made):
        return kind, value.kind, value.name, *_places(value.sites)
    return kind, repr(value.value) if isinstance(value, Literal) else ""


def _place(site: Site | None) -> tuple[str, ...]:
    return site.place if site is not None else ()


def _places(sites: Sites) -> Iterator[str]:
    return (text for site in sites_in_order(sites) for text in site.place)


def sites_in_order(sites: Iterable[Site]) -> list[Site]:
    """Places in an order that is the same in every run."""
    return sorted(sites, key=attrgetter("place"))
