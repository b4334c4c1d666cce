"""Shapes of tensors as TensorFlow 1 gave them: a tensor of Keras 3 has a tuple of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.own_layers import calls_of_layers
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, named, settled, unpacked
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import index_of
from tfmigrate.understand.values import Opaque, Parameter, is_tensor
from tfmigrate.written import Code

_OLD = ("_keras_shape", "_shape_tuple")
_COUNTS = ("ndims", "rank")


def check(context: Context) -> Iterator[CallChange]:
    """`x.get_shape().as_list()` is `list(x.shape)`, and its element, as `x.shape[1].value`, is `x.shape[1]`."""
    facts, scopes = context.facts, context.scopes
    reader = _Reader(facts, scopes)
    for test, rest in reader.tests_that_say_nothing():
        yield CallChange(codes.STATIC_SHAPES, test, _MESSAGE, Replace(test, (rest,)))
    for node in facts.module.all_of(cst.Call, cst.Attribute):
        change = reader.change_of(node)
        if change is not None:
            yield CallChange(codes.STATIC_SHAPES, node, _MESSAGE, Replace(node, change))
    comparer = _Comparer(context)
    for comparison in facts.module.all_of(cst.Comparison):
        yield from comparer.changes(comparison)


_MESSAGE = "the shape of a symbolic tensor is a plain tuple on Keras 3: written in the form that every version accepts"


class _Reader:
    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts, self._scopes = facts, scopes
        self._made_anew = {
            call.args[0].value
            for call in facts.module.calls
            if isinstance(call.func, cst.Name) and call.func.value in ("tuple", "list") and len(call.args) == 1
        }
        """What a `tuple()` or a `list()` is made of, whichever kind it is itself."""
        self._read_singly = {
            subscript.value for subscript in facts.module.all_of(cst.Subscript) if index_of(subscript) is not None
        }
        self._read_singly |= {
            call.args[0].value
            for call in facts.module.calls
            if isinstance(call.func, cst.Name) and call.func.value == "len" and len(call.args) == 1
        }
        self._read_singly |= {
            assign.value
            for assign in facts.module.all_of(cst.Assign)
            if all(isinstance(target.target, cst.Tuple | cst.List) for target in assign.targets)
        }
        """What one size, the number or each of the sizes is taken from: a shape of any kind gives these."""
        self._may_be_unknown = {
            comparison.left
            for comparison in facts.module.all_of(cst.Comparison)
            if any(is_none(part) for target in comparison.comparisons for part in _among(target.comparator))
        }
        """What is compared with None: the shape may be one of which nothing is known, and that has no length."""
        self._called_by_keras = {method.node for method in calls_of_layers(facts)}
        self._never_none: set[cst.CSTNode] = set()
        """Numbers of dimensions in tests that go."""
        self._gone_through: dict[cst.CSTNode, cst.BaseExpression] = {
            loop.target: loop.iter for loop in facts.module.all_of(cst.For, cst.CompFor)
        }

    def tests_that_say_nothing(self) -> Iterator[tuple[cst.BooleanOperation, cst.BaseExpression]]:
        """`x.shape.ndims is not None and ...`, `x.shape.ndims is None or ...`: each with what is left of it."""
        for node in self._facts.module.all_of(cst.BooleanOperation):
            always = cst.IsNot if isinstance(node.operator, cst.And) else cst.Is
            if not isinstance(node.left, cst.Comparison) or len(node.left.comparisons) != 1:
                continue
            counted, target = node.left.left, node.left.comparisons[0]
            if not isinstance(target.operator, always) or not is_none(target.comparator):
                continue
            number = isinstance(counted, cst.Attribute) and counted.attr.value in _COUNTS
            if isinstance(counted, cst.Attribute) and number and self._is_of_keras(counted.value):
                self._never_none.add(counted)
                yield node, node.right

    def change_of(self, node: cst.Call | cst.Attribute) -> Code | None:
        """What stands in an expression's place."""
        if isinstance(node, cst.Call):
            if not isinstance(node.func, cst.Attribute) or node.args:
                return None
            receiver, method = node.func.value, node.func.attr.value
            if method == "get_shape" and self._is_tensor(receiver):
                return receiver, ".shape"
            if method != "as_list" or not self._is_shape(receiver):
                return None
            as_it_is = node in self._made_anew or node in self._read_singly
            return (receiver,) if as_it_is else ("list(", receiver, ")")
        owner, name = node.value, node.attr.value
        if name in _COUNTS and self._is_shape(owner) and node not in self._never_none:
            return None if node in self._may_be_unknown and not self._is_of_keras(owner) else ("len(", owner, ")")
        if name == "value" and self._is_size(owner):
            return (owner,)
        if name in _OLD and any(is_tensor(option) for option in self._facts.options(owner)):
            return owner, ".shape"
        return None

    def _is_shape(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is the static shape of what may be a tensor, also through variables."""
        node = settled(node, self._scopes)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            return not node.args and node.func.attr.value == "get_shape" and self._is_tensor(node.func.value)
        if isinstance(node, cst.Subscript):  # A part of it: `x.shape[1:3]`.
            parts = [element.slice for element in node.slice]
            return len(parts) == 1 and isinstance(parts[0], cst.Slice) and self._is_shape(node.value)
        return isinstance(node, cst.Attribute) and node.attr.value == "shape" and self._is_tensor(node.value)

    def _is_size(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is one size out of such a shape, also by a name: `_, rows, columns, _ = x.shape`."""
        node = settled(node, self._scopes)
        if isinstance(node, cst.Subscript):
            return index_of(node) is not None and self._is_shape(node.value)
        sources = [unpacked(each) or self._gone_through.get(each.node) for each in bindings_of(node, self._scopes)]
        return bool(sources) and all(source is not None and self._is_shape(source) for source in sources)

    def _is_of_keras(self, shape: cst.BaseExpression) -> bool:
        """Whether a shape is surely that of a tensor of a model, whose number of dimensions is known."""
        shape = settled(shape, self._scopes)
        while isinstance(shape, cst.Call | cst.Subscript):
            shape = shape.func if isinstance(shape, cst.Call) else shape.value
        return isinstance(shape, cst.Attribute) and all(
            is_tensor(option) or (isinstance(option, Parameter) and option.frame.function in self._called_by_keras)
            for option in self._facts.options(shape.value)
        )

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether a value may be a tensor, and is nothing that the program says what it is."""
        known = self._facts.options(node)
        return bool(known) and all(is_tensor(option) or isinstance(option, Opaque | Parameter) for option in known)


def _among(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression, or the elements of one that lists them."""
    if isinstance(node, cst.Tuple | cst.List | cst.Set):
        yield from (element.value for element in node.elements)
    else:
        yield node


# ---- comparisons ----

_EQUAL = (cst.Equal, cst.NotEqual)
_AMONG = (cst.In, cst.NotIn)
_SAME = (cst.Is, cst.IsNot)
_CHANNELS = -1
_ROWS_AND_COLUMNS = (1, 2, -2, -3)
_TELL = "another branch may be taken, and a different network built: write the intended comparison"
_NEVER_EQUAL = (
    "up to TensorFlow 2.3 shapes with an unknown size, such as that of the batch, were never equal; those of Keras "
    f"3 are tuples, equal if all sizes are: {_TELL}"
)
_NOT_NONE = (
    "in TensorFlow 1 an unknown size was an object, neither equal nor unequal to another size, and never None; in "
    f"TensorFlow 2 it is None: {_TELL}"
)
_NO_LIST = "the shape of a symbolic tensor is a tuple on Keras 3, which never equals a list: it becomes a list"


@dataclass(frozen=True)
class _Shape:
    """An expression that is a static shape, or a size of one."""

    owner: cst.BaseExpression
    kind: Literal["whole", "copy", "part", "size"]
    """With the size of the batch; the same, made a list or a tuple; without it; one size."""
    index: int | None = None


class _Comparer:
    """Comparisons of static shapes that have another result on Keras 3."""

    def __init__(self, context: Context) -> None:
        self._facts, self._scopes = context.facts, context.scopes
        self._open_sizes = context.migration.once(_has_open_sizes)
        version = context.settings.written_for("tensorflow")
        self._was_objects = version is None or version < (2,)

    def changes(self, comparison: cst.Comparison) -> Iterator[CallChange]:
        left = comparison.left
        for target in comparison.comparisons:
            right, operator = target.comparator, target.operator
            shapes = [self._shape_of(left), self._shape_of(right)]
            if any(shape is not None and self._is_tensor(shape.owner) for shape in shapes):
                yield from self._warning(comparison, [left, right], shapes, operator)
            left = right

    def _warning(
        self,
        node: cst.Comparison,
        sides: list[cst.BaseExpression],
        shapes: list[_Shape | None],
        operator: cst.BaseCompOp,
    ) -> Iterator[CallChange]:
        kinds = {shape.kind for shape in shapes if shape is not None}
        others = [settled(side, self._scopes) for side, shape in zip(sides, shapes, strict=True) if shape is None]
        message = None
        if "size" in kinds:
            message = _NOT_NONE if self._was_objects and self._size_differs(shapes, others, operator) else None
        elif not isinstance(operator, _EQUAL + _AMONG):
            return
        elif isinstance(operator, _EQUAL) and any(isinstance(other, cst.List) for other in others):
            yield from self._as_lists(node, sides, shapes, others)
        elif "whole" in kinds or ("part" in kinds and self._open_sizes) or ("copy" in kinds and self._was_objects):
            message = _NEVER_EQUAL
        if message is not None:
            yield CallChange(codes.STATIC_SHAPES, node, message, action="warn")

    def _as_lists(
        self,
        node: cst.Comparison,
        sides: list[cst.BaseExpression],
        shapes: list[_Shape | None],
        others: list[cst.BaseExpression],
    ) -> Iterator[CallChange]:
        """`x.shape[1:] == [8, 8]`; with None in the list it was never equal, and is not today."""
        side, shape = next((side, shape) for side, shape in zip(sides, shapes, strict=True) if shape is not None)
        elements = [each.value for other in others if isinstance(other, cst.List) for each in other.elements]
        if shape.kind == "copy" or any(map(is_none, elements)):
            return
        if all(map(is_tensor, self._facts.options(shape.owner))):
            yield CallChange(codes.STATIC_SHAPES, node, _NO_LIST, Replace(side, ("list(", side, ")")))

    def _size_differs(
        self, shapes: list[_Shape | None], others: list[cst.BaseExpression], operator: cst.BaseCompOp
    ) -> bool:
        """Whether a comparison of a size that may be unknown has another result."""
        indices = [shape.index for shape in shapes if shape is not None]
        if any(map(is_none, others)):
            return isinstance(operator, _EQUAL + _SAME) and indices != [_CHANNELS]
        unknown = any(index == 0 or (self._open_sizes and index in _ROWS_AND_COLUMNS) for index in indices)
        return unknown and isinstance(operator, cst.NotEqual if others else cst.Equal)

    def _shape_of(self, node: cst.BaseExpression) -> _Shape | None:
        node = settled(node, self._scopes)
        if isinstance(node, cst.Attribute):
            return _Shape(node.value, "whole") if node.attr.value == "shape" else None
        if isinstance(node, cst.Call):
            return self._made_by(node)
        if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
            return None
        whole, part = self._shape_of(node.value), node.slice[0].slice
        if whole is None or whole.kind == "size":
            return None
        if isinstance(part, cst.Index):
            return _Shape(whole.owner, "size", _number(part.value))
        first = _number(part.lower) if isinstance(part, cst.Slice) and part.lower is not None else 0
        return whole if first == 0 else _Shape(whole.owner, "part")

    def _made_by(self, call: cst.Call) -> _Shape | None:
        """`x.get_shape()`, `tuple(x.shape)`."""
        if isinstance(call.func, cst.Attribute):
            named = call.func.attr.value == "get_shape" and not call.args
            return _Shape(call.func.value, "whole") if named else None
        if not isinstance(call.func, cst.Name) or call.func.value not in ("tuple", "list") or len(call.args) != 1:
            return None
        copied = self._shape_of(call.args[0].value)
        return _Shape(copied.owner, "copy") if copied is not None and copied.kind == "whole" else None

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether something may be a symbolic tensor as far as the program shows it: arrays have shapes as well."""
        return any(map(is_tensor, self._facts.options(node)))


def _number(node: cst.BaseExpression) -> int | None:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return -node.expression.evaluated_value if isinstance(node.expression, cst.Integer) else None
    return node.evaluated_value if isinstance(node, cst.Integer) else None


def _has_open_sizes(migration: Migration) -> bool:
    """Whether an input of the program leaves another size open than that of the batch."""
    return any(
        isinstance(arg.value, cst.Tuple | cst.List) and any(is_none(each.value) for each in arg.value.elements)
        for facts in migration.facts.modules.values()
        for call in facts.module.calls
        for name, arg in named(call.args, ("shape",) if _is_input(call, facts) else ())
        if name in ("shape", "input_shape")
    )


def _is_input(call: cst.Call, facts: Facts) -> bool:
    return facts.canonical(call.func) == "keras.layers.Input"
