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
from tfmigrate.plan.strategy.unwrap import OF_MODELS_ALONE, place_in_layers
from tfmigrate.understand import names
from tfmigrate.understand.contents import classes_of
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.syntax import dotted, index_of
from tfmigrate.understand.values import ClassValue, FunctionValue, Parallel, Value, options
from tfmigrate.walk import walk


@dataclass(frozen=True)
class _Part:
    """An expression that takes one layer out of the model that a callback was given."""

    node: cst.BaseExpression
    model: cst.BaseExpression
    index: cst.BaseExpression | None
    """Between the brackets of `layers[...]`, or of get_layer(index=...); None where the layer is asked for by name."""
    is_model: bool
    """Whether the callback does with it what no layer can but one that is a model."""

    @property
    def looks_like_template(self) -> bool:
        """Whether a layer counted from the end is meant, or a number that is not written out."""
        return self.is_model or not isinstance(self.index, cst.Integer | None)


def write_templates_in_callbacks(
    facts: ProgramFacts, drafts: Mapping[Module, Draft], refused: Container[cst.Call]
) -> None:
    """Edits that write the model itself where a callback takes the template out of it; a possible one is reported."""
    seen: set[cst.ClassDef] = set()
    for draft in drafts.values():
        for cls in draft.facts.classes:
            if cls.node in seen or not cls.is_callback():
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
                if parallel and (part.is_model or (trained == parallel and _is_before_outputs(part))):
                    draft.edits.append(Replace(part.node, (part.model,)))
                else:
                    _say(part, draft)


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
    methods = [member.node for member in cls.members.values() if isinstance(member, FunctionValue)]
    used = {name for method in methods for name in _used_as_models(method)}
    if any(names.canonical(base) == "keras.callbacks.ModelCheckpoint" for base in cls.outside_bases()):
        used.add("self.model")  # ModelCheckpoint itself saves it.
    for method in methods:
        if isinstance(method, cst.FunctionDef):
            yield from _parts_of(method, used)


def _parts_of(method: cst.FunctionDef, used: set[str]) -> Iterator[_Part]:
    """`used`: names and attributes of the class that hold models."""
    parameters = [param.name.value for param in positional(method.params)]
    models = {f"{parameters[0]}.model"} if parameters else set()
    if method.name.value == "set_model" and len(parameters) > 1:
        models.add(parameters[1])
    taken: set[cst.CSTNode] = set()
    for node in walk(method.body):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value in OF_MODELS_ALONE:
                taken.add(node.func.value)
            elif node.func.attr.value == "set_model":
                taken.update(arg.value for arg in node.args)
        elif isinstance(node, cst.Assign) and any(dotted(target.target) in used for target in node.targets):
            taken.add(node.value)
    for node in walk(method.body):
        if isinstance(node, cst.Subscript | cst.Call) and (layer := _layer_of(node)) and dotted(layer[0]) in models:
            yield _Part(node, *layer, node in taken)


def _used_as_models(method: cst.CSTNode) -> Iterator[str]:
    """The names and attributes on which a method calls what only models have."""
    for node in walk(method):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value in OF_MODELS_ALONE and (name := dotted(node.func.value)):
                yield name


def _layer_of(node: cst.Subscript | cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression | None] | None:
    """The model and the index of `model.layers[index]` and `model.get_layer(index=...)`; no index for a name."""
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute) and node.value.attr.value == "layers":
        index = index_of(node)
        if index is not None:
            return node.value.value, index
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "get_layer":
        return node.func.value, place_in_layers(node)
    return None


def _trained_with(cls: ClassValue, uses: Iterable[Use]) -> set[Value]:
    """What fit() was called on with a callback of this class."""
    return {
        option
        for use in uses
        if use.method in TRAINING
        for _, value in use.arguments
        if any(cls.node in {base.node for base in held.ancestors()} for held in classes_of(value))
        for option in options(use.receiver)
    }


def _say(part: _Part, draft: Draft) -> None:
    layer = draft.module.code(part.node)
    draft.say(
        codes.UNSURE_TEMPLATE,
        part.node,
        f"if fit() was called on the parallel model, `{layer}` was the wrapped model; it is now an ordinary layer: "
        f"write `{draft.module.code(part.model)}` if the model was meant",
        "warn",
    )
