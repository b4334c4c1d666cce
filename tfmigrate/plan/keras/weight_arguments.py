"""`self.add_weight("kernel", (4, 2))`: in Keras 3 the first argument is the shape."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, keywords
from tfmigrate.plan.edits import Edit, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.syntax import attribute_of
from tfmigrate.walk import calls_in

_NAME_FIRST = ("name", "shape", "dtype", "initializer", "regularizer", "trainable", "constraint")
"""In Keras 2, tf.keras among it."""
_SHAPE_FIRST = ("shape", "initializer")
"""In Keras 1, which Keras 2 of standalone Keras understood, and in Keras 3."""
_WITHOUT_MEANING = ("partitioner", "use_resource")
_MESSAGE = "the first argument of add_weight() is the shape in Keras 3: every argument is passed by name"
_DROPPED = "add_weight() of Keras 3 has no argument `{}`, which means nothing in TensorFlow 2"
_VARIABLE = "add_variable() takes different arguments in Keras 3; add_weight() is the same in every version"


def check(context: Context) -> Iterator[CallChange]:
    """Calls in the classes of layers and models that the module defines."""
    facts = context.facts
    for cls in facts.classes:
        bases = (names.canonical(context.tables.moves.moved(base)) for base in cls.outside_bases())
        if cls.closure.module is not facts.module or not any(map(_has_weights, bases)):
            continue
        for call in calls_in(cls.node):
            method = attribute_of("self", call.func)
            if method in ("add_weight", "add_variable") and not has_stars(call):
                yield from _changes(call, method)


def _has_weights(base: str) -> bool:
    """Whether a class of Keras is a layer or a model."""
    return names.is_layer(base) or base in (
        "keras.Model",
        "keras.Sequential",
        "keras.models.Model",
        "keras.models.Sequential",
    )


def _changes(call: cst.Call, method: str) -> Iterator[CallChange]:
    more: tuple[Edit, ...] = (Replace(call.func, "self.add_weight"),) if method == "add_variable" else ()
    count = sum(arg.keyword is None for arg in call.args)
    order = _order(call)
    if 0 < count <= len(order):
        named = tuple(enumerate(order[:count]))
        yield CallChange(codes.WEIGHT_ARGUMENTS, call, _MESSAGE, Revision(call, named=named), more=more)
    elif more:
        yield CallChange(codes.WEIGHT_ARGUMENTS, call, _VARIABLE, more[0])
    for keyword, arg in keywords(call).items():
        if keyword == "use_resource" or (keyword in _WITHOUT_MEANING and is_none(arg.value)):
            edit = Revision(call, dropped=(keyword,))
            yield CallChange(codes.WEIGHT_ARGUMENTS, arg, _DROPPED.format(keyword), edit)


def _order(call: cst.Call) -> tuple[str, ...]:
    """What the positional arguments are."""
    first = call.args[0].value if call.args else None
    is_shape = isinstance(first, cst.Tuple | cst.List) or "name" in keywords(call)
    return _SHAPE_FIRST if is_shape else _NAME_FIRST
