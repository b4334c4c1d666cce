"""`model.name = "core"`: a plain attribute in standalone Keras and in Keras 3, and one without a setter in Keras 2."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords, text_of
from tfmigrate.plan.edits import Remove
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Made, ModelObject
from tfmigrate.walk import nodes_in

_BEFORE_NAME = {"keras.models.Model": 2, "keras.models.Sequential": 1}
"""How many arguments come before `name`, in the models that take it by its place."""


def check(context: Context) -> Iterator[CallChange]:
    """The name goes into the call that makes the model or layer, where that stands a few lines before."""
    facts, scopes = context.facts, context.scopes
    named: set[cst.Call] = set()
    for line in facts.module.all_of(cst.SimpleStatementLine):
        for small in line.body:
            target = small.targets[0].target if isinstance(small, cst.Assign) else None
            if not isinstance(small, cst.Assign) or not isinstance(target, cst.Attribute):
                continue
            if target.attr.value != "name" or not _is_of_keras(target.value, facts):
                continue
            made = _made(target.value, line, facts, scopes) if len(line.body) == len(small.targets) == 1 else None
            if made is not None and made not in named and text_of(small.value) is not None:
                named.add(made)
                message = "`name` has no setter in Keras 2 of TensorFlow 2: it is passed where the object is created"
                edit = Revision(made, set=(("name", (small.value,)),))
                yield CallChange(codes.LAYER_NAMES, target, message, edit, more=(Remove(small),))
            else:
                message = (
                    "`name` has no setter in Keras 2 of TensorFlow 2 (AttributeError; Keras 3 has one): pass "
                    "`name=` where the object is created"
                )
                yield CallChange(codes.LAYER_NAMES, target, message, action="warn")


def _is_of_keras(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether it is surely a model or layer of Keras, none of a class of the program; `x._keras_history[0]` is the one
    that made a tensor."""
    history = node.value if isinstance(node, cst.Attribute | cst.Subscript) else None
    if isinstance(history, cst.Attribute) and history.attr.value == "_keras_history":
        return True
    values = facts.options(node)
    return bool(values) and all(
        (isinstance(value, Made) and value.kind in ("layer", "layers"))
        or (isinstance(value, ModelObject) and value.instance is None)
        for value in values
    )


def _made(node: cst.BaseExpression, line: cst.SimpleStatementLine, facts: Facts, scopes: Scopes) -> cst.Call | None:
    """The call that makes the object, before this line in the same block; None where its name is written or hidden."""
    made: cst.CSTNode | None = settled(node, scopes)
    if not isinstance(made, cst.Call):
        made = next((value.node for value in facts.options(node) if isinstance(value, ModelObject)), None)
    if not isinstance(made, cst.Call) or has_stars(made) or "name" in keywords(made):
        return None
    known = facts.canonical(made.func)
    if known not in _BEFORE_NAME and not known.startswith("keras.layers."):
        return None
    if sum(arg.keyword is None for arg in made.args) > _BEFORE_NAME.get(known, len(made.args)):
        return None
    here = facts.module.places[line]
    lines = (unit for unit, place in facts.module.places.items() if place.block is here.block)
    before = (unit for unit in lines if facts.module.places[unit].index < here.index)
    is_there = any(isinstance(unit, cst.SimpleStatementLine) and made in nodes_in(unit, cst.Call) for unit in before)
    return made if is_there else None
