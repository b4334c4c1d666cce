"""`tf.saved_model.simple_save(session, folder, ...)`: a model exports itself, and there is no session."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Edit, Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, sole_assignment
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk

_NAMES = frozenset({
    "tensorflow.saved_model.simple_save", "tensorflow.compat.v1.saved_model.simple_save",
    "tensorflow.saved_model.simple_save.simple_save", "tensorflow.python.saved_model.simple_save.simple_save",
})  # fmt: skip
_PARAMETERS = ("session", "export_dir", "inputs", "outputs", "legacy_init_op")
_TENSORS = frozenset({"input", "inputs", "output", "outputs"})


def check(context: Context) -> Iterator[CallChange]:
    """Where the tensors that are saved are all of one model, it is `model.export(folder)`."""
    facts = context.facts
    for call in facts.module.calls:
        if facts.called(call) not in _NAMES:
            continue
        named = named_arguments(call, _PARAMETERS)
        if named is None or not set(_PARAMETERS[:4]) <= named.keys():
            continue
        model = _only_model((named["inputs"].value, named["outputs"].value))
        if model is None:
            continue
        message = (
            "simple_save() needs a session, which TensorFlow 2 does not have: the model exports itself; its signature "
            "names inputs and outputs as the model does"
        )
        export = Replace(call, (model, ".export(", named["export_dir"].value, ")"))
        session = tuple(_without_session(named["session"].value, facts, context.scopes))
        yield CallChange(codes.SIMPLE_SAVE, call, message, export, more=session)


def _only_model(tensors: tuple[cst.BaseExpression, ...]) -> cst.BaseExpression | None:
    """The model whose inputs and outputs are saved; None where they are of several, or of none."""
    owners = [
        part.value
        for node in tensors
        for part in walk(node)
        if isinstance(part, cst.Attribute) and part.attr.value in _TENSORS
    ]
    models = {dotted(model) for model in owners}
    return owners[0] if len(models) == 1 and "" not in models else None


def _without_session(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> Iterator[Edit]:
    """`session = K.get_session()` goes where nothing else reads it."""
    bindings = bindings_of(node, scopes)
    if len(bindings) != 1 or len(scopes.mentions_of(node)) != 2:
        return
    assignment = sole_assignment(bindings[0])
    value = assignment.value if assignment is not None else None
    name = facts.called(value)
    if assignment is not None and names.canonical(name) == "keras.backend.get_session":
        yield Remove(assignment)
