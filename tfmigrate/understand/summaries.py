"""Functions without effects: what one returned is renewed at each further call, instead of walking it again."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tfmigrate.understand.contents import all_models, all_opaque_sites, all_sites
from tfmigrate.understand.joins import join
from tfmigrate.understand.state import PlainData, Reads, State, Summary
from tfmigrate.understand.values import (
    Arguments,
    Choice,
    Instance,
    Items,
    Literal,
    Made,
    Mapping,
    Method,
    ModelObject,
    Opaque,
    Parameter,
    Site,
    Sites,
    Value,
)


def summarised(
    value: Value,
    call: Site,
    models: Iterable[ModelObject],
    arguments: Arguments,
    objects: tuple[Instance | Opaque | Parameter, ...],
    read: Reads,
) -> Summary:
    values = [argument for _, argument in arguments]
    given, sites = all_models(values), all_opaque_sites(values)
    return Summary(value, call, frozenset(models), given, sites, objects, read, {plain_data(arguments): value})


def plain_data(arguments: Arguments) -> PlainData:
    """Of each argument its keyword, and its value where that is plain data."""
    return tuple((keyword, value if isinstance(value, Literal) else None) for keyword, value in arguments)


def renewed(state: State, summary: Summary, arguments: Arguments, node: cst.CSTNode) -> Value:
    """What a summary says as if made by this call: the same kinds of things, built on each other alike, made here.

    What the function found and gave back is the same at each call.
    """
    here = frozenset((state.site,))
    sites = all_sites(argument for _, argument in arguments)
    models = all_models(argument for _, argument in arguments)
    fresh: dict[ModelObject, ModelObject] = {}

    def model(old: ModelObject) -> ModelObject:
        if old not in summary.made:
            return old
        if old not in fresh:
            fresh[old] = state.new_model(node, sites, origin=old.origin, maker=old.maker)
            fresh[old].on = built_on(old.on)
            fresh[old].instance = old.instance
        return fresh[old]

    def built_on(old: frozenset[ModelObject]) -> frozenset[ModelObject]:
        return models.union(
            model(old_model) for old_model in old if old_model in summary.made or old_model not in summary.given
        )

    def is_renewed(sites: Sites) -> bool:
        """Whether something was made by the call or given to it; an attribute, say, was there before."""
        passed = bool(sites & summary.given_sites)
        return passed or any(frame.call is summary.call for site in sites for frame in site.frame.chain())

    def value(old: Value) -> Value:
        if isinstance(old, Made | Opaque) and not is_renewed(old.sites):
            return old
        if isinstance(old, Made):
            return Made(old.kind, old.name, here | sites, built_on(old.models), old.config)
        if isinstance(old, ModelObject):
            return model(old)
        if isinstance(old, Items):
            return Items(tuple(map(value, old.values)), old.kind, old.counted)
        if isinstance(old, Mapping):
            return Mapping(old.keys, tuple(map(value, old.values)))
        if isinstance(old, Choice):
            return join(*map(value, old.options))
        if isinstance(old, Method):
            return Method(value(old.receiver), old.name, old.function)
        if isinstance(old, Opaque):
            maker = node if old.node is None else old.node
            return old if old.settings else Opaque(old.origin, here | sites, maker)
        return old

    return value(summary.value)
