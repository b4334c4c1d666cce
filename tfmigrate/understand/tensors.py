"""What flows through layers and models: tensors, which remember where they and what made them were made."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tfmigrate.understand.contents import all_models, all_opaque_sites, all_sites, is_keras, opaque_sites
from tfmigrate.understand.state import State
from tfmigrate.understand.values import Arguments, Made, Opaque, Sites, Value

_TENSORS = frozenset(
    {None, "*", "**", "inputs", "outputs", "input", "output", "layers", "input_tensor", "x", "mask", "initial_state"}
)
"""Keywords of what is, or holds, a tensor or a layer; None for what is passed by its place."""


def layered(state: State, callee: Value, arguments: Arguments) -> Made:
    """What a layer or a model returns: a tensor. An unknown value passed to it is a tensor too, made elsewhere."""
    values = (callee, *(value for _, value in arguments))
    return Made("tensor", "", opaque_sites(callee) | flowing(arguments) | {state.site}, all_models(values))


def flowing(arguments: Arguments) -> Sites:
    """Where what flows into a layer or a model was made; an unknown value of `input_shape=` or `name=` is none."""
    tensors = all_opaque_sites(value for keyword, value in arguments if keyword in _TENSORS)
    return tensors | all_sites(value for keyword, value in arguments if keyword not in _TENSORS)


def combined(state: State, values: Sequence[Value], node: cst.CSTNode) -> Value:
    """The result of an operation not followed further: a tensor where Keras objects flow in, else unknown.

    Unknown values beside a Keras object are taken for settings (`head(features, num_classes)`).
    """
    if not any(is_keras(value) for value in values):
        return Opaque("a call", frozenset((state.site,)), node)
    return Made("tensor", "", all_sites(values) | {state.site}, all_models(values))
