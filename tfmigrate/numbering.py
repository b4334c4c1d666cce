"""How the lines of a program are numbered for those who read about them: from 1, or cell by cell in a notebook."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CellStart:
    """Where a notebook's cell begins in the program that its cells are."""

    number: int
    """Place among all cells, from 1."""
    first_line: int
    above: int
    """Lines of the cell that stand above those of the program."""


@dataclass(frozen=True)
class Numbering:
    """Lines of a script, or of a notebook with these cells, in order."""

    cells: tuple[CellStart, ...] = ()

    def at(self, line: int) -> tuple[int, int]:
        """The cell that holds a line of the program, by its place in `cells`, and the line in that cell, from 1."""
        index = next((n for n in reversed(range(len(self.cells))) if self.cells[n].first_line <= line), 0)
        cell = self.cells[index]
        return index, line - cell.first_line + 1 + cell.above

    def words(self, line: int) -> str:
        """A line of the program, in words."""
        if not self.cells:
            return f"line {line}"
        index, line = self.at(line)
        return f"cell {self.cells[index].number}, line {line}"


SCRIPT = Numbering()
