"""Arguments of calls and parameters of functions, as their commas and columns were."""

from __future__ import annotations

from itertools import pairwise

import libcst as cst

from tfmigrate.plan.edits import (
    Arguments,
    Signature,
)


def narrowed_signature(function: cst.CSTNode, edit: Signature) -> cst.FunctionDef:
    """A function with these of its parameters alone, and those that are new."""
    assert isinstance(function, cst.FunctionDef)
    params = function.params
    space = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(whitespace_before=space, whitespace_after=space)
    new = [cst.Param(cst.Name(name), default=cst.Name("None"), equal=equal) for name in edit.added]
    plain = [*(param for param in params.params if param.name.value in edit.kept), *new]
    keyword_only = [param for param in params.kwonly_params if param.name.value in edit.kept]
    last = (keyword_only or plain)[-1:]
    plain, keyword_only = (
        [param.with_changes(comma=cst.MaybeSentinel.DEFAULT) if param in last else param for param in some]
        for some in (plain, keyword_only)
    )
    star = params.star_arg if keyword_only or isinstance(params.star_arg, cst.Param) else cst.MaybeSentinel.DEFAULT
    return function.with_changes(params=params.with_changes(params=plain, kwonly_params=keyword_only, star_arg=star))


def in_column(source: cst.Arg, keyword: str) -> cst.AssignEqual | cst.MaybeSentinel:
    """The `=` of an argument with a new keyword, where those of the lines round it stand under each other."""
    equal = source.equal
    if not isinstance(equal, cst.AssignEqual) or not isinstance(equal.whitespace_before, cst.SimpleWhitespace):
        return equal
    space = equal.whitespace_before.value
    if len(space) < 2 or source.keyword is None:
        return equal
    width = max(1, len(space) + len(source.keyword.value) - len(keyword))
    return equal.with_changes(whitespace_before=cst.SimpleWhitespace(" " * width))


def commas_of_dropped(edit: Arguments) -> dict[int, cst.Comma]:
    """Where arguments behind another are dropped: the comma of the last of them, unless its own ends a line."""
    places = {arg: number for number, arg in enumerate(edit.call.args)}
    stood = [places.get(argument.source, -1) if argument.source is not None else -1 for argument in edit.arguments]
    last_at = {}
    for position, (place, following) in enumerate(pairwise(stood)):
        if 0 <= place < following - 1:
            own, last = edit.call.args[place].comma, edit.call.args[following - 1].comma
            plain = isinstance(own, cst.Comma) and isinstance(own.whitespace_after, cst.SimpleWhitespace)
            if plain and isinstance(last, cst.Comma):
                last_at[position] = last
    return last_at
