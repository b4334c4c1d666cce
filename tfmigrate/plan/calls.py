"""A call's arguments by name, whichever way they were passed."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

FIT = (
    "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data", "shuffle",
    "class_weight", "sample_weight", "initial_epoch", "steps_per_epoch", "validation_steps",
)  # fmt: skip
"""Parameters of Model.fit in order, Keras 2.0.9 to 2.3.1 and tf.keras 1.5 to 2.3."""
FIT_GENERATOR = (
    "generator", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps",
    "validation_freq", "class_weight", "max_queue_size", "workers", "use_multiprocessing", "shuffle", "initial_epoch",
)  # fmt: skip
"""Keras 2.3 and tf.keras; before 2.3 there was no `validation_freq`, so a seventh positional argument is ambiguous."""


def named_arguments(call: cst.Call, parameters: Sequence[str]) -> dict[str, cst.Arg] | None:
    """Each argument under its parameter's name, in order of appearance; None with *args, **kwargs or too many."""
    found: dict[str, cst.Arg] = {}
    for position, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None:
            found[arg.keyword.value] = arg
        elif position < len(parameters):
            found[parameters[position]] = arg
        else:
            return None
    return found


def is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def is_false(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "False"
