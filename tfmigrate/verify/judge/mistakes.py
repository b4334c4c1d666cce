"""How a mistake is made in a program: in each call of a kind, in one argument, or with a function that it calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from tfmigrate.walk import calls_in


def is_compile(call: cst.Call) -> bool:
    """`model.compile(...)` with an optimizer and a loss, by name or in their places, which `re.compile` has not."""
    if not m.matches(call.func, m.Attribute(attr=m.Name("compile"))) or m.matches(call.func, m.Attribute(m.Name("re"))):
        return False
    named = {arg.keyword.value for arg in call.args if arg.keyword}
    return bool(named & {"optimizer", "loss"}) or len(call.args) - len(named) >= 2


def is_fit(call: cst.Call) -> bool:
    return m.matches(call.func, m.Attribute(attr=m.Name("fit") | m.Name("fit_generator")))


def last_word_called(call: cst.Call) -> str:
    """The last word of what is called; "" where it is no name."""
    func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return func.value if isinstance(func, cst.Name) else ""


def keyword_at(call: cst.Call, name: str) -> int | None:
    """Index of an argument given by name."""
    return next((i for i, arg in enumerate(call.args) if arg.keyword and arg.keyword.value == name), None)


def given_to_fit_at(call: cst.Call, name: str) -> int | None:
    """Index of an argument given by name to `fit`; None where that is None, or another function is called."""
    index = keyword_at(call, name) if is_fit(call) else None
    return index if index is not None and not m.matches(call.args[index].value, m.Name("None")) else None


def argument_at(call: cst.Call, name: str, position: int | None) -> int | None:
    """Index of an argument given by name or, failing that, by position, where it has one."""
    named = keyword_at(call, name)
    if named is not None or position is None:
        return named
    if position < len(call.args) and all(a.keyword is None and not a.star for a in call.args[: position + 1]):
        return position
    return None


def with_value(call: cst.Call, index: int, value: cst.BaseExpression) -> cst.Call:
    args = list(call.args)
    args[index] = args[index].with_changes(value=value)
    return call.with_changes(args=args)


def without(call: cst.Call, index: int) -> cst.Call:
    args = [arg for i, arg in enumerate(call.args) if i != index]
    if args:
        args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=args)


def written_with(pattern: str, value: cst.BaseExpression, factor: int = 0) -> cst.BaseExpression:
    """The expression that is written so, with the code of a value and a number in it."""
    return cst.parse_expression(pattern.format(cst.Module([]).code_for_node(value), factor))


def wrapped(function: str, value: cst.BaseExpression, *more: str) -> cst.Call:
    return cst.Call(cst.Name(function), [cst.Arg(value), *(cst.Arg(cst.parse_expression(text)) for text in more)])


def _after_imports_of_future(module: cst.Module, code: str) -> cst.Module:
    """The module with `code` before its first statement that may follow other code."""
    body = list(module.body)
    at = 0
    for i, statement in enumerate(body):
        docstring = i == 0 and m.matches(statement, m.SimpleStatementLine([m.Expr(m.SimpleString())]))
        future = m.matches(statement, m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))]))
        if docstring or future:
            at = i + 1
    inserted = cst.parse_module(code, module.config_for_parsing).body
    return module.with_changes(body=[*body[:at], *inserted, *body[at:]])


MISTAKES = Path(__file__).parents[1] / "probe" / "mistakes.py"


def with_mistake(module: cst.Module, name: str, call: str = "") -> cst.Module:
    """The module with one of the functions of probe/mistakes.py, and with a statement that calls it."""
    text = MISTAKES.read_text(encoding="utf-8")
    (function,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name)
    return _after_imports_of_future(module, f"\n{ast.get_source_segment(text, function)}\n{call}\n")


class _Calls(cst.CSTTransformer):
    """Replaces calls by what `change` makes of them."""

    def __init__(self, change: Callable[[cst.Call], cst.BaseExpression]) -> None:
        super().__init__()
        self.change = change

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self.change(updated_node)


def with_calls_changed(module: cst.Module, change: Callable[[cst.Call], cst.BaseExpression]) -> cst.Module:
    """The module itself where no call changed."""
    if all(change(call) is call for call in calls_in(module)):
        return module  # To visit it would copy all of it.
    changed = module.visit(_Calls(change))
    return module if changed.deep_equals(module) else changed


Mutation = Callable[[cst.Module, int], cst.Module]
Wrong = Callable[[cst.BaseExpression, int], cst.BaseExpression | None]
"""What is written in the place of a value, for so many replicas; None where that cannot be wrong."""


def in_calls(change: Callable[[cst.Call, int], cst.BaseExpression]) -> Mutation:
    """The mistake that is made in each call for itself."""

    @wraps(change)
    def mutation(module: cst.Module, replicas: int) -> cst.Module:
        return with_calls_changed(module, lambda call: change(call, replicas))

    return mutation


def in_argument(of: Callable[[cst.Call], bool], name: str, position: int | None = None) -> Callable[[Wrong], Mutation]:
    """The mistake that is made in one argument of such calls."""

    def of_argument(wrong: Wrong) -> Mutation:
        @in_calls
        @wraps(wrong)
        def change(call: cst.Call, replicas: int) -> cst.BaseExpression:
            index = argument_at(call, name, position) if of(call) else None
            value = wrong(call.args[index].value, replicas) if index is not None else None
            return call if index is None or value is None else with_value(call, index, value)

        return change

    return of_argument


def with_function(name: str) -> Callable[[Mutation], Mutation]:
    """A mistake that calls one of the functions of probe/mistakes.py, which comes with it."""

    def with_it(mutation: Mutation) -> Mutation:
        @wraps(mutation)
        def changed(module: cst.Module, replicas: int) -> cst.Module:
            mutated = mutation(module, replicas)
            return module if mutated is module else with_mistake(mutated, name)

        return changed

    return with_it
