"""`if keras.__version__ != "2.1.4": raise ...` stops the migrated program; of two imports one alone is ever reached."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove, Unwrap
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.version_tests import truths_today
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.walk import walk

_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_MESSAGE = "this stops the program on every TensorFlow without multi_gpu_model: it is removed"


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for node in facts.module.all_of(cst.If, cst.Assert):
        if isinstance(node, cst.Assert):
            if truths_today(node.test, facts) == {False}:
                yield CallChange(codes.VERSION_GUARDS, node, _MESSAGE, Remove(node))
            continue
        if node not in facts.module.places:
            continue
        if _only_imports(node) and _asks_keras(node.test, facts):
            truths = truths_today(node.test, facts)
            if len(truths) == 1 and None not in truths:
                yield CallChange(codes.VERSION_GUARDS, node, _ONE_IMPORT, Unwrap(node, _taken(node, True in truths)))
        elif node.orelse is None and _stops(node, facts):
            if truths_today(node.test, facts) != {True}:
                continue
            if _is_of_a_feature(node, facts):
                yield CallChange(codes.VERSION_GUARDS, node, _OF_A_FEATURE, action="warn")
            else:
                yield CallChange(codes.VERSION_GUARDS, node, _MESSAGE, Unwrap(node, None))


_KERAS_VERSION = "keras.__version__"
"""What a test of TensorFlow's version chooses stays: a program may be meant for TensorFlow 1 and 2."""
_ONE_IMPORT = (
    "this test has the same result on every TensorFlow without multi_gpu_model: the import that it leads to stays"
)
_OF_A_FEATURE = (
    "this stops the function on every TensorFlow without multi_gpu_model, so it only worked on an old one: remove "
    "the check if it works now, or stop using the function"
)


def _only_imports(test: cst.If) -> bool:
    """Whether each of the two arms, or the only one, does nothing but import."""
    if isinstance(test.orelse, cst.If):
        return False
    arms = [test.body] if test.orelse is None else [test.body, test.orelse.body]
    lines = [only_statement(unit) for arm in arms for unit in units_of(arm)]
    return all(isinstance(line, cst.Import | cst.ImportFrom | cst.Pass) for line in lines)


def _asks_keras(test: cst.BaseExpression, facts: Facts) -> bool:
    return any(facts.symbols.get(node) == _KERAS_VERSION for node in walk(test))


def _taken(test: cst.If, holds: bool) -> cst.BaseSuite | None:
    if holds:
        return test.body
    return test.orelse.body if isinstance(test.orelse, cst.Else) else None


def _is_of_a_feature(guard: cst.If, facts: Facts) -> bool:
    """Whether a check stands in a function that trains, builds and compiles nothing: a program may never call it."""
    around = [outer for outer in facts.module.ancestors(guard) if isinstance(outer, cst.FunctionDef)]
    used = {use.site.frame.function for use in facts.uses} | {wrap.site.frame.function for wrap in facts.wraps}
    built = {model.site.frame.function for model in facts.models}
    return bool(around) and used.isdisjoint(around) and built.isdisjoint(around)


def _stops(guard: cst.If, facts: Facts) -> bool:
    """Whether an `if` does nothing but stop the program, and say so before."""
    *before, last = map(only_statement, units_of(guard.body))
    return _ends(last, facts) and all(_is_call_of(statement, frozenset({"print"}), facts) for statement in before)


def _ends(statement: cst.CSTNode | None, facts: Facts) -> bool:
    return isinstance(statement, cst.Raise) or _is_call_of(statement, _EXITS, facts)


def _is_call_of(statement: cst.CSTNode | None, called: frozenset[str], facts: Facts) -> bool:
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call):
        return False
    func = call.func
    return (facts.symbols.get(func) or (func.value if isinstance(func, cst.Name) else "")) in called
