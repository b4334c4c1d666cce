"""Lists, tuples and dicts: what stands in them, and what is taken out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from tfmigrate.understand.contents import sites_of
from tfmigrate.understand.joins import join
from tfmigrate.understand.state import Walker
from tfmigrate.understand.values import (
    NOTHING,
    OF_DATASET,
    Arguments,
    Dataset,
    Items,
    Literal,
    Made,
    Mapping,
    Method,
    Opaque,
    Value,
    options,
)

CONSTRUCTORS = frozenset({"list", "tuple", "dict", "enumerate"})
"""Builtins whose calls are displays of another spelling: `list()` is `[]`. `enumerate` is that of datasets."""


def constructed(name: str, arguments: Arguments) -> Value | None:
    """What `list()`, `list(items)`, `dict(a=x)` and the like are, where their elements are known."""
    values = tuple(value for _, value in arguments)
    if name == "dict":
        return Mapping(tuple(key for key, _ in arguments), values) if all(key for key, _ in arguments) else None
    if name == "enumerate":
        pair = Items((Opaque("a number"), element_of(values[0]))) if values else NOTHING
        return Items((pair,), "list", counted=False) if values and isinstance(values[0], Dataset) else None
    if not values:
        return Items((), name)
    return Items(values[0].values, name, values[0].counted) if isinstance(values[0], Items) else None


def display(walker: Walker, node: cst.Tuple | cst.List | cst.Set) -> Value:
    """`[a, b, *c]`."""
    values = tuple(
        element_of(walker.evaluate(element.value))
        if isinstance(element, cst.StarredElement)
        else walker.evaluate(element.value)
        for element in node.elements
    )
    counted = not any(isinstance(element, cst.StarredElement) for element in node.elements)
    return Items(values, "tuple" if isinstance(node, cst.Tuple) else "list", counted)


def dict_display(walker: Walker, node: cst.Dict) -> Value:
    """`{"a": b, **c}`."""
    keys: list[str | None] = []
    values: list[Value] = []
    for element in node.elements:
        values.append(walker.evaluate(element.value))
        key = walker.evaluate(element.key) if isinstance(element, cst.DictElement) else None
        keys.append(key.value if isinstance(key, Literal) and isinstance(key.value, str) else None)
    return Mapping(tuple(keys), tuple(values))


def concatenated(left: Value, right: Value) -> Items | None:
    """`left + right` of two lists or tuples, else None."""
    if isinstance(left, Items) and isinstance(right, Items):
        return Items((*left.values, *right.values), left.kind, left.counted and right.counted)
    return None


_OFTEN = 8
"""So many times a list is repeated element by element; of a longer one only what stands anywhere is known."""


def repeated(left: Value, right: Value, node: cst.BinaryOperation) -> Items | None:
    """`[a] * number`, else None."""
    if not isinstance(node.operator, cst.Multiply):
        return None
    (items, number) = (left, right) if isinstance(left, Items) else (right, left)
    if not isinstance(items, Items):
        return None
    times = number.value if isinstance(number, Literal) and isinstance(number.value, int) else None
    if items.counted and times is not None and 0 < times <= _OFTEN:
        return replace(items, values=items.values * times)
    return replace(items, counted=False)


def sliced(walker: Walker, node: cst.Subscript, value: Value) -> Value | None:
    """`value[a:b]` of a list or tuple: any number of its elements. None where it is no such slice."""
    if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Slice):
        return None
    filled = list(_filled(value))
    if not all(isinstance(option, Items) for option in filled):
        return None
    _evaluate_slice(walker, node.slice[0].slice)
    return join(*(Items(option.values, option.kind, counted=False) for option in filled if isinstance(option, Items)))


def index_of(walker: Walker, node: cst.Subscript) -> Value | None:
    """What stands between the brackets; None for a slice, and for several indices."""
    indices = [_evaluate_slice(walker, item.slice) for item in node.slice]
    return indices[0] if len(indices) == 1 else None


def _evaluate_slice(walker: Walker, item: cst.BaseSlice) -> Value | None:
    if isinstance(item, cst.Index):
        return walker.evaluate(item.value)
    if isinstance(item, cst.Slice):
        for part in (item.lower, item.upper, item.step):
            if part is not None:
                walker.evaluate(part)
    return None


def item_of(value: Value, index: Value | None) -> Value:
    """`value[index]`."""
    return join(*(_item(option, index) for option in _filled(value)))


def _item(value: Value, index: Value | None) -> Value:
    key = index.value if isinstance(index, Literal) else None
    if isinstance(value, Items) and value.values:
        known = value.counted and isinstance(key, int) and -len(value.values) <= key < len(value.values)
        return value.values[key] if known else join(*value.values)  # type: ignore[index]
    if isinstance(value, Mapping) and value.values:
        exact = [v for k, v in zip(value.keys, value.values, strict=True) if k is not None and k == key]
        return exact[-1] if exact else join(*value.values)
    if isinstance(value, Made) and value.kind == "layers":
        return Made("layer", "", value.sites, value.models)
    return value if isinstance(value, Made | Opaque | Method) else Opaque("an element")


def unpacked(value: Value, position: int, count: int) -> Value:
    """What the target at a position gets of a value that is unpacked into `count` targets."""
    values = []
    for option in _filled(value):
        if isinstance(option, Items) and len(option.values) == count:
            values.append(option.values[position])
        else:
            values.append(_any_of(option))
    return join(*values)


def element_of(value: Value) -> Value:
    """What a loop over a value runs over."""
    return join(*(Opaque("a key") if isinstance(option, Mapping) else _any_of(option) for option in _filled(value)))


def _any_of(value: Value) -> Value:
    """Any element. Of something not followed it keeps where the whole came from."""
    if isinstance(value, Items) and value.values:
        return join(*value.values)
    if isinstance(value, Made | Opaque):
        return value
    return Opaque(OF_DATASET if isinstance(value, Dataset) else "an element", sites_of(value))


def _filled(value: Value) -> Iterable[Value]:
    """The alternatives of what elements are taken from: an empty list or dict has none, nor has the None of some
    paths."""
    values = options(value)
    empty = (
        option for option in values if option == NOTHING or (isinstance(option, Items | Mapping) and not option.values)
    )
    return values.difference(empty) or values
