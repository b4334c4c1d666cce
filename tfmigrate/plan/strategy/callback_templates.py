"""Callbacks of the program that take the template out of the model that fit() was called on, to save it.

The parallel model held the template as a layer: `self.model.layers[-2]`, `self.model.layers[-(outputs + 1)]`,
`self.model.get_layer("model_1")`. Now there is one model, and the same words mean a plain layer of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.program import Module, dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Instance, Items, Parallel, Value, options
from tfmigrate.walk import walk

_OF_MODELS_ALONE = frozenset(
    {"save", "save_weights", "load_weights", "to_json", "to_yaml", "predict", "evaluate", "predict_on_batch", "summary"}
)
"""Methods that no layer has but one that is a model itself."""


@dataclass(frozen=True)
class _Part:
    """An expression that takes one layer out of the model that a callback was given."""

    node: cst.BaseExpression
    model: cst.BaseExpression
    index: cst.BaseExpression | None
    """Between the brackets of `layers[...]`; None where the layer is asked for by name."""
    method: str
    """What is called on the layer at once; "" where nothing is."""

    @property
    def looks_like_template(self) -> bool:
        """Whether a layer counted from the end is meant, or a number that is not written out."""
        return self.method in _OF_MODELS_ALONE or not isinstance(self.index, cst.Integer | None)


def write_templates_in_callbacks(
    facts: ProgramFacts, drafts: Mapping[Module, Draft], refused: Container[cst.Call]
) -> None:
    """The edits that write the model itself where a callback takes the template out of it; what may be one is told."""
    seen: set[cst.ClassDef] = set()
    for draft in drafts.values():
        for cls in draft.facts.classes:
            if cls.node in seen or not _is_callback(cls):
                continue
            seen.add(cls.node)
            parts = [part for part in _parts(cls) if part.looks_like_template]
            if not parts:
                continue
            trained = _trained_with(cls, facts.uses)
            parallel = {option for option in trained if isinstance(option, Parallel)}
            if any(option.wrap.call in refused for option in parallel) or (trained and not parallel):
                continue
            for part in parts:
                if parallel and (part.method in _OF_MODELS_ALONE or (trained == parallel and _is_before_outputs(part))):
                    draft.edits.append(Replace(part.node, (part.model,)))
                else:
                    _say(part, draft)


def _is_callback(cls: ClassValue) -> bool:
    return any(names.canonical(base).startswith("keras.callbacks.") for base in cls.outside_bases())


def _is_before_outputs(part: _Part) -> bool:
    """`layers[-2]` of a model with one output, `layers[-(outputs + 1)]`: what stands before the joined outputs."""
    index = part.index
    if not isinstance(index, cst.UnaryOperation) or not isinstance(index.operator, cst.Minus):
        return False
    last = index.expression
    if isinstance(last, cst.BinaryOperation) and isinstance(last.operator, cst.Add):
        return any(isinstance(side, cst.Integer) and side.value == "1" for side in (last.left, last.right))
    return isinstance(last, cst.Integer) and last.value == "2"


def _parts(cls: ClassValue) -> Iterator[_Part]:
    for method in cls.members.values():
        if not isinstance(method, FunctionValue) or not isinstance(method.node, cst.FunctionDef):
            continue
        parameters = [param.name.value for param in method.node.params.params]
        models = {f"{parameters[0]}.model"} if parameters else set()
        if method.node.name.value == "set_model" and len(parameters) > 1:
            models.add(parameters[1])
        called = {
            node.func.value: node.func.attr.value
            for node in walk(method.node.body)
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
        }
        for node in walk(method.node.body):
            if not isinstance(node, cst.Subscript | cst.Call):
                continue
            found = _layer_of(node)
            if found is not None and dotted(found[0]) in models:
                yield _Part(node, *found, called.get(node, ""))


def _layer_of(node: cst.Subscript | cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression | None] | None:
    """The model and the index of `model.layers[index]`; no index for `model.get_layer(...)`."""
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute) and len(node.slice) == 1:
        index = node.slice[0].slice
        if node.value.attr.value == "layers" and isinstance(index, cst.Index):
            return node.value.value, index.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "get_layer":
        return node.func.value, None
    return None


def _trained_with(cls: ClassValue, uses: Iterable[Use]) -> set[Value]:
    """What fit() was called on with a callback of this class."""
    return {
        option
        for use in uses
        if use.method in TRAINING
        for _, value in use.arguments
        if any(cls.node in {one.node for one in held.ancestors()} for held in _classes(value))
        for option in options(use.receiver)
    }


def _classes(value: Value) -> Iterator[ClassValue]:
    """The classes of the objects that a value, or a list of values, holds."""
    for option in options(value):
        if isinstance(option, Instance):
            yield option.cls
        elif isinstance(option, Items):
            for item in option.values:
                yield from _classes(item)


def _say(part: _Part, draft: Draft) -> None:
    layer = draft.module.code(part.node)
    draft.say(
        codes.UNSURE_TEMPLATE,
        part.node,
        f"if fit() was called on the parallel model, `{layer}` was the model that it wraps; it is a plain layer now: "
        f"write `{draft.module.code(part.model)}` where the model was meant",
        "warn",
    )
