"""Modules that are imported by a name in a string: `importlib.import_module("keras.layers")`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import unbound


def check(context: Context) -> Iterator[CallChange]:
    """The names that stand there as literals, or begin so, move as those of import statements do."""
    facts, tables = context.facts, context.tables
    for call in facts.module.calls:
        if not call.args or call.args[0].star or not _imports(call, facts):
            continue
        literal = _beginning(call.args[0].value)
        text = _text_of(literal)
        if literal is None or text is None or text.startswith("."):
            continue
        # In `"keras.applications." + name` only the package is known.
        whole = literal is call.args[0].value and isinstance(literal, cst.SimpleString)
        module, dot = (text, "") if whole else text.rpartition(".")[:2]
        new = tables.moves.imported(module)
        if module and new != module:
            message = f"{module} is {new}, also where its name stands in a string"
            code = facts.module.code(literal).replace(text, new + dot + text[len(module + dot) :], 1)
            yield CallChange(codes.MODULES_BY_NAME, literal, message, Replace(literal, code))


def _imports(call: cst.Call, facts: Facts) -> bool:
    if facts.symbols.get(call.func) == "importlib.import_module":
        return True
    return isinstance(call.func, cst.Name) and facts.values.get(call.func) == unbound("__import__")


def _text_of(literal: cst.SimpleString | cst.FormattedString | None) -> str | None:
    """The text of a literal; of `f"keras.{name}"` what it begins with."""
    if not isinstance(literal, cst.FormattedString):
        return text_of(literal)
    first = literal.parts[0] if literal.parts else None
    return first.value if isinstance(first, cst.FormattedStringText) else None


def _beginning(node: cst.BaseExpression) -> cst.SimpleString | cst.FormattedString | None:
    """The literal that a text begins with."""
    while True:
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Modulo):
            node = node.left
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
            node = node.func.value
        else:
            return node if isinstance(node, cst.SimpleString | cst.FormattedString) else None
