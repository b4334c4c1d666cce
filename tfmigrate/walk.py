"""Reading a LibCST tree fast. LibCST's own visitors rebuild every node on the way, which costs ten times as much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import libcst as cst

_Node = TypeVar("_Node", bound=cst.CSTNode)

_LAYOUT = frozenset(
    {
        "leading_lines", "lines_after_decorators", "lines_after_module_docstring", "header", "footer",
        "trailing_whitespace", "comma", "semicolon", "equal", "dot", "lpar", "rpar", "lbracket", "rbracket", "lbrace",
        "rbrace", "colon", "first_colon", "second_colon", "asterisk", "star", "newline",
    }
)  # fmt: skip


@cache
def _parts(kind: type[cst.CSTNode], layout: bool) -> Callable[[cst.CSTNode], tuple[Any, ...]]:
    """What reads the attributes of a node of this class, its parts among them, in one step."""
    names = [field.name for field in fields(kind) if field.name != "metadata" and field.type is not str]
    names = [n for n in names if layout or (n not in _LAYOUT and not n.startswith("whitespace"))]
    if len(names) > 1:
        return attrgetter(*names)
    if names:
        only = attrgetter(*names)
        return lambda node: (only(node),)
    return lambda node: ()


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What stands directly below a node, layout (commas, white space, comments) left out."""
    return _below(node, False)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in order of appearance, layout left out."""
    return _walk(node, False)


def comments_in(node: cst.CSTNode) -> list[str]:
    """The text of every comment in a node."""
    return [comment.value for comment in comments_of(node)]


def comments_of(node: cst.CSTNode) -> list[cst.Comment]:
    """Every comment in a node."""
    return nodes_in(node, cst.Comment, layout=True)


def space_behind(arg: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    """What stands behind an argument and its comma."""
    return arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg


def said_twice(choice: cst.CSTNode) -> Counter[str]:
    """The comments that stand word for word in both arms of an `if` or `try`: once is enough where they become one."""
    if isinstance(choice, cst.If) and isinstance(choice.orelse, cst.Else):
        return Counter(comments_in(choice.body)) & Counter(comments_in(choice.orelse.body))
    if isinstance(choice, cst.Try) and len(choice.handlers) == 1:
        tried = Counter(comments_in(choice.body))
        if choice.orelse is not None:
            tried += Counter(comments_in(choice.orelse.body))
        return tried & Counter(comments_in(choice.handlers[0].body))
    return Counter()


def space_round(call: cst.Call) -> list[cst.BaseParenthesizableWhitespace]:
    """What stands before the first argument of a call, between each two, and behind the last."""
    return [call.whitespace_before_args, *map(space_behind, call.args)]


_is_node: Callable[[Any], bool] = cache(lambda kind: issubclass(kind, cst.CSTNode))
"""Asked of a class, once, because isinstance on an abstract class is slow."""


def _walk(node: cst.CSTNode, layout: bool) -> Iterator[cst.CSTNode]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        below = _below(current, layout)
        below.reverse()
        pending.extend(below)


def _below(node: cst.CSTNode, layout: bool) -> list[cst.CSTNode]:
    below: list[cst.CSTNode] = []
    for value in _parts(type(node), layout)(node):
        kind = type(value)
        if kind is tuple or kind is list:
            for item in value:  # A loop of its own is faster than a generator for the few items that there are.
                if _is_node(type(item)):
                    below.append(item)
        elif _is_node(kind):
            below.append(value)
    return below


def nodes_in(node: cst.CSTNode, kind: type[_Node], layout: bool = False) -> list[_Node]:
    """Every node of one class in a tree, outer ones first, but not of its subclasses."""
    return [inner for inner in _walk(node, layout) if type(inner) is kind]


def words_in(*nodes: cst.CSTNode) -> set[str]:
    """Every word that is a name in a tree, or in several, an attribute's or a keyword's too."""
    return {name.value for node in nodes for name in nodes_in(node, cst.Name)}


def calls_in(node: cst.CSTNode) -> list[cst.Call]:
    """Every call in a tree, outer ones first."""
    return nodes_in(node, cst.Call)


def values_returned(node: cst.CSTNode) -> Iterator[cst.BaseExpression | None]:
    """What the code of a function returns itself, None for a bare `return`; functions and classes in it left out."""
    for part in children(node):
        if isinstance(part, cst.Return):
            yield part.value
        elif not isinstance(part, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            yield from values_returned(part)
