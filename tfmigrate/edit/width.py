"""Lines that a migration made too wide are broken inside their brackets; those that it did not write stay."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

_WIDTH = 100
"""Columns of a line, in a file that had no wider one."""
_WIDEST = 120
"""The same in a file that had."""
_SAME = 0.8
"""How much alike two lines are that are the same one, before and after."""
_LITTLE = 12
"""Characters in a bracket that are not worth a line of their own."""
_FSTRING = (getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1))  # From Python 3.12 on.
_Tokens = Sequence[tokenize.TokenInfo]
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_BACKSLASH = re.compile(r"[ \t]*\\\r?\n[ \t]*")
_IMPORT_BEHIND_BACKSLASHES = re.compile(r"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]+[\w, \t\\\r\n]+$", re.M)
"""Its names are put into brackets."""


def fitted(before: str, after: str) -> str:
    """`after` with its too wide lines broken, but for those that stood in `before`, at whatever depth, or that were too
    wide there already and were changed in a few words.

    A line without a bracket that helps stays as wide as it is.
    """
    width = min(_WIDEST, max(_WIDTH, *map(_columns, ["", *_lines(before)])))
    lines = _lines(after)
    if all(_columns(line) <= width for line in lines):
        return after
    tokens = _tokens(lines)
    unit = next((token.string for token in tokens if token.type == tokenize.INDENT), "    ")
    own = {line.strip() for line in _lines(before)}
    own |= _changed(_wide(_lines(before), width), _wide(lines, width) - own)
    fitting = _Fitting(width, "\t" if unit[0] == "\t" else unit, frozenset(own))
    return "".join(map(fitting.statement, _statements(lines, tokens)))


def _wide(lines: Sequence[str], width: int) -> set[str]:
    return {line.strip() for line in lines if _columns(line) > width}


def _changed(old: Set[str], new: Set[str]) -> set[str]:
    """The new lines that are old ones with a few words changed: to break them would hide what was changed."""
    return {line for line in new if get_close_matches(line, old, n=1, cutoff=_SAME)}


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


def _last(lines: Sequence[str], row: int) -> str:
    """The last character of the line above a row: a backslash goes on to it."""
    return lines[row - 1].rstrip()[-1:] if row else ""


def _columns(line: str) -> int:
    """How wide a line is, its end left out; a tab counts as four columns."""
    return len(line.rstrip().expandtabs(4))


def _tokens(lines: Sequence[str]) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(iter([*lines, ""]).__next__))


def _statements(lines: Sequence[str], tokens: _Tokens) -> Iterator[str]:
    """The logical lines, each with the blank lines and comments above it."""
    start = 0
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            yield "".join(lines[start : token.start[0]])
            start = token.start[0]
    yield "".join(lines[start:])


@dataclass(frozen=True)
class _Pair:
    """Two brackets, by their places among the tokens."""

    opening: int
    closing: int


@dataclass(frozen=True)
class _Hanging:
    """The brackets of a line that go on over others, which stand under what follows the bracket."""

    columns: Sequence[tuple[_Pair, int]]
    """Each with the column behind it."""

    @classmethod
    def of(cls, tokens: _Tokens, here: Sequence[int], pairs: Sequence[_Pair]) -> _Hanging:
        row = tokens[here[0]].start[0] if here else 0
        return cls(
            [
                (pair, tokens[pair.opening].end[1])
                for pair in sorted(pairs, key=lambda pair: pair.opening)
                if pair.opening in here and tokens[pair.closing].start[0] > row and pair.opening != here[-1]
            ]
        )

    def indent(self, line: str, pair: _Pair) -> str:
        """What the lines begin with that stand as deep as the one that a bracket is in."""
        own = line[: len(line) - len(line.lstrip())]
        columns = [column for outer, column in self.columns if outer.opening < pair.opening < outer.closing]
        return " " * columns[-1] if columns and "\t" not in own else own


@dataclass(frozen=True)
class _Fitting:
    width: int
    unit: str
    own: frozenset[str]
    """Lines that are left alone, without the space round them."""

    def statement(self, text: str) -> str:
        """The statement with its lines broken until they fit, or nothing more can be done."""
        if any(map(self._is_wide, _lines(text))):
            text = _IMPORT_BEHIND_BACKSLASHES.sub(lambda pairs: _BACKSLASH.sub(" ", pairs[0]), text)
        row = 0
        while row < len(lines := _lines(text)):
            broken = self._broken(lines, row) if self._is_wide(lines[row]) else None
            if broken is None:
                row += 1
            else:
                text = "".join((*lines[:row], broken, *lines[row + 1 :]))
        return text

    def _is_wide(self, line: str) -> bool:
        return _columns(line) > self.width and line.strip() not in self.own

    def _broken(self, lines: Sequence[str], row: int) -> str | None:
        """A line as several, or None."""
        try:
            tokens = _tokens(lines)
        except (tokenize.TokenError, SyntaxError):
            return None
        line = lines[row]
        here = [
            n for n, token in enumerate(tokens) if token.start[0] == token.end[0] == row + 1 and token.string.strip()
        ]
        code = [n for n in here if tokens[n].type not in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL)]
        if not code or _columns(line[: tokens[code[-1]].end[1]]) <= self.width:
            return None  # A comment makes it wide.
        pairs = _pairs(tokens)
        inside = [pair for pair in pairs if pair.opening in here and pair.closing in here]
        outer = [inner for inner in inside if not any(pair.opening < inner.opening < pair.closing for pair in inside)]
        return (
            self._filled(line, tokens, code, pairs)
            or self._opened(line, tokens, outer, _Hanging.of(tokens, here, pairs))
            or (None if "\\" in (line.rstrip()[-1:], _last(lines, row)) else self._imported(line, tokens, code))
        )

    def _filled(self, line: str, tokens: _Tokens, code: Sequence[int], pairs: Sequence[_Pair]) -> str | None:
        """A line of a bracket that goes on over several, broken behind the last of its commas that fits."""
        row = tokens[code[0]].start[0]
        for pair in reversed(pairs):
            if tokens[pair.opening].start[0] == tokens[pair.closing].start[0]:
                continue
            for comma in reversed(_commas(tokens, pair)):
                at = tokens[comma].end[1]
                if comma in code and comma != code[-1] and _columns(line[:at]) <= self.width:
                    opening = tokens[pair.opening]
                    column = opening.end[1] if opening.start[0] == row else len(line) - len(line.lstrip())
                    indent = " " * column if opening.start[0] == row else line[:column]
                    return line[:at] + _newline(line) + indent + line[at:].lstrip()
        return None

    def _opened(self, line: str, tokens: _Tokens, outer: Sequence[_Pair], hanging: _Hanging) -> str | None:
        """A line with what stands in one of its brackets on a line of its own, or each element on one."""
        pair = self._pair_to_open(line, tokens, outer, hanging)
        if pair is None:
            return None
        indent = hanging.indent(line, pair)
        head, tail = tokens[pair.opening].end[1], tokens[pair.closing].start[1]
        newline, deeper = _newline(line), indent + self.unit
        body = [line[head:tail].strip()]
        if _columns(deeper + body[0]) > self.width:
            body = _elements(line, tokens, pair)
        if len(body) == 1 and head <= len(deeper):
            return None  # As wide as before.
        return newline.join([line[:head].rstrip(), *(deeper + part for part in body), indent + line[tail:]])

    def _pair_to_open(self, line: str, tokens: _Tokens, outer: Sequence[_Pair], hanging: _Hanging) -> _Pair | None:
        """The last of some brackets, if there is one behind which enough of a line goes to make it fit."""
        filled = [pair for pair in outer if pair.opening + 1 < pair.closing]
        calls = [pair for pair in filled if not _is_subscript(tokens, pair)]
        fitting = [pair for pair in calls if self._leaves_fitting(line, hanging.indent(line, pair), tokens, pair)]
        full = [pair for pair in fitting if tokens[pair.closing].start[1] - tokens[pair.opening].end[1] > _LITTLE]
        return next(reversed(full or fitting or calls), None)

    def _leaves_fitting(self, line: str, indent: str, tokens: _Tokens, pair: _Pair) -> bool:
        """Whether what stays of a line on both sides of a bracket is not too wide."""
        head, tail = line[: tokens[pair.opening].end[1]], indent + line[tokens[pair.closing].start[1] :]
        return max(_columns(head), _columns(tail)) <= self.width

    def _imported(self, line: str, tokens: _Tokens, code: Sequence[int]) -> str | None:
        """`from module import names` with its names in brackets."""
        words = [tokens[n].string for n in code]
        if words[0] != "from" or "import" not in words or not {"(", ";", "\\", "*"}.isdisjoint(words):
            return None
        if tokens[code[-1] + 1].type not in (tokenize.COMMENT, tokenize.NEWLINE):
            return None  # Behind a backslash its names go on.
        head, tail = tokens[code[words.index("import")]].end[1], tokens[code[-1]].end[1]
        newline, indent = _newline(line), line[: len(line) - len(line.lstrip())]
        names = line[head:tail].strip()
        if _columns(indent + self.unit + names) > self.width:
            names = f",{newline}{indent}{self.unit}".join(name.strip() for name in names.split(",")) + ","
        return f"{line[:head]} ({newline}{indent}{self.unit}{names}{newline}{indent}){line[tail:]}"


def _newline(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :] or "\n"


def _pairs(tokens: _Tokens) -> list[_Pair]:
    """All pairs of brackets in order of their ends, those inside a formatted string left out."""
    pairs, opened, strings = [], [], 0
    for number, token in enumerate(tokens):
        strings += (token.type == _FSTRING[0]) - (token.type == _FSTRING[1])
        if token.type == tokenize.OP and not strings:
            if token.string in _PAIRS:
                opened.append(number)
            elif token.string in _PAIRS.values() and opened:
                pairs.append(_Pair(opened.pop(), number))
    return pairs


def _is_subscript(tokens: _Tokens, pair: _Pair) -> bool:
    if tokens[pair.opening].string != "[" or not pair.opening:
        return False
    before = tokens[pair.opening - 1]
    return before.string in (")", "]") or (before.type == tokenize.NAME and not keyword.iskeyword(before.string))


def _directly_in(tokens: _Tokens, pair: _Pair) -> Iterator[int]:
    """The places of the tokens that stand in a bracket and in none inside it, nor in a formatted string."""
    depth, strings = 0, 0
    for number in range(pair.opening + 1, pair.closing):
        token = tokens[number]
        strings += (token.type == _FSTRING[0]) - (token.type == _FSTRING[1])
        if strings or token.type not in (tokenize.OP, tokenize.NAME):
            continue
        depth -= token.string in _PAIRS.values()
        if depth == 0:
            yield number
        depth += token.string in _PAIRS


def _elements(line: str, tokens: _Tokens, pair: _Pair) -> list[str]:
    """The elements in a bracket of a line, or the clauses of the comprehension in it."""
    commas = [tokens[comma].end[1] for comma in _commas(tokens, pair)]
    ends = [tokens[pair.opening].end[1], *(commas or _clauses(tokens, pair)), tokens[pair.closing].start[1]]
    parts = [part for start, end in pairwise(ends) if (part := line[start:end].strip())]
    if commas:
        parts[-1] = parts[-1].rstrip(",") + ","
    return parts


def _clauses(tokens: _Tokens, pair: _Pair) -> list[int]:
    """The columns of the clauses of a comprehension in a bracket."""
    return [tokens[n].start[1] for n in _directly_in(tokens, pair) if tokens[n].string == "for"]


def _commas(tokens: _Tokens, pair: _Pair) -> list[int]:
    """The places of the commas between the elements of a bracket; none where it holds a comprehension."""
    if _clauses(tokens, pair):
        return []
    commas: list[int] = []
    parameters = 0
    for number in _directly_in(tokens, pair):
        word = tokens[number].string
        if word == "lambda":
            parameters += 1
        elif word == ":" and parameters:
            parameters -= 1
        elif word == "," and not parameters:
            commas.append(number)
    return commas
