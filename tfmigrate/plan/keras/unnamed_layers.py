"""The layers of a program that have no name of its own, so that Keras gives them one."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan.change.calls import has_stars, is_none, keywords, text_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import default_of, parameters_of
from tfmigrate.understand.values import ClassValue, Literal, Value
from tfmigrate.walk import calls_in

_LAYERS = "keras.layers."
_FUNCTIONS = {
    "add": "Add", "average": "Average", "concatenate": "Concatenate", "dot": "Dot", "maximum": "Maximum",
    "minimum": "Minimum", "multiply": "Multiply", "subtract": "Subtract",
}  # fmt: skip
"""What `keras.layers.add()` and the like make."""
_ALIASES = {
    **{f"Convolution{count}D": f"Conv{count}D" for count in (1, 2, 3)},
    **{f"MaxPool{count}D": f"MaxPooling{count}D" for count in (1, 2, 3)},
    **{f"AvgPool{count}D": f"AveragePooling{count}D" for count in (1, 2, 3)},
    **{f"GlobalMaxPool{count}D": f"GlobalMaxPooling{count}D" for count in (1, 2, 3)},
    **{f"GlobalAvgPool{count}D": f"GlobalAveragePooling{count}D" for count in (1, 2, 3)},
    "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
    "Deconvolution2D": "Conv2DTranspose", "Deconvolution3D": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
}  # fmt: skip
_TEXTS = (cst.SimpleString, cst.FormattedString, cst.BinaryOperation, cst.ConcatenatedString)


def kind_of(call: cst.Call, facts: Facts) -> str:
    """The class of the layer of standalone Keras that a call makes, or Input, of any Keras; "" for anything else."""
    real = facts.called(call)
    known = names.canonical(real)
    if known == "keras.layers.Input":
        return "Input"
    if not known.startswith(_LAYERS) or names.flavour(real) != "keras":
        return ""
    last = known.removeprefix(_LAYERS)
    if last[:1].isupper() and "." not in last:
        return _ALIASES.get(last, last)
    return _FUNCTIONS.get(last, "")


def is_unnamed(call: cst.Call, facts: Facts) -> bool | None:
    """Whether a layer gets its name from Keras; None where that does not show."""
    if has_stars(call):
        return None
    name = keywords(call).get("name")
    if name is None or is_none(name.value):
        return True
    if isinstance(name.value, _TEXTS):
        return None if text_of(name.value) == "" else False
    known = facts.options(name.value)
    surely = bool(known) and all(_is_text(value) for value in known)
    return False if surely and not _is_left_out_by_some(name.value, call, facts) else None


def _is_left_out_by_some(name: cst.BaseExpression, call: cst.Call, facts: Facts) -> bool:
    """Whether a name is a parameter that callers may leave out: what is known of it need not be of every call."""
    if not isinstance(name, cst.Name):
        return False
    for function in facts.module.all_of(cst.FunctionDef):
        default = default_of(name.value, function) if name.value in parameters_of(function) else None
        if default is not None and text_of(default) is None and call in calls_in(function):
            return True
    return False


def _is_text(value: Value) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, str) and value.value != ""


def unnamed_layers(migration: Migration) -> Mapping[str, Mapping[cst.Call, bool]]:
    """By their kind, the calls of the program that make a layer that may have no name, and whether that is sure."""
    found: dict[str, dict[cst.Call, bool]] = {}
    for facts in migration.facts.modules.values():
        for call in facts.module.calls:
            kind = kind_of(call, facts)
            unnamed = is_unnamed(call, facts) if kind else False
            if unnamed is not False:
                found.setdefault(kind, {})[call] = unnamed is True
            elif kind == "" and (hidden := _kind_inside(call, facts)):
                found.setdefault(hidden, {})[call] = False
    return found


def _kind_inside(call: cst.Call, facts: Facts) -> str:
    """What a call makes that cannot be given a name there: the input of a pretrained network, a layer whose class is
    the program's own; "" for anything else."""
    if makes_input(call, facts):
        return "Input"
    for option in facts.options(call.func):
        if isinstance(option, ClassValue) and "name" not in keywords(call) and _is_layer(option):
            return option.node.name.value
    return ""


def makes_input(call: cst.Call, facts: Facts) -> bool:
    """Whether a call makes a pretrained network with an input of its own."""
    return names.is_pretrained(facts.canonical(call.func)) and "input_tensor" not in keywords(call)


def _is_layer(cls: ClassValue) -> bool:
    """Whether a class descends from a layer of standalone Keras."""
    bases = (base for base in cls.outside_bases() if names.flavour(base) == "keras")
    return any(names.canonical(base).startswith((_LAYERS, "keras.engine.")) for base in bases)
