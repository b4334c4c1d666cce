"""What both arms of an `if` begin or end with, which can stand above or below it once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.edit.align import dedented
from tfmigrate.edit.lines import (
    Pieces,
    blank_lines,
    comment_lines,
    either_lines,
    keep_comments,
    led,
    lines_above,
    statements_of,
)


def read_alike(node: cst.CSTNode, other: cst.CSTNode, tree: cst.Module) -> bool:
    """Whether two arms read the same, but for space at the end of lines."""
    texts = (tree.code_for_node(arm).rstrip().splitlines() for arm in (node, other))
    first, second = ([line.rstrip() for line in lines] for lines in texts)
    return first == second


def begin_and_end_alike(choice: cst.CSTNode, tree: cst.Module) -> tuple[int, int]:
    """How many statements the two arms of an `if` begin with, and end with, that read the same."""
    if not isinstance(choice, cst.If) or not isinstance(choice.orelse, cst.Else):
        return 0, 0
    body, other = statements_of(choice.body), statements_of(choice.orelse.body)
    alike = [[read_alike(led(one, []), led(two, []), tree) for one, two in pairs]
             for pairs in (zip(body, other), zip(body[::-1], other[::-1]))]  # fmt: skip
    first, last = ((*same, False).index(False) for same in alike)
    return first, last


def with_comments_of(pieces: Pieces, other: Pieces, tree: cst.Module) -> Pieces:
    """The statements of an arm, with the comments above those of another one that goes, if all of them read alike."""
    if len(pieces) != len(other) or not all(
        read_alike(led(one, []), led(two, []), tree) for one, two in zip(pieces, other, strict=True)
    ):
        return pieces
    lines = [either_lines(lines_above(one), lines_above(two)) for one, two in zip(pieces, other, strict=True)]
    return [led(one, above) for one, above in zip(pieces, lines, strict=True)]


@dataclass(frozen=True)
class Arms:
    """A statement whose two arms are compared."""

    tree: cst.Module
    indent: str
    """How much deeper the arms stand."""
    leading: Sequence[cst.EmptyLine]
    """The lines above the statement."""
    comments: Sequence[str]
    """Its comments, none of which is lost."""
    alike: tuple[int, int] = (0, 0)
    """How many statements both arms began and ended with before they were edited: these alone are no reason."""

    def first_taken_out(self, choice: cst.If, orelse: cst.Else) -> Pieces:
        """What both arms begin with, and an `if` for the rest."""
        body, other = statements_of(choice.body), statements_of(orelse.body)
        common = 0
        while common < min(len(body), len(other)) and read_alike(body[common], other[common], self.tree):
            common += 1
        if common <= self.alike[0] or common == len(body):
            return [choice]
        above = [dedented(piece, self.indent) for piece in body[:common]]
        above[0] = led(above[0], [*self.leading, *comment_lines(lines_above(above[0]))])
        rest = [led(body[common], comment_lines(lines_above(body[common]))), *body[common + 1 :]]
        tail = None
        if len(other) > common:
            tail = orelse.with_changes(body=orelse.body.with_changes(body=other[common:]))
        left = choice.with_changes(body=choice.body.with_changes(body=rest), orelse=tail)
        return keep_comments(self.comments, [*above, led(left, blank_lines(lines_above(body[common])))])

    def last_taken_out(self, pieces: Pieces) -> Pieces:
        """The same with what both arms end with below the `if`, which is the last of these pieces."""
        *above, choice = pieces
        if not isinstance(choice, cst.If) or not isinstance(choice.orelse, cst.Else):
            return pieces
        body, other = statements_of(choice.body), statements_of(choice.orelse.body)
        common = 0
        while common < min(len(body) - 1, len(other)) and read_alike(
            led(body[-common - 1], []), led(other[-common - 1], []), self.tree
        ):
            common += 1
        if common <= self.alike[1]:
            return pieces
        below = [
            led(one, either_lines(lines_above(one), lines_above(two)))
            for one, two in zip(body[-common:], other[-common:], strict=True)
        ]
        tail = None
        if len(other) > common:
            tail = choice.orelse.with_changes(body=choice.orelse.body.with_changes(body=other[:-common]))
        left = choice.with_changes(body=choice.body.with_changes(body=body[:-common]), orelse=tail)
        return [*above, left, *(dedented(piece, self.indent) for piece in below)]
