"""How many rows, columns and so on NumPy would see in an expression, as far as it is written out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import libcst as cst

from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.models_named import may_be_model
from tfmigrate.understand.reaching import is_parameter, value_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import last_attribute, root_name
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Shape:
    """The first sizes of a shape, None for one that is not known."""

    sizes: tuple[int | None, ...] = ()
    whole: bool = False
    """Whether it has no further sizes."""


_UNKNOWN = Shape()
_NUMBER = Shape((), whole=True)
_PICTURE = Shape((None, None))
_ROW = Shape((None,), whole=True)
_FILLED = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
_PICTURES = frozenset(
    {
        "cv2.imread", "cv2.resize", "cv2.cvtColor", "keras.preprocessing.image.img_to_array", "skimage.io.imread",
        "skimage.transform.resize", "matplotlib.image.imread", "matplotlib.pyplot.imread", "scipy.misc.imread",
        "scipy.misc.imresize",
    }
)  # fmt: skip
_COPIES = frozenset({"numpy.array", "numpy.asarray"})
_FLAT = frozenset({"ravel", "flatten"})
_HARMLESS = frozenset({"append", "count", "index", "copy", "sort", "reverse", "insert", "extend"})
"""Methods of a list that take nothing away and change no element."""


class Parts:
    """Which lists of a module have parts that differ."""

    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts = facts
        self._scopes = scopes

    def differ(self, node: cst.BaseExpression) -> bool:
        """Whether an expression holds parts whose shapes surely differ from each other."""
        return self._shape(node, frozenset()) is None

    def may_differ(self, node: cst.BaseExpression) -> bool:
        """Whether an expression holds arrays whose lengths are not known."""
        shape = self._shape(node, frozenset())
        return shape is None or (len(shape.sizes) > 1 and shape.sizes[1] is None)

    def _shape(self, node: cst.BaseExpression, within: frozenset[cst.CSTNode]) -> Shape | None:
        """The shape; None where parts of it differ. `within`: the names whose values are being read."""
        if isinstance(node, cst.BaseNumber | cst.BaseString):
            return _NUMBER
        if isinstance(node, cst.UnaryOperation):
            return _NUMBER if isinstance(node.expression, cst.BaseNumber) else _UNKNOWN
        if isinstance(node, cst.List | cst.Tuple):
            parts = [element.value for element in node.elements]
            starred = any(isinstance(element, cst.StarredElement) for element in node.elements)
            return self._of_parts([] if starred else parts, None if starred else len(parts), within)
        if isinstance(node, cst.ListComp):
            return self._of_parts([node.elt], None, within)
        if isinstance(node, cst.Call):
            return self._of_call(node, within)
        if isinstance(node, cst.Name) and node not in within:
            return self._of_name(node, within | {node})
        return _UNKNOWN

    def _of_parts(
        self, parts: Sequence[cst.BaseExpression], count: int | None, within: frozenset[cst.CSTNode]
    ) -> Shape | None:
        shapes = [self._shape(part, within) for part in parts]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes) or any(_differ(one, other) for one, other in combinations(known, 2)):
            return None
        inner = _joined(known)
        return Shape((count, *inner.sizes), inner.whole)

    def _of_call(self, call: cst.Call, within: frozenset[cst.CSTNode]) -> Shape | None:
        name = self._facts.canonical(call.func)
        first = call.args[0].value if call.args and not call.args[0].star and call.args[0].keyword is None else None
        if name in _PICTURES:
            return _PICTURE
        if name in _FILLED and first is not None:
            return _filled(first)
        if name in _COPIES and first is not None:
            return self._shape(first, within) or _UNKNOWN
        if isinstance(call.func, cst.Name) and call.func.value in ("int", "float", "len", "str", "bool"):
            return _NUMBER
        if last_attribute(call.func) in _FLAT and not call.args:
            return _ROW
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "get_weights" and not call.args:
            # The kernel of a layer has more axes than its bias.
            return None if may_be_model(call.func.value, self._facts) else _UNKNOWN
        return _UNKNOWN

    def _of_name(self, node: cst.Name, within: frozenset[cst.CSTNode]) -> Shape | None:
        occurrence = self._scopes.occurrence(node)
        if occurrence is None:
            return _UNKNOWN
        mentions = self._scopes.of_variable(node.value, occurrence.scope)
        bindings = [m for m in mentions if m.binds and m.unit is not occurrence.unit and not self._copies(m)]
        values = _assigned_values(bindings)
        if not values or any(mention.node in self._changed for mention in mentions):
            return _UNKNOWN
        appended = [(mention, self._appended[mention.node]) for mention in mentions if mention.node in self._appended]
        if not appended:
            shapes = [self._shape(value, within) for value in values]
            # One of several may be set on another path.
            return shapes[0] if len(shapes) == 1 else _joined(shape or _UNKNOWN for shape in shapes)
        if len(values) != 1 or not isinstance(values[0], cst.List):
            return _UNKNOWN
        first = [(bindings[0], element.value) for element in values[0].elements]
        return self._of_appended([*first, *appended], within)

    def _copies(self, binding: Occurrence) -> bool:
        """`data = np.array(data)`, which sees the parts that `data` has before."""
        value = value_of(binding)
        if not isinstance(value, cst.Call) or not isinstance(binding.node, cst.Name) or not value.args:
            return False
        first = value.args[0].value
        same = isinstance(first, cst.Name) and first.value == binding.node.value
        return same and self._facts.called(value) in _COPIES

    def _of_appended(
        self, parts: Sequence[tuple[Occurrence, cst.BaseExpression]], within: frozenset[cst.CSTNode]
    ) -> Shape | None:
        shapes = [(mention.unit, self._shape(part, within)) for mention, part in parts]
        known = [(unit, shape) for unit, shape in shapes if shape is not None]
        if len(known) < len(shapes) or any(self._both(*pair) for pair in combinations(known, 2)):
            return None
        inner = _joined([shape for _, shape in known])
        return Shape((None, *inner.sizes), inner.whole)

    def _both(self, one: tuple[Unit, Shape], other: tuple[Unit, Shape]) -> bool:
        """Whether two parts that differ are in one list whenever either is: they are added in the same block."""
        places = self._facts.module.places
        return places[one[0]].block is places[other[0]].block and _differ(one[1], other[1])

    @cached_property
    def _appended(self) -> dict[cst.CSTNode, cst.BaseExpression]:
        """What is appended to the list that a name stands for."""
        return {
            call.func.value: call.args[0].value
            for call in self._facts.module.calls
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == "append" and len(call.args) == 1
        }

    @cached_property
    def _changed(self) -> set[cst.CSTNode]:
        """Names of what is changed otherwise than by appending to it."""
        changed: set[cst.CSTNode | None] = set()
        for node in walk(self._facts.module.tree):
            if isinstance(node, cst.Attribute):
                own = isinstance(node.value, cst.Name) and node.attr.value in _HARMLESS
                changed.add(None if own else _owner(node.value))
            elif isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign) and not isinstance(
                node.target, cst.Name
            ):
                changed.update(_owner(inner) for inner in walk(node.target) if isinstance(inner, cst.Subscript))
            elif isinstance(node, cst.AugAssign):
                changed.add(node.target)
            elif isinstance(node, cst.Del):
                changed.update(walk(node))
            elif isinstance(node, cst.For) and isinstance(node.target, cst.Name):
                changed.add(node.iter)  # Its elements may be changed.
        return {node for node in changed if node is not None}


def _assigned_values(bindings: Sequence[Occurrence]) -> list[cst.BaseExpression]:
    """The values that bindings give a name; none where one is a parameter, or gives it what is not written out."""
    values = [value_of(binding) for binding in bindings]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) and not any(map(is_parameter, bindings)) else []


def _owner(node: cst.CSTNode) -> cst.Name | None:
    """The name at the left end of `name[0][1].attribute`."""
    while isinstance(node, cst.Subscript | cst.Attribute):
        node = node.value
    return root_name(node)


def _filled(size: cst.BaseExpression) -> Shape:
    """The shape of np.zeros(size)."""
    if isinstance(size, cst.Integer):
        return Shape((size.evaluated_value,), whole=True)
    if isinstance(size, cst.Tuple | cst.List) and not any(isinstance(e, cst.StarredElement) for e in size.elements):
        sizes = (element.value for element in size.elements)
        return Shape(tuple(n.evaluated_value if isinstance(n, cst.Integer) else None for n in sizes), whole=True)
    return _UNKNOWN


def _differ(one: Shape, other: Shape) -> bool:
    """Whether two shapes surely differ."""
    pairs = zip(one.sizes, other.sizes, strict=False)
    if any(first is not None and second is not None and first != second for first, second in pairs):
        return True
    return any(a.whole and len(a.sizes) < len(b.sizes) for a, b in ((one, other), (other, one)))


def _joined(shapes: Iterable[Shape]) -> Shape:
    """What all shapes have in common."""
    shapes = list(shapes)
    if not shapes:
        return _UNKNOWN
    lengths = {len(shape.sizes) for shape in shapes}
    columns = [{shape.sizes[axis] for shape in shapes} for axis in range(min(lengths))]
    sizes = tuple(column.pop() if len(column) == 1 else None for column in columns)
    return Shape(sizes, whole=len(lengths) == 1 and all(shape.whole for shape in shapes))
