"""Expressions of the program as they are written at another place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Union

import libcst as cst

from tfmigrate import brackets
from tfmigrate.walk import children, walk

Code = tuple[Union[str, cst.BaseExpression, "Changed"], ...]
"""An expression, or lines, to write: text, and nodes of the program between it, which are put in as they are once
edited. Where a node goes is its place in the tuple; nothing is searched for in the text, which may hold the user's own
code."""


def as_operand(node: cst.BaseExpression) -> Code:
    """An expression where an operator or a method follows it: in brackets unless it is one piece."""
    one_piece = isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.FormattedString)
    return (node,) if one_piece else ("(", node, ")")


@dataclass(frozen=True)
class Changed:
    """An expression of the program, with others in the place of some of its parts."""

    node: cst.BaseExpression
    parts: tuple[tuple[cst.BaseExpression, Written], ...]


@dataclass(frozen=True)
class Written:
    """An expression to write. Two that read the same are the same, wherever they were found."""

    text: str
    """What it reads while nothing else is done to the nodes in it."""
    code: Code = field(compare=False)

    @classmethod
    def of(cls, *parts: str | Written | cst.BaseExpression) -> Written:
        """Text, and expressions of the program and written ones, one behind the other."""
        whole = [cls.at(part) if isinstance(part, cst.BaseExpression) else part for part in parts]
        code = (piece for part in whole for piece in ((part,) if isinstance(part, str) else part.code))
        return cls("".join(part if isinstance(part, str) else part.text for part in whole), tuple(code))

    @classmethod
    def joined(cls, parts: Iterable[str | Written], between: str) -> Written:
        """Pieces with the same text between them."""
        pieces = [piece for part in parts for piece in (between, part)]
        return cls.of(*pieces[1:])

    @classmethod
    def at(
        cls, node: cst.BaseExpression, parts: Mapping[cst.BaseExpression, Written] = MappingProxyType({})
    ) -> Written:
        """An expression of the program, with others in the place of some of its parts."""
        if node in parts:
            return parts[node]
        below = set(walk(node)) if parts else set()
        inside = {part: new for part, new in parts.items() if part in below}
        if not inside:
            return cls(_text(node), (node,))
        trees = {part: new.tree for part, new in inside.items()}
        tree = brackets.filled(lambda given: _replaced(node, given), trees)
        return cls(_text(tree), (Changed(node, tuple(inside.items())),))

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        """For messages. What is written into a file is made with of(), so that other edits in it are composed."""
        return self.text

    @cached_property
    def tree(self) -> cst.BaseExpression:
        """The expression. Raises cst.ParserSyntaxError for what is none."""
        try:
            return cst.parse_expression(self.text.strip())
        except cst.ParserSyntaxError:
            return cst.parse_expression(f"({self.text})")  # over several lines

    def apart(self) -> Written:
        """The same, without what is done to the expression as a whole where it stands."""
        first, *others = self.code
        if isinstance(first, Changed):
            first = Changed(first.node.with_changes(), first.parts)
        elif not isinstance(first, str):
            first = first.with_changes()
        return Written(self.text, (first, *others))

    def part(self, name: str) -> Written | None:
        """One operand, by its path in LibCST's tree; None where the expression is put together of several."""
        piece = self.code[0] if len(self.code) == 1 else ""
        if isinstance(piece, str):
            return None
        node, parts = (piece.node, dict(piece.parts)) if isinstance(piece, Changed) else (piece, {})
        below: Any = node
        for step in name.split("."):
            below = below[int(step)] if step.isdecimal() else getattr(below, step)
        return Written.at(below, parts)


def shown(code: Code) -> str:
    """What a piece of code reads while nothing else is done to the nodes in it."""
    texts = (part if isinstance(part, str) else _shown(part) for part in code)
    return "".join(texts)


def _shown(part: cst.BaseExpression | Changed) -> str:
    return Written.at(part.node, dict(part.parts)).text if isinstance(part, Changed) else _text(part)


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _replaced(
    node: cst.BaseExpression, replacements: Mapping[cst.BaseExpression, cst.BaseExpression]
) -> cst.BaseExpression:
    replaced = node.visit(_Replacing(replacements))
    assert isinstance(replaced, cst.BaseExpression)
    return replaced


class _Replacing(cst.CSTTransformer):
    def __init__(self, replacements: Mapping[cst.BaseExpression, cst.BaseExpression]) -> None:
        super().__init__()
        self._given = replacements

    # libcst's own dispatch goes by class; these go by node.
    def on_visit(self, node: cst.CSTNode) -> bool:
        return node not in self._given

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        return self._given.get(original_node, updated_node)  # type: ignore[call-overload, no-any-return]


def nodes_of(code: str | Code) -> tuple[cst.BaseExpression, ...]:
    """The nodes of the program that stand in a piece of code."""
    return () if isinstance(code, str) else tuple(_nodes(code))


def _nodes(code: Code) -> Iterator[cst.BaseExpression]:
    for part in code:
        if isinstance(part, Changed):
            new = dict(part.parts)
            yield from _without(part.node, new.keys())
            for replacement in new.values():
                yield from _nodes(replacement.code)
        elif not isinstance(part, str):
            yield part


def _without(node: cst.CSTNode, changed: Set[cst.CSTNode]) -> Iterator[cst.BaseExpression]:
    """The largest expressions in a node that hold nothing of what is changed."""
    if isinstance(node, cst.BaseExpression) and changed.isdisjoint(walk(node)):
        yield node
    elif node not in changed:
        for child in children(node):
            yield from _without(child, changed)


def text_of(code: str | Code) -> str:
    """A piece of code without the nodes of the program in it."""
    return code if isinstance(code, str) else "\0".join(_texts(code))


def _texts(code: Code) -> Iterator[str]:
    for part in code:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Changed):
            for _, new in part.parts:
                yield from _texts(new.code)


def listed(codes: Iterable[Code]) -> Code:
    """Pieces of code with commas between them."""
    return joined(codes, ", ")


def joined(codes: Iterable[str | Code], separator: str) -> Code:
    """Pieces of code with the same text between them."""
    pieces: list[str | cst.BaseExpression | Changed] = []
    for number, code in enumerate(codes):
        pieces.extend(((separator,) if number else ()) + ((code,) if isinstance(code, str) else code))
    return tuple(pieces)
