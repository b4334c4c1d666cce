"""Which nodes of a program edits reach: all others stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from tfmigrate.plan.edits import Arguments, Branch, Edit, Insert, Move, Scope, Signature, Unwrap, codes_of
from tfmigrate.walk import children, walk
from tfmigrate.written import nodes_of


def carried(edits: Iterable[Edit]) -> Iterator[cst.BaseExpression]:
    """The nodes of the program that stand in what edits write."""
    for edit in edits:
        for code in codes_of(edit):
            yield from nodes_of(code)


def edited(edits: Sequence[Edit]) -> Iterator[cst.CSTNode]:
    """The nodes that the edits speak of."""
    for edit in edits:
        if isinstance(edit, Scope):
            yield from edit.units
        elif isinstance(edit, Insert):
            yield from (edit.before, *edit.comments_of)
        elif isinstance(edit, Move):
            yield from (*edit.units, edit.before)
        elif isinstance(edit, Unwrap | Branch):
            yield edit.unit
        elif isinstance(edit, Signature):
            yield edit.function
        else:
            yield edit.call if isinstance(edit, Arguments) else edit.node


def reached(tree: cst.CSTNode, edited: set[cst.CSTNode]) -> set[cst.CSTNode]:
    """All nodes on the way from the module to an edited one, and all below it: the rest stays as it is."""
    touched: set[cst.CSTNode] = set()

    def mark(node: cst.CSTNode) -> bool:
        if node in edited:
            touched.update(walk(node))
            return True
        below = [mark(child) for child in children(node)]
        if any(below):
            touched.add(node)
        return any(below)

    mark(tree)
    return touched
