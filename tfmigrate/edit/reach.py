"""Which nodes of a program edits reach: all others stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan.edits import Arguments, Branch, Collapse, Edit, Insert, Move, Scope, Signature, Unwrap
from tfmigrate.walk import children


def edited(edits: Sequence[Edit]) -> Iterator[cst.CSTNode]:
    """The nodes that the edits speak of."""
    for edit in edits:
        if isinstance(edit, Scope):
            yield from edit.units
        elif isinstance(edit, Insert):
            yield from (edit.before, *edit.comments_of)
        elif isinstance(edit, Move):
            yield from (*edit.units, edit.before)
        elif isinstance(edit, Unwrap):
            yield from (edit.unit, *([edit.suite] if edit.suite is not None else ()))
        elif isinstance(edit, Branch):
            yield from (edit.unit, edit.body, *([edit.orelse] if edit.orelse is not None else ()))
        elif isinstance(edit, Collapse):
            yield from (edit.node, edit.node.body)  # which may take the place of the whole
        elif isinstance(edit, Signature):
            yield edit.function
        else:
            yield edit.call if isinstance(edit, Arguments) else edit.node


def reached(tree: cst.CSTNode, edited: set[cst.CSTNode]) -> set[cst.CSTNode]:
    """The edited nodes and all on the way to them from the module: the rest stays as it is."""
    touched: set[cst.CSTNode] = set()

    def mark(node: cst.CSTNode) -> bool:
        below = [mark(child) for child in children(node)]
        if node in edited or any(below):
            touched.add(node)
        return node in touched

    mark(tree)
    return touched
