"""Many verifications as one table: index.html with a link to each report, JUnit, JSON, and a terminal's table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

from tfmigrate import junit
from tfmigrate.verify.judge.report import EXIT_CODES, INTERRUPTED, Verdict
from tfmigrate.verify.report.junit import conclude
from tfmigrate.verify.report.page import environment, replace_file
from tfmigrate.verify.report.terminal import COLOURS
from tfmigrate.verify.report.words import size

TEMPLATE = "batch.html.jinja"
WORST_FIRST: tuple[Verdict, ...] = (
    "DIFFERENT", "DOES NOT RUN", "COULD NOT RUN", "INCONCLUSIVE", "SMOKE PASSED", "EQUIVALENT",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One program of a batch."""

    name: str
    verdict: Verdict
    headline: str
    reason: str
    difference: float | None
    """The largest relative one of the losses."""
    seconds: float
    """Of all its runs together."""
    page: str | None = None
    """report.html, relative to the folder of the batch; None where nothing could be run."""
    remembered: bool = False
    """Verified by an earlier call, since when nothing has changed."""
    complete: bool = True

    @property
    def colour(self) -> str:
        """By which the page's style knows it."""
        return {0: "good", 1: "bad", 2: "bad", 3: "open"}[EXIT_CODES[self.verdict]]

    @classmethod
    def of(cls, name: str, document: Mapping[str, Any], page: str | None, remembered: bool) -> Row:
        """`document`: its report.json."""
        return cls(
            name,
            document["verdict"],
            document["headline"],
            document["reason"],
            document["loss"]["max_relative_difference"],
            sum(run["seconds"] for run in document["runs"]),
            page,
            remembered,
            document["state"] == "complete",
        )


def exit_code(rows: Sequence[Row]) -> int:
    """As of one verification, by the worst: 1 different, 2 could not run, 3 inconclusive, 0 where all agree."""
    if not all(row.complete for row in rows):
        return INTERRUPTED
    codes = {EXIT_CODES[row.verdict] for row in rows}
    return next((code for code in (1, 2, 3) if code in codes), 0)


def counts(rows: Sequence[Row]) -> str:
    """ "18 EQUIVALENT, 1 DIFFERENT"."""
    verdicts = [row.verdict for row in rows]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in reversed(WORST_FIRST) if verdict in verdicts)


def write(rows: Sequence[Row], planned: int, folder: Path) -> Path:
    """Writes index.html, batch.json and batch.xml (JUnit) of what is known so far; returns the path of index.html.
    Raises OSError when the folder cannot be written."""
    ordered = sorted(rows, key=lambda row: (WORST_FIRST.index(row.verdict), row.name))
    document = {"planned": planned, "programs": [asdict(row) for row in ordered]}
    replace_file(folder / "batch.json", json.dumps(document, indent=2, allow_nan=False) + "\n")
    replace_file(folder / "batch.xml", _junit(ordered))
    page = folder / "index.html"
    html = environment().get_template(TEMPLATE).render(rows=ordered, planned=planned, counts=counts(ordered))
    replace_file(page, html)
    return page


def show(rows: Sequence[Row], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("program", "verdict", "difference", "seconds"):
        table.add_column(title, justify="left" if title in ("program", "verdict") else "right", overflow="fold")
    for row in rows:
        difference = "" if row.difference is None else size(row.difference)
        seconds = "as before" if row.remembered else f"{row.seconds:.0f}"
        table.add_row(row.name, f"[{COLOURS[EXIT_CODES[row.verdict]]}]{row.headline}[/]", difference, seconds)
    console.print(table)


def _junit(rows: Sequence[Row]) -> str:
    cases = []
    for row in rows:
        case = ElementTree.Element("testcase", classname="tfmigrate.verify", name=row.name, time=f"{row.seconds:.3f}")
        conclude(case, row.verdict, EXIT_CODES[row.verdict], f"{row.headline}: {row.reason}")
        cases.append(case)
    return junit.document("tfmigrate verify --batch", cases)
