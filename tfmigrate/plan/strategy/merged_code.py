"""Statements as they read once a template and its parallel model are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.syntax import dotted


class MergedCode(cst.CSTTransformer):
    """Writes the template for a wrap, and one name for two that are the same model now."""

    def __init__(
        self,
        wraps: Mapping[cst.Call, Wrap],
        unpacked: Mapping[cst.Assign, Sequence[cst.BaseExpression]],
        names: Mapping[str, str],
        brief: Mapping[cst.CSTNode, str],
    ) -> None:
        super().__init__()
        self._wraps = wraps
        self._unpacked = unpacked
        self._names = names
        self._brief = brief

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        wrap = self._wraps.get(original_node)
        if wrap is None or wrap.template_node is None:
            return updated_node
        template = self._named(wrap.template_node.deep_clone())
        return template if wrap.together is None else wrap.together.written(template).tree

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        """Of several that a copy gave back the ones that are kept: `plain = model`."""
        bound = self._unpacked.get(original_node, ())
        template = self._wraps[original_node.value].template_node if bound else None  # type: ignore[index]
        if template is None or len(bound) > 1:
            return updated_node
        target = updated_node.targets[0].with_changes(target=bound[0].deep_clone())
        return updated_node.with_changes(targets=[target], value=self._named(template.deep_clone()))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        brief = self._brief.get(original_node)
        return self._named(updated_node) if brief is None else cst.parse_expression(brief)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return self._named(updated_node.with_changes(attr=original_node.attr))

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def _named(self, node: cst.BaseExpression) -> cst.BaseExpression:
        new = self._names.get(dotted(node))
        return node if new is None else cst.parse_expression(new)
