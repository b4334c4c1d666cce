"""Parts of a migrated program that lie out of sight: what unknown code compiles, and what unknown callers pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import passed_as
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import Group, concerns, remade_optimizers
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand import names
from tfmigrate.understand.contents import is_layer, models_of
from tfmigrate.understand.lifecycle import INFERENCE, Facts, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import bindings_of, is_parameter
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Frame, Method, ModelObject, Parameter, Symbol, Value, is_tensor, options
from tfmigrate.walk import calls_in


def say_compiled_out_of_sight(owner: Owner, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A model that is compiled by unknown code: in a module found at run time, a library, or by a caller."""
    compiled = {wrap.call for group in owner.groups if group.compiles for wrap in group.wraps}
    for group in owner.groups:
        if group.compiles or any(model.origin == "loaded" for model in group.models):
            continue
        if group.owner.call is None and all(wrap.call in compiled for wrap in group.wraps):
            continue  # A method that a derived class inherits, of which nothing makes an object.
        place = _used_without_compile(group, facts)
        if place is not None:
            module, call = place
            drafts[module].say(
                codes.COMPILED_OUT_OF_SIGHT,
                call,
                "no compile() of this model was found: wherever it is, Keras 3 needs compile() and the "
                "optimizer inside `with model.distribute_strategy.scope():`",
                "warn",
            )


def _used_without_compile(group: Group, facts: ProgramFacts) -> tuple[Module, cst.Call] | None:
    """The call that trains a model which nothing is seen to compile, or that hands it to unknown code; None where the
    model is seen to predict."""
    if group.trainings:
        training = group.trainings[0]
        return training.site.frame.module, training.call
    if any(use.method in INFERENCE for use in facts.uses if concerns(use, group.models, group.wraps)):
        return None
    given = next(_given_to_others(group.models, facts), None)
    is_handed_out = group.owner.function is not None and group.owner.call is None
    wrap = group.wraps[0]
    return given or ((wrap.site.frame.module, wrap.call) if is_handed_out else None)


def _given_to_others(models: Set[ModelObject], facts: ProgramFacts) -> Iterator[tuple[Module, cst.Call]]:
    """The calls of functions and classes of unknown modules that are given one of these models."""
    for module, known in facts.modules.items():
        for call in module.calls:
            if is_out_of_sight(known.symbols.get(call.func, "")):
                given = (known.values.get(arg.value) for arg in call.args)
                if any(not models.isdisjoint(models_of(value)) for value in given if value is not None):
                    yield module, call


def say_optimizers_out_of_sight(owner: Owner, drafts: Mapping[Module, Draft]) -> None:
    """An optimizer that comes from a caller or a module that was not found: whether it is made in the scope is unknown.

    Each source is reported once. A name, "adam", would be right anywhere, and so is what is made again in the scope.
    """
    told: set[Value] = set()
    remade = {use.call for group in owner.groups for use in remade_optimizers(group)}
    for use in (use for group in owner.groups for use in group.compiles if use.call not in remade):
        draft, argument = drafts[use.site.frame.module], passed_as("optimizer", 0, use.call)
        value = use.argument(0, "optimizer")
        for source in ordered(options(value)) if value is not None else ():
            if source in told or argument is None:
                continue
            if isinstance(source, Parameter):
                missing = f"what calls {_function_of(source.frame)} was not found"
            elif isinstance(source, Symbol) and is_out_of_sight(source.name):
                missing = f"the definition of {source.name} was not found"
            else:
                continue
            told.add(source)
            given = draft.module.code(argument.value)
            message = (
                f"{missing}: if `{given}` is an optimizer object, Keras 3 rejects it unless it is created inside the "
                "scope of the strategy (Keras 2 accepts it); pass tfmigrate its file too, or create it in the scope"
            )
            draft.say(codes.COMPILED_OUT_OF_SIGHT, argument.value, message, "warn")


def say_parts_out_of_sight(owner: Owner, drafts: Mapping[Module, Draft]) -> None:
    """A part of the model that a caller passes, `Model(x, discriminator(x))` of a parameter that no known call gives,
    or that a module which was not found holds, `Dense(2)(zoo.net.output)`.

    Each is reported once. A function that makes layers would be right anywhere.
    """
    told: set[str | Parameter] = set()
    models = (model for group in owner.groups for whole in group.models for model in whole.base_models())
    for model in dict.fromkeys(models):
        draft, frame = drafts[model.site.frame.module], model.site.frame
        for call in _calls_of(frame):
            parts = [*_passed_parts(call, draft.facts), *_parts_held(call, frame, draft)]
            for source, missing, called in parts:
                if source in told:
                    continue
                told.add(source)
                message = (
                    f"{missing} was not found: if `{called}` is a model or a layer, training fails on Keras 3 unless "
                    "it is created inside the scope of this strategy too; pass tfmigrate its file too, or create it "
                    "in the scope"
                )
                draft.say(codes.COMPILED_OUT_OF_SIGHT, call, message, "warn")


_Part = tuple[str | Parameter, str, str]
"""Where a part of a model comes from, what of that was not found, and what the part is called."""


def _calls_of(frame: Frame) -> Iterable[cst.Call]:
    """The calls in the code of an activation; of a module, those that stand in no function."""
    if isinstance(frame.function, cst.FunctionDef):
        return calls_in(frame.function)
    functions = frame.module.all_of(cst.FunctionDef)
    inside = {call for function in functions for call in calls_in(function)}
    return (call for call in frame.module.calls if call not in inside)


def _passed_parts(call: cst.Call, facts: Facts) -> Iterator[_Part]:
    for part in _parts_given(call, facts):
        values = facts.options(part)
        for source in values if len(values) == 1 else ():
            if isinstance(source, Parameter):
                yield source, f"what calls {_function_of(source.frame)}", source.name
            elif isinstance(source, Symbol) and is_out_of_sight(source.name) and part is not call.func:
                yield source.name, f"the definition of {source.name}", dotted(part)


_TENSORS = frozenset({"input", "inputs", "output", "outputs"})


def _parts_held(call: cst.Call, frame: Frame, draft: Draft) -> Iterator[_Part]:
    """`net.output`, or `holder.net.outputs[0]`, that a layer or a model is made of, where `holder` is out of sight."""
    facts = draft.facts
    if not any(_takes_tensors(value) for value in facts.options(call.func)):
        return
    for holder in _holders(call):
        symbol, root = facts.symbols.get(holder, ""), holder
        while isinstance(root, cst.Attribute):
            root = root.value
        if is_out_of_sight(symbol):
            yield symbol, f"the definition of {symbol}", dotted(holder)
        elif isinstance(root, cst.Name) and _is_passed_by_nobody(root, frame, draft.scopes):
            yield dotted(holder), f"what calls {_function_of(frame)}", dotted(holder)


def _holders(call: cst.Call) -> Iterator[cst.BaseExpression]:
    """What the inputs and outputs of models belong to that a call is given: `net` of `net.output`."""
    for arg in call.args:
        listed = arg.value.elements if isinstance(arg.value, cst.List | cst.Tuple) else [arg]
        for node in (element.value for element in listed):
            tensor = node.value if isinstance(node, cst.Subscript) else node
            if isinstance(tensor, cst.Attribute) and tensor.attr.value in _TENSORS:
                yield tensor.value


def _is_passed_by_nobody(name: cst.Name, frame: Frame, scopes: Scopes) -> bool:
    """Whether a name is a parameter of a function that no known code calls, and not the object of a method."""
    if frame.call is not None or frame.function is None:
        return False
    bindings = bindings_of(name, scopes)
    own = len(bindings) == 1 and is_parameter(bindings[0]) and bindings[0].scope.node is frame.function
    return own and name.value != receiver_of(frame.function if frame.owner is not None else None)


def _takes_tensors(value: Value) -> bool:
    if isinstance(value, Symbol):
        return names.canonical(value.name) in names.MODEL_CLASSES
    return is_layer(value) or is_tensor(value)


def _parts_given(call: cst.Call, facts: Facts) -> Iterator[cst.BaseExpression]:
    """What a call makes a part of a model, if it is a layer: what is called on a tensor, listed, or added."""
    given = [arg.value for arg in call.args]
    for value in facts.options(call.func):
        if isinstance(value, Symbol) and names.canonical(value.name) == "keras.models.Sequential":
            for listed in given:
                if isinstance(listed, cst.List | cst.Tuple):
                    yield from (element.value for element in listed.elements)
        elif isinstance(value, Method) and value.name == "add" and isinstance(value.receiver, ModelObject):
            yield from given
        elif isinstance(value, Parameter):
            if any(is_tensor(option) for arg in given for option in facts.options(arg)):
                yield call.func


def _function_of(frame: Frame) -> str:
    """The function that an activation is of, for a message."""
    function, owner = frame.function, frame.owner
    if owner is not None and isinstance(function, cst.FunctionDef) and function.name.value == "__init__":
        return f"{owner.node.name.value}()"
    return f"{function.name.value}()" if isinstance(function, cst.FunctionDef) else "this function"
