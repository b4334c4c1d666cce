"""The parameters that a function declares, without those that take what is left over."""

from __future__ import annotations

import libcst as cst


def positional(params: cst.Parameters) -> list[cst.Param]:
    """The parameters that can be passed by position, in order."""
    return [*params.posonly_params, *params.params]


def nameable(params: cst.Parameters) -> list[cst.Param]:
    """The parameters that a value can be passed for, by position or by name, in order."""
    return [*positional(params), *params.kwonly_params]


def first_parameter(function: cst.FunctionDef | cst.Lambda) -> str | None:
    """What a function calls its first argument, which is the object where it is a method."""
    return next((param.name.value for param in positional(function.params)), None)
