"""`add_weight(shape=(n,), initializer="glorot_uniform")`: standalone Keras drew such weights in another range."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import assigned_in, attribute_of
from tfmigrate.understand.values import ClassValue
from tfmigrate.walk import calls_in, walk

_BY_SHAPE = ("glorot", "he_", "henormal", "heuniform", "lecun", "variance")
"""How the names of initializers begin whose range depends on the shape."""
_KERNELS = range(2, 6)
"""Numbers of dimensions for which both Keras 2 and Keras 3 count inputs as for the kernel of a dense layer or of a
convolution."""
_MESSAGE = (
    "standalone Keras drew the initial values of a weight with one dimension, or with more than five, from another "
    "range: {} used the square root of the product of all sizes as the number of inputs, and today counts them as "
    "for a kernel. To start as before, write the old bound as a number: RandomUniform(-b, b), RandomNormal(stddev=s)"
)


def check(context: Context) -> Iterator[CallChange]:
    """Weights of the module's own layers, and the biases of layers that it makes."""
    facts = context.facts
    for cls in facts.classes:
        outside = list(cls.outside_bases())
        if cls.closure.module is facts.module and any(names.flavour(base) == "keras" for base in outside):
            for call in calls_in(cls.node):
                if attribute_of("self", call.func) == "add_weight":
                    yield from _of_weight(call, cls, context)
    for call in facts.module.calls:
        real = facts.called(call)
        bias = keywords(call).get("bias_initializer")
        if bias is not None and names.flavour(real) == "keras" and names.is_layer(real):
            yield from _warned(bias.value, bias, None, context)


def _of_weight(call: cst.Call, cls: ClassValue, context: Context) -> Iterator[CallChange]:
    """The warning about an add_weight() whose shape surely has another number of dimensions."""
    named = keywords(call)
    first = call.args[0].value if call.args and call.args[0].keyword is None else None
    shape = named["shape"].value if "shape" in named else first
    if shape is None or "initializer" not in named:
        return
    known, open_parts = _dimensions(shape, cls, context)
    if (known not in _KERNELS and not open_parts) or (known > 3 and open_parts):
        yield from _warned(named["initializer"].value, call, cls, context)


def _warned(
    initializer: cst.BaseExpression, node: cst.CSTNode, cls: ClassValue | None, context: Context
) -> Iterator[CallChange]:
    """One warning at `node`, where an initializer may be one whose range depends on the shape."""
    for name in _names_of(initializer, cls, context, set()):
        plain = name.rpartition(".")[2]
        if plain.lower().startswith(_BY_SHAPE):
            yield CallChange(codes.INITIAL_SPREAD, node, _MESSAGE.format(plain), action="warn")
            return


def _dimensions(node: cst.BaseExpression, cls: ClassValue, context: Context) -> tuple[int, int]:
    """How many sizes a shape surely lists, and how many of its parts may list any number."""
    node = settled(node, context.scopes)
    if isinstance(node, cst.Tuple | cst.List):
        starred = sum(isinstance(element, cst.StarredElement) for element in node.elements)
        return len(node.elements) - starred, starred
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        left, right = (_dimensions(side, cls, context) for side in (node.left, node.right))
        return left[0] + right[0], left[1] + right[1]
    values = _assigned(node, cls)
    return _dimensions(values[0], cls, context) if len(values) == 1 else (0, 1)


def _names_of(
    node: cst.BaseExpression, cls: ClassValue | None, context: Context, seen: set[cst.CSTNode]
) -> Iterator[str]:
    """The names of the initializers that an expression may stand for."""
    node = settled(node, context.scopes)
    if node in seen:
        return
    seen.add(node)
    word = text_of(node)
    if word is not None:
        yield word
    elif isinstance(node, cst.Call):
        called = context.facts.canonical(node.func) or ""
        if called == "keras.initializers.get" and node.args:
            yield from _names_of(node.args[0].value, cls, context, seen)
        elif called.startswith("keras.initializers."):
            yield called
    elif cls is not None:
        defaults = _defaults(node, cls) if isinstance(node, cst.Name) else []
        for value in (*_assigned(node, cls), *defaults):
            yield from _names_of(value, cls, context, seen)


def _assigned(node: cst.BaseExpression, cls: ClassValue) -> list[cst.BaseExpression]:
    """What the class assigns to an attribute of its own."""
    name = attribute_of("self", node)
    return assigned_in(cls.node, f"self.{name}") if name is not None else []


def _defaults(name: cst.Name, cls: ClassValue) -> list[cst.BaseExpression]:
    """The defaults of the parameters of that name, in any method of the class."""
    parameters = (part for part in walk(cls.node) if isinstance(part, cst.Param))
    return [each.default for each in parameters if each.name.value == name.value and each.default is not None]
