"""Brackets round what is put into an expression, where it would be torn apart without them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar

import libcst as cst

_Key = TypeVar("_Key")
_Built = TypeVar("_Built", bound=cst.CSTNode)
_WHOLE = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString,
    cst.List, cst.Set, cst.Dict, cst.ListComp, cst.SetComp, cst.DictComp,
)  # fmt: skip
"""What stands together by itself."""


def is_whole(node: cst.BaseExpression) -> bool:
    """Whether nothing that stands beside an expression can tear it apart."""
    return isinstance(node, _WHOLE) or bool(node.lpar)


def in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()])


def filled(fill: Callable[[Mapping[_Key, cst.BaseExpression]], _Built], parts: Mapping[_Key, cst.BaseExpression]) -> (
    _Built
):  # fmt: skip
    """What `fill` makes of the parts, with brackets round those alone that would mean something else without."""
    loose = [key for key, part in parts.items() if not is_whole(part)]
    if not loose:
        return fill(parts)
    chosen = {**parts, **{key: in_brackets(parts[key]) for key in loose}}
    meant = _meaning(fill(chosen))
    bare = fill(parts)
    if _meaning(bare) == meant:
        return bare
    for key in loose:
        fewer = {**chosen, key: parts[key]}
        chosen = fewer if _meaning(fill(fewer)) == meant else chosen
    return fill(chosen)


def _meaning(node: cst.CSTNode) -> str | None:
    """What Python reads, whatever it looks like; None for what it cannot read."""
    try:
        return ast.dump(ast.parse(cst.Module([]).code_for_node(node).strip()))
    except SyntaxError:
        return None
