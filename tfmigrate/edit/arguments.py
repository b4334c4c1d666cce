"""Arguments of calls and parameters of functions, as their commas and columns were."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise

import libcst as cst

from tfmigrate.plan.edits import Arguments, Signature
from tfmigrate.walk import comments_in, space_round


def narrowed_signature(function: cst.CSTNode, edit: Signature) -> cst.FunctionDef:
    """A function with these of its parameters alone, and those that are new."""
    assert isinstance(function, cst.FunctionDef)
    params = function.params
    space = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(whitespace_before=space, whitespace_after=space)
    new = [cst.Param(cst.Name(name), default=cst.Name("None"), equal=equal) for name in edit.added]
    by_place = [param for param in params.posonly_params if param.name.value in edit.kept]
    plain = [*(param for param in params.params if param.name.value in edit.kept), *new]
    keyword_only = [param for param in params.kwonly_params if param.name.value in edit.kept]
    last = (keyword_only or plain)[-1:]
    plain, keyword_only = (
        [param.with_changes(comma=cst.MaybeSentinel.DEFAULT) if param in last else param for param in some]
        for some in (plain, keyword_only)
    )
    star = params.star_arg if keyword_only or isinstance(params.star_arg, cst.Param) else cst.MaybeSentinel.DEFAULT
    slash = params.posonly_ind if by_place else cst.MaybeSentinel.DEFAULT
    if isinstance(slash, cst.ParamSlash):
        slash = slash.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    parts = {"posonly_params": by_place, "posonly_ind": slash, "params": plain, "kwonly_params": keyword_only}
    return function.with_changes(params=params.with_changes(**parts, star_arg=star))


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


def spaced(call: cst.Call, edit: Arguments, forgotten: Container[cst.CSTNode]) -> cst.Call:
    """A call whose arguments are those of an edit, where some are dropped: their comments, behind them and above them,
    are dropped too. Those of the arguments that stay are kept, and arguments that are comments, but for `forgotten`."""
    places = {arg: number for number, arg in enumerate(edit.call.args)}
    stood = [places.get(argument.source, -1) if argument.source is not None else -1 for argument in edit.arguments]
    spaces, args, before = space_round(edit.call), list(call.args), call.whitespace_before_args
    if not places:
        return call
    if not stood:
        return call.with_changes(whitespace_before_args=_all_gone(spaces, forgotten))
    if 0 < stood[0] == min(stood) and isinstance(before, cst.ParenthesizedWhitespace):
        before = _joined(spaces[: stood[0] + 1], forgotten)
    for position, (place, following) in enumerate(pairwise(stood)):
        if 0 <= place < following - 1:
            args[position] = _followed(args[position], _joined(spaces[place + 1 : following + 1], forgotten))
    if 0 <= stood[-1] < len(places) - 1 and isinstance(spaces[-1], cst.ParenthesizedWhitespace):
        args[-1] = _followed(args[-1], _joined(spaces[stood[-1] + 1 :], forgotten))
    return call.with_changes(args=args, whitespace_before_args=before)


def _joined(
    spaces: Sequence[cst.BaseParenthesizableWhitespace], forgotten: Container[cst.CSTNode]
) -> cst.BaseParenthesizableWhitespace:
    """One space instead of several: the line is ended as by the first, and the next one begins as after the last. A
    break among what is dropped goes too."""
    breaks = [space for space in spaces if isinstance(space, cst.ParenthesizedWhitespace)]
    inner = not any(isinstance(space, cst.ParenthesizedWhitespace) for space in (spaces[0], spaces[-1]))
    if not breaks or (inner and not any(map(comments_in, breaks))):
        return spaces[-1]
    staying = [
        line
        for space in breaks[:-1]
        for line in space.empty_lines
        if line.comment is not None and line.comment not in forgotten and _SWITCHED_OFF.match(line.comment.value)
    ]
    return breaks[-1].with_changes(first_line=breaks[0].first_line, empty_lines=[*staying, *breaks[-1].empty_lines])


_SWITCHED_OFF = re.compile(r"#\s*\w+\s*=(?!=)")
"""An argument that somebody has switched off: it stays among the others."""


def _all_gone(
    spaces: Sequence[cst.BaseParenthesizableWhitespace], forgotten: Container[cst.CSTNode]
) -> cst.BaseParenthesizableWhitespace:
    """The space between brackets that nothing is left in: one line, but for comments that stay."""
    space = _joined(spaces, forgotten)
    return space if comments_in(space) else cst.SimpleWhitespace("")


def _followed(arg: cst.Arg, space: cst.BaseParenthesizableWhitespace) -> cst.Arg:
    if isinstance(arg.comma, cst.Comma):
        return arg.with_changes(comma=arg.comma.with_changes(whitespace_after=space))
    return arg.with_changes(whitespace_after_arg=space)
