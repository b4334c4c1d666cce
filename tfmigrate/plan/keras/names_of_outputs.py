"""What the outputs of a model are called: as the layers are whose results they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.change.model_outputs import outputs_given
from tfmigrate.plan.keras.automatic_names import names_kept
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, settled, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Instance, Literal, Made, ModelObject


def common_order(models: frozenset[ModelObject], context: Context) -> tuple[str, ...] | None:
    """The names of the outputs of some models, in order, where all have the same and these are known."""
    orders = {_output_names(model, context) for model in models}
    return orders.pop() if len(orders) == 1 else None


def _output_names(model: ModelObject, context: Context) -> tuple[str, ...] | None:
    """The names of a model's outputs: of the layers whose results they are, each of which has one written out, or gets
    one."""
    facts, scopes = context.facts, context.scopes
    outputs = outputs_given(model, facts)
    display = settled(outputs, scopes) if outputs is not None else None
    elements = display.elements if isinstance(display, cst.List | cst.Tuple) else ()
    names = [_layer_name(settled(element.value, scopes), context) for element in elements]
    known = tuple(name for name in names if name is not None)
    return known if known and len(known) == len(names) == len(set(known)) else None


def has_another(model: ModelObject, items: Collection[str], context: Context) -> bool:
    """Whether a model surely has an output that is not named, of those that are written out beside others, as in
    `outputs=model.outputs[1:] + [detections]`: one by another name, or by an automatic one."""
    draft = context.migration.drafts.get(model.site.frame.module)
    if draft is None:
        return False
    kept = context.migration.once(names_kept)
    pending = [outputs_given(model, draft.facts)]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            pending += [node.left, node.right]
        elif isinstance(node, cst.List):
            for element in node.elements:
                values = _all_values(element.value, draft.scopes)
                named = [_name_given(value, draft.facts, items, kept) for value in values]
                if named and not any(name is not False for name in named):
                    return True
    return False


def _all_values(node: cst.BaseExpression, scopes: Scopes) -> list[cst.BaseExpression | None]:
    """What a name is bound to, wherever that is; None for a binding that is no assignment."""
    if scopes.occurrence(node) is None:
        return [node]
    return [value_of(binding) for binding in bindings_of(node, scopes)]


def _name_given(
    output: cst.BaseExpression | None, facts: Facts, items: Collection[str], kept: Mapping[cst.Call, str]
) -> bool | None:
    """Whether the layer that makes an output, `Dense(1)(rows)`, has one of the names; None where that is unknown."""
    layer = output.func if isinstance(output, cst.Call) else None
    values = facts.options(layer) if isinstance(layer, cst.Call) else ()
    if not isinstance(layer, cst.Call) or not values:
        return None
    if not all(
        isinstance(option, Instance) or (isinstance(option, Made) and option.kind == "layer") for option in values
    ):
        return None
    for arg in layer.args:
        if arg.star or (arg.keyword is not None and arg.keyword.value == "name"):
            text = text_of(arg.value)
            return None if arg.star or text is None else text in items
    return kept.get(layer) in items


def _layer_name(node: cst.BaseExpression, context: Context) -> str | None:
    """The name of the layer that is called, in `Dense(1, name="one")(rows)`."""
    facts, scopes = context.facts, context.scopes
    if not isinstance(node, cst.Call):
        return None
    values = facts.options(node.func)
    layers = {
        option.config
        for option in values
        if isinstance(option, Made) and option.kind == "layer" and option.config is not None
    }
    layer = settled(node.func, scopes) if not layers else layers.pop()
    if layers or not isinstance(layer, cst.Call) or len(values) > 1:
        return None
    for arg in layer.args:
        if arg.keyword is not None and arg.keyword.value == "name":
            known = facts.options(arg.value)
            text = text_of(arg.value)
            if text is None and len(known) == 1 and isinstance(only := next(iter(known)), Literal):
                text = only.value if isinstance(only.value, str) else None
            return text
    return context.migration.once(names_kept).get(layer)
