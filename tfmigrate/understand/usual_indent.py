"""Which indentation is usual in a file, for what is written into it: LibCST takes the first that it meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import libcst as cst


def with_usual_indent(tree: cst.Module, blocks: Iterable[cst.CSTNode]) -> cst.Module:
    """The tree with the indentation of most of its blocks as its own; `blocks`: all of them."""
    indents = Counter(_indent(block, tree) for block in blocks if isinstance(block, cst.IndentedBlock))
    most = max(indents.values(), default=0)
    if indents[tree.default_indent] == most:
        return tree
    usual = next(indent for indent, count in indents.items() if count == most)
    changed = tree.visit(_Written(tree, usual))
    assert isinstance(changed, cst.Module)
    return changed.with_changes(default_indent=usual)


def _indent(block: cst.IndentedBlock, tree: cst.Module) -> str:
    return tree.default_indent if block.indent is None else block.indent


class _Written(cst.CSTTransformer):
    """Gives each block the indentation that it has, and leaves it out where it is the usual one."""

    def __init__(self, tree: cst.Module, usual: str) -> None:
        super().__init__()
        self._tree, self._usual = tree, usual

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        indent = _indent(original_node, self._tree)
        return updated_node.with_changes(indent=None if indent == self._usual else indent)
