"""`K.get_session().run(tf.global_variables_initializer())`: TensorFlow 2 initialises a variable when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import has_stars
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bound_once, settled
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.walk import words_in

_INITIALIZERS = frozenset(
    {
        "tensorflow.global_variables_initializer", "tensorflow.initialize_all_variables",
        "tensorflow.local_variables_initializer", "tensorflow.initialize_local_variables",
        "tensorflow.tables_initializer", "tensorflow.initialize_all_tables",
    }
)  # fmt: skip
_SESSIONS = frozenset({"tensorflow.Session", "tensorflow.InteractiveSession"})
_LOADS = frozenset(
    {
        "load_weights", "set_weights", "load_model", "set_value", "assign", "restore", "weights", "applications",
        "keras_applications", "load_checkpoint", "init_from_checkpoint",
    }
)  # fmt: skip
"""Names by which a program may give variables values, pretrained networks among them."""
_TRAINS = frozenset({"fit", "fit_generator", "train_on_batch", "train_function", "minimize"})


@dataclass(frozen=True)
class InitializerRun:
    """A statement that runs initializers in a session, and nothing else."""

    statement: cst.Expr
    call: cst.Call
    session: cst.BaseExpression
    made: cst.Call
    """What gives the session."""
    of_keras: bool
    """Whether that is K.get_session(); else it makes one of TensorFlow."""
    initializers: tuple[cst.Call, ...]
    serving: tuple[cst.BaseSmallStatement, ...]
    """Assignments that serve this statement alone."""
    is_idle: bool
    """Whether every weight is new at that point, so that it only draws others."""

    @property
    def statements(self) -> tuple[cst.BaseSmallStatement, ...]:
        return self.statement, *self.serving


Runs = Mapping[cst.CSTNode, InitializerRun]
"""Statements that run initializers, by their lines."""


def idle_run(mention: Occurrence, runs: Runs) -> InitializerRun | None:
    """The run in whose line a session is mentioned, if that only draws other weights for new models."""
    run = runs.get(mention.unit)
    return run if run is not None and run.is_idle else None


def initializer_runs(facts: Facts, scopes: Scopes, modules: Iterable[Module]) -> Runs:
    """Each statement of a module that runs initializers in a session, by its line."""
    program = tuple(modules)
    found = ((unit, _run_at(unit, facts, scopes, program)) for unit in facts.module.places)
    return {unit: run for unit, run in found if run is not None}


def _run_at(unit: cst.CSTNode, facts: Facts, scopes: Scopes, program: tuple[Module, ...]) -> InitializerRun | None:
    small = only_statement(unit)
    call = small.value if isinstance(small, cst.Expr) else None
    if not isinstance(small, cst.Expr) or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if call.func.attr.value != "run" or len(call.args) != 1 or has_stars(call):
        return None
    session, run = call.func.value, call.args[0].value
    made = settled(session, scopes)
    calls = list(_initializers(run, facts, scopes))
    initializers = tuple(each for each in calls if each is not None)
    if not initializers or len(initializers) < len(calls) or not isinstance(made, cst.Call):
        return None
    name = names.plain(facts.canonical(made.func))
    of_keras = name == "keras.backend.get_session"
    if not of_keras and name not in _SESSIONS:
        return None
    is_idle = _is_idle(unit, facts.module, program)
    return InitializerRun(small, call, session, made, of_keras, initializers, tuple(_serving(run, scopes)), is_idle)


def _initializers(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> Iterator[cst.Call | None]:
    """The calls that make what is run; None for anything else."""
    value = settled(node, scopes)
    if isinstance(value, cst.List | cst.Tuple):
        for element in value.elements:
            yield from _initializers(element.value, facts, scopes)
    elif isinstance(value, cst.Call):
        name = names.plain(facts.canonical(value.func))
        if name == "tensorflow.group" and not has_stars(value):
            for arg in value.args:
                yield from _initializers(arg.value, facts, scopes)
        else:
            yield value if name in _INITIALIZERS else None
    else:
        yield None


def _serving(node: cst.BaseExpression, scopes: Scopes) -> Iterator[cst.BaseSmallStatement]:
    """`init = tf.global_variables_initializer()` where only the run reads it."""
    value = bound_once(node, scopes, reads=1) if isinstance(node, cst.Name) else None
    for mention in scopes.mentions_of(node) if value is not None else ():
        small = only_statement(mention.unit)
        if mention.binds and isinstance(small, cst.Assign) and len(small.targets) == 1 and small.value is value:
            yield small


def _is_idle(unit: cst.CSTNode, module: Module, program: tuple[Module, ...]) -> bool:
    """Whether nothing has trained or loaded weights by then: the program loads none, and it runs once, above all that
    trains in its file."""
    if any(node.value in _LOADS for other in program for node in other.all_of(cst.Name)):
        return False
    line = module.position(unit)[0]
    trained = (module.position(node)[0] for node in module.all_of(cst.Name) if node.value in _TRAINS)
    return _runs_once(unit, module, program, frozenset()) and all(line < place for place in trained)


def _runs_once(unit: cst.CSTNode, module: Module, program: tuple[Module, ...], seen: frozenset[str]) -> bool:
    """Whether a statement is in no loop, and in no function that may be called twice."""
    for owner in module.ancestors(unit):
        if isinstance(owner, cst.For | cst.While | cst.ClassDef | cst.Lambda):
            return False
        if isinstance(owner, cst.FunctionDef):
            name = owner.name.value
            mentions = [
                (other, line)
                for other in program
                for line in other.places
                if isinstance(line, cst.SimpleStatementLine) and name in words_in(line)
            ]
            calls = [(other, line) for other, line in mentions if not isinstance(only_statement(line), _IMPORTS)]
            if len(calls) != 1 or name in seen:
                return False
            return _runs_once(calls[0][1], calls[0][0], program, seen | {name})
    return True


_IMPORTS = (cst.Import, cst.ImportFrom)
