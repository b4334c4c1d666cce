"""The value of a name where several paths meet, and lists and dicts that grow.

What has many alternatives is kept as what may be in any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tfmigrate.understand.contents import all_opaque_sites
from tfmigrate.understand.values import Choice, Items, Literal, Mapping, Method, Opaque, Partial, Value, options

_LONG = 64
"""Elements of a list that are kept separate."""
_MANY = 8
"""Lists, or dicts, that a name may be, kept separate."""
_DATA = 64
"""Numbers, strings and the like that a name may be, kept separate."""
_DATA_KINDS = (Literal, Opaque, Partial, Method)
"""The classes of what may be one of these."""


def join(*values: Value) -> Value:
    """The value of a name where several paths meet. Of many lists or dicts only what may be in any of them is kept, and
    of many plain data only that it is data."""
    first = values[0] if values else None
    if first is not None and all(value is first for value in values):
        return first
    merged = frozenset().union(*(options(value) for value in values))
    if len(merged) > _MANY:
        merged = _fewer(merged)
    return next(iter(merged)) if len(merged) == 1 else Choice(merged)


def _fewer(merged: frozenset[Value]) -> frozenset[Value]:
    kinds = Counter(map(type, merged))  # Counted first: there may be hundreds of values, and few of them lists.
    if kinds[Items] > _MANY:
        lists = [option for option in merged if isinstance(option, Items)]
        merged = merged.difference(lists) | {Items(_together(lists), "list", counted=False)}
    if kinds[Mapping] > _MANY:
        dicts = [option for option in merged if isinstance(option, Mapping)]
        held = _together(dicts)
        merged = merged.difference(dicts) | {Mapping((None,) * len(held), held)}
    if kinds[Method] > _MANY:
        merged = _of_one_receiver(merged)
    if len(merged) > _DATA and sum(kinds[kind] for kind in _DATA_KINDS) > _DATA:
        data = [option for option in merged if _is_data(option)]
        if len(data) > _DATA:
            settings = all(isinstance(option, Literal) or getattr(option, "settings", False) for option in data)
            merged = merged.difference(data) | {Opaque("one of many values", all_opaque_sites(data), settings=settings)}
    return merged


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
