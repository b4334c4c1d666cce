"""One import statement as the several that take its place."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.edits import ImportNames, ImportPart


def divided(
    edit: ImportNames, statement: cst.BaseSmallStatement, config: cst.PartialParserConfig
) -> list[cst.BaseSmallStatement]:
    """The imports that an edit makes of one; the first is the old one where that keeps names of its own."""
    statements: list[cst.BaseSmallStatement] = []
    for number, part in enumerate(edit.parts):
        semicolon = statement.semicolon if number == len(edit.parts) - 1 else cst.MaybeSentinel.DEFAULT
        if number == 0 and isinstance(statement, cst.ImportFrom) and part.module and _has_only_old_names(part):
            statements.append(_narrowed(statement, part).with_changes(semicolon=semicolon))
        else:
            line = cst.parse_statement(_code(part), config)
            assert isinstance(line, cst.SimpleStatementLine)
            statements.append(line.body[0].with_changes(semicolon=semicolon))
    return statements


def _code(part: ImportPart) -> str:
    names = ", ".join(name if isinstance(name, str) else _text(name) for name in part.names)
    return f"from {part.module} import {names}" if part.module else f"import {names}"


def _text(alias: cst.ImportAlias) -> str:
    return cst.Module([]).code_for_node(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT))


def _has_only_old_names(part: ImportPart) -> bool:
    return all(isinstance(name, cst.ImportAlias) for name in part.names)


def _narrowed(statement: cst.ImportFrom, part: ImportPart) -> cst.ImportFrom:
    """The statement with the names of one part alone, taken from the module of that part."""
    assert not isinstance(statement.names, cst.ImportStar)
    aliases = [alias for alias in part.names if isinstance(alias, cst.ImportAlias)]
    if len(aliases) != len(statement.names):
        aliases[-1] = aliases[-1].with_changes(comma=statement.names[-1].comma)
    if part.module.startswith("."):
        return statement.with_changes(names=aliases)
    module = cst.parse_expression(part.module)
    assert isinstance(module, cst.Name | cst.Attribute)
    return statement.with_changes(module=module, names=aliases, relative=())
