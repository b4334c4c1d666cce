"""What `value.name` stands for."""

from __future__ import annotations

from tfmigrate.understand.contents import models_of, opaque_sites, sites_of
from tfmigrate.understand.functions import call_function, has_decorator
from tfmigrate.understand.imports import member_through_star
from tfmigrate.understand.module import Module
from tfmigrate.understand.state import Walker
from tfmigrate.understand.values import (
    ClassValue,
    Dataset,
    EstimatorPart,
    FunctionValue,
    Instance,
    Items,
    Literal,
    Made,
    Mapping,
    Method,
    ModelObject,
    ModuleValue,
    Opaque,
    Parallel,
    Parameter,
    ScopeOf,
    StrategyObject,
    Super,
    Symbol,
    Value,
)

_PLAIN = frozenset({"shape", "ndim", "size", "dtype"})
"""Attributes that are plain data, whatever they belong to."""
_TENSORS = frozenset({"output", "outputs", "input", "inputs"})
"""Attributes of models and layers that are tensors."""
_OF_MODELS_ALONE = frozenset({"fit_generator", "evaluate_generator", "predict_generator"})
"""Methods that nothing but a model of Keras has."""


def attribute(walker: Walker, value: Value, name: str) -> Value:
    """The attribute of one value, which is no Choice."""
    if isinstance(value, Symbol | ModuleValue):
        inner = walker.state.inner.get((walker.state.frame.module, value, name))
        if inner is not None:
            return inner
    if isinstance(value, Symbol):
        return Symbol(f"{value.name}.{name}")
    if isinstance(value, ModuleValue):
        return _member(walker, value.module, name)
    if isinstance(value, Instance):
        return _of_instance(walker, value, value.cls, name)
    if isinstance(value, ModelObject | Parallel):
        return _of_model(walker, value, name)
    if isinstance(value, ClassValue):
        return _of_class(value, name)
    if isinstance(value, Super):
        return _of_base(value, name)
    if isinstance(value, Made):
        return _of_made(value, name)
    if isinstance(value, Opaque | Parameter):
        held = walker.state.attribute(value, name) if value in walker.state.holders else None
        if held is not None:
            return held
        return Opaque(f"the {name} of data") if name in _PLAIN else Method(value, name)
    if isinstance(value, Items | Mapping | Literal | Dataset | StrategyObject | EstimatorPart | ScopeOf):
        return Method(value, name)
    if isinstance(value, Method) and value.function is None and name in _OF_MODELS_ALONE:
        return Method(Opaque(f"the attribute {value.name}"), name)  # `holder.model.fit()` of an unknown holder
    # `holder.model.output` is made where the holder is, but for plain data.
    return Opaque(f"the attribute {name}", frozenset() if name in _PLAIN else opaque_sites(value))


def _member(walker: Walker, module: Module, name: str) -> Value:
    """A name of a module; that of a package may be a module in it."""
    state = walker.state
    value = state.store.get((state.tops[module], name))
    if value is not None:
        state.program_facts.exported.add((module, name))
        return value
    if module.path.endswith("__init__.py"):
        inner = state.program.imported(name, 1, module)
        if inner is not None:
            walker.load(inner)
            return ModuleValue(inner)
    return member_through_star(state, module, name) or Opaque(f"the name {name} of another module")


def _of_instance(walker: Walker, owner: Instance | ModelObject, cls: ClassValue, name: str) -> Value:
    member = walker.state.attribute(owner, name) or cls.lookup(name)
    if isinstance(member, FunctionValue) and member.owner is not None:
        if has_decorator(member, "property"):
            return call_function(walker, member, ((None, owner),), None)
        if has_decorator(member, "classmethod"):
            return Method(cls, name, member)
        return member if has_decorator(member, "staticmethod") else Method(owner, name, member)
    return member if member is not None else Opaque(f"the attribute {name}")


def _of_class(cls: ClassValue, name: str) -> Value:
    member = cls.lookup(name)
    if isinstance(member, FunctionValue) and has_decorator(member, "classmethod"):
        return Method(cls, name, member)
    return member if member is not None else Opaque(f"the attribute {name}")


def _of_model(walker: Walker, value: ModelObject | Parallel, name: str) -> Value:
    if isinstance(value, ModelObject):
        stored = walker.state.attribute(value, name)
        if stored is not None:
            return stored
        if value.instance is not None and value.instance.cls.lookup(name) is not None:
            return _of_instance(walker, value, value.instance.cls, name)
    if name in _TENSORS:
        return Made("tensor", name, sites_of(value), models_of(value))
    if name == "layers":
        return Made("layers", name, sites_of(value), models_of(value))
    return Method(value, name)


def _of_made(value: Made, name: str) -> Value:
    if value.kind == "layer" and name in _TENSORS:
        return Made("tensor", name, value.sites, value.models)
    return Method(value, name) if value.kind != "tensor" else value


def _of_base(value: Super, name: str) -> Method:
    for base in value.owner.bases:
        member = base.lookup(name) if isinstance(base, ClassValue) else None
        if isinstance(member, FunctionValue):
            return Method(value.receiver, name, member)
    return Method(value.receiver, name)
