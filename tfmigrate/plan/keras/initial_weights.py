"""`Dense(2, weights=[kernel, bias])`: in Keras 3 an Embedding alone takes `weights`; other layers have initializers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_false, is_none, is_true, keywords
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.written import Code

_KERNEL_AND_BIAS = ("kernel", "bias")
_ORDER: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose"), _KERNEL_AND_BIAS),
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
}
"""The weights of a layer in their order, each the beginning of its initializer's name."""
_SWITCHES = {"bias": "use_bias", "gamma": "scale", "beta": "center"}
"""The argument that leaves a weight out where it is False."""
_PLACED = {"Dense": 2, "BatchNormalization": 1}
"""How many arguments a layer may be given by position, so that none is an initializer: a convolution its filters and
their size, which is the default."""
_OLD_NAMES = frozenset({"init", "bias", "b", "gamma_init", "beta_init"})
"""Arguments of Keras 1 for what is read or written here: a call with one of them is left alone."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for call in facts.module.calls:
        kind = facts.canonical(call.func).removeprefix("keras.layers.")
        named = keywords(call)
        if kind not in _ORDER or "weights" not in named or has_stars(call) or not _OLD_NAMES.isdisjoint(named):
            continue
        given = named["weights"]
        if is_none(given.value):
            message = f"{kind} of Keras 3 takes no `weights`, and None had no effect"
            yield CallChange(codes.INITIAL_WEIGHTS, given, message, Revision(call, dropped=("weights",)))
            continue
        order = _weights_of(call, kind)
        values = _values(given.value, context.scopes)
        placed = sum(arg.keyword is None for arg in call.args)
        if order is None or values is None or len(values) != len(order) or placed > _PLACED.get(kind, 2):
            continue
        message = f"{kind} of Keras 3 takes no `weights`: its initializers set the same values"
        constant = f"{context.tf}.keras.initializers.Constant("
        written = tuple(
            (f"{weight}_initializer", (constant, *value, ")")) for weight, value in zip(order, values, strict=True)
        )
        yield CallChange(codes.INITIAL_WEIGHTS, given, message, Revision(call, dropped=("weights",), set=written))


def _values(node: cst.BaseExpression, scopes: Scopes) -> list[Code] | None:
    """The code of each value of a list that is written out: its elements, or `name[0]` and so on where the list has a
    name; None for any other."""
    listed = settled(node, scopes)
    if not isinstance(listed, cst.List | cst.Tuple):
        return None
    if any(isinstance(element, cst.StarredElement) for element in listed.elements):
        return None
    if listed is node:
        return [(element.value,) for element in listed.elements]
    return [(node, f"[{place}]") for place in range(len(listed.elements))]


def _weights_of(call: cst.Call, kind: str) -> list[str] | None:
    """The weights of a layer in their order; None where it is not known which it has."""
    named = keywords(call)
    weights = []
    for weight in _ORDER[kind]:
        switch = named.get(_SWITCHES.get(weight, ""))
        if switch is None or is_true(switch.value):
            weights.append(weight)
        elif not is_false(switch.value):
            return None
    return weights
