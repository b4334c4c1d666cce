"""What the names of a template and its parallel model come to, once they are one object."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.syntax import dotted, root_name


@dataclass(frozen=True)
class Merge:
    """The outcome: statements that became `x = x` or delete a name that is gone, and mentions that read another name
    now."""

    removed: tuple[cst.Assign | cst.Del, ...] = ()
    renamed: tuple[tuple[cst.Name, str], ...] = ()
    replaced: tuple[tuple[cst.BaseExpression, str], ...] = ()
    """Choices between the two, `parallel or model`, each with the name of what is left to choose."""
    unpacked: tuple[tuple[cst.Assign, tuple[cst.BaseExpression, ...]], ...] = ()
    """`parallel, plain = spread(model)`, with those of the targets that must be bound to the model."""
    shortened: tuple[tuple[cst.Del, tuple[cst.BaseExpression, ...]], ...] = ()
    """`del parallel, other`, with what is still to delete."""
    brief: frozenset[cst.Name] = frozenset()
    """Those of `renamed` whose name means something else before and after."""

    def named(self, node: cst.BaseExpression) -> str:
        """A name or attribute with the name that remains: a variable of another function may have the same name."""
        root = root_name(node)
        head, dot, rest = dotted(node).partition(".")
        return (dict(self.renamed).get(root, head) if root is not None else head) + dot + rest


def wrapped_assignment(wrap: Wrap) -> cst.Assign | None:
    """The assignment whose value is this wrap, or a conditional of the wrap and its own template."""
    unit = wrap.site.unit
    if wrap.together is not None or not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return None
    for small in unit.body:
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            value = small.value
            if value is wrap.call:
                return small
            if isinstance(value, cst.IfExp) and wrap.call in (value.body, value.orelse):
                other = value.orelse if value.body is wrap.call else value.body
                if wrap.template_node is not None and other.deep_equals(wrap.template_node):
                    return small
    return None
