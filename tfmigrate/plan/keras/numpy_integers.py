"""Numbers of NumPy where Keras 3 wants one of Python: `Dense(np.prod(shape))`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.numbers import is_no_integer, is_quotient
from tfmigrate.understand.reaching import named
from tfmigrate.understand.values import Literal, Value

_COUNTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Dense", "LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "SimpleRNNCell"), ("units",)),
    "CuDNNLSTM": ("units",),
    "CuDNNGRU": ("units",),
    "Embedding": ("input_dim", "output_dim"),
    "RepeatVector": ("n",),
}
"""The first parameters of the layers whose sizes must be of Python's type; those of convolutions need not."""
_FILTERS = frozenset(
    f"{kind}{axes}D{transposed}"
    for kind in ("Conv", "Convolution", "SeparableConv", "ConvLSTM")
    for axes in (1, 2, 3)
    for transposed in ("", "Transpose")
)
"""The layers whose first parameter is the number of filters, which may be a number of NumPy."""
_SHAPES = {"Input": ("shape",), **{f"UpSampling{axes}D": ("size",) for axes in (1, 2, 3)}}
"""Parameters that are tuples of sizes, beside those of every layer."""


def check(context: Context) -> Iterator[CallChange]:
    """A size of a layer that NumPy computed, or a quotient: `int(...)` goes round it."""
    facts = context.facts
    for call in facts.module.calls:
        name = facts.called(call)
        if names.is_layer(name):
            for node, may_be_numpy in _sizes(call, name.rpartition(".")[2]):
                if _is_unfit(node, is_quotient if may_be_numpy else is_no_integer, facts):
                    message = f"Keras 3 accepts no {_KINDS[may_be_numpy]} as the size of a layer: converted to int"
                    yield CallChange(codes.NUMPY_INTEGERS, node, message, Replace(node, ("int(", node, ")")))

    yield from _seeds(facts)


def _seeds(facts: Facts) -> Iterator[CallChange]:
    """`RandomUniform(seed=42.0)`, and the same of a layer: NumPy, and so old Keras, took the integer part."""
    for call in facts.module.calls:
        name = facts.called(call)
        if names.is_layer(name) or names.canonical(name).startswith("keras.initializers."):
            argument = keywords(call).get("seed")
            if argument is None:
                continue
            if isinstance(argument.value, cst.Float) or any(map(_is_float, facts.options(argument.value))):
                message = "Keras 3 accepts no NumPy number or float as a seed: converted to int"
                edit = Replace(argument.value, ("int(", argument.value, ")"))
                yield CallChange(codes.NUMPY_INTEGERS, argument.value, message, edit)


def _is_float(value: Value) -> bool:
    return is_no_integer(value) or (isinstance(value, Literal) and isinstance(value.value, float))


_KINDS = {False: "NumPy number or float", True: "float"}


def _sizes(call: cst.Call, layer: str) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """The sizes that a layer is given, and whether each may be a number of NumPy."""
    counts = _COUNTS.get(layer, ())
    filters = ("filters",) if layer in _FILTERS else ()
    shapes = _SHAPES.get(layer, ())
    for word, argument in named(call.args, counts or filters or shapes):
        if argument.star:
            continue
        if word in (*counts, *filters):
            yield argument.value, word in filters
        elif word in (*shapes, "input_shape", "batch_input_shape") and isinstance(argument.value, cst.Tuple | cst.List):
            yield from ((element.value, True) for element in argument.value.elements)


def _is_unfit(node: cst.BaseExpression, unfit: Callable[[Value], bool], facts: Facts) -> bool:
    if isinstance(node, cst.BinaryOperation):
        sides = (node.left, node.right)
        return isinstance(node.operator, cst.Divide) or any(_is_unfit(side, unfit, facts) for side in sides)
    return any(map(unfit, facts.options(node)))
