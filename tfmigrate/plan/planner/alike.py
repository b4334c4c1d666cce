"""Choices whose two arms may read the same once they are edited: nothing is left to choose then."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Arguments, Branch, Collapse, Remove, Replace, Unwrap, of_kind
from tfmigrate.understand.purity import is_pure
from tfmigrate.walk import walk


def alike_when_edited(draft: Draft) -> Iterator[Collapse]:
    """Of each `if` with an `else` that an expression is edited in, and of each such conditional expression."""
    edited = {edit.node for edit in of_kind(draft.edits, Replace)}
    edited |= {edit.call for edit in of_kind(draft.edits, Arguments)}
    if not edited:
        return
    settled: set[cst.CSTNode] = {edit.unit for edit in of_kind(draft.edits, Unwrap)}
    settled |= {edit.unit for edit in of_kind(draft.edits, Branch)}
    settled |= {edit.node for edit in of_kind(draft.edits, Collapse)}
    settled |= {edit.node for edit in of_kind(draft.edits, Remove)}
    for node in draft.module.all_of(cst.If, cst.IfExp):
        if node in settled or node in edited or not is_pure(node.test):
            continue
        arms = _arms(node, draft)
        if arms is None or edited.isdisjoint(part for arm in arms for part in walk(arm)):
            continue
        if not arms[0].deep_equals(arms[1]):
            yield Collapse(node, whole=True)


def _arms(node: cst.If | cst.IfExp, draft: Draft) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    if isinstance(node, cst.IfExp):
        return node.body, node.orelse
    if isinstance(node.orelse, cst.Else) and node in draft.module.places:
        return node.body, node.orelse.body
    return None
