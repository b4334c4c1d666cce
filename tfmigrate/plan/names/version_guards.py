"""`if keras.__version__ != "2.1.4": raise ...` stops the migrated program on every TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove, Unwrap
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.version_tests import truths_today
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import only_statement, units_of

_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_MESSAGE = "this stops the program on every TensorFlow that has no multi_gpu_model: it is removed"


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for node in facts.module.all_of(cst.If, cst.Assert):
        if isinstance(node, cst.Assert):
            if truths_today(node.test, facts) == {False}:
                yield CallChange(codes.VERSION_GUARDS, node, _MESSAGE, Remove(node))
        elif node in facts.module.places and node.orelse is None and _stops(node, facts):
            if truths_today(node.test, facts) != {True}:
                continue
            if _is_of_a_feature(node, facts):
                yield CallChange(codes.VERSION_GUARDS, node, _OF_A_FEATURE, action="warn")
            else:
                yield CallChange(codes.VERSION_GUARDS, node, _MESSAGE, Unwrap(node, None))


_OF_A_FEATURE = (
    "this stops the function on every TensorFlow that has no multi_gpu_model, so what it does worked on the old one: "
    "remove the check if it works now, or stop using the function"
)


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
