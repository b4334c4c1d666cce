"""The names of files that are put together of several pieces, with `*` for each piece that is known when they run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from string import Formatter

import libcst as cst

from tfmigrate.file_names import shape_of
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.change.paths import Paths
from tfmigrate.understand.module import Module

_MOST = 16
"""The most names that a path is followed as; with more it is unknown."""
_UNKNOWN = ("*",)
_Seen = frozenset[cst.CSTNode]


@dataclass(frozen=True, eq=False)
class PathShapes:
    """Reads the texts that paths are made of."""

    paths: Paths

    def names(self, path: cst.BaseExpression, module: Module) -> frozenset[str]:
        """What a path may be: `*/best*.h5`."""
        return frozenset(re.sub(r"\*+", "*", text) for text in self._texts(path, module, frozenset()))

    def _texts(self, node: cst.BaseExpression | None, module: Module, seen: _Seen) -> Sequence[str]:
        if node is None or node in seen:
            return _UNKNOWN
        seen |= {node}
        pieces = self._pieces(node, module)
        if pieces is not None:
            each = [[piece] if isinstance(piece, str) else self._texts(piece, module, seen) for piece in pieces]
            texts = list(islice(product(*each), _MOST + 1))
            return _UNKNOWN if len(texts) > _MOST else ["".join(parts) for parts in texts]
        if not isinstance(node, cst.Name | cst.Attribute | cst.IfExp | cst.BooleanOperation):
            return _UNKNOWN
        added = self.paths.added(node, module)
        if added is not None:
            return [f"*{text}" for text in self._texts(added, module, seen)]
        found = dict.fromkeys(
            text for part, place in self.paths.stands_for(node, module) for text in self._texts(part, place, seen)
        )
        return [*found] if len(found) <= _MOST else _UNKNOWN

    def _pieces(self, node: cst.BaseExpression, module: Module) -> Sequence[str | cst.BaseExpression] | None:
        """What a text is put together of; None for what is no such text."""
        text = text_of(node)
        if text is not None:
            return [shape_of(text)]
        if isinstance(node, cst.FormattedString):
            return [*_of_f_string(node)]
        if isinstance(node, cst.ConcatenatedString):
            return [node.left, node.right]
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.Add):
                return [node.left, node.right]
            if isinstance(node.operator, cst.Divide):
                return [node.left, "/", node.right]
            return _filled(text_of(node.left), node.right) if isinstance(node.operator, cst.Modulo) else None
        return self._of_call(node, module) if isinstance(node, cst.Call) else None

    def _of_call(self, call: cst.Call, module: Module) -> Sequence[str | cst.BaseExpression] | None:
        called = self.paths.facts[module].called(call)
        plain = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if called in ("os.path.join", "pathlib.Path") and len(plain) == len(call.args):
            return [*_between(plain)]
        if isinstance(call.func, cst.Name) and call.func.value == "str" and len(plain) == 1:
            return plain
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "format":
            return _formatted(text_of(call.func.value), call)
        return None


def _between(parts: Iterable[cst.BaseExpression]) -> Iterator[str | cst.BaseExpression]:
    for number, part in enumerate(parts):
        if number:
            yield "/"
        yield part


def _of_f_string(node: cst.FormattedString) -> Iterator[str | cst.BaseExpression]:
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            yield shape_of(part.value.replace("{{", "{").replace("}}", "}"))
        elif isinstance(part, cst.FormattedStringExpression):
            plain = part.format_spec is None and part.conversion is None
            yield part.expression if plain else "*"


def _filled(text: str | None, right: cst.BaseExpression) -> Sequence[str | cst.BaseExpression] | None:
    """`'%s/%s.h5' % (folder, name)`"""
    if text is None:
        return None
    filled = [element.value for element in right.elements] if isinstance(right, cst.Tuple) else [right]
    literal = re.split(r"%s", text)
    if len(literal) != len(filled) + 1 or any("%" in part for part in literal):
        return [shape_of(text)]
    between = (piece for pair in zip(filled, literal[1:], strict=True) for piece in pair)
    return [literal[0], *between]


def _formatted(text: str | None, call: cst.Call) -> Sequence[str | cst.BaseExpression] | None:
    """`'{}/{name}.h5'.format(folder, name=name)`"""
    if text is None or any(arg.star for arg in call.args):
        return None
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    given |= {str(n): arg.value for n, arg in enumerate(arg for arg in call.args if arg.keyword is None)}
    pieces: list[str | cst.BaseExpression] = []
    count = 0
    try:
        for literal, name, spec, conversion in Formatter().parse(text):
            pieces.append(shape_of(literal))
            if name is not None:
                value = given.get(name or str(count))
                count += name == ""
                pieces.append("*" if value is None or spec or conversion else value)
    except ValueError:  # a brace on its own
        return [shape_of(text)]
    return pieces
