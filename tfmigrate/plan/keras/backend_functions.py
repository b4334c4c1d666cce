"""`K.function([model.input], [layer.output])`, which Keras 3 lacks: a model of the same tensors is called instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Edit, Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.loops import Expression, PartOf, Taken
from tfmigrate.understand.reaching import bound, settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute

_FUNCTION = "keras.backend.function"
_PHASE = "keras.backend.learning_phase"
_SET_PHASE = "keras.backend.set_learning_phase"
_INPUTS = frozenset({"keras.Input", "keras.layers.Input"})


def check(context: Context) -> Iterator[CallChange]:
    """The calls whose tensors are all those of layers and models; any other keeps its warning."""
    if context.migration.once(_sets_phase):
        return  # It decides whether a function without a phase among its inputs is in training.
    helper = Helper.of(context.draft, "function_of")
    changes = []
    for call in context.facts.module.calls:
        edits = _edits(call, helper.name, context) if context.facts.canonical(call.func) == _FUNCTION else None
        if edits is not None:
            message = "Keras 3 has no K.function(): a model of the same inputs and outputs is called instead"
            changes.append(CallChange(codes.BACKEND_FUNCTIONS, call, message, edits[0], more=tuple(edits[1:])))
    yield from helper.brought_by([change.node for change in changes], changes)


def _sets_phase(migration: Migration) -> bool:
    modules = migration.facts.modules.values()
    return any(facts.canonical(call.func) == _SET_PHASE for facts in modules for call in facts.module.calls)


def _edits(call: cst.Call, name: str, context: Context) -> list[Edit] | None:
    """The edits of a call; None where its tensors are not all inputs and outputs of layers and models."""
    facts, scopes = context.facts, context.scopes
    given = bound(call.args, ("inputs", "outputs")) if not has_stars(call) else None
    if given is None or set(given) != {"inputs", "outputs"}:
        return None
    edits: list[Edit] = [Replace(call.func, name)]
    inputs = given["inputs"].value
    tensors = _without_phase(inputs, facts)
    if tensors is None:
        return None
    if tensors is not inputs:
        edits.append(_written(inputs, tensors))
    listed = _listed(tensors, context)
    if listed is None or not all(_is_input(part, facts, scopes) for part in listed):
        return None
    outputs = _listed(given["outputs"].value, context)
    if outputs is None or not all(_is_output(part, context) for part in outputs):
        return None
    return edits


_Tensors = cst.BaseExpression | Sequence[cst.BaseExpression]


def _without_phase(inputs: cst.BaseExpression, facts: Facts) -> _Tensors | None:
    """Some inputs without `K.learning_phase()` at their end; None where it stands elsewhere.

    `[a, b, K.learning_phase()]`, `model.inputs + [K.learning_phase()]`.
    """
    if isinstance(inputs, cst.List | cst.Tuple):
        parts = [element.value for element in inputs.elements]
        phases = [place for place, part in enumerate(parts) if _is_phase(part, facts)]
        if not phases:
            return inputs
        starred = any(isinstance(element, cst.StarredElement) for element in inputs.elements)
        return parts[:-1] if phases == [len(parts) - 1] and len(parts) > 1 and not starred else None
    if isinstance(inputs, cst.BinaryOperation) and isinstance(inputs.operator, cst.Add):
        last = inputs.right.elements if isinstance(inputs.right, cst.List | cst.Tuple) else ()
        return inputs.left if len(last) == 1 and _is_phase(last[0].value, facts) else None
    return inputs


def _written(inputs: cst.BaseExpression, tensors: _Tensors) -> Replace:
    """The edit that leaves only these of the inputs."""
    if isinstance(tensors, cst.BaseExpression):
        return Replace(inputs, (tensors,))
    code: list[str | cst.BaseExpression] = []
    for part in tensors:
        code += [", " if code else "[", part]
    return Replace(inputs, (*code, "]"))


def _is_phase(node: cst.BaseExpression, facts: Facts) -> bool:
    return isinstance(node, cst.Call) and facts.canonical(node.func) == _PHASE


def _listed(tensors: _Tensors, context: Context) -> list[cst.BaseExpression] | None:
    """The tensors of a list that is written out, or `model.inputs`, which is all of them; None for anything else."""
    if not isinstance(tensors, cst.BaseExpression):
        return list(tensors)
    tensors = settled(tensors, context.scopes)
    if isinstance(tensors, cst.List | cst.Tuple):
        starred = any(isinstance(element, cst.StarredElement) for element in tensors.elements)
        return None if starred or not tensors.elements else [element.value for element in tensors.elements]
    if isinstance(tensors, cst.ListComp):
        return [tensors.elt]
    several = last_attribute(tensors) in ("inputs", "outputs")
    return [tensors] if several else None


def _is_input(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> bool:
    node = settled(node, scopes)
    if isinstance(node, cst.Call):
        return facts.canonical(node.func) in _INPUTS
    return _attribute(node) in ("input", "inputs")


def _is_output(node: cst.BaseExpression, context: Context) -> bool:
    node = settled(node, context.scopes)
    values = context.loops.taken(node)
    if values:
        return all(value is not None and _is_each_output(value, context) for value in values)
    return _attribute(node) in _TENSORS


_TENSORS = frozenset({"output", "outputs", "input", "inputs"})
"""What a layer is given is computed as well: `get_layer("ctc").input[0]`."""


def _is_each_output(value: Taken, context: Context) -> bool:
    if isinstance(value, PartOf):
        return last_attribute(value.node) == "outputs"
    return isinstance(value, Expression) and _attribute(settled(value.node, context.scopes)) == "output"


def _attribute(node: cst.BaseExpression) -> str:
    """The name of the attribute that is read: `inputs` of `model.inputs[0]`."""
    node = node.value if isinstance(node, cst.Subscript) else node
    return last_attribute(node)
