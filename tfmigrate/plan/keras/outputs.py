"""Models of several outputs, and of one output that stands in a list."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.written import listed
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Items, Made, ModelObject

_MODEL = ("inputs", "outputs", "name")


def check(context: Context) -> Iterator[CallChange]:
    yield from metrics_of_outputs(context.facts)
    yield from lists_of_one(context.facts)


def metrics_of_outputs(facts: Facts) -> Iterator[CallChange]:
    """`metrics=['accuracy']` of a model with two outputs: a list for each output is written out."""
    for use in keras_calls(facts, "compile"):
        given = (named_arguments(use.call, COMPILE) or {}).get("metrics")
        if given is not None and isinstance(given.value, cst.SimpleString):
            message = "Keras 3 takes no single word for `metrics`: it stands in a list"
            edit = Replace(given.value, ("[", given.value, "]"))
            yield CallChange(codes.METRICS_OF_OUTPUTS, given.value, message, edit)
            continue
        counts = {_outputs_of(model, facts) for model in use.models}
        count = counts.pop() if len(counts) == 1 else None
        if given is None or count is None or count < 2 or not isinstance(given.value, cst.List):
            continue
        words = [text_of(element.value) for element in given.value.elements]
        if words and None not in words:
            message = (
                f"the model has {count} outputs: Keras 2 computed {', '.join(map(repr, words))} of each, and Keras 3 "
                "wants a list for each output"
            )
            yield CallChange(
                codes.METRICS_OF_OUTPUTS,
                given.value,
                message,
                Replace(given.value, ("[", *listed([(given.value,)] * count), "]")),
            )


def lists_of_one(facts: Facts) -> Iterator[CallChange]:
    """`Model(x, outputs=[y])`: the only output, or input, is written without the list that Keras 3 keeps."""
    for call in facts.module.calls:
        if names.canonical(facts.symbols.get(call.func, "")) != "keras.models.Model":
            continue
        named = named_arguments(call, _MODEL) or {}
        for name in ("inputs", "outputs", "input", "output"):
            alone = _alone(named[name].value) if name in named else None
            if alone is not None:
                message = (
                    f"Keras 3 keeps the list, so that model.{name.rstrip('s')} is one: the only one is written alone"
                )
                edit = Replace(named[name].value, (alone,))
                yield CallChange(codes.LIST_OF_ONE, named[name].value, message, edit)


def _alone(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The only element of a list that is written out."""
    if isinstance(node, cst.List) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element):
        return node.elements[0].value
    return None


def _outputs_of(model: ModelObject, facts: Facts) -> int | None:
    """How many outputs a model has, where it is built in this module and that is plain."""
    if names.canonical(model.maker) != "keras.models.Model" or not isinstance(model.node, cst.Call):
        return None
    named = named_arguments(model.node, _MODEL) or {}
    outputs = named.get("outputs") or named.get("output")
    if outputs is None or model.site.frame.module is not facts.module:
        return None
    if isinstance(outputs.value, cst.List | cst.Tuple):
        plain = all(isinstance(element, cst.Element) for element in outputs.value.elements)
        return len(outputs.value.elements) if plain else None
    made = facts.options(outputs.value)
    counts = {len(one.values) if isinstance(one, Items) and one.counted else None for one in made}
    if all(isinstance(one, Made) and one.kind == "tensor" for one in made) and made:
        return 1
    return counts.pop() if len(counts) == 1 else None
