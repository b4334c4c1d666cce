"""Builds expressions and lines from text and nodes: a node stands under a name that no text has, and is then put in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

import libcst as cst

from tfmigrate.brackets import filled
from tfmigrate.written import Changed, Code

Edited = Mapping[cst.CSTNode | Changed, cst.CSTNode]
"""What the nodes of the program, and those with other parts, have become."""


def composed(code: str | Code, edited: Edited, config: cst.PartialParserConfig) -> cst.BaseExpression:
    """The expression; `edited` has what each node of it has become."""
    if isinstance(code, str):
        return cst.parse_expression(code, config)
    if len(code) == 1 and not isinstance(code[0], str):
        return _expression(edited[code[0]])
    text, holes = _with_holes(code, edited)
    tree = cst.parse_expression(text, config)
    return filled(lambda parts: _expression(tree.visit(_Filled(parts))), holes)


def composed_lines(code: str | Code, edited: Edited, config: cst.PartialParserConfig) -> list[cst.BaseStatement]:
    """The statements of a piece of code, without the blank lines between them; else as composed()."""
    text, holes = _with_holes((code,) if isinstance(code, str) else code, edited)
    return [filled(partial(_statement, tree), holes) if holes else tree for tree in _lines(text, config)]


@lru_cache(maxsize=50)
def _lines(text: str, config: cst.PartialParserConfig) -> tuple[cst.BaseStatement, ...]:
    """The statements of a text, which is one and the same helper in many programs."""
    module = cst.parse_module(text)
    alone = (module.code_for_node(statement).strip("\n") for statement in module.body)
    return tuple(cst.parse_statement(text, config) for text in alone)


def _with_holes(code: Code, edited: Edited) -> tuple[str, dict[str, cst.BaseExpression]]:
    """The text with a name for each node, and what each of these names stands for."""
    prefix = "hole_"
    while any(isinstance(part, str) and prefix in part for part in code):
        prefix += "_"
    names = [part if isinstance(part, str) else f"{prefix}{number}" for number, part in enumerate(code)]
    pairs = zip(names, code, strict=True)
    holes = {name: _expression(edited[part]) for name, part in pairs if not isinstance(part, str)}
    return "".join(names), holes


def _expression(node: object) -> cst.BaseExpression:
    assert isinstance(node, cst.BaseExpression)
    return node


def _statement(tree: cst.BaseStatement, parts: Mapping[str, cst.BaseExpression]) -> cst.BaseStatement:
    statement = tree.visit(_Filled(parts))
    assert isinstance(statement, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    return statement


class _Filled(cst.CSTTransformer):
    def __init__(self, holes: Mapping[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._holes = holes

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        node = self._holes.get(original_node.value)
        if node is None:
            return updated_node
        # Its parts stay the same objects: the lines that it goes on with are known by them.
        return node.with_changes(lpar=[*updated_node.lpar, *node.lpar], rpar=[*node.rpar, *updated_node.rpar])
