"""Files as they are worked on: their text, and for a notebook the program in its cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmigrate.files import scan, source
from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.result import FileResult

if TYPE_CHECKING:
    from tfmigrate.files.notebook import Notebook


@dataclass(frozen=True)
class Decoded:
    """A file that could be read, as text."""

    file: scan.FoundFile
    source: source.Source
    notebook: Notebook | None

    @property
    def program(self) -> str:
        """The Python in the file."""
        return self.notebook.program if self.notebook else self.source.text

    @property
    def numbering(self) -> Numbering:
        return self.notebook.numbering if self.notebook else SCRIPT


def decode(files: Iterable[scan.FoundFile]) -> tuple[dict[str, Decoded], list[FileResult]]:
    """Path -> file, and the errors of those that have no text."""
    read, errors = {}, []
    for file in files:
        try:
            text = source.decode(file.data)
            read[file.path] = Decoded(file, text, _cells(text) if file.path.endswith(scan.NOTEBOOK) else None)
        except source.SourceError as error:
            errors.append(FileResult(file.path, "error", error=str(error)))
    return read, errors


def program_in(file: scan.FoundFile) -> bytes:
    """The Python in a file, to look for imports in; nothing where it cannot be read."""
    if not file.path.endswith(scan.NOTEBOOK):
        return file.data
    try:
        return _cells(source.decode(file.data)).program.encode("utf-8", "replace")
    except source.SourceError:
        return b""


def _cells(text: source.Source) -> Notebook:
    from tfmigrate.files import notebook  # Late: most runs see none.

    return notebook.read(text.text)
