"""Whether something called multi_gpu_model can be Keras's, or a copy of it: many other things bear the name."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from tfmigrate.understand.module import Module
from tfmigrate.understand.values import FunctionValue, Items, Literal, Mapping, ModuleValue, Value, options

_LIBRARY = re.compile(r"keras|tensorflow", re.IGNORECASE)
_DOTTED = re.compile(r"[\w.]+")


def names_keras(modules: Iterable[Module]) -> bool:
    """Whether code of some module, other than comments and prose, mentions Keras or TensorFlow.

    A name that was handed in (`keras_module`) counts, and so does the text that importlib is given.
    """
    return any(
        _LIBRARY.search(module.text) and any(map(_mentions, module.all_of(cst.Name, cst.SimpleString)))
        for module in modules
    )


def _mentions(node: cst.Name | cst.SimpleString) -> bool:
    if isinstance(node, cst.Name):
        return _LIBRARY.search(node.value) is not None
    text = node.evaluated_value
    return isinstance(text, str) and _DOTTED.fullmatch(text) is not None and _LIBRARY.search(text) is not None


def may_be_model(value: Value) -> bool:
    """Whether a value can be a model: no number, text, list or function is one."""
    plain = Literal | Items | Mapping | FunctionValue | ModuleValue
    return any(not isinstance(option, plain) for option in options(value))
