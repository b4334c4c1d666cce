"""Classes of the program: defined, instantiated, and the methods that nothing calls walked on an object of them."""

from __future__ import annotations

from collections.abc import Container
from contextlib import nullcontext

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.contents import all_sites
from tfmigrate.understand.functions import define, enter, name_of, sees_object, unknown_arguments
from tfmigrate.understand.method_order import makers_first
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import (
    Arguments,
    ClassValue,
    FunctionValue,
    Instance,
    Made,
    ModelObject,
    Opaque,
    Site,
    Super,
    Value,
)
from tfmigrate.understand.wrapper_classes import wrapper_parameters
from tfmigrate.understand.wraps import wrap


def define_class(walker: Walker, unit: cst.ClassDef) -> None:
    """`class`: its members are its functions and the names assigned in its body."""
    state = walker.state
    cls = ClassValue(unit, state.frame, tuple(walker.evaluate(base.value) for base in unit.bases))
    state.bind(unit.name.value, cls)
    state.classes.append(cls)
    state.facts.classes.append(cls)
    outer, state.class_body = state.class_body, cls
    for member in units_of(unit.body):
        with state.elsewhere(unit=member):
            if isinstance(member, cst.FunctionDef):
                _define_method(walker, member, cls)
            elif isinstance(member, cst.SimpleStatementLine):
                _walk_line(walker, member, cls)
    state.class_body = outer


def _define_method(walker: Walker, unit: cst.FunctionDef, cls: ClassValue) -> None:
    function = define(walker, unit, cls)
    if not any(dotted(item.decorator).endswith((".setter", ".deleter")) for item in unit.decorators):
        cls.members[unit.name.value] = function


def _walk_line(walker: Walker, line: cst.SimpleStatementLine, cls: ClassValue) -> None:
    for small in line.body:
        if isinstance(small, cst.Assign):
            value = walker.evaluate(small.value)
            for target in small.targets:
                if isinstance(target.target, cst.Name):
                    cls.members[target.target.value] = value
        elif isinstance(small, cst.Expr):
            walker.evaluate(small.value)


def instantiate(walker: Walker, cls: ClassValue, arguments: Arguments, node: cst.Call) -> Value:
    """What a call of a class makes: an object, a model, a layer, or the wrap that the class wraps."""
    state = walker.state
    parameters = wrapper_parameters(walker, cls)
    if parameters is not None:
        state.entered.update(method.node for method in cls.methods())
        return wrap(state, arguments, node, parameters, wrapper_class=cls)
    instance = _new_instance(state, cls)
    instance.site = state.site
    if isinstance(instance, ModelObject):
        instance.node = node
        instance.sites |= {state.site, *all_sites(value for _, value in arguments)}
    obj = instance.instance if isinstance(instance, ModelObject) else instance
    if obj is not None:
        obj.site, obj.call = state.site, node
    initialiser = cls.lookup("__init__")
    if isinstance(initialiser, FunctionValue) and state.may_enter(initialiser):
        enter(walker, initialiser, ((None, instance), *arguments), state.site, node)
    if any(names.is_layer(names.canonical(base)) for base in cls.outside_bases()):
        return Made("layer", cls.node.name.value, frozenset((state.site,)))
    return instance


def _new_instance(state: State, cls: ClassValue) -> Instance | ModelObject:
    base = next((name for name in cls.outside_bases() if names.canonical(name) in names.MODEL_CLASSES), None)
    instance: Instance | ModelObject
    if base is not None:
        instance = state.new_model(cls.node, origin="an instance of a Model subclass", maker=base)
        instance.site = Site(cls.closure, cls.node)  # until a call of the class says where it is made
        instance.instance = Instance(cls)
    else:
        instance = Instance(cls)
    state.instances.setdefault(cls, instance)
    return instance


def walk_methods(walker: Walker, cls: ClassValue, mentioned: Container[str]) -> None:
    """Walk the methods that nothing called on this class, inherited too: __init__ first, inner helpers last.

    Who calls them, and in which order, is unknown: what sets an attribute is walked before what reads it.
    `mentioned`: every name that the program mentions.
    """
    state = walker.state
    instance = state.instances.get(cls) or _new_instance(state, cls)
    for method in makers_first(sorted(cls.methods(), key=lambda each: name_of(each) in mentioned)):
        same = method.owner is cls or not sees_object(method)
        done = method.node in state.entered if same else (cls, method.node) in state.entered_on
        if not done:
            note_walked(state, cls, method)
            with nullcontext() if name_of(method) == "__init__" else state.perhaps():
                enter(walker, method, ((None, instance), *unknown_arguments(walker, method)[1:]), None, None)


def note_walked(state: State, cls: ClassValue, method: FunctionValue) -> None:
    """A method is walked on an object of a class, which is one of the class's ancestors too."""
    state.entered_on.update((ancestor, method.node) for ancestor in cls.ancestors())


def seen_as_base(state: State) -> Value:
    """`super()` in a method: the object, seen as its next base class."""
    function, owner = state.frame.function, state.frame.owner
    own = positional(function.params) if isinstance(function, cst.FunctionDef) else []
    if owner is not None and own:
        receiver = state.store.get((state.frame, own[0].name.value))
        if isinstance(receiver, Instance | ModelObject):
            return Super(receiver, owner)
    return Opaque("super()")
