"""Model classes of a project that only wrap the parallel model ("ModelMGPU"), recognised by what they do."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.functions import positional
from tfmigrate.understand.state import Walker
from tfmigrate.understand.values import ClassValue, FunctionValue, Symbol
from tfmigrate.walk import walk


def wrapper_parameters(walker: Walker, cls: ClassValue) -> tuple[str, ...] | None:
    """The parameters of such a class, without `self`; None for any other.

    Its __init__ wraps its first parameter for its second and takes over the result's __dict__.
    """
    initialiser = cls.members.get("__init__")
    if not isinstance(initialiser, FunctionValue) or not isinstance(initialiser.node, cst.FunctionDef):
        return None
    if not any(names.canonical(base) in names.MODEL_CLASSES for base in cls.outside_bases()):
        return None
    parameters = [param.name.value for param in positional(initialiser.node.params)][1:]
    nodes = list(walk(initialiser.node.body))
    if not any(isinstance(part, cst.Attribute) and part.attr.value == "__dict__" for part in nodes):
        return None
    for call in nodes:
        if isinstance(call, cst.Call) and _wraps(walker, call, cls):
            passed = [arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)]
            if len(passed) >= 2 and passed[:2] == parameters[:2]:
                return tuple(parameters)
    return None


def _wraps(walker: Walker, call: cst.Call, cls: ClassValue) -> bool:
    with walker.state.elsewhere(frame=cls.closure):
        callee = walker.evaluate(call.func)
    return isinstance(callee, Symbol) and names.canonical(callee.name) == names.MULTI_GPU_MODEL
