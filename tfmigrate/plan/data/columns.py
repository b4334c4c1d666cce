"""Arrays, lists of arrays and dicts of arrays as code that tf.data takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Choice, Items, Mapping
from tfmigrate.written import Code, listed


@dataclass(frozen=True)
class Data:
    """Arrays as code: how to write them for tf.data, and one of them to take the length of."""

    code: Code
    parts: tuple[Code, ...]
    keys: tuple[cst.BaseExpression, ...] | None = None
    simple: bool = True

    @property
    def length(self) -> Code:
        return ("len(", *self.parts[0], ")")

    def length_in(self, name: str) -> Code:
        """The same, where all columns were bound to a name and this is the first of them."""
        if self.keys is not None:
            return (f"len({name}[0][", self.keys[0], "])")
        return (f"len({name}[0])" if self.code == self.parts[0] else f"len({name}[0][0])",)

    def sliced(self, bounds: str) -> Code:
        parts: list[Code] = [(*part, f"[{bounds}]") for part in self.parts]
        if self.keys is not None:
            return ("{", *listed((key, ": ", *part) for key, part in zip(self.keys, parts, strict=True)), "}")
        return parts[0] if self.code == self.parts[0] else tuple_of(parts)


def tuple_of(parts: Sequence[Code]) -> Code:
    return ("(", *listed(parts), ",)" if len(parts) == 1 else ")")


def data_of(node: cst.BaseExpression, facts: Facts) -> Data | None:
    """Arrays, lists of arrays (tuples in tf.data) and dicts of arrays; None for what cannot be followed."""
    if isinstance(node, cst.List | cst.Tuple):
        return _of_display(node)
    return _of_dict(node) if isinstance(node, cst.Dict) else _of_value(node, facts)


def _of_display(node: cst.List | cst.Tuple) -> Data | None:
    parts: tuple[Code, ...] = tuple((element.value,) for element in node.elements)
    if any(isinstance(element, cst.StarredElement) for element in node.elements) or not parts:
        return None
    return Data(tuple_of(parts), parts, simple=all(is_simple(element.value) for element in node.elements))


def _of_dict(node: cst.Dict) -> Data | None:
    items = [element for element in node.elements if isinstance(element, cst.DictElement)]
    if not items or len(items) < len(node.elements):
        return None
    keys = tuple(item.key for item in items)
    return Data((node,), tuple((item.value,) for item in items), keys, all(is_simple(item.value) for item in items))


def _of_value(node: cst.BaseExpression, facts: Facts) -> Data | None:
    """What is not written out: by the value that the program gives it."""
    value = facts.values.get(node)
    whole: Code = (node,)
    if isinstance(value, Choice):
        several = any(isinstance(option, Items | Mapping) for option in value.options)
        return None if several else Data(whole, (whole,))
    if isinstance(value, Mapping):
        return None
    if not isinstance(value, Items):
        return Data(whole, (whole,), simple=is_simple(node))
    parts: tuple[Code, ...] = tuple((node, f"[{number}]") for number in range(len(value.values)))
    if not parts or not value.counted or (value.kind != "tuple" and not is_simple(node)):
        return None
    return Data(("tuple(", node, ")"), parts)


def is_simple(node: cst.BaseExpression) -> bool:
    """Cheap and safe to evaluate twice."""
    if isinstance(node, cst.Name):
        return True
    if isinstance(node, cst.Attribute):
        return is_simple(node.value)
    if isinstance(node, cst.Subscript):
        return is_simple(node.value) and all(isinstance(item.slice, cst.Index | cst.Slice) for item in node.slice)
    return False
