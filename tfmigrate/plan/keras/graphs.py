"""Graphs of TensorFlow 1 that a program entered: what runs eagerly has none, and Keras 3 does not run in one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove, Replace, Unwrap
from tfmigrate.plan.keras.sessions import session_lines
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import sole_assignment
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import NOTHING, Opaque
from tfmigrate.walk import walk

_DEFAULT = "tensorflow.get_default_graph"
_GRAPHS = (_DEFAULT, "tensorflow.Graph")
_BUILDING = re.compile(
    r"tensorflow\.(placeholder|get_variable|variable_scope|(graph_util\.)?import_graph_def|GraphDef|layers\..*|contrib\..*"
    r"|train\.(Saver|import_meta_graph)|saved_model\.loader\.load)"
).fullmatch
"""What needs a graph of TensorFlow 1 to work in."""


def check(context: Context) -> Iterator[CallChange]:
    """`with graph.as_default():` goes, its block stays; `graph = tf.get_default_graph()` goes if only it reads it."""
    facts, modules, scopes, tf = context.facts, context.modules, context.scopes, context.tf
    symbols = {node: name for known in modules.values() for node, name in known.symbols.items()}
    gone = {node for unit in session_lines(context.draft, modules).lines for node in walk(unit)}
    for unit in facts.module.places:
        if not isinstance(unit, cst.With) or _builds_a_graph(unit, facts):
            continue
        if all(_enters_graph(item, facts, symbols) for item in unit.items):
            message = "eager code belongs to no graph, and Keras 3 models fail in one: the block is moved out of it"
            gone.update(node for item in unit.items for node in walk(item))
            yield CallChange(codes.ONE_GRAPH, unit.items[0].item, message, Unwrap(unit, unit.body))
    for call in facts.module.calls:
        if call in gone or symbols.get(call.func) != _DEFAULT:
            continue
        statement = _only_for(call, scopes, gone)
        if statement is not None:
            message = "nothing uses the graph any more"
            yield CallChange(codes.ONE_GRAPH, call, message, Remove(statement))
        else:
            message = "get_default_graph() is in tf.compat.v1"
            yield CallChange(
                codes.ONE_GRAPH, call.func, message, Replace(call.func, f"{tf}.compat.v1.get_default_graph")
            )


def _builds_a_graph(block: cst.With, facts: Facts) -> bool:
    """Whether a block is code of TensorFlow 1 that needs the graph, and has nothing of Keras."""
    parts = {*walk(block.body)}
    named = {names.plain(facts.symbols[part]) for part in parts if part in facts.symbols}
    of_keras = any(names.canonical(name).startswith("keras.") for name in named)
    return any(map(_BUILDING, named)) and not of_keras and not any(use.call in parts for use in facts.uses)


def _enters_graph(item: cst.WithItem, facts: Facts, symbols: Mapping[cst.CSTNode, str]) -> bool:
    """Whether it is `graph.as_default()`, where `graph` is the default graph or one that the program made."""
    call = item.item
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or item.asname is not None:
        return False
    values = facts.options(call.func.value)
    return (
        call.func.attr.value == "as_default"
        and bool(values)
        and values != {NOTHING}
        and all(
            option == NOTHING  # before `global graph` is assigned
            or (
                isinstance(option, Opaque)
                and isinstance(option.node, cst.Call)
                and names.plain(symbols.get(option.node.func, "")) in _GRAPHS
            )
            for option in values
        )
    )


def _only_for(call: cst.Call, scopes: Scopes, gone: set[cst.CSTNode]) -> cst.Assign | None:
    """The assignment of a call's graph to a variable that is read only in code that is removed."""
    for scope in scopes.by_node.values():
        for name in scope.bound - scope.elsewhere:
            mentions = scopes.of_variable(name, scope)
            bindings = [mention for mention in mentions if mention.binds]
            statement = sole_assignment(bindings[0]) if len(bindings) == 1 else None
            if statement is not None and statement.value is call:
                reads = [mention.node for mention in mentions if not mention.binds]
                return statement if reads and all(node in gone for node in reads) else None
    return None
