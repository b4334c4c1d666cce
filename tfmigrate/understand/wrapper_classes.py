"""Model classes of a project that are the parallel model ("ModelMGPU", "ParallelModel"), recognised by what they do."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.copies import calls_on_devices, joins_outputs
from tfmigrate.understand.parameters import first_parameter, positional
from tfmigrate.understand.state import Walker
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import ClassValue, FunctionValue, Symbol
from tfmigrate.walk import calls_in, nodes_in, walk


def wrapper_parameters(walker: Walker, cls: ClassValue) -> tuple[str, ...] | None:
    """The parameters of such a class, without `self`; None for any other.

    Its __init__ wraps its first parameter for its second and takes over the result's __dict__, or the class does itself
    what multi_gpu_model does.
    """
    initialiser = _initialiser(cls)
    if initialiser is None or not _is_model_class(cls):
        return None
    parameters = [param.name.value for param in positional(initialiser.params)][1:]
    if _copies(cls, initialiser, parameters) or _takes_over(walker, cls, initialiser, parameters):
        return tuple(parameters)
    return None


def copied_by(cls: ClassValue) -> ClassValue | None:
    """The class that one descends from and that does itself what multi_gpu_model does."""
    for base in cls.ancestors():
        initialiser = _initialiser(base) if base is not cls and _is_model_class(base) else None
        if initialiser is not None:
            parameters = [param.name.value for param in positional(initialiser.params)][1:]
            if _copies(base, initialiser, parameters):
                return base
    return None


def template_attributes(cls: ClassValue) -> frozenset[str]:
    """The attributes in which an object of such a class keeps the model that it was given."""
    initialiser = _initialiser(cls)
    if initialiser is None:
        return frozenset()
    owner, *parameters = [param.name.value for param in positional(initialiser.params)]
    return frozenset(_kept(initialiser, owner, parameters[:1]))


def _is_model_class(cls: ClassValue) -> bool:
    return any(names.canonical(base) in names.MODEL_CLASSES for base in cls.outside_bases())


def _initialiser(cls: ClassValue) -> cst.FunctionDef | None:
    member = cls.members.get("__init__")
    node = member.node if isinstance(member, FunctionValue) else None
    return node if isinstance(node, cst.FunctionDef) and positional(node.params) else None


def _takes_over(walker: Walker, cls: ClassValue, initialiser: cst.FunctionDef, parameters: list[str]) -> bool:
    nodes = list(walk(initialiser.body))
    if not any(last_attribute(part) == "__dict__" for part in nodes):
        return False
    for call in nodes:
        if isinstance(call, cst.Call) and _wraps(walker, call, cls):
            passed = [arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)]
            if len(passed) >= 2 and passed[:2] == parameters[:2]:
                return True
    return False


def _wraps(walker: Walker, call: cst.Call, cls: ClassValue) -> bool:
    with walker.state.elsewhere(frame=cls.closure):
        callee = walker.evaluate(call.func)
    return isinstance(callee, Symbol) and names.canonical(callee.name) == names.MULTI_GPU_MODEL


def _copies(cls: ClassValue, initialiser: cst.FunctionDef, parameters: list[str]) -> bool:
    """Whether a class calls the model it is given once per device, and is the model of the joined outputs."""
    if len(parameters) != 2 or "gpu" not in parameters[1].lower():
        return False
    owner = first_parameter(initialiser)
    kept = {f"{owner}.{attribute}" for attribute in _kept(initialiser, owner, parameters[:1])}
    models = {parameters[0], *kept}
    return calls_on_devices(cls.node, models) and joins_outputs(cls.node) and _is_given_outputs(initialiser)


def _kept(initialiser: cst.FunctionDef, owner: str | None, parameters: list[str]) -> Iterator[str]:
    """The attributes that __init__ sets to one of these parameters."""
    for node in nodes_in(initialiser.body, cst.Assign):
        for target in node.targets:
            first, _, attribute = dotted(target.target).partition(".")
            if first == owner and attribute and dotted(node.value) in parameters:
                yield attribute


def _is_given_outputs(initialiser: cst.FunctionDef) -> bool:
    """`super().__init__(inputs=..., outputs=...)`, also positionally."""
    return any(last_attribute(call.func) == "__init__" and len(call.args) >= 2 for call in calls_in(initialiser.body))
