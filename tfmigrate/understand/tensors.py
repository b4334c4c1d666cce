"""What flows through layers and models: tensors, which remember where they and what made them were made."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tfmigrate.understand.state import State
from tfmigrate.understand.values import (
    Arguments,
    Made,
    Opaque,
    Value,
    all_models,
    all_opaque_sites,
    all_sites,
    is_keras,
)


def layered(state: State, callee: Value, arguments: Arguments) -> Made:
    """What a layer or a model returns: a tensor. An unknown value passed to it is a tensor too, made elsewhere."""
    values = (callee, *(value for _, value in arguments))
    return Made("tensor", "", all_opaque_sites(values) | {state.site}, all_models(values))


def combined(state: State, values: Sequence[Value], node: cst.CSTNode) -> Value:
    """The result of an operation not followed further: a tensor where Keras objects flow in, else unknown.

    Unknown values beside a Keras object are taken for settings (`head(features, num_classes)`).
    """
    if not any(is_keras(value) for value in values):
        return Opaque("a call", frozenset((state.site,)), node)
    return Made("tensor", "", all_sites(values) | {state.site}, all_models(values))
