"""How large an array is, where that is written out: random data, `np.random.rand(60000, 784).astype("float32")`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set

import libcst as cst

from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Literal

_SHAPED = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "random.random", "random.random_sample"), 0),
    **dict.fromkeys(("random.randint", "random.normal", "random.uniform"), None),
}
"""Functions of NumPy that are given a shape: its position, or None where it is `size=`."""
_COUNTED = frozenset({"random.rand", "random.randn"})
"""Those that are given it number by number."""
_SAME_SIZE = frozenset({"reshape", "copy", "ravel", "flatten", "transpose", "clip"})
_BYTES = 8
"""Of a number where no type is given."""


def bytes_of(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> int | None:
    """The bytes of an array; None where its size is not written out."""
    size = _size(node, facts, scopes)
    return None if size is None else size[0] * size[1]


def _size(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, seen: Set[cst.CSTNode] = frozenset()
) -> tuple[int, int] | None:
    """How many numbers, and the bytes of each. `seen`: what the array is made of, which may be made of itself."""
    node = settled(node, scopes)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node in seen:
        return None
    method, name = node.func.attr.value, facts.called(node)
    if name.startswith("numpy."):
        dtype = keywords(node).get("dtype")
        elements = _elements(node, name.removeprefix("numpy."), facts)
        return None if elements is None else (elements, _width(dtype.value if dtype is not None else None, facts))
    if method not in {*_SAME_SIZE, "astype"}:
        return None
    size = _size(node.func.value, facts, scopes, seen | {node})
    if size is not None and method == "astype" and node.args:
        return size[0], _width(node.args[0].value, facts)
    return size


def _elements(call: cst.Call, function: str, facts: Facts) -> int | None:
    arguments = keywords(call)
    if function in _COUNTED:
        return _product([arg.value for arg in call.args], facts)
    if function not in _SHAPED:
        return None
    place = _SHAPED[function]
    shape = arguments.get("shape") or arguments.get("size")
    if shape is None and place is not None and len(call.args) > place:
        shape = call.args[place]
    if shape is None:
        return None
    if isinstance(shape.value, cst.Tuple | cst.List):
        return _product([element.value for element in shape.value.elements], facts)
    return _product([shape.value], facts)


def _product(nodes: Sequence[cst.BaseExpression], facts: Facts) -> int | None:
    numbers = [number for node in nodes if (number := number_of(node, facts)) is not None]
    return math.prod(numbers) if numbers and len(numbers) == len(nodes) else None


def number_of(node: cst.BaseExpression, facts: Facts) -> int | None:
    """The one integer that an expression stands for; None where it is not known, or may be another."""
    if isinstance(node, cst.Integer):
        return int(node.evaluated_value)
    value = facts.values.get(node)
    return value.value if isinstance(value, Literal) and isinstance(value.value, int) else None


def _width(dtype: cst.BaseExpression | None, facts: Facts) -> int:
    """The bytes of a number of this type, `"float32"` or `np.uint8`; of NumPy's own where none is given."""
    name = (text_of(dtype) or facts.symbols.get(dtype, "")) if dtype is not None else ""
    bits = re.search(r"(\d+)$", name)
    return int(bits[1]) // 8 if bits else _BYTES
