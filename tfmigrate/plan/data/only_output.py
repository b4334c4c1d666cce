"""Targets and weights under the name of a model's only output: Keras 3 takes the dict itself for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import with_targets
from tfmigrate.plan.change.model_outputs import inputs_given, outputs_given
from tfmigrate.plan.data.made_batches import batches_made, targets_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Items, ModelObject, are_tensors


def check(context: Context) -> Iterator[CallChange]:
    """`fit(x, {"digit": y})` of a model with one output: the targets alone are written, in batches too."""
    facts = context.facts
    dicts: dict[cst.Dict, set[ModelObject]] = {}
    for use in facts.uses:
        for node in _dicts(use):
            dicts.setdefault(node, set()).update(use.models)
    for batch in batches_made(context):
        for target in targets_of(batch.node):
            if isinstance(target, cst.Dict) and alone(target) is not target:
                dicts.setdefault(target, set()).update(batch.models)
    for node, models in dicts.items():
        single = has_one_output(models, facts)
        if single:
            edit = Replace(node, (alone(node),))
            yield CallChange(codes.ONLY_OUTPUT, node, f"{_FAILS}: its value is passed instead", edit)
        elif single is None:
            message = f"{_FAILS}: if the model has no other output, pass the value without its name"
            yield CallChange(codes.ONLY_OUTPUT, node, message, action="warn")


_FAILS = "Keras 3 fails on a dict for the only output of a model (\"Expected float32, but got 'str'\")"


def alone(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a dict of one item names; anything else is itself."""
    if isinstance(node, cst.Dict) and len(node.elements) == 1:
        (element,) = node.elements
        if isinstance(element, cst.DictElement):
            return element.value
    return node


def has_one_output(
    models: Set[ModelObject], facts: Facts, modules: Mapping[Module, Facts] | None = None
) -> bool | None:
    """Whether each of the models has one output; None where that is not plain.

    `modules`: the facts of other modules, in which a model may be made.
    """
    return _each_has_one(outputs_given, models, facts, modules or {})


def has_one_input(models: Set[ModelObject], facts: Facts, modules: Mapping[Module, Facts]) -> bool | None:
    """Whether each of them has one input, in the same way."""
    return _each_has_one(inputs_given, models, facts, modules)


_Given = Callable[[ModelObject, Facts], "cst.BaseExpression | None"]


def _each_has_one(
    given: _Given, models: Set[ModelObject], facts: Facts, modules: Mapping[Module, Facts]
) -> bool | None:
    answers = {
        _has_one(given, model, modules.get(model.site.frame.module, facts) if model.site is not None else facts)
        for model in models
    }
    if False in answers:
        return False
    return True if answers == {True} else None


def _has_one(given: _Given, model: ModelObject, facts: Facts) -> bool | None:
    if names.canonical(model.maker) == "keras.models.Sequential":
        return True
    tensors = given(model, facts)
    if tensors is None:
        return None
    if isinstance(tensors, cst.List | cst.Tuple):
        return len(tensors.elements) == 1
    values = facts.options(tensors)
    if any(isinstance(option, Items) and len(option.values) > 1 for option in values):
        return False
    return True if are_tensors(values) else None


def _dicts(use: Use) -> Iterator[cst.Dict]:
    """The dicts of one item that a call is given for targets or weights."""
    named = with_targets(use) if use.is_of_model else {}
    passed = [named[name].value for name in ("y", "sample_weight") if name in named]
    validation = named.get("validation_data")
    if validation is not None and isinstance(validation.value, cst.Tuple | cst.List):
        passed += [element.value for element in validation.value.elements[1:]]
    yield from (node for node in passed if isinstance(node, cst.Dict) and alone(node) is not node)
