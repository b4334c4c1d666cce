"""Bytes <-> text of one source file, so that every byte outside an edit comes back as it was."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from tfmigrate.errors import UserError
from tfmigrate.numbering import SCRIPT, Numbering


class SourceError(UserError):
    """Bytes that cannot be read as Python, or text that cannot be written in the file's encoding."""


@dataclass(frozen=True)
class Source:
    """A file's text with its newlines as they stand, and the encoding that gives its bytes back.

    `encoding` is "utf-8-sig" for a file with a byte order mark; the mark is not part of `text`.
    """

    text: str
    encoding: str


def decode(data: bytes) -> Source:
    """The text of a source file, by its byte order mark or encoding cookie (PEP 263), else UTF-8.

    Raises SourceError (without the file's name) when the bytes are no such text.
    """
    if b"\0" in data:
        raise SourceError("holds null bytes, so it is not Python source (UTF-16 perhaps?); save it as UTF-8")
    try:
        encoding = _encoding(data)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = len(io.StringIO(data[: error.start].decode("latin-1"), newline=None).readlines()) or 1
        raise SourceError(
            f"line {line}: byte 0x{data[error.start]:02x} is not {error.encoding}; save the file as UTF-8, "
            "or name its encoding in the first line: # -*- coding: latin-1 -*-"
        ) from None
    except SyntaxError as error:
        raise SourceError(f"line 1: {error}; fix the encoding cookie or save the file as UTF-8") from None
    source = Source(text, encoding)
    if encode(source, text) != data:
        raise SourceError(f"its bytes would change when read and written as {encoding}; save the file as UTF-8")
    return source


def _encoding(data: bytes) -> str:
    import tokenize  # Late: a run without a hit reads no source.

    # bytes.splitlines, unlike a file's readline, knows old Mac newlines.
    lines = data[:4096].splitlines(keepends=True)[:2]
    try:
        return tokenize.detect_encoding(iter(lines).__next__)[0]
    except SyntaxError:
        if any(b"coding" in line for line in lines):
            raise
        return "utf-8"  # No cookie, and the first lines are not UTF-8: the decoder says which byte.


def encode(source: Source, text: str) -> bytes:
    """`text` as bytes in the encoding of `source`. Raises SourceError when a character has no place in it."""
    try:
        return text.encode(source.encoding)
    except UnicodeEncodeError as error:
        what = f"{text[error.start]!r} cannot be written in {source.encoding}"
        raise SourceError(f"{what}; save the file as UTF-8 first") from None


_PYTHON_2 = (
    ("print statement", r"^\s*print\s+(?![=(.\[,)]|\w+\s*=)[\w\"'%>`]"),
    ("print statement", r"^\s*print\s+\(.*\)\s*%"),
    ("`except X, e`", r"^\s*except\s+[\w.]+\s*,\s*\w+\s*:"),
    ("`raise X, message`", r"^\s*raise\s+[\w.]+\s*,"),
    ("exec statement", r"^\s*exec\s+[\w\"']"),
    ("`<>`", r"\s<>\s"),
    ("backquotes", r"`[^`]+`"),
    ("octal number such as 0777", r"(?<![\w.])0[0-7]+(?![\w.])"),
    ("`ur''` string", r"(?<!\w)[uU][rR][\"']"),
    ("long number such as 10L", r"(?<![\w.])\d+[lL]\b"),
)


_TEXTS = frozenset({tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})


def explain_syntax_error(text: str, line: int, message: str, numbering: Numbering = SCRIPT) -> str:
    """Why `text` does not parse: `message` at `line` (from 1) is what the parser said.

    Python 2, the usual reason in old training scripts, is named, with the way out. The line that the parser
    names decides first; a parser may stop later than the cause, so then any earlier line does.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    bare = _without_strings(lines)
    named = [line] if 1 <= line <= len(lines) else []
    for number in named + [n for n in range(min(line, len(lines)), 0, -1) if n != line]:
        for what, pattern in _PYTHON_2:
            if re.search(pattern, bare[number - 1].split("#")[0]):
                return (
                    f"{numbering.words(number)}: looks like Python 2: {what}: {lines[number - 1].strip()[:60]}; "
                    "run 2to3 -w (Python 3.12 or older) or futurize on it first, then tfmigrate again"
                )
    shown = f": {lines[line - 1].strip()[:60]}" if named else ""
    return f"{numbering.words(line)}: syntax error: {message}{shown}; fix it, then run tfmigrate again"


def _without_strings(lines: Sequence[str]) -> list[str]:
    """The lines, with blanks for what stands between the quotes, as far as Python 3 can read them."""
    bare = list(lines)
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            if token.type in _TEXTS:
                (first, start), (last, end) = token.start, token.end
                for row in range(first, last + 1):
                    line = bare[row - 1]
                    begin, stop = (start + 1 if row == first else 0), (end if row == last else len(line))
                    bare[row - 1] = line[:begin] + " " * (stop - begin) + line[stop:]
    except (tokenize.TokenError, SyntaxError):
        pass
    return bare
