"""Numbers of NumPy where Keras 3 wants one of Python: `Dense(np.prod(shape))`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.numbers import is_no_integer
from tfmigrate.understand.reaching import named

_COUNTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Dense", "LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "SimpleRNNCell"), ("units",)),
    "CuDNNLSTM": ("units",),
    "CuDNNGRU": ("units",),
    "Embedding": ("input_dim", "output_dim"),
    "RepeatVector": ("n",),
}
"""The first parameters of the layers whose sizes must be of Python's type; those of convolutions need not."""


def check(context: Context) -> Iterator[CallChange]:
    """A size of a layer that NumPy computed, or a quotient: `int(...)` goes round it."""
    facts = context.facts
    for call in facts.module.calls:
        name = facts.symbols.get(call.func, "")
        parameters = _COUNTS.get(name.rpartition(".")[2], ()) if names.is_layer(name) else ()
        sizes = (arg.value for word, arg in named(call.args, parameters) if word in parameters and not arg.star)
        for node in sizes:
            if _is_no_integer(node, facts):
                message = "Keras 3 accepts neither NumPy numbers nor floats as the size of a layer: converted to int"
                edit = Replace(node, ("int(", node, ")"))
                yield CallChange(codes.NUMPY_INTEGERS, node, message, edit)


def _is_no_integer(node: cst.BaseExpression, facts: Facts) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.Divide) or any(_is_no_integer(x, facts) for x in (node.left, node.right))
    return any(map(is_no_integer, facts.options(node)))
