"""What a call does with a file of weights or of a model: asks for it by its name, loads it, saves it."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Method

_ASKS = frozenset(
    {
        "os.path.exists", "os.path.isfile", "os.path.getsize", "os.path.getmtime", "os.remove", "os.unlink",
        "os.access", "glob.glob", "pathlib.Path",
    }
)  # fmt: skip
"""What is done with a file by its name alone."""


def takes_name(call: cst.Call, facts: Facts) -> bool:
    """Whether a call loads a file, or asks for it by its name."""
    return facts.called(call) in _ASKS or reads(call, facts)


def reads(call: cst.Call, facts: Facts) -> bool:
    return loads_weights(call) or is_load_model(call, facts)


def loads_weights(call: cst.Call) -> bool:
    return last_attribute(call.func) == "load_weights"


def is_own_method(call: cst.Call, facts: Facts) -> bool:
    """Whether a call may be of a method that the program defines."""
    return any(isinstance(option, Method) and option.function is not None for option in facts.options(call.func))


def saves(call: cst.Call) -> bool:
    """Whether a whole model may be saved."""
    return last_attribute(call.func) == "save"


def is_load_model(call: cst.Call, facts: Facts) -> bool:
    return facts.canonical(call.func) == "keras.models.load_model"


def is_of_keras(use: Use, method: str) -> bool:
    """Whether a method of Keras's models is called."""
    return use.method == method and use.is_of_keras
