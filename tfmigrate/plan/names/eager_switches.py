"""The functions of TensorFlow that turn eager execution on or off for the whole program."""

from __future__ import annotations

from typing import Literal

_TURN: dict[str, Literal["on", "off"]] = {
    "enable_eager_execution": "on",
    "enable_v2_behavior": "on",
    "disable_eager_execution": "off",
    "disable_v2_behavior": "off",
}
"""They stand in tensorflow.compat.v1, in TensorFlow 1 itself, and in private modules of both."""


def turns_eager(name: str) -> Literal["on", "off"] | None:
    """Which way a function turns it, by its qualified name; None for any other function."""
    library, _, last = name.rpartition(".")
    return _TURN.get(last) if library.partition(".")[0] == "tensorflow" else None
