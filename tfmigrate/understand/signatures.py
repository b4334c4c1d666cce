"""Whether a call fits the signature of the function that it calls."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.parameters import positional
from tfmigrate.understand.values import Frame


def misfit(frame: Frame) -> str | None:
    """Why Python refuses the call of an activation, in words; None where it fits, or its arguments are unknown."""
    function, call = frame.function, frame.call_node
    if not isinstance(function, cst.FunctionDef) or call is None or any(arg.star for arg in call.args):
        return None
    method = frame.owner is not None
    if any(not _is_static(decorator) for decorator in function.decorators):
        return None
    # A method may be called on its object, or on the class with the object written out.
    problems = [_misfit(function.params, call, bound) for bound in ((0, 1) if method else (0,))]
    return None if None in problems else problems[-1]


def _is_static(decorator: cst.Decorator) -> bool:
    return isinstance(decorator.decorator, cst.Name) and decorator.decorator.value in ("staticmethod", "classmethod")


def _misfit(params: cst.Parameters, call: cst.Call, bound: int) -> str | None:
    """`bound`: the number of parameters that are given before those of the call."""
    declared = positional(params)
    given = sum(arg.keyword is None for arg in call.args) + bound
    named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    known = {param.name.value for param in (*params.params, *params.kwonly_params)}
    if given > len(declared) and not isinstance(params.star_arg, cst.Param):
        return f"it passes {given - bound} positional arguments, but at most {len(declared) - bound} are accepted"
    unknown = sorted(named - known)
    if unknown and params.star_kwarg is None:
        return f"it has no parameter `{unknown[0]}`"
    twice = sorted(named & {param.name.value for param in declared[:given]})
    if twice and twice[0] in known:
        return f"it passes `{twice[0]}` twice"
    required = (param for param in (*declared[given:], *params.kwonly_params) if param.default is None)
    missing = [param.name.value for param in required if param.name.value not in named]
    return f"it does not pass `{missing[0]}`" if missing else None
