"""What a text is put together of: by `+`, `%`, format(), an f-string, str(), or as a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from string import Formatter

import libcst as cst

from tfmigrate.file_names import shape_of
from tfmigrate.plan.change.calls import text_of
from tfmigrate.understand.lifecycle import Facts

_FILLED = re.compile(r"%(?P<name>\(\w*\))?(?P<flags>[-#0 +]*[*\d]*(?:\.[*\d]+)?)[hlL]?(?P<kind>.)", re.DOTALL)


@dataclass(frozen=True)
class Fixed:
    """A part that the program does not pass as a whole."""

    shape: str
    """Its text, with `*` for what is formatted."""
    node: cst.BaseExpression
    """The literal that holds it."""


Piece = Fixed | cst.BaseExpression


def pieces_of(node: cst.BaseExpression, facts: Facts) -> Sequence[Piece] | None:
    """The pieces of a text in order; None for what is no such text."""
    text = text_of(node)
    if text is not None:
        return [Fixed(shape_of(text), node)]
    if isinstance(node, cst.FormattedString):
        return [*_of_f_string(node)]
    if isinstance(node, cst.ConcatenatedString):
        return [node.left, node.right]
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, cst.Add):
            return [node.left, node.right]
        if isinstance(node.operator, cst.Divide):
            return [node.left, Fixed("/", node), node.right]
        return _filled(node.left, node.right) if isinstance(node.operator, cst.Modulo) else None
    return _of_call(node, facts) if isinstance(node, cst.Call) else None


def _of_call(call: cst.Call, facts: Facts) -> Sequence[Piece] | None:
    if call.args and facts.called(call) in ("os.path.join", "pathlib.Path"):
        parts = [Fixed("*", call) if arg.star or arg.keyword is not None else arg.value for arg in call.args]
        return [piece for part in parts for piece in (Fixed("/", call), part)][1:]
    if len(call.args) == 1 and isinstance(call.func, cst.Name) and call.func.value == "str":
        return [call.args[0].value]
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "format":
        return _formatted(call.func.value, call.args)
    return None


def _of_f_string(node: cst.FormattedString) -> Iterator[Piece]:
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            yield Fixed(shape_of(part.value.replace("{{", "{").replace("}}", "}")), node)
        elif isinstance(part, cst.FormattedStringExpression):
            plain = part.format_spec is None and part.conversion is None
            yield part.expression if plain else Fixed("*", node)


def _filled(template: cst.BaseExpression, right: cst.BaseExpression) -> Sequence[Piece]:
    """`'%s/%s.h5' % (folder, name)`"""
    text = text_of(template)
    if text is None:
        return [template]
    values = [element.value for element in right.elements] if isinstance(right, cst.Tuple) else [right]
    gaps = [gap for gap in _FILLED.finditer(text) if gap["kind"] != "%"]
    in_order = not any(gap["name"] or "*" in gap["flags"] for gap in gaps) and len(gaps) == len(values)
    if not in_order:
        return [Fixed(shape_of(text), template)]
    pieces: list[Piece] = []
    starts = [0, *(gap.end() for gap in gaps)]
    ends = [*(gap.start() for gap in gaps), len(text)]
    filled = [*(value if gap[0] == "%s" else Fixed("*", template) for gap, value in zip(gaps, values, strict=True))]
    for start, end, piece in zip_longest(starts, ends, filled):
        literal = text[start:end].replace("%%", "%")
        pieces += [Fixed(shape_of(literal), template)] if literal else []
        pieces += [piece] if piece is not None else []
    return pieces


def _formatted(template: cst.BaseExpression, args: Sequence[cst.Arg]) -> Sequence[Piece]:
    """`'{}/{name}.h5'.format(folder, name=name)`"""
    text = text_of(template)
    if text is None:
        return [template]
    given = {arg.keyword.value: arg.value for arg in args if arg.keyword is not None}
    given |= {str(n): arg.value for n, arg in enumerate(arg for arg in args if arg.keyword is None)}
    pieces: list[Piece] = []
    count = 0
    try:
        for literal, name, spec, conversion in Formatter().parse(text):
            if literal:
                pieces.append(Fixed(shape_of(literal), template))
            if name is not None:
                value = given.get(name or str(count))
                count += name == ""
                unknown = value is None or spec or conversion or any(arg.star for arg in args)
                pieces.append(Fixed("*", template) if value is None or unknown else value)
    except ValueError:  # a brace on its own
        return [Fixed(shape_of(text), template)]
    return pieces
