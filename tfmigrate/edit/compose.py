"""Builds an expression from text and nodes: each node stands under a name that no text has, and is put in its place."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan.edits import Code


def composed(
    code: str | Code, edited: Mapping[cst.CSTNode, cst.CSTNode], config: cst.PartialParserConfig
) -> cst.BaseExpression:
    """The expression; `edited` has what each node of it has become."""
    if isinstance(code, str):
        return cst.parse_expression(code, config)
    if len(code) == 1 and not isinstance(code[0], str):
        return _expression(edited[code[0]])
    prefix = "hole_"
    while any(isinstance(part, str) and prefix in part for part in code):
        prefix += "_"
    holes = {f"{prefix}{number}": part for number, part in enumerate(code) if not isinstance(part, str)}
    names = {part: name for name, part in holes.items()}
    text = "".join(part if isinstance(part, str) else names[part] for part in code)
    filled = cst.parse_expression(text, config).visit(_Filled({name: edited[part] for name, part in holes.items()}))
    return _expression(filled)


def _expression(node: object) -> cst.BaseExpression:
    assert isinstance(node, cst.BaseExpression)
    return node


class _Filled(cst.CSTTransformer):
    def __init__(self, holes: Mapping[str, cst.CSTNode]) -> None:
        super().__init__()
        self._holes = holes

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        node = self._holes.get(original_node.value)
        return updated_node if node is None else _expression(node.deep_clone())
