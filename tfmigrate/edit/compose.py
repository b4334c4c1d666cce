"""Builds expressions and lines from text and nodes: a node stands under a name that no text has, and is then put in."""

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
    text, filled = _with_holes(code, edited)
    return _expression(cst.parse_expression(text, config).visit(filled))


def composed_lines(
    code: str | Code, edited: Mapping[cst.CSTNode, cst.CSTNode], config: cst.PartialParserConfig
) -> list[cst.BaseStatement]:
    """The statements of a piece of code, without the blank lines between them; else as composed()."""
    text, filled = _with_holes((code,) if isinstance(code, str) else code, edited)
    module = cst.parse_module(text)
    found: list[cst.BaseStatement] = []
    for statement in module.body:
        one = cst.parse_statement(module.code_for_node(statement).strip("\n"), config).visit(filled)
        assert isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        found.append(one)
    return found


def _with_holes(code: Code, edited: Mapping[cst.CSTNode, cst.CSTNode]) -> tuple[str, _Filled]:
    """The text with a name for each node, and what puts the nodes in their places."""
    prefix = "hole_"
    while any(isinstance(part, str) and prefix in part for part in code):
        prefix += "_"
    names = [part if isinstance(part, str) else f"{prefix}{number}" for number, part in enumerate(code)]
    holes = {name: edited[part] for name, part in zip(names, code, strict=True) if not isinstance(part, str)}
    return "".join(names), _Filled(holes)


def _expression(node: object) -> cst.BaseExpression:
    assert isinstance(node, cst.BaseExpression)
    return node


class _Filled(cst.CSTTransformer):
    def __init__(self, holes: Mapping[str, cst.CSTNode]) -> None:
        super().__init__()
        self._holes = holes

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        node = self._holes.get(original_node.value)
        if node is None:
            return updated_node
        new = _expression(node.deep_clone())
        return new.with_changes(lpar=[*updated_node.lpar, *new.lpar], rpar=[*new.rpar, *updated_node.rpar])
