"""One example, many files: the same program as people have it on disk, with what must become of each.

A variant is the example's `before` and `after` put through the same change of form, so that nothing has to be written
twice. A form that an example cannot take (tabs where nothing is indented) is left out.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from tfmigrate.rules import Example


@dataclass(frozen=True)
class Variant:
    """The bytes of a file, and the bytes that a migration must leave."""

    form: str
    before: bytes
    after: bytes


def variants(example: Example) -> Iterator[Variant]:
    """`example` as it stands, then in every other form that it can take."""

    def both(form: str, change: object, encoding: str = "utf-8") -> Variant:
        assert callable(change)
        return Variant(form, change(example.before).encode(encoding), change(example.after).encode(encoding))

    yield both("as it stands", str)
    yield both("CRLF", lambda text: text.replace("\n", "\r\n"))
    yield both("byte order mark", str, "utf-8-sig")
    yield both("latin-1", lambda text: f"# -*- coding: latin-1 -*-\n# déjà vu\n{text}", "latin-1")
    yield both("no final newline", lambda text: text.removesuffix("\n"))
    if has_blocks(example.before):
        yield both("tabs", with_tabs)
    if is_aliasable(example.before):
        yield both("aliased import", with_alias)
    if not defines_or_guards(example.before):
        yield both("in a function", in_a_function)


def has_blocks(text: str) -> bool:
    """Does any block tell the file's own indentation, which has no tabs yet?"""
    return "\t" not in text and any(token.type == tokenize.INDENT for token in _tokens(text))


def with_tabs(text: str) -> str:
    """Each four spaces at a line's beginning as one tab."""
    return re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.M)


_FROM_IMPORT = re.compile(r"^(\s*from [\w.]+ import .*)\bmulti_gpu_model\b(?! as)", re.M)


def is_aliasable(text: str) -> bool:
    """Is the function imported by its own name, in one line?"""
    return bool(_FROM_IMPORT.search(text))


def with_alias(text: str) -> str:
    """`from x import multi_gpu_model as to_gpus`, and every use by that name."""
    used = re.sub(r"(?<![\w.])multi_gpu_model\b", "to_gpus", text)
    return re.sub(r"^(\s*from [\w.]+ import .*)\bto_gpus\b", r"\1multi_gpu_model as to_gpus", used, flags=re.M)


def defines_or_guards(text: str) -> bool:
    """Would the program mean something else inside a function?"""
    special = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    body = ast.parse(text).body
    starred = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in body)
    late_import = any(isinstance(node, ast.Import | ast.ImportFrom) for node in body[_imports(text) :])
    return starred or late_import or "__name__" in text or any(isinstance(node, special) for node in body)


def in_a_function(text: str) -> str:
    """The imports at the top, with functions that a migration brought along, all the rest in `def main():`."""
    tree, count = ast.parse(text), _imports(text)
    while count < len(tree.body) and isinstance(tree.body[count], ast.FunctionDef | ast.ClassDef):
        count += 1
    lines = text.splitlines(keepends=True)
    split = (tree.body[count - 1].end_lineno or 0) if count else 0
    rest = "".join(lines[split:]).strip("\n")
    head = "".join(lines[:split])
    return f"{head}\n\ndef main():\n{textwrap.indent(rest, '    ')}\n\n\nmain()\n"


def _imports(text: str) -> int:
    """How many of the first statements are imports (or the docstring)."""
    count = 0
    for node in ast.parse(text).body:
        is_docstring = count == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        count += 1
    return count


def with_comments(text: str) -> str:
    """A comment of its own above each statement and at the end of each statement's last line."""
    lines = text.splitlines(keepends=True)
    above: dict[int, str] = {}
    behind: dict[int, str] = {}
    first = True
    for token in _tokens(text):
        if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING):
            continue
        if token.type == tokenize.NEWLINE:
            if "#" not in lines[token.start[0] - 1]:
                behind[token.start[0]] = f"  # behind {token.start[0]}"
            first = True
        elif first and token.type != tokenize.ENDMARKER:
            indent = re.match(r"\s*", lines[token.start[0] - 1])
            assert indent is not None
            # Nothing can stand between `if` and its `else`, or a decorator and its function, but a comment may.
            above[token.start[0]] = f"{indent[0]}# above {token.start[0]}\n"
            first = False
    return "".join(
        above.get(number, "") + line.rstrip("\n") + behind.get(number, "") + "\n"
        for number, line in enumerate(lines, 1)
    )


def comments(text: str) -> list[str]:
    """All comments, in order."""
    return [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]


def with_suppressions(text: str, numbers: set[int]) -> str:
    """`# tfmigrate: skip` at the end of each of the lines `numbers` (from 1)."""
    lines = text.splitlines()
    for number in numbers:
        lines[number - 1] += "  # tfmigrate: skip"
    return "\n".join(lines) + "\n"


def decoded(data: bytes) -> str:
    """The text of a variant's bytes, for messages and for parsing."""
    text = data.removeprefix(codecs.BOM_UTF8)
    return text.decode("latin-1" if b"coding: latin-1" in text else "utf-8")


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
