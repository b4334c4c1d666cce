"""Programs of the rule pages in other forms that do the same: never a crash, and where only the layout is another one,
the same result.

TFMIGRATE_EXAMPLES multiplies the number of programs.
"""

from __future__ import annotations

import ast
import os
import random
import textwrap
import warnings
from collections.abc import Callable, Iterator

import libcst as cst
import pytest

from tfmigrate import rules
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAMS = sorted({one.before for rule in rules.all_rules() for one in rule.examples if one.language == "python"})
EACH = 8 * int(os.environ.get("TFMIGRATE_EXAMPLES", "1"))
SETTINGS = Settings(unsafe_fixes=True)


class _Bracketed(cst.CSTTransformer):
    """Brackets round each argument and each assigned value."""

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node if original_node.star else updated_node.with_changes(value=_in_brackets(updated_node.value))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        return updated_node.with_changes(value=_in_brackets(updated_node.value))


class _Hexadecimal(cst.CSTTransformer):
    def leave_Integer(self, original_node: cst.Integer, updated_node: cst.Integer) -> cst.Integer:
        return updated_node.with_changes(value=hex(original_node.evaluated_value))


class _Joined(cst.CSTTransformer):
    """Two neighbouring assignments or calls in one line."""

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return updated_node.with_changes(body=list(_in_pairs(updated_node.body)))


class _OneLined(cst.CSTTransformer):
    """Blocks of one simple statement behind their colon."""

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        (*others, line) = updated_node.body
        if others or not isinstance(line, cst.SimpleStatementLine) or updated_node.header.comment or line.leading_lines:
            return updated_node
        return cst.SimpleStatementSuite(line.body, trailing_whitespace=line.trailing_whitespace)


def _in_brackets(node: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(node, cst.GeneratorExp):
        return node
    return node.with_changes(lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()])


def _in_pairs(body: tuple[cst.BaseStatement, ...]) -> Iterator[cst.BaseStatement]:
    rest = list(body)
    while rest:
        line = rest.pop(0)
        if rest and _may_be_joined(line) and _may_be_joined(rest[0]) and not rest[0].leading_lines:
            line = line.with_changes(body=[*line.body, *rest.pop(0).body])
        yield line


def _may_be_joined(line: cst.BaseStatement) -> bool:
    plain = isinstance(line, cst.SimpleStatementLine) and line.trailing_whitespace.comment is None
    return plain and isinstance(line.body[0], cst.Assign | cst.Expr)


def _visited(transformer: cst.CSTTransformer) -> Callable[[str], str]:
    return lambda text: cst.parse_module(text).visit(transformer).code


SAME = {
    "brackets": _visited(_Bracketed()),
    "hexadecimal numbers": _visited(_Hexadecimal()),
    "no blank line": lambda text: "\n".join(line for line in text.split("\n") if line) + "\n",
}
"""What is read as the same program by any reader."""
ROUND = {
    "handler": "try:\n    import not_there\nexcept ImportError:\n{}",
    "finally": "try:\n    pass\nfinally:\n{}",
    "else of a loop": "for _ in ():\n    pass\nelse:\n{}",
    "with": "with open('log') as log:\n{}",
    "match": "match 1:\n    case _:\n{}",
    "class": "class Main:\n{}",
    "coroutine": "async def main():\n{}",
}
OTHER = {"joined lines": _visited(_Joined()), "one-line blocks": _visited(_OneLined())}


def sample(form: str) -> list[str]:
    return random.Random(form).sample(PROGRAMS, EACH) if len(PROGRAMS) > EACH else PROGRAMS


def migrated(text: str) -> FileResult:
    """What becomes of a program; that parses, and a second run leaves it alone."""
    (file,) = migrate_sources({"train.py": text}, SETTINGS)
    assert file.error is None, text
    assert not [finding for finding in file.findings if "please report" in finding.message], text
    (again,) = migrate_sources({"train.py": file.after}, SETTINGS)
    assert again.after == file.after, text
    return file


def meaning(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.unparse(ast.parse(text))


@pytest.mark.parametrize("form", SAME)
def test_another_layout_changes_nothing_else(form: str) -> None:
    for program in sample(form):
        other = SAME[form](program)
        assert meaning(other) == meaning(program)
        assert meaning(migrated(other).after) == meaning(migrated(program).after), other


@pytest.mark.parametrize("form", ROUND)
def test_a_part_may_stand_in_any_block(form: str) -> None:
    choice = random.Random(form)
    for program in sample(form):
        body = ast.parse(program).body
        lines = program.splitlines(keepends=True)
        first = choice.randrange(len(body))
        last = choice.randrange(first, len(body))
        begin, end = min((body[first].lineno, *_decorators(body[first]))) - 1, body[last].end_lineno
        part = textwrap.indent("".join(lines[begin:end]), "        " if form == "match" else "    ")
        text = "".join([*lines[:begin], ROUND[form].format(part), *lines[end:]])
        try:
            compile(text, "train.py", "exec", dont_inherit=True)
        except SyntaxError:
            continue  # `from __future__`, `import *`, `await`
        migrated(text)


def _decorators(node: ast.stmt) -> list[int]:
    return [decorator.lineno for decorator in getattr(node, "decorator_list", ())]


@pytest.mark.parametrize("form", OTHER)
def test_lines_may_be_joined(form: str) -> None:
    for program in sample(form):
        migrated(OTHER[form](program))
