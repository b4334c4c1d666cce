"""What a run found and did: the one value every report is made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Action = Literal["rewrite", "refuse", "warn", "suppressed"]
Status = Literal["migrated", "refused", "unchanged", "error", "skipped"]


@dataclass(frozen=True, order=True)
class Cell:
    """The notebook cell that a finding stands in."""

    number: int
    """Place among all cells, from 1."""
    file_line: int
    """The line of the .ipynb file, from 1, for readers who see files and not cells."""
    source_line: str
    """The line of Python that the finding is about."""


@dataclass(frozen=True, order=True)
class Finding:
    """One claim about one place; `line` and `column` (both from 1) are those of the file before the run.

    In a notebook they count within `cell`.
    """

    line: int
    column: int
    code: str
    message: str
    action: Action
    applied: bool = False
    cell: Cell | None = None
    trail: tuple[str, ...] = ()
    """How the values came here, one step a line, for `explain`."""
    unsafe: bool = False
    """Whether a warning is of what `--unsafe-fixes` would rewrite as the message says."""


@dataclass(frozen=True)
class FileResult:
    """The outcome for one file.

    `before` and `after` are the decoded text (equal when nothing changes). `error` says what, where and what to do
    when `status` is "error"; findings beside it are what could not be written. When `status` is "skipped", `error` says
    why a walk left the path out, which is no failure of the run.
    """

    path: str
    status: Status
    findings: tuple[Finding, ...] = ()
    error: str | None = None
    before: str = ""
    after: str = ""
    encoding: str = "utf-8"
    """Codec between the texts and the file's bytes; "utf-8-sig" for a file with a byte order mark."""

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def line_of(self, finding: Finding) -> str:
        """The line of Python that a finding is about, as it stood before the run; empty when it has none."""
        if finding.cell:
            return finding.cell.source_line
        lines = re.split(r"\r\n|\r|\n", self.before)  # Python's lines: a form feed ends none.
        return lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them, each with its end: a form feed ends none."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def no_users() -> int:
    """No file."""
    return 0


@dataclass(frozen=True)
class Result:
    """All files that had something to say, in path order, and how many were looked at."""

    files: tuple[FileResult, ...]
    scanned: int = 0
    programs: tuple[tuple[str, ...], ...] = ()
    """Paths of the files that change together."""
    users: Callable[[], int] = no_users
    """Counts the files that use TensorFlow or Keras and no strategy, where nothing was found in few files. It reads
    them again, so it is called only where the number is printed."""

    @property
    def findings(self) -> Iterator[tuple[FileResult, Finding]]:
        for file in self.files:
            for finding in file.findings:
                yield file, finding

    @property
    def errors(self) -> tuple[FileResult, ...]:
        return tuple(file for file in self.files if file.status == "error")
