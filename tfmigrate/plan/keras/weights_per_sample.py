"""`sample_weight` with one number for each sample, where a model gives an image or a sequence for each."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, is_true, keywords, with_targets
from tfmigrate.plan.change.model_outputs import outputs_given
from tfmigrate.plan.keras.last_layers import layers_behind, layers_listed
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Literal, ModelObject, Symbol, options

_OF_PLACES = (
    "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "SeparableConv1D", "SeparableConv2D",
    "DepthwiseConv2D", "Convolution1D", "Convolution2D", "Convolution3D", "UpSampling1D", "UpSampling2D",
    "UpSampling3D", "Cropping1D", "Cropping2D", "Cropping3D", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D",
    "TimeDistributed",
)  # fmt: skip
"""Layers whose output has axes of its own between that of the samples and the last one."""
_RECURRENT = ("LSTM", "GRU", "SimpleRNN", "CuDNNLSTM", "CuDNNGRU")
_ALIKE = ("Activation", "Dropout", "BatchNormalization", "LeakyReLU", "PReLU", "ELU", "ReLU", "Softmax", "Dense")
"""Layers whose output has as many axes as their input."""
_MESSAGE = (
    "one weight per sample does not fit this model's output of several numbers per sample: old Keras aligned the "
    "weights with the first axis of the losses, Keras 3 with the last, and fails, or weights positions instead of "
    "samples if both have the same size; give the weights all axes of the targets except the last, each of length 1 "
    "(`weights[:, None, None]` for images)"
)


def check(context: Context) -> Iterator[CallChange]:
    facts, scopes = context.facts, context.scopes
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        weights = with_targets(use).get("sample_weight")
        if weights is None or weights in seen or not use.models or _has_axes(settled(weights.value, scopes)):
            continue
        if all(_gives_places(model, facts, scopes) and _is_plain(model, facts) for model in use.models):
            seen.add(weights)
            yield CallChange(codes.WEIGHTS_PER_SAMPLE, weights, _MESSAGE, action="warn")


def _has_axes(weights: cst.BaseExpression) -> bool:
    """Whether weights are None, or are given more axes: `w[:, None, None]`, `w.reshape(-1, 1, 1)`."""
    function = weights.func if isinstance(weights, cst.Call) else None
    name = last_attribute(function)
    several = isinstance(weights, cst.Subscript) and len(weights.slice) > 1
    return is_none(weights) or several or name in ("reshape", "expand_dims")


def _is_plain(model: ModelObject, facts: Facts) -> bool:
    """Whether a model is compiled with losses of Keras alone, which leave those axes, and without weights for them."""
    compiles = [use for use in facts.uses if use.method == "compile" and model in use.models]
    return bool(compiles) and all(map(_has_plain_loss, compiles))


def _has_plain_loss(use: Use) -> bool:
    """Whether the losses of a compile() are words or functions of Keras, and it sets no `sample_weight_mode`."""
    loss = use.argument(1, "loss")
    given = options(loss) if loss is not None else frozenset()
    words = all(isinstance(option, Symbol) or (isinstance(option, Literal) and option.value) for option in given)
    return bool(given) and words and "sample_weight_mode" not in keywords(use.call)


def _gives_places(model: ModelObject, facts: Facts, scopes: Scopes) -> bool:
    """Whether the only output of a model surely has more than two axes."""
    if names.canonical(model.maker) == "keras.models.Sequential":
        added = [use.call for use in facts.uses if use.method == "add" and model in use.models and use.call.args]
        layers = [*(layers_listed(model, scopes) or ()), *(call.args[0].value for call in added)]
        return _ends_in_places(reversed(layers), facts)
    outputs = outputs_given(model, facts)
    return outputs is not None and _ends_in_places(layers_behind(outputs, facts.module, scopes), facts)


def _ends_in_places(layers: Iterator[cst.BaseExpression], facts: Facts) -> bool:
    """Whether the output of these layers, the last one first, surely has axes between the first and the last."""
    for layer in layers:
        known = facts.canonical(layer.func) if isinstance(layer, cst.Call) else ""
        kind = known.rpartition(".")[2] if known.startswith("keras.layers.") else ""
        if kind in _RECURRENT and isinstance(layer, cst.Call):
            whole = keywords(layer).get("return_sequences")
            return whole is not None and is_true(whole.value)
        if kind not in _ALIKE:
            return kind in _OF_PLACES
    return False
