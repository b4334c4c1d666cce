"""Modules that are imported by a name in a string: `importlib.import_module("keras.layers")`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import explicit_of, parameters_of
from tfmigrate.understand.values import FunctionValue, Method, unbound
from tfmigrate.walk import calls_in, walk


def check(context: Context) -> Iterator[CallChange]:
    """The names that stand there as literals, or begin so, move as those of import statements do."""
    facts, tables = context.facts, context.tables
    for name in _names_of_modules(context):
        literal = _beginning(name)
        text = _text_of(literal)
        if literal is None or text is None or text.startswith("."):
            continue
        # In `"keras.applications." + name` only the package is known.
        whole = literal is name and isinstance(literal, cst.SimpleString)
        module, dot = (text, "") if whole else text.rpartition(".")[:2]
        new = tables.moves.imported(module)
        if module and new != module:
            message = f"{module} is {new}, also where its name is in a string"
            code = facts.module.code(literal).replace(text, new + dot + text[len(module + dot) :], 1)
            yield CallChange(codes.MODULES_BY_NAME, literal, message, Replace(literal, code))


def _names_of_modules(context: Context) -> Iterator[cst.BaseExpression]:
    """What is given to an import, or to a function of the program that hands it on to one."""
    facts, importing = context.facts, context.migration.once(_importing)
    for call in facts.module.calls:
        if call.args and not call.args[0].star and _imports(call, facts):
            yield call.args[0].value
            continue
        for option in facts.options(call.func) if importing else ():
            function = option.function if isinstance(option, Method) else option
            if isinstance(function, FunctionValue) and (words := importing.get(function.node)) is not None:
                yield from (arg.value for word, arg in explicit_of(call, function) if word in words)


def _importing(migration: Migration) -> dict[cst.CSTNode, set[str]]:
    """The functions of the program that import a module by the name that they are given, with that parameter."""
    found: dict[cst.CSTNode, set[str]] = {}
    for facts in migration.facts.modules.values():
        if "__import__" not in facts.module.text and "import_module" not in facts.module.text:
            continue
        for function in facts.module.all_of(cst.FunctionDef):
            given = {
                call.args[0].value.value
                for call in calls_in(function.body)
                if call.args and isinstance(call.args[0].value, cst.Name) and _imports(call, facts)
            }
            words = given & set(parameters_of(function))
            if words and not any(_is_bound_again(word, function) for word in words):
                found[function] = words
    return found


def _is_bound_again(word: str, function: cst.FunctionDef) -> bool:
    """Whether a function gives its parameter another value."""
    kinds = (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr)
    targets = (part.target for part in walk(function.body) if isinstance(part, kinds))
    return any(isinstance(name, cst.Name) and name.value == word for target in targets for name in walk(target))


def _imports(call: cst.Call, facts: Facts) -> bool:
    if facts.called(call) == "importlib.import_module":
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
