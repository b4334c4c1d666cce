"""The value of a name where several paths meet, and lists and dicts that grow.

What has many alternatives is kept as what may be in any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tfmigrate.understand.contents import all_models, all_opaque_sites, all_sites
from tfmigrate.understand.values import Choice, Items, Literal, Made, Mapping, Method, Opaque, Partial, Value, options

_LONG = 64
"""Elements of a list that are kept separate."""
_MANY = 8
"""Lists, or dicts, that a name may be, kept separate."""
_DATA = 64
"""Numbers, strings and the like that a name may be, kept separate."""
_OBJECTS = 64
"""Objects of Keras that a name may be, kept separate."""
_DATA_KINDS = (Literal, Opaque, Partial, Method)
"""The classes of what may be one of these."""


def join(*values: Value) -> Value:
    """The value of a name where several paths meet. Of many lists or dicts only what may be in any of them is kept, of
    many layers or tensors where any of them was made, and of many plain data only that it is data."""
    first = values[0] if values else None
    if first is not None and all(value is first for value in values):
        return first
    known = options(first) if first is not None else frozenset()
    more = frozenset[Value]().union(*(options(value) for value in values[1:])) - known
    if first is not None and not more:
        return first
    merged = known | more
    if len(merged) == 1:
        return next(iter(merged))
    if len(merged) <= _MANY:
        return Choice(merged)
    return _one_of_many(merged, first.kinds if isinstance(first, Choice) else Counter(map(type, known)), more)


def _one_of_many(merged: frozenset[Value], before: Counter[type], more: frozenset[Value]) -> Value:
    """`before`: of which classes those are that were one value already; `more`: those that came to them.

    Only the kinds that came are looked through: there may be hundreds of values.
    """
    came = Counter(map(type, more))
    kinds = before + came
    fewer = merged
    if came[Items] and kinds[Items] > _MANY:
        fewer = _fewer_lists(fewer)
    if came[Mapping] and kinds[Mapping] > _MANY:
        fewer = _fewer_dicts(fewer)
    if came[Method] and kinds[Method] > _MANY:
        fewer = _of_one_receiver(fewer)
    if came[Made] and kinds[Made] > _OBJECTS:
        fewer = _fewer_made(fewer)
    if any(came[kind] for kind in _DATA_KINDS) and sum(kinds[kind] for kind in _DATA_KINDS) > _DATA:
        fewer = _fewer_data(fewer)
    if fewer is merged:
        return Choice.counted(merged, kinds)
    return next(iter(fewer)) if len(fewer) == 1 else Choice(fewer)


def _fewer_lists(merged: frozenset[Value]) -> frozenset[Value]:
    lists = [option for option in merged if isinstance(option, Items)]
    return merged.difference(lists) | {Items(_together(lists), "list", counted=False)}


def _fewer_dicts(merged: frozenset[Value]) -> frozenset[Value]:
    dicts = [option for option in merged if isinstance(option, Mapping)]
    held = _together(dicts)
    return merged.difference(dicts) | {Mapping((None,) * len(held), held)}


def _of_one_receiver(merged: frozenset[Value]) -> frozenset[Value]:
    """Of the methods of many lists or dicts, one of each name: that of what the lists or dicts are together."""
    alike: dict[tuple[str, type], list[Method]] = {}
    for option in merged:
        if type(option) is Method and isinstance(option.receiver, (Items, Mapping)):
            alike.setdefault((option.name, type(option.receiver)), []).append(option)
    for (name, _), methods in alike.items():
        if len(methods) > _MANY:
            merged = merged.difference(methods) | {Method(join(*(method.receiver for method in methods)), name)}
    return merged


def _fewer_made(merged: frozenset[Value]) -> frozenset[Value]:
    """Of many objects of Keras, one for each call that makes them, wherever that runs; of tensors, one for those that
    come out of models, and one for the others."""
    alike: dict[tuple[object, ...], list[Made]] = {}
    for option in merged:
        if isinstance(option, Made):
            made_by = () if option.kind == "tensor" else (option.name, option.config, option.source)
            alike.setdefault((option.kind, bool(option.models), *made_by), []).append(option)
    for same in alike.values():
        if len(same) > 1:
            name = "" if same[0].kind == "tensor" else same[0].name
            one = replace(same[0], name=name, sites=all_sites(same), models=all_models(same))
            merged = merged.difference(same) | {one}
    return merged


def _fewer_data(merged: frozenset[Value]) -> frozenset[Value]:
    data = [option for option in merged if _is_data(option)]
    if len(data) <= _DATA:
        return merged
    settings = all(isinstance(option, Literal) or getattr(option, "settings", False) for option in data)
    return merged.difference(data) | {Opaque("one of many values", all_opaque_sites(data), settings=settings)}


def _is_data(value: Value) -> bool:
    """Whether a value is not followed any further."""
    while type(value) is Method and value.function is None:
        value = value.receiver
    return isinstance(value, (Literal, Opaque))


def _together(collections: Sequence[Items | Mapping]) -> tuple[Value, ...]:
    """What may stand in any of several lists or dicts, as one value; nothing where all are empty."""
    values = [value for collection in collections for value in collection.values]
    return (join(*values),) if values else ()


def grown(items: Items, more: Sequence[Value]) -> Items:
    """A list with more at its end. Of a long one no places are known, only what may stand at any of them."""
    values = (*items.values, *more)
    short = items.counted and len(values) <= _LONG
    return Items(values if short else (join(*values),), "list", short)


def with_item(mapping: Mapping, key: str | None, value: Value) -> Mapping:
    """The dict after `mapping[key] = value`."""
    pairs = list(zip(mapping.keys, mapping.values, strict=True))
    if key is None:
        value = join(value, *(old for known, old in pairs if known is None))
    others = [(known, old) for known, old in pairs if known != key]
    return Mapping((*(known for known, _ in others), key), (*(old for _, old in others), value))
