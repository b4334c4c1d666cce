"""Code that only an old TensorFlow or Python 2 runs, behind a test of its version: it stays as it was written."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import index_of
from tfmigrate.walk import walk

_OLD, _NEW = ("1.15.0", "1.4.0"), ("2.4.0", "2.16.1", "2.21.0")
"""Versions of TensorFlow that a test is tried with."""
_PYTHONS = {"2.4.0": (3, 6, 0), "2.16.1": (3, 9, 0), "2.21.0": (3, 14, 0)}
"""Versions of Python that these run on; TensorFlow 1 is what Python 2 runs."""
_VERSION_NAMES = frozenset(
    {"tensorflow.__version__", "tensorflow.VERSION", "tensorflow.version.VERSION", "keras.__version__"}
)
"""That of Keras is TensorFlow's in the migrated program."""
_COMPARISONS: Mapping[type[cst.BaseCompOp], Any] = {
    cst.Equal: operator.eq, cst.NotEqual: operator.ne, cst.LessThan: operator.lt, cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt, cst.GreaterThanEqual: operator.ge,
}  # fmt: skip
_VERSIONS = frozenset({"LooseVersion", "StrictVersion", "Version", "parse"})
"""Functions whose results compare as versions do."""


def only_for_tensorflow_1(facts: Facts) -> Iterator[cst.CSTNode]:
    """The nodes of a module that stand in the arm of a test which only TensorFlow 1 takes."""
    for node in facts.module.all_of(cst.If, cst.IfExp):
        old, new = ({_truth(node.test, version, facts) for version in some} for some in (_OLD, _NEW))
        if new == {False} and False not in old:
            yield from _reached(node)
        elif (old, new) == ({False}, {True}) and node.orelse is not None:
            yield from walk(node.orelse)


def _reached(node: cst.If | cst.IfExp) -> Iterator[cst.CSTNode]:
    """What only TensorFlow 1 runs where a test is never true later: its body, and what the test asks besides."""
    if isinstance(node.test, cst.BooleanOperation):
        yield from walk(node.test.right)
    yield from walk(node.body)


def truths_today(test: cst.BaseExpression, facts: Facts) -> set[bool | None]:
    """What a test is in versions that the migrated program may run on; None stands for what cannot be determined."""
    return {_truth(test, version, facts) for version in _NEW}


def _truth(test: cst.BaseExpression, version: str, facts: Facts) -> bool | None:
    """What a test is in a version; None where that is not all it asks for."""
    try:
        return bool(_value(test, version, facts))
    except (LookupError, TypeError, ValueError):
        return None


def _value(node: cst.BaseExpression, version: str, facts: Facts) -> Any:
    """An expression made of TensorFlow's version. Raises LookupError for any other, and what computing it raises."""
    symbol = facts.symbols.get(node, "")
    if not _VERSION_NAMES.isdisjoint((names.plain(symbol), names.canonical(symbol))):
        return version
    if symbol == "sys.version_info":
        return _PYTHONS.get(version, (2, 7, 18))
    if symbol == "sys.version_info.major":
        return _PYTHONS.get(version, (2, 7, 18))[0]
    if isinstance(node, cst.Tuple):
        return tuple(_value(element.value, version, facts) for element in node.elements)
    if isinstance(node, cst.SimpleString | cst.Integer | cst.Float):
        return node.evaluated_value
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return not _value(node.expression, version, facts)
    if isinstance(node, cst.BooleanOperation):
        return _joined(node, version, facts)
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        (comparison,) = node.comparisons
        compare = _COMPARISONS[type(comparison.operator)]
        return compare(_value(node.left, version, facts), _value(comparison.comparator, version, facts))
    if isinstance(node, cst.Subscript) and (index := index_of(node)) is not None:
        return _value(node.value, version, facts)[_value(index, version, facts)]
    if isinstance(node, cst.Call) and not any(arg.star or arg.keyword for arg in node.args):
        return _called(node, [_value(arg.value, version, facts) for arg in node.args], version, facts)
    raise LookupError


def _joined(node: cst.BooleanOperation, version: str, facts: Facts) -> bool:
    """`a and b`, where one part may settle it whatever the other is."""
    settles = isinstance(node.operator, cst.Or)
    parts = [_truth(part, version, facts) for part in (node.left, node.right)]
    if settles in parts:
        return settles
    if None in parts:
        raise LookupError
    return not settles


def _called(call: cst.Call, operands: list[Any], version: str, facts: Facts) -> Any:
    func = call.func
    name = (facts.symbols.get(func) or (func.value if isinstance(func, cst.Name) else "")).rpartition(".")[2]
    if name in ("int", "float") and len(operands) == 1:
        return int(operands[0]) if name == "int" else float(operands[0])
    if name in _VERSIONS and len(operands) == 1:
        return [int(part) for part in operands[0].split(".") if part.isdecimal()]
    if isinstance(func, cst.Attribute) and func.attr.value in ("startswith", "split"):
        text = _value(func.value, version, facts)
        return text.startswith(*operands) if func.attr.value == "startswith" else text.split(*operands)
    raise LookupError
