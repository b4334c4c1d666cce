"""Functions that are written into users' programs: each module of this room is the source of one, and run by tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

import libcst as cst


def definition(
    name: str,
    names: Mapping[str, str],
    indent: str = " " * 4,
    quote: str = '"',
    leave_out: Callable[[cst.BaseStatement], bool] | None = None,
) -> str:
    """The function or class of a module of this room, without the module's imports.

    `names`: what its own name, and those that it imports, are in the user's module. `indent`, `quote`: the style there.
    `leave_out`: whether the user's program does not need a statement.
    """
    return _definition(name, tuple(names.items()), indent, quote, leave_out)


@lru_cache(maxsize=50)
def _definition(
    name: str,
    names: tuple[tuple[str, str], ...],
    indent: str,
    quote: str,
    leave_out: Callable[[cst.BaseStatement], bool] | None,
) -> str:
    """Most programs are given the same."""
    tree = _parsed(name)
    units = [unit for unit in tree.body if isinstance(unit, cst.FunctionDef | cst.ClassDef)]
    renamed = tree.with_changes(body=units, header=(), default_indent=indent).visit(
        _InPlace(dict(names), quote, leave_out)
    )
    return renamed.code.strip("\n")


@cache
def _parsed(name: str) -> cst.Module:
    return cst.parse_module(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))


class _InPlace(cst.CSTTransformer):
    """Other names for variables, not for attributes and keywords, another quotation mark, and fewer statements."""

    def __init__(
        self, names: Mapping[str, str], quote: str, leave_out: Callable[[cst.BaseStatement], bool] | None
    ) -> None:
        super().__init__()
        self._names = names
        self._quote = quote
        self._leave_out = leave_out

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode | cst.RemovalSentinel:  # type: ignore[override]
        if self._leave_out and isinstance(original_node, cst.BaseStatement) and self._leave_out(original_node):
            return cst.RemoveFromParent()
        return super().on_leave(original_node, updated_node)  # type: ignore[return-value]

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self._names.get(original_node.value, original_node.value))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        text = original_node.value
        if original_node.prefix or len(original_node.quote) > 1 or self._quote in text or "\\" in text:
            return updated_node
        return updated_node.with_changes(value=f"{self._quote}{text[1:-1]}{self._quote}")
