"""Where each node of a tree stands in its text.

LibCST's PositionProvider builds three objects a node and visits the tree twice, which costs more than the parse; this
listens to the same code generator, and counts lines only when asked.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

_NEWLINE = re.compile(r"\r\n?|\n")
_NOTHING: AbstractContextManager[None] = nullcontext()


class Layout(CodegenState):
    """The pieces of text that a module is printed as, and the piece that each node begins with."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self._first: dict[cst.CSTNode, int] = {}
        module._codegen(self)

    def before_codegen(self, node: cst.CSTNode) -> None:
        """Called by LibCST: a node begins, the space before it included."""
        self._first[node] = len(self.tokens)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, **_: Any
    ) -> AbstractContextManager[None]:
        """Called by LibCST: the node itself begins, behind its leading lines, indentation and brackets."""
        self._first[node] = len(self.tokens)
        return _NOTHING

    @property
    def code(self) -> str:
        """The text that LibCST gives back for the module."""
        return "".join(self.tokens)

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line and column of a node, both counted from 1."""
        lines = _NEWLINE.split("".join(self.tokens[: self._first[node]]))
        return len(lines), len(lines[-1]) + 1
