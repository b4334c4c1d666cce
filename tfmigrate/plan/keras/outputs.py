"""Models of several outputs, and of one output that stands in a list."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, named_items, text_of
from tfmigrate.plan.change.model_outputs import MODEL, outputs_given
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import called_on, dotted, sole_target
from tfmigrate.understand.values import FunctionValue, Items, ModelObject, Parallel, Value, are_tensors
from tfmigrate.written import Code, listed


def check(context: Context) -> Iterator[CallChange]:
    yield from metrics_of_outputs(context.facts, context.scopes)
    yield from lists_of_one(context.facts)
    yield from set_outputs(context.facts, context.tf)


def metrics_of_outputs(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """`metrics=['accuracy']` of a model with two outputs: a list for each output is written out."""
    for use in keras_calls(facts, "compile"):
        named = named_arguments(use.call, COMPILE) or {}
        metrics = named.get("metrics")
        if metrics is not None and isinstance(metrics.value, cst.SimpleString):
            message = "Keras 3 does not accept a plain string for `metrics`: it is put in a list"
            edit = Replace(metrics.value, ("[", metrics.value, "]"))
            yield CallChange(codes.METRICS_OF_OUTPUTS, metrics.value, message, edit)
            continue
        if (
            metrics is not None
            and use.models
            and all(_is_listed_in_a_loop(model, facts, scopes) for model in use.models)
        ):
            yield from _each(use, metrics.value, facts)
            continue
        if metrics is None or not isinstance(metrics.value, cst.List) or not _is_plain(metrics.value, facts):
            continue
        counts = {_outputs_of(model, facts) for model in use.models}
        losses = settled(named["loss"].value, scopes) if "loss" in named else None
        count = next(iter(counts)) if len(counts) == 1 else None
        if count is None:
            yield from _of_each_loss(losses, metrics.value, facts)
        elif count > 1:
            edit = Replace(metrics.value, _for_each(metrics.value, count))
            yield CallChange(codes.METRICS_OF_OUTPUTS, metrics.value, _story(count, metrics.value, facts), edit)


_FEW = 3
"""Outputs whose lists are written one by one."""


def _for_each(metrics: cst.List, count: int) -> Code:
    """A list of metrics for each of some outputs; the lists of many are made by `*`."""
    if count > _FEW:
        return "[", metrics, f"] * {count}"
    return "[", *listed([(metrics,)] * count), "]"


def _of_each_loss(losses: cst.BaseExpression | None, metrics: cst.List, facts: Facts) -> Iterator[CallChange]:
    """Of a model out of sight that has several losses, one for each output or each by the name of its output."""
    if isinstance(losses, cst.List) and all(isinstance(element, cst.Element) for element in losses.elements):
        count = len(losses.elements)
        code = _for_each(metrics, count)
    else:
        items = named_items(losses) or {}
        count = len(items)
        code = ("{", *listed([(key, ": ", metrics) for key in _keys(losses)]), "}")
    if count > 1:
        yield CallChange(codes.METRICS_OF_OUTPUTS, metrics, _story(count, metrics, facts), Replace(metrics, code))


def _keys(node: cst.BaseExpression | None) -> list[cst.BaseExpression]:
    elements = node.elements if isinstance(node, cst.Dict) else ()
    return [element.key for element in elements if isinstance(element, cst.DictElement)]


def _story(count: int, metrics: cst.List, facts: Facts) -> str:
    parts = [element.value for element in metrics.elements]
    words = ", ".join(text_of(part) or facts.module.code(part) for part in parts)
    return f"the model has {count} outputs: Keras 2 computed {words} for each, but Keras 3 requires a list per output"


def _each(use: Use, metrics: cst.BaseExpression, facts: Facts) -> Iterator[CallChange]:
    """A list of metrics for each output of a model that is asked how many it has."""
    receiver = called_on(use.call)
    if receiver is None or not dotted(receiver) or not isinstance(metrics, cst.List) or not _is_plain(metrics, facts):
        return
    message = (
        "Keras 2 computed these metrics for each output, but Keras 3 requires a list per output: it is written for each"
    )
    edit = Replace(metrics, ("[", metrics, " for _ in ", receiver, ".outputs]"))
    yield CallChange(codes.METRICS_OF_OUTPUTS, metrics, message, edit)


def _is_plain(metrics: cst.List, facts: Facts) -> bool:
    """`["accuracy", top]`: words, and functions of the program."""
    parts = [element.value for element in metrics.elements]
    return bool(parts) and all(text_of(part) is not None or _is_function(part, facts) for part in parts)


def _is_listed_in_a_loop(model: ModelObject, facts: Facts, scopes: Scopes) -> bool:
    """Whether the outputs are a comprehension's, whose number is known when it runs."""
    outputs = outputs_given(model, facts)
    if outputs is None or _outputs_of(model, facts) is not None:
        return False
    return isinstance(settled(outputs, scopes), cst.ListComp)


def _is_function(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether an expression names a function of the program; an object that counts cannot serve two outputs."""
    functions = facts.options(node) if isinstance(node, cst.Name | cst.Attribute) else frozenset()
    return bool(functions) and all(isinstance(option, FunctionValue) for option in functions)


def lists_of_one(facts: Facts) -> Iterator[CallChange]:
    """`Model(x, outputs=[y])`: the only output, or input, is written without the list that Keras 3 keeps."""
    for call in facts.module.calls:
        if facts.canonical(call.func) != "keras.models.Model":
            continue
        named = named_arguments(call, MODEL) or {}
        for name in ("inputs", "outputs", "input", "output"):
            alone = _alone(named[name].value) if name in named else None
            if alone is not None:
                message = (
                    f"Keras 3 keeps the list, so that model.{name.rstrip('s')} is a list: its only element is "
                    "written instead"
                )
                edit = Replace(named[name].value, (alone,))
                yield CallChange(codes.LIST_OF_ONE, named[name].value, message, edit)


def set_outputs(facts: Facts, tf: str) -> Iterator[CallChange]:
    """`base.outputs = [layer.output]`: the model that ends there is written, because outputs can no longer be set."""
    cut = {_popped(call) for call in facts.module.calls}
    for node in facts.module.all_of(cst.Assign, cst.AugAssign):
        target = _set_here(node)
        if target is None or not _are_models(facts.options(target.value)):
            continue
        message = "the outputs of a model can no longer be set"
        values = node.value.elements if isinstance(node, cst.Assign) and isinstance(node.value, cst.List) else ()
        plain = values and all(isinstance(element, cst.Element) for element in values)
        if not plain or not isinstance(target.value, cst.Name) or target.value.value in cut:
            advice = f"{message}: write `Model(inputs, outputs)` with the outputs that it should have"
            yield CallChange(codes.SET_OUTPUTS, target, advice, action="warn")
            continue
        assert isinstance(node, cst.Assign)
        outputs = _alone(node.value) or node.value
        edit = Replace(node.value, (f"{tf}.keras.Model(", target.value, ".inputs, ", outputs, ")"))
        yield CallChange(
            codes.SET_OUTPUTS,
            target,
            f"{message}: a model with these outputs is created",
            Replace(target, (target.value,)),
            more=(edit,),
        )


def _set_here(node: cst.CSTNode) -> cst.Attribute | None:
    """The target of `x.outputs = ...` or `x.outputs += ...`."""
    target = node.target if isinstance(node, cst.AugAssign) else sole_target(node)
    return target if isinstance(target, cst.Attribute) and target.attr.value == "outputs" else None


def _are_models(values: Collection[Value]) -> bool:
    """Whether a value is a model that Keras made of layers: a class of the program may set what it likes."""
    models = [
        value
        for value in values
        if isinstance(value, Parallel) or (isinstance(value, ModelObject) and not value.instance)
    ]
    return bool(values) and len(models) == len(values)


def _popped(call: cst.Call) -> str | None:
    """`base` of `base.layers.pop()`, which took a layer out of the model, and takes it out of a copy of a list now."""
    name = dotted(call.func)
    return name.removesuffix(".layers.pop") if name.endswith(".layers.pop") else None


def _alone(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The only element of a list that is written out."""
    if isinstance(node, cst.List) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element):
        return node.elements[0].value
    return None


def _outputs_of(model: ModelObject, facts: Facts) -> int | None:
    """How many outputs a model has, where it is built in this module and that is plain."""
    outputs = outputs_given(model, facts)
    if outputs is None:
        return None
    if isinstance(outputs, cst.List | cst.Tuple):
        plain = all(isinstance(element, cst.Element) for element in outputs.elements)
        return len(outputs.elements) if plain else None
    values = facts.options(outputs)
    counts = {len(option.values) if isinstance(option, Items) and option.counted else None for option in values}
    if are_tensors(values):
        return 1
    return counts.pop() if len(counts) == 1 else None
