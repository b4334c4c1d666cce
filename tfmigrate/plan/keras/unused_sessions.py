"""A function that only makes a session with settings, and that nothing calls any more."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Unwrap
from tfmigrate.plan.keras.session_places import is_mentioned, symbol_of
from tfmigrate.plan.keras.session_reading import CONFIG, SESSIONS
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.blocks import is_docstring, only_statement, units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import root_name
from tfmigrate.walk import nodes_in


def check(context: Context) -> Iterator[CallChange]:
    """`def get_session(): ...; return tf.Session(config=config)`, whose call was switched off or is gone."""
    for function in context.facts.module.tree.body:
        if not isinstance(function, cst.FunctionDef) or not _makes_session(function, context.facts):
            continue
        name, scopes = function.name.value, context.scopes
        others = [mention for mention in scopes.of_variable(name, scopes.module) if mention.unit is not function]
        if others or is_mentioned(name, context.modules, context.facts.module):
            continue
        message = f"nothing calls {name}(), which creates a session, and TensorFlow 2 has none: it is removed"
        named = tuple(call.func for call in nodes_in(function, cst.Call))
        yield CallChange(codes.SESSIONS, function, message, Unwrap(function, None), speaks_for=named)


def _makes_session(function: cst.FunctionDef, facts: Facts) -> bool:
    """Whether a function does nothing but that."""
    *lines, last = units_of(function.body)
    returned = only_statement(last)
    made = returned.value if isinstance(returned, cst.Return) else None
    if not isinstance(made, cst.Call) or symbol_of(made.func, facts) not in SESSIONS or function.decorators:
        return False
    settings: set[str] = set()
    for line in lines[1:] if lines and is_docstring(only_statement(lines[0])) else lines:
        small = only_statement(line)
        if not isinstance(small, cst.Assign) or len(small.targets) > 1:
            return False
        target = small.targets[0].target
        if isinstance(target, cst.Name) and isinstance(small.value, cst.Call):
            if symbol_of(small.value.func, facts) != CONFIG:
                return False
            settings.add(target.value)
        elif (root := root_name(target)) is None or root.value not in settings:
            return False
    return True
