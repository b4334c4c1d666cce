"""Where each node of a tree stands in its text.

LibCST's PositionProvider builds three objects a node and visits the tree twice, which costs more than the parse; this
listens to the same code generator, and counts lines only when asked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import accumulate
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

    @cached_property
    def code(self) -> str:
        """The text that LibCST gives back for the module."""
        return "".join(self.tokens)

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Line and column of a node, both counted from 1."""
        offset = self._offsets[self._first[node]]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """Where each piece begins in the text, and where the last one ends."""
        return list(accumulate(map(len, self.tokens), initial=0))

    @cached_property
    def _lines(self) -> Sequence[int]:
        """Where each line begins in the text."""
        return [0, *(end.end() for end in _NEWLINE.finditer(self.code))]
