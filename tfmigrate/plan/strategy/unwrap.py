"""The template taken out of a parallel model (`parallel.layers[-2]`), and other uses of what its layers were."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, named_arguments, text_of
from tfmigrate.plan.change.removal import without
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Replace
from tfmigrate.understand.lifecycle import Guard
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bindings_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ModelObject, Parallel, Value, options
from tfmigrate.understand.wrapper_classes import template_attributes
from tfmigrate.walk import nodes_in, walk

OF_MODELS_ALONE = frozenset(
    {"save", "save_weights", "load_weights", "to_json", "to_yaml", "predict", "evaluate", "predict_on_batch", "summary"}
)
"""Methods that no layer has but one that is a model itself."""
_PARTS_OF_MODELS = frozenset({"layers", "get_layer"})


def unwrapped(draft: Draft, refused: Container[cst.Call]) -> Iterator[Edit]:
    """`parallel.layers[-2]` is the model itself now, in whichever module of the program."""
    for node, model in _surely_taken_out(draft):
        if all(parallel.wrap.call not in refused for parallel in _parallel(draft, model)):
            own = _assigned_to_itself(node, model, draft)
            yield without(own, draft.module) if own is not None else Replace(node, (model,))


def _assigned_to_itself(node: cst.BaseExpression, model: cst.BaseExpression, draft: Draft) -> cst.Assign | None:
    """`model = model.layers[-2]`, which is removed entirely."""
    for part in draft.module.all_of(cst.Assign):
        if part.value is node and len(part.targets) == 1:
            return part if part.targets[0].target.deep_equals(model) else None
    return None


def say_unsure_templates(drafts: Mapping[Module, Draft], refused: Container[cst.Call]) -> None:
    """The `layers` of what may have been the parallel model, but for the template that surely was taken out of one."""
    for draft in drafts.values():
        sure = dict(_surely_taken_out(draft))
        for node in draft.facts.unsure_unwraps.keys() - sure.keys():
            draft.say(
                codes.UNSURE_TEMPLATE,
                node,
                "if this was the parallel model, its second-to-last layer was the template; in the plain model that "
                "is an ordinary layer: use the model itself if the template was meant",
                "warn",
            )
        reported = {node.value for node in (*sure, *draft.facts.unsure_unwraps) if isinstance(node, cst.Subscript)}
        for layers in draft.facts.values:
            if not isinstance(layers, cst.Attribute) or layers.attr.value != "layers" or layers in reported:
                continue
            parallels = _parallel(draft, layers.value)
            if _asks_for_the_template(layers.value, parallels, draft.module):
                continue
            if any(parallel.wrap.call not in refused for parallel in parallels):
                draft.say(
                    codes.UNSURE_TEMPLATE,
                    layers,
                    "the parallel model's layers were its inputs, their slices, the template as one layer and the "
                    "layers that join the outputs; these are the template's own, so with several GPUs this froze, "
                    "set or counted something else",
                    "warn",
                )

        taken = sure.keys() | draft.facts.unsure_unwraps.keys()
        for call in draft.module.calls:
            if call in taken or place_in_layers(call) is None or not isinstance(call.func, cst.Attribute):
                continue
            if any(parallel.wrap.call not in refused for parallel in _parallel(draft, call.func.value)):
                message = (
                    "the parallel model's layers were its inputs, their slices, the template as one layer and the "
                    "layers that join the outputs; this is now one of the template's own: use the model itself if "
                    "it was meant"
                )
                draft.say(codes.UNSURE_TEMPLATE, call, message, "warn")


def _asks_for_the_template(model: cst.BaseExpression, parallels: Iterable[Parallel], module: Module) -> bool:
    """`model.inner_model.layers if hasattr(model, "inner_model") else model.layers`, of a class that keeps that."""
    classes = [parallel.wrap.wrapper_class for parallel in parallels]
    kept = {attribute for cls in classes if cls is not None for attribute in template_attributes(cls)}
    return bool(kept) and any(
        dotted(call.func) == "hasattr" and text_of(call.args[1].value) in kept and call.args[0].value.deep_equals(model)
        for call in module.calls
        if len(call.args) == 2
    )


def place_in_layers(call: cst.Call) -> cst.BaseExpression | None:
    """The index that `get_layer(index=...)` is given; None for any other call, and for a layer that is named."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "get_layer":
        return None
    arguments = named_arguments(call, ("name", "index")) or {}
    index = arguments.get("index")
    return None if index is None or is_none(index.value) else index.value


def _holder(node: cst.Subscript | cst.Call) -> cst.BaseExpression:
    """The model in `model.layers[-2]` and `model.get_layer(index=-2)`."""
    inner = node.func if isinstance(node, cst.Call) else node.value
    return inner.value if isinstance(inner, cst.Attribute) else inner


def _parallel(draft: Draft, node: cst.BaseExpression) -> list[Parallel]:
    return [option for option in draft.facts.options(node) if isinstance(option, Parallel)]


def _surely_taken_out(draft: Draft) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each expression that is the template, with the parallel model's own.

    Of what may be the plain model too it is under the condition that the wrap stood under: `if gpus > 1:` both times,
    and where it is asked for what only a model has, none of which is a layer of the plain one.
    """
    facts = draft.facts
    yield from facts.unwraps.items()
    asked = {
        part.value
        for part in draft.module.all_of(cst.Attribute)
        if part.value in facts.unsure_unwraps and part.attr.value in OF_MODELS_ALONE | _PARTS_OF_MODELS
    }
    for node, guards in facts.unsure_unwraps.items():
        model = _holder(node)
        parallels = _parallel(draft, model)
        plain = {option for parallel in parallels for option in options(parallel.wrap.template)}
        if node in facts.unwraps or not parallels or not facts.options(model) <= {*parallels, *plain}:
            continue
        certain = node in asked and not any(map(_may_hold_a_model, plain))
        if certain or all(_under_the_same(parallel.wrap.guards, guards, draft) for parallel in parallels):
            yield node, model


def _may_hold_a_model(value: Value) -> bool:
    """Whether one of the layers of what is wrapped may be a model itself."""
    return not isinstance(value, ModelObject) or value.origin != "constructed" or bool(value.on)


def _under_the_same(wrapped: tuple[Guard, ...], here: tuple[Guard, ...], draft: Draft) -> bool:
    asked = [(guard.node, guard.arm) for guard in here if guard.frame.module is draft.module]
    return bool(wrapped) and all(
        guard.frame.module is draft.module
        and any(arm == guard.arm and _same_test(guard.node, node, draft) for node, arm in asked)
        for guard in wrapped
    )


def _same_test(first: cst.CSTNode, other: cst.CSTNode, draft: Draft) -> bool:
    """Whether two conditions say the same of variables that are bound once, and of attributes that nothing sets."""
    if not isinstance(first, cst.If | cst.IfExp) or not isinstance(other, cst.If | cst.IfExp):
        return False
    if not first.test.deep_equals(other.test):
        return False
    for part in walk(first.test):
        if isinstance(part, cst.Call | cst.Subscript | cst.NamedExpr):
            return False
        if isinstance(part, cst.Attribute) and part.attr.value in _set_attributes(draft.module):
            return False
    return all(_bound_once(left, right, draft.scopes) for left, right in zip(_names(first), _names(other), strict=True))


def _names(node: cst.If | cst.IfExp) -> list[cst.Name]:
    """The variables of a condition."""
    attributes = {part.attr for part in nodes_in(node.test, cst.Attribute)}
    return [part for part in nodes_in(node.test, cst.Name) if part not in attributes]


def _bound_once(name: cst.Name, other: cst.Name, scopes: Scopes) -> bool:
    return scopes.holding(name) is scopes.holding(other) and len(bindings_of(name, scopes)) == 1


def _set_attributes(module: Module) -> set[str]:
    targets = (node.target for node in module.all_of(cst.AssignTarget, cst.AugAssign))
    return {target.attr.value for target in targets if isinstance(target, cst.Attribute)}
