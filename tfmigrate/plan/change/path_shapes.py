"""The names of files that are put together of several pieces, with `*` for each piece that is known when they run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product

import libcst as cst

from tfmigrate.plan.change.paths import Paths
from tfmigrate.plan.change.text_pieces import Fixed, pieces_of
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
        pieces = pieces_of(node, self.paths.facts[module])
        if pieces is not None:
            each = [[part.shape] if isinstance(part, Fixed) else self._texts(part, module, seen) for part in pieces]
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
