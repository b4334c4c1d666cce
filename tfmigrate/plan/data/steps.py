"""Fractional numbers of steps: Keras 2 counted up to them, and Keras 3 passes them to range()."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.change.command_line import declarations, is_of_absl, is_option, last_name
from tfmigrate.plan.edits import Insert, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.imports import import_of_standard
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module, names_imported
from tfmigrate.understand.reaching import settled, value_above
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Literal
from tfmigrate.written import as_operand

_COUNTS = {
    "fit": ("steps_per_epoch", "validation_steps"),
    "fit_generator": ("steps_per_epoch", "epochs", "validation_steps"),
    "evaluate": ("steps",),
    "predict": ("steps",),
    "evaluate_generator": ("steps",),
    "predict_generator": ("steps",),
}
_BY_PLACE = {"fit_generator": 3, "evaluate_generator": 2, "predict_generator": 2}
"""How many arguments of a method are the data and numbers of steps and epochs, by their places."""


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    """`steps_per_epoch=len(x) / batch_size` took the next whole number of steps, which is written out.

    A Sequence in epochs of its own rounds the steps that it is given.
    """
    facts, scopes, modules = context.facts, context.scopes, tuple(context.modules)
    in_epochs = (change.node for change in others if change.code == codes.SEQUENCE_STEPS and change.edits)
    seen: set[cst.CSTNode] = {node.value for node in in_epochs if isinstance(node, cst.Arg)}
    for use in facts.uses:
        if not use.is_of_model and not use.method.endswith("_generator"):
            continue
        for node in _counts(use):
            if node not in seen:
                seen.add(node)
                kind = _kind(node, facts, scopes, modules)
                if kind == "fraction":
                    message = f"{_FLOAT}: it is rounded up, as Keras 2 counted"
                    edit, imports = _rounded_up(node, context)
                    yield CallChange(codes.FRACTIONAL_STEPS, node, message, edit, more=imports)
                elif kind == "whole":
                    yield CallChange(codes.FRACTIONAL_STEPS, node, f"{_FLOAT}, even one that was rounded", _cut(node))
        first = keywords(use.call).get("initial_epoch") if use.method == "fit_generator" else None
        if first is not None and first.value not in seen and _kind(first.value, facts, scopes, modules):
            seen.add(first.value)
            message = "Keras 3 rejects a float as the first epoch: its integer part is written"
            yield CallChange(codes.FRACTIONAL_STEPS, first.value, message, _cut(first.value))


def _counts(use: Use) -> Iterator[cst.BaseExpression]:
    """What a method is given as numbers of steps and epochs."""
    named = keywords(use.call)
    yield from (named[name].value for name in _COUNTS.get(use.method, ()) if name in named)
    if use.method.endswith("_generator"):
        yield from (arg.value for arg in use.call.args[1 : _BY_PLACE[use.method]] if arg.keyword is None)


def _cut(node: cst.BaseExpression) -> Replace:
    return Replace(node, ("int(", node, ")"))


_FLOAT = "Keras 3 rejects a float as a number of steps or epochs"
_ROUNDINGS = frozenset(f"numpy.{name}" for name in ("ceil", "floor", "rint", "round", "around", "trunc", "fix"))
_AS_GIVEN = frozenset({"max", "min", "abs"})
"""What gives a float where it is given one."""


def _kind(node: cst.BaseExpression, facts: Facts, scopes: Scopes, modules: Sequence[Module]) -> str | None:
    """What an expression that is surely a float is: "whole", or "fraction" where it may be one; None for any other."""
    if isinstance(node, cst.Name):
        value = value_above(node, facts.module, scopes)
        node = value if value is not None else settled(node, scopes)
    if isinstance(node, cst.Float):
        return "fraction"
    if isinstance(node, cst.Attribute):
        return "fraction" if _is_float_option(node, facts, modules) else None
    if isinstance(node, cst.Call):
        name = facts.called(node) or dotted(node.func)
        if name in _ROUNDINGS:
            return "whole"
        inside = {_kind(arg.value, facts, scopes, modules) for arg in node.args} if name in _AS_GIVEN else set()
        return "fraction" if name == "float" or "fraction" in inside else "whole" if "whole" in inside else None
    if isinstance(node, cst.BinaryOperation):
        sides = {_kind(side, facts, scopes, modules) for side in (node.left, node.right)}
        return _kind_of_result(node.operator, sides)
    return None


def _kind_of_result(operator: cst.BaseBinaryOp, sides: set[str | None]) -> str | None:
    """As `_kind`, of an operation on numbers of these kinds."""
    if isinstance(operator, cst.Divide):
        return "fraction"
    if isinstance(operator, cst.FloorDivide):
        return "whole" if sides != {None} else None
    return "fraction" if "fraction" in sides else "whole" if "whole" in sides else None


def _is_float_option(node: cst.Attribute, facts: Facts, modules: Sequence[Module]) -> bool:
    """Whether it is what the command line gives for an option that is declared as a float."""
    if not is_option(node, facts):
        return False
    declared = [call for _, call in declarations(node, modules)]
    return bool(declared) and all(_is_float(call) for call in declared)


def _is_float(declaration: cst.Call) -> bool:
    if is_of_absl(declaration):
        return last_name(declaration.func) == "DEFINE_float"
    kind = keywords(declaration).get("type")
    return kind is not None and isinstance(kind.value, cst.Name) and kind.value.value == "float"


def _rounded_up(node: cst.BaseExpression, context: Context) -> tuple[Replace, tuple[Insert, ...]]:
    """With `math` or NumPy if the module imports it, else with `math`, and its import; where that name is taken, as the
    floor of the negative."""
    module = context.facts.module
    bound = {full: name for name, full in names_imported(module)}
    if "math" in bound:
        return Replace(node, (f"{bound['math']}.ceil(", node, ")")), ()
    if "numpy" in bound:
        return Replace(node, (f"int({bound['numpy']}.ceil(", node, "))")), ()
    line = import_of_standard("math", module, context.scopes)
    if line is not None:
        return Replace(node, ("math.ceil(", node, ")")), (line,)
    return Replace(node, ("int(-(-", *as_operand(node), " // 1))")), ()


def _is_whole(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether an expression is surely an integer."""
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value == "len"
    known = facts.options(node)
    return isinstance(node, cst.Integer) or (
        bool(known) and all(isinstance(option, Literal) and isinstance(option.value, int) for option in known)
    )


_WHOLE = frozenset({"len", "int", "round"})
"""Functions that give an integer, `round` with one argument."""


def is_count(
    node: cst.BaseExpression,
    facts: Facts,
    scopes: Scopes,
    modules: Sequence[Module],
    is_known: Callable[[cst.BaseExpression], bool],
) -> bool:
    """Whether an expression is surely an integer, also one that is computed from integers, and so never None.

    `is_known`: whether an expression is one that the caller knows to be an integer.
    """
    node = settled(node, scopes)

    def are_counts(*parts: cst.BaseExpression) -> bool:
        return all(is_count(part, facts, scopes, modules, is_known) for part in parts)

    if isinstance(node, cst.Call):
        name = node.func.value if isinstance(node.func, cst.Name) and node.func not in facts.symbols else ""
        if name in _WHOLE:
            return len(node.args) == 1
        return name in _AS_GIVEN and len(node.args) > 1 and are_counts(*(arg.value for arg in node.args))
    if isinstance(node, cst.BinaryOperation):
        exact = isinstance(node.operator, cst.FloorDivide | cst.Multiply | cst.Add | cst.Subtract)
        return exact and are_counts(node.left, node.right)
    if isinstance(node, cst.Attribute) and _is_integer_option(node, facts, modules):
        return True
    return is_known(node) or _is_whole(node, facts)


def _is_integer_option(node: cst.Attribute, facts: Facts, modules: Sequence[Module]) -> bool:
    """Whether it is what the command line gives for an option that is declared as an integer, with a default."""
    if not is_option(node, facts):
        return False
    declared = [keywords(call) for _, call in declarations(node, modules) if not is_of_absl(call)]
    return bool(declared) and all(
        "type" in named
        and dotted(named["type"].value) == "int"
        and "default" in named
        and isinstance(named["default"].value, cst.Integer)
        for named in declared
    )
