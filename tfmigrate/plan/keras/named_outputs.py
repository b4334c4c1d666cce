"""Losses, weights and targets of several outputs by name: where Keras 3 takes them for other outputs, or for none.

Keras 3.15 lays a dict out in the order of its sorted names wherever it has to match it with a list. Measured for each
form below; the table stands in docs/semantics.md, Several outputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import WITH_TARGETS, is_none, named_arguments, named_items, text_of, with_targets
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.made_batches import batches_made, targets_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.keras.names_of_outputs import common_order, has_another
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import called_on, dotted
from tfmigrate.understand.values import FunctionValue
from tfmigrate.written import Code, listed

_HELPER = "trained_part"
_MANY = (cst.List, cst.Tuple)


def check(context: Context) -> Iterator[CallChange]:
    yield from loss_weights(context)
    yield from losses_of_some(context)
    yield from named_targets(context)


# ---- compile() ----


def loss_weights(context: Context) -> Iterator[CallChange]:
    """`loss_weights={...}` beside a list of losses, beside one loss, and without a weight for each loss."""
    facts, scopes = context.facts, context.scopes
    for use in keras_calls(facts, "compile"):
        named = named_arguments(use.call, COMPILE) or {}
        if "loss" not in named or "loss_weights" not in named:
            continue
        loss, weights = named["loss"].value, named["loss_weights"].value
        losses, written = settled(loss, scopes), settled(weights, scopes)
        order = common_order(use.models, context)
        if isinstance(losses, cst.Dict) and isinstance(written, cst.Dict):
            yield from _weights_of_some(losses, weights, written)
        elif isinstance(losses, _MANY) and isinstance(written, cst.Dict):
            yield from _weights_in_order(weights, written, order)
        elif _is_one_loss(losses, facts) and isinstance(written, cst.Dict | cst.List | cst.Tuple):
            yield from _one_loss(loss, weights, written, order)


def _weights_in_order(
    weights: cst.BaseExpression, written: cst.Dict, order: tuple[str, ...] | None
) -> Iterator[CallChange]:
    """The silent one: the weights are given to the losses in the order of the sorted names."""
    items = named_items(written)
    if order is not None and items is not None and sorted(items) == list(order):
        return  # Sorted names have the order of the outputs.
    message = "Keras 3 assigns these weights to the list of losses in the order of their sorted names"
    if order is None or items is None or not items.keys() <= set(order):
        advice = f"{message}, not of the outputs: write a list, in the order of the model's outputs"
        yield CallChange(codes.NAMED_OUTPUTS, weights, advice, action="warn")
        return
    edit = Replace(weights, _in_order(weights, items, order))
    yield CallChange(codes.NAMED_OUTPUTS, weights, f"{message}: they become a list in the order of the outputs", edit)


def _weights_of_some(losses: cst.Dict, weights: cst.BaseExpression, written: cst.Dict) -> Iterator[CallChange]:
    """A dict of losses whose weights lack one, which was 1."""
    named, items = named_items(losses), named_items(written)
    missing = [name for name in named or {} if items is not None and name not in items]
    if not missing:
        return
    message = f"Keras 3 fails if an output has no weight (KeyError: {missing[0]!r}); it was 1"
    if weights is not written:
        yield CallChange(codes.NAMED_OUTPUTS, weights, f"{message}: add it to the dict", action="warn")
        return
    entries: list[Code] = [(key, ": ", value) for key, value in _pairs(written)]
    added: list[Code] = [(f"{_quoted(name, written)}: 1.0",) for name in missing]
    edit = Replace(weights, ("{", *listed([*entries, *added]), "}"))
    yield CallChange(codes.NAMED_OUTPUTS, weights, f"{message}, which is written out", edit)


def _is_one_loss(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether a loss is one word or one function, surely."""
    known = facts.options(node)
    return text_of(node) is not None or (bool(known) and all(isinstance(option, FunctionValue) for option in known))


def _one_loss(
    loss: cst.BaseExpression, weights: cst.BaseExpression, written: cst.BaseExpression, order: tuple[str, ...] | None
) -> Iterator[CallChange]:
    """`loss="mse", loss_weights=[1, 10]`: Keras 3 wants a loss for each weight."""
    if isinstance(written, _MANY):
        count = len(written.elements)
        more: tuple[Replace, ...] = ()
        starred = any(isinstance(element, cst.StarredElement) for element in written.elements)
        if starred or count < 2 or (order is not None and len(order) != count):
            return
    else:
        items = named_items(written)
        if order is None or items is None or not items.keys() <= set(order) or len(order) < 2:
            if items is None or len(items) > 1:
                message = "Keras 3 requires a loss for each weight: list losses and weights, one per output"
                yield CallChange(codes.NAMED_OUTPUTS, weights, message, action="warn")
            return
        count, more = len(order), (Replace(weights, _in_order(weights, items, order)),)
    message = (
        "Keras 3 requires a loss for each of the `loss_weights`, and fails on a single one: it is written for each"
    )
    edit = Replace(loss, ("[", *listed([(loss,)] * count), "]"))
    yield CallChange(codes.NAMED_OUTPUTS, loss, message, edit, more=more)


def losses_of_some(context: Context) -> Iterator[CallChange]:
    """`loss={"b": "mse"}` of a model with a second output that nothing trains."""
    facts, scopes = context.facts, context.scopes
    helper = Helper.of(context.draft, _HELPER)
    changes: dict[cst.Call, CallChange] = {}
    for use in keras_calls(facts, "compile"):
        named = named_arguments(use.call, COMPILE) or {}
        losses = settled(named["loss"].value, scopes) if "loss" in named else None
        items = named_items(losses)
        if not items or use.call in changes:
            continue
        order = common_order(use.models, context)
        missing = [name for name in order or () if name not in items]
        if not missing and (order or not any(has_another(model, items, context) for model in use.models)):
            continue
        words = f"the output {' and '.join(map(repr, missing))}" if missing else "an output that the model has"
        loss = named["loss"].value
        message = f"Keras 3 fails on a dict of losses without {words} (ValueError: Expected keys)"
        code = _of_part(use.call, items, helper.name, context)
        if code is None:
            message += ": add it with the loss None, and also pass fit() targets for it, which nothing reads"
            changes[use.call] = CallChange(codes.NAMED_OUTPUTS, loss, message, action="warn")
        else:
            message += f", and Keras 2 on a list of targets: {helper}() trains the outputs that have a loss"
            changes[use.call] = CallChange(codes.NAMED_OUTPUTS, loss, message, code)
    users = [call for call, change in changes.items() if change.edit is not None]
    yield from helper.brought_by(users, [changes[call] for call in users])
    yield from (change for change in changes.values() if change.edit is None)


def _of_part(call: cst.Call, items: Collection[str], helper: str, context: Context) -> Replace | None:
    """The model of the named outputs in the place of a model that is compiled; None where the program would see it: by
    the optimizer, or by the names of losses, which a model of one output does not give."""
    receiver = called_on(call)
    if receiver is None or not dotted(receiver) or len(items) < 2:
        return None
    if any(node.attr.value == "optimizer" for node in context.facts.module.all_of(cst.Attribute)):
        return None
    names = ", ".join(f"{context.quote}{name}{context.quote}" for name in items)
    return Replace(call.func, (f"{helper}(", receiver, f", [{names}]).compile"))


# ---- fit(), train_on_batch(), generators ----


def named_targets(context: Context) -> Iterator[CallChange]:
    """Targets by name for some outputs alone, and weights of samples by name."""
    facts, scopes = context.facts, context.scopes
    for use in keras_calls(facts, *WITH_TARGETS):
        named = with_targets(use)
        order = common_order(use.models, context)
        parts = [[named[name].value if name in named else None for name in ("y", "sample_weight")]]
        validation = named["validation_data"].value if "validation_data" in named else None
        if isinstance(validation, cst.Tuple) and len(validation.elements) in (2, 3):
            parts.append([*(element.value for element in validation.elements[1:]), None][:2])
        for y, weights in parts:
            yield from _targets(y, weights, order, scopes)
    seen: set[cst.CSTNode] = set()
    for batch in batches_made(context):
        order = common_order(batch.models, context)
        y, weights = [*targets_of(batch.node), None, None][:2]
        if batch.node not in seen:
            seen.add(batch.node)
            yield from _targets(y, weights, order, scopes)


def _targets(
    y: cst.BaseExpression | None, weights: cst.BaseExpression | None, order: tuple[str, ...] | None, scopes: Scopes
) -> Iterator[CallChange]:
    if y is None:
        return
    items = named_items(settled(y, scopes))
    if items and order is not None and items.keys() < set(order):
        missing = " and ".join(repr(name) for name in order if name not in items)
        message = (
            f"these targets have none for the output {missing}, and Keras 3 assigns the others to the losses in the "
            "order of their sorted names, whichever output they belong to: pass targets for every output, in any "
            "shape that fits if the loss is None"
        )
        yield CallChange(codes.NAMED_OUTPUTS, y, message, action="warn")
    elif weights is not None and not is_none(weights):
        yield from _weights_of_samples(y, weights, order, scopes)


def _weights_of_samples(
    y: cst.BaseExpression, weights: cst.BaseExpression, order: tuple[str, ...] | None, scopes: Scopes
) -> Iterator[CallChange]:
    """Targets and weights are lists where either was given by name."""
    given, held = settled(y, scopes), settled(weights, scopes)
    items, named = named_items(given), named_items(held)
    unread = (isinstance(given, cst.Dict) and items is None) or (isinstance(held, cst.Dict) and named is None)
    if (items is None and not isinstance(held, cst.Dict)) or _is_for_one_output(held, order):
        return
    message = "Keras 3 fails on sample weights combined with output names (KeyError: 0)"
    if order is None or unread or not (_names_all(items, order) and _names_all(named, order)):
        advice = f"{message}: write targets and weights as lists, in the order of the model's outputs"
        yield CallChange(codes.NAMED_OUTPUTS, weights, advice, action="warn")
        return
    edits = [Replace(y, _in_order(y, items, order))] if items is not None else []
    if named is not None:
        edits.append(Replace(weights, _in_order(weights, named, order)))
    message += ": both become lists in the order of the outputs"
    yield CallChange(codes.NAMED_OUTPUTS, weights, message, edits[0], more=tuple(edits[1:]))


def _is_for_one_output(weights: cst.BaseExpression, order: tuple[str, ...] | None) -> bool:
    """Whether weights of samples belong to a single output, of which TFM224 speaks."""
    if order is not None:
        return len(order) < 2
    return isinstance(weights, cst.Dict) and len(weights.elements) < 2


def _names_all(items: Mapping[str, cst.BaseExpression] | None, order: Sequence[str]) -> bool:
    """Whether what is given by name is given for each output; true of what is not given by name."""
    return items is None or items.keys() == set(order)


# ---- dicts and lists as they are written ----


def _pairs(node: cst.Dict) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    return [(element.key, element.value) for element in node.elements if isinstance(element, cst.DictElement)]


def _in_order(node: cst.BaseExpression, items: Mapping[str, cst.BaseExpression], order: Sequence[str]) -> Code:
    """The values of a dict as a list: written out, or looked up in a variable; 1.0 where there is none."""

    def value_of(name: str) -> Code:
        if name not in items:
            return ("1.0",)
        return (items[name],) if isinstance(node, cst.Dict) else (node, f"[{name!r}]")

    return ("[", *listed(map(value_of, order)), "]")


def _quoted(name: str, like: cst.Dict) -> str:
    """A name in the quotes of a dict's first key."""
    key = next((key for key, _ in _pairs(like) if isinstance(key, cst.SimpleString)), None)
    return f"{key.quote}{name}{key.quote}" if key is not None else repr(name)
