"""`np.array([[1, 2], [3]])`: NumPy made an array of objects of parts that differ, and refuses them since 1.24."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.shapes_of_arrays import Parts
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import assigned, explicit
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import root_name
from tfmigrate.understand.values import FunctionValue, function_of
from tfmigrate.walk import values_returned

_MESSAGE = "its parts differ in shape: NumPy used to make an array of objects, and raises ValueError since 1.24"
_PADDED = (
    "these sequences differ in length before padding: NumPy used to make an array of objects, and raises ValueError "
    "since 1.24"
)
_RETURNED = (
    "this function may return different shapes for the rows: NumPy used to make an array of objects, and raises "
    "ValueError since 1.24"
)
_ARRAYS = frozenset({"numpy.array", "numpy.asarray", "numpy.asanyarray"})


@dataclass(frozen=True)
class _Taker:
    """A function of NumPy that makes an array of what it is given."""

    parameters: tuple[str, ...]
    taken: tuple[str, ...]


_TAKERS = {
    "numpy.save": _Taker(("file", "arr"), ("arr",)),
    "numpy.mean": _Taker(("a",), ("a",)),
    "numpy.sum": _Taker(("a",), ("a",)),
    "numpy.average": _Taker(("a",), ("a",)),
    "numpy.random.permutation": _Taker(("x",), ("x",)),
}


def check(context: Context) -> Iterator[CallChange]:
    """`dtype=object` where the parts surely differ, or are padded to one length afterwards."""
    facts, scopes = context.facts, context.scopes
    parts = Parts(facts, scopes)
    padded = set(_padded(facts, scopes))
    for call in facts.module.calls:
        name = facts.called(call)
        if not name.startswith("numpy.") or has_stars(call):
            continue
        if name in _ARRAYS:
            given = dict(explicit(call.args, ("object", "dtype")))
            if "object" not in given or "dtype" in given:
                continue
            differ = parts.differ(given["object"].value)
            if differ or call in padded:
                edit = Revision(call, set=(("dtype", "object"),))
                yield CallChange(codes.RAGGED_ARRAYS, call, _MESSAGE if differ else _PADDED, edit)
        elif name in _TAKERS and (numpy := root_name(call.func)) is not None and numpy is not call.func:
            taker = _TAKERS[name]
            for word, argument in explicit(call.args, taker.parameters):
                if word in taker.taken and parts.differ(argument.value):
                    code = (f"{numpy.value}.array(", argument.value, ", dtype=object)")
                    yield CallChange(codes.RAGGED_ARRAYS, argument.value, _MESSAGE, Replace(argument.value, code))
    yield from _along_an_axis(context)


def _along_an_axis(context: Context) -> Iterator[CallChange]:
    """`np.apply_along_axis(f, 1, rows)`, where f returns several arrays: `lambda row: array_of(f(row))`."""
    helper, changes = Helper.of(context.draft, "array_of"), []
    for call in context.facts.module.calls:
        if context.facts.called(call) != "numpy.apply_along_axis" or has_stars(call):
            continue
        given = dict(explicit(call.args, ("func1d", "axis", "arr")))
        if len(call.args) != 3 or given.keys() != {"func1d", "axis", "arr"}:
            continue
        function = given["func1d"].value
        functions = [function_of(option) for option in context.facts.options(function)]
        if functions and all(one is not None and _returns_unlike_arrays(one, context) for one in functions):
            code = ("lambda row: ", f"{helper}(", function, "(row))")
            changes.append(CallChange(codes.RAGGED_ARRAYS, function, _RETURNED, Replace(function, code)))
    yield from helper.brought_by([change.node for change in changes], changes)


def _returns_unlike_arrays(function: FunctionValue, context: Context) -> bool:
    """Whether it always returns a tuple of arrays, whose lengths are not known to be the same."""
    module = function.closure.module
    if not isinstance(function.node, cst.FunctionDef) or module not in context.migration.drafts:
        return False
    parts = Parts(context.modules[module], context.migration.scopes_of(module))
    returned = list(values_returned(function.node.body))
    return bool(returned) and all(isinstance(v, cst.Tuple | cst.List) and parts.may_differ(v) for v in returned)


def _padded(facts: Facts, scopes: Scopes) -> Iterator[cst.BaseExpression]:
    """What the program gives to pad_sequences(), and what a variable was set to just before."""
    for call in facts.module.calls:
        if not facts.canonical(call.func).endswith(".pad_sequences"):
            continue
        given = dict(explicit(call.args, ("sequences",))).get("sequences")
        if given is None:
            continue
        yield given.value
        if isinstance(given.value, cst.Name) and (occurrence := scopes.occurrence(given.value)) is not None:
            yield from _set_before(occurrence, scopes)


def _set_before(read: Occurrence, scopes: Scopes) -> Iterator[cst.BaseExpression]:
    """What the statement above that mentions a variable last sets it to."""
    mentions = scopes.of_variable(read.node.value, read.scope) if isinstance(read.node, cst.Name) else []
    before = [mention for mention in mentions[: mentions.index(read)] if mention.unit is not read.unit]
    for mention in before:
        if mention.binds and mention.unit is before[-1].unit and (value := assigned(mention)) is not None:
            yield value
