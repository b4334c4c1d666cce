"""Where a call of an Estimator stands: what its statement does with what it returns."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.syntax import dotted, index_of, sole_name
from tfmigrate.walk import walk


def is_statement(use: Use) -> bool:
    small = only_statement(use.site.unit)
    return isinstance(small, cst.Expr) and small.value is use.call


def target_of(use: Use) -> str | None:
    """The one variable that the result of a call is assigned to."""
    small = only_statement(use.site.unit)
    return sole_name(small) if isinstance(small, cst.Assign) and small.value is use.call else None


def comes_first(use: Use) -> bool:
    """Whether lines may be put before the statement of a call, for the call is the first that it does."""
    small = only_statement(use.site.unit)
    alone = isinstance(use.site.unit, cst.SimpleStatementLine)
    return alone and small is not None and _is_evaluated_first(small, use.call)


def _is_evaluated_first(small: cst.BaseSmallStatement, call: cst.Call) -> bool:
    """Whether nothing that a statement does comes before a call in it, and the call is made once and in any case."""
    node: cst.CSTNode | None = small.value if isinstance(small, cst.Assign | cst.Return | cst.Expr) else None
    while node is not None and node is not call:
        if isinstance(node, cst.Call):
            plain = bool(dotted(node.func))
            first = node.args[0] if node.args and plain else None
            node = first.value if first is not None else node.func
        elif isinstance(node, cst.Subscript | cst.Attribute):
            node = node.value
        elif isinstance(node, cst.Tuple | cst.List):
            node = node.elements[0].value if node.elements else None
        else:
            return False
    return node is call


def keys_read(tree: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str | None]]:
    """What is read by a key that is written out, and the key."""
    for node in walk(tree):
        index = index_of(node)
        if isinstance(node, cst.Subscript) and index is not None:
            yield node.value, text_of(index)
