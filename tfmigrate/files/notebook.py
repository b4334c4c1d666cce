"""A Jupyter notebook as one Python program, and back: only the source of touched cells changes, byte for byte.

Format: nbformat 4 (https://nbformat.readthedocs.io/en/latest/format_description.html). nbformat itself and `json.dumps`
write a file anew, so the places of the values are read off the JSON text instead.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tfmigrate.files.source import SourceError
from tfmigrate.numbering import CellStart, Numbering
from tfmigrate.quiet import reading_code
from tfmigrate.result import Cell, FileResult, Finding

PYTHON_CELL_MAGICS = frozenset({"capture", "debug", "memit", "prun", "time", "timeit"})
"""`%%` magics whose cell is Python; any other makes the cell text of another language or a file."""


@dataclass(frozen=True)
class _Value:
    """A JSON value inside the notebook's text."""

    start: int
    end: int


@dataclass(frozen=True)
class _CodeCell:
    number: int
    """Place among all cells, from 1."""
    members: Mapping[str, _Value]
    source: str
    head: str
    """First lines that must stay first and are no part of the program: `%%time`, `from __future__`; a whole foreign
    cell."""
    body: str
    """Its part of the program: magics and shell lines are calls that only this module knows."""
    kept: tuple[str, ...]
    """What those calls stand for."""
    first_kept: int
    first_line: int
    """Line of the program, from 1, on which `body` begins."""


@dataclass(frozen=True)
class Notebook:
    """A notebook's text, and the program that its Python cells are in order."""

    text: str
    cells: tuple[_CodeCell, ...]

    @property
    def program(self) -> str:
        """The cells in order. Lines that no scope may reach over part them; see `_seam`."""
        return "".join((_seam(cell) if number else "") + cell.body + "\n" for number, cell in enumerate(self.cells))

    def restored(self, file: FileResult, *, clear_outputs: bool) -> FileResult:
        """`file`, the outcome for `program`, told of the notebook: its text, and each place as cell and line.

        `clear_outputs` empties the outputs of a notebook that changes. Raises SourceError when a change reaches over
        the seam of two cells.
        """
        after = self.text
        if file.after != self.program:
            after = self._with_program(file.after, clear_outputs)
        return replace(
            file,
            findings=tuple(map(self._placed, file.findings)),
            before=self.text,
            after=after,
        )

    def script(self) -> str:
        """The program as a script that plain Python can run: magics and shell lines do nothing."""
        magics = [text for cell in self.cells for text in cell.kept]
        program = _KEPT.sub(lambda match: f"None  # {magics[int(match[1])]}", self.program)
        program = _SEAM.sub(lambda match: f"# Cell {match[1]}\n", program)
        shown = re.search(r"\bdisplay\(", program)
        return ("import builtins; builtins.display = print  # As IPython gives it.\n" if shown else "") + program

    def _with_program(self, program: str, clear_outputs: bool) -> str:
        bodies = _SEAM.split(program)
        if list(map(int, bodies[1::2])) != [cell.number for cell in self.cells[1:]]:
            raise SourceError("the change would span several cells; left as it is; put them into one cell first")
        changes: list[tuple[_Value, str]] = []
        for cell, body in zip(self.cells, bodies[::2], strict=True):
            body = body.removesuffix("\n")
            if not cell.body.startswith("\n"):
                body = body.lstrip("\n")  # A function at the top needs no lines between it and the cell before.
            body = body.rstrip("\n") + cell.body[len(cell.body.rstrip("\n")) :]  # Nor does one at the end.
            if body != cell.body:
                changes.append((cell.members["source"], self._source_value(cell, cell.head + _put_back(cell, body))))
            if clear_outputs:
                for key, empty in (("outputs", "[]"), ("execution_count", "null")):
                    if key in cell.members:
                        changes.append((cell.members[key], empty))
        text = self.text
        for value, new in sorted(changes, key=lambda change: -change[0].start):
            text = text[: value.start] + new + text[value.end :]
        return text

    def _source_value(self, cell: _CodeCell, source: str) -> str:
        """`source` as JSON in the form of the old value; a line that was there before keeps its own spelling."""
        value = cell.members["source"]
        if self.text[value.start] != "[":
            return self._json(source)
        lines = _array(self.text, value.start)
        if not lines or not source:
            return json.dumps([source] if source else [])
        spelled = {json.loads(self.text[line.start : line.end]): self.text[line.start : line.end] for line in lines}
        opening = self.text[value.start : lines[0].start]
        between = self.text[lines[0].end : lines[1].start] if len(lines) > 1 else "," + opening[1:]
        closing = self.text[lines[-1].end : value.end]
        return opening + between.join(spelled.get(line) or self._json(line) for line in _lines(source)) + closing

    def _json(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.text.isascii())

    @property
    def numbering(self) -> Numbering:
        starts = (CellStart(cell.number, cell.first_line, cell.head.count("\n")) for cell in self.cells)
        return Numbering(tuple(starts))

    def _placed(self, finding: Finding) -> Finding:
        index, line = self.numbering.at(finding.line)
        return replace(finding, line=line, cell=self._place(self.cells[index], line))

    def _place(self, cell: _CodeCell, line: int) -> Cell:
        lines = cell.source.split("\n")
        value = cell.members["source"]
        parts = _array(self.text, value.start) if self.text[value.start] == "[" else [value]
        start = parts[min(line, len(parts)) - 1].start if len(parts) == len(lines) else value.start
        return Cell(cell.number, self.text.count("\n", 0, start) + 1, lines[line - 1] if line <= len(lines) else "")

    def shell_lines(self) -> Iterator[tuple[Cell, int, str]]:
        """(cell, line in it, text) of every line that a shell or a magic runs."""
        for cell in self.cells:
            whole = re.match(r"\s*%%(bash|sh|script)\b", cell.source) is not None
            for number, line in enumerate(cell.source.split("\n"), 1):
                if whole or line.lstrip().startswith(("!", "%")) or line in cell.kept:
                    yield self._place(cell, number), number, line


def read(text: str) -> Notebook:
    """The notebook that `text` is. One in another language than Python has an empty program.

    Raises SourceError when it is not a notebook of format 4.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SourceError(f"is not a notebook: {error}; open it in Jupyter and save it") from None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise SourceError(
            "is not a notebook of format 4 (no cells); convert it with: jupyter nbconvert --to notebook --inplace"
        )
    return Notebook(text, tuple(_code_cells(text, cells) if _is_python(document) else ()))


def _is_python(document: Mapping[str, object]) -> bool:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return True
    language = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language")
    return str(language or "python").lower() in ("python", "ipython", "python2", "python3")


def _code_cells(text: str, cells: Sequence[object]) -> Iterator[_CodeCell]:
    spans = _array(text, _object(text, _skip(text, 0))["cells"].start)
    line, kept_before = 1, 0
    for number, (cell, span) in enumerate(zip(cells, spans, strict=True), 1):
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        if isinstance(source, list) and all(isinstance(part, str) for part in source):
            source = "".join(source)
        if not isinstance(source, str):
            continue
        head = _head(source)
        body, kept = _set_aside(source[len(head) :], kept_before)
        seam = 1 if line > 1 else 0
        yield _CodeCell(number, _object(text, span.start), source, head, body, kept, kept_before, line + seam)
        line += seam + body.count("\n") + 1
        kept_before += len(kept)


_COMMENTS = r"(?:[ \t]*(?:#[^\n]*)?\n)*"
_DOCSTRING = r"""(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"[^"\\\n]*"|'[^'\\\n]*')[ \t]*\n"""
_FUTURE = re.compile(
    rf"{_COMMENTS}(?:{_DOCSTRING})?{_COMMENTS}from __future__ import (?:\([^)]*\)|[^(\n]*)(?:\n|$)", re.S
)


def _head(source: str) -> str:
    end = 0
    magic = re.match(r"\s*%%(\w+)[^\n]*(?:\n|$)", source)
    if magic:
        if magic[1] not in PYTHON_CELL_MAGICS:
            return source
        end = magic.end()
    while future := _FUTURE.match(source, end):
        end = future.end()
    return source[:end]


_MAGIC = re.compile(r"(?P<indent>\s*)(?P<target>(?:[\w.,\[\]'\" *]+=\s*)?)(?P<text>[%!].*)")
_HELP = re.compile(r"(?P<indent>\s*)(?P<target>)(?P<text>\?\??[\w.*%]+|[%\w.*]+\?\??\s*)$")
_AUTOMAGIC = re.compile(
    r"(?P<indent>)(?P<target>)(?P<text>(?:cat|cd|clear|conda|cp|less|ls|mamba|man|micromamba|mkdir|more|mv|pip|pwd|rm|rmdir)"
    r"[ \t]+[^=\s].*)"
)
"""What IPython takes for a magic without its `%`, where it is the only line of a cell."""
_KEPT = re.compile(r"__tfmigrate_kept_(\d+)__\(\)")


def _set_aside(body: str, number: int) -> tuple[str, tuple[str, ...]]:
    """`body` with each magic or shell line as a call, and what the calls stand for, counted from `number`."""
    try:
        with reading_code():
            ast.parse(body)
        return body, ()
    except (SyntaxError, ValueError):
        pass
    lines: list[str] = []
    magics: list[str] = []
    alone = "\n" not in body.strip()
    statement, magic_goes_on, indent = "", False, ""
    for line in body.split("\n"):
        match = None if statement else _MAGIC.fullmatch(line) or _HELP.fullmatch(line)
        if match is None and alone:
            match = _AUTOMAGIC.fullmatch(line)
        if not magic_goes_on and match is None:
            # A line inside brackets or a long string may begin with % and is no magic.
            statement = statement + line + "\n" if _is_open(statement + line + "\n") else ""
            lines.append(line)
            continue
        if match is not None and not magic_goes_on:
            indent, target, text = match["indent"], match["target"], match["text"]
        else:
            target, text = "", line.removeprefix(indent)
        magic_goes_on = text.endswith("\\")
        lines.append(f"{indent}{target}__tfmigrate_kept_{number + len(magics)}__()")
        magics.append(text)
    return "\n".join(lines), tuple(magics)


def _is_open(statement: str) -> bool:
    """Does the statement go on in the next line?"""
    try:
        list(tokenize.generate_tokens(io.StringIO(statement).readline))
    except tokenize.TokenError as error:
        return "multi-line" in str(error) or "triple-quoted" in str(error)
    except SyntaxError:
        return False
    return False


def _put_back(cell: _CodeCell, body: str) -> str:
    numbers = list(map(int, _KEPT.findall(body)))
    if numbers != list(range(cell.first_kept, cell.first_kept + len(cell.kept))):
        raise SourceError(f"cell {cell.number}: a magic or shell line would be moved; left as it is")
    return _KEPT.sub(lambda match: cell.kept[int(match[1]) - cell.first_kept], body)


def _seam(cell: _CodeCell) -> str:
    # A class of its own: no scope is drawn over one, nothing moves across it, and no import hides in it.
    return f"class __tfmigrate_cell_{cell.number}__: pass\n"


_SEAM = re.compile(r"^class __tfmigrate_cell_(\d+)__: pass\n", re.M)


def _lines(source: str) -> list[str]:
    return [line for line in re.split(r"(?<=\n)", source) if line]


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _object(text: str, at: int) -> dict[str, _Value]:
    """The members of the object that begins at `at`; the text is known to be JSON."""
    members = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = _DECODER.raw_decode(text, start)
        members[key] = _Value(start, at)
        at = _after_comma(text, at)
    return members


def _array(text: str, at: int) -> list[_Value]:
    items = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        start = at
        _, at = _DECODER.raw_decode(text, start)
        items.append(_Value(start, at))
        at = _after_comma(text, at)
    return items


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
