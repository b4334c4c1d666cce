"""The verdict for a terminal, of 80 columns or more: nothing in it is cut, and no table is wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from tfmigrate.verify.judge.contract_rows import Row
from tfmigrate.verify.judge.report import EXIT_CODES, Report, Written
from tfmigrate.verify.judge.summaries import RunSummary
from tfmigrate.verify.report.words import figure, margin, not_run, roles, size

COLOURS = {0: "bold green", 1: "bold red", 2: "bold red", 3: "bold yellow"}
"""By the exit code of a verdict."""
ANSWERS = {"equivalent": "green", "different": "red", "open": "yellow"}
GAP = "  "
INDENT = 4


@dataclass(frozen=True)
class Line:
    """One line of a table: its cells, and a sentence that stands beside them where there is room, else below."""

    cells: tuple[str | Text, ...]
    sentence: str = ""


def show(report: Report, console: Console) -> None:
    """Prints runs, comparisons, what differs, the controls and, last, the verdict."""
    if report.runs:
        _runs(report, console)
    if report.pairs:
        _pairs(report, console)
    apart = [row for row in report.contract if not row.same]
    if apart:
        _title(console, "Not the same")
        for row in apart:
            _row(console, row)
    if report.written:
        _written(console, report.written)
    if report.controls:
        _controls(report, console)
    if left := not_run(report):
        console.print(Text(f"{left}.", style="dim"))
    for name, what, amount in report.known:
        console.print(Text.assemble(("Known difference, ", "dim"), f"{name}: {what}: {size(amount)}"))
    for note in report.notes:
        console.print(Text(f"Note: {note}", style="dim"))
    if report.covered:
        console.print(Text(f"Depth: {report.depth}. Trained: {report.covered}.", style="dim"))
    console.print()
    console.print(Text.assemble((report.headline, COLOURS[EXIT_CODES[report.verdict]]), f"  {report.reason}"))
    if report.line:
        console.print(Text.assemble((f"{report.line.place}: ", "bold"), report.line.text))


def _runs(report: Report, console: Console) -> None:
    shown = report.scripts  # controls have a table of their own
    fast = any(run.speed is not None for run in shown)
    amounts = ("rows",) if report.predicts else ("batch", "steps")
    headings = ("run", "Python", "TensorFlow", "Keras", "replicas", *amounts, *(("samples/s",) if fast else ()))
    rows = [
        Line((run.role, run.runtime.removeprefix("Python "), *_numbers(run, report.predicts, fast))) for run in shown
    ]
    _table(console, "Runs", headings, rows, numbers=4)
    if legend := roles(report.runs):
        console.print(Text(f"{legend}.", style="dim"))
    for run in shown:
        if run.outcome != "ok":
            console.print(Text(run.outcome, style="red"))


def _numbers(run: RunSummary, predicts: bool, fast: bool) -> tuple[str, ...]:
    amounts = (run.rows_predicted,) if predicts else (run.global_batch_size, run.steps)
    speed = (None if run.speed is None else round(run.speed),) if fast else ()
    return tuple(map(figure, (run.tensorflow, run.keras, run.replicas, *amounts, *speed)))


def _pairs(report: Report, console: Console) -> None:
    title = "Predictions, call by call" if report.predicts else "Training loss, step by step"
    rows: list[Line] = []
    before = ""
    for pair in report.pairs:
        comparison = pair.comparison
        rows.append(
            Line(
                (
                    pair.title,
                    figure(None) if comparison is None else f"{comparison.max_relative_difference:.1e}",
                    figure(None) if comparison is None else f"{comparison.tolerance:.0e}",
                    Text("yes", style="green") if pair.equivalent else Text("no", style="red"),
                ),
                "" if pair.remark == before else pair.remark,
            )
        )
        before = pair.remark
    _table(console, title, ("old vs new", "difference", "tolerance", "same"), rows, numbers=1)


def _row(console: Console, row: Row) -> None:
    mark = f"known: {row.known}" if row.known else "DIFFERENT"
    style = "" if row.known else "red"
    line = f"{figure(row.old)} -> {figure(row.new)}"
    console.print(Text.assemble(f"{row.what}: ", (mark, style)))
    console.print(Padding(Text(line), (0, 0, 0, INDENT), expand=False))


def _written(console: Console, written: Written) -> None:
    count = len(written.seeds)
    _title(console, f"As written, {count} of {written.looks[-1].pairs} pairs of runs")
    for outcome in written.outcomes:
        old, new = (sum(losses[outcome.name]) / count for losses in (written.old_losses, written.new_losses))
        p = outcome.p_different if outcome.answer == "different" else outcome.p_equivalent
        low, high = (f"{end:+.2g}" for end in outcome.interval)
        console.print(Text.assemble(f"{outcome.name}: ", (outcome.answer, ANSWERS[outcome.answer])))
        words = f"{old:.4g} -> {new:.4g}; difference {outcome.mean:+.2g} ({low} to {high})"
        words += f", margin {outcome.margin:.2g}, p {p:.2g}"
        console.print(Padding(Text(words), (0, 0, 0, INDENT), expand=False))


def _controls(report: Report, console: Console) -> None:
    rows = [
        Line(
            (
                control.mutation,
                Text("yes", style="green") if control.detected else Text("NO", style="bold red"),
                margin(control.max_relative_difference, report.tolerance),
            ),
            control.found,
        )
        for control in report.controls
    ]
    headings = ("mistake", "detected", "difference / tolerance")
    _table(console, "Controls: migrations made wrong on purpose", headings, rows, numbers=2)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _table(console: Console, title: str, headings: Sequence[str], lines: Sequence[Line], numbers: int) -> None:
    """Columns as wide as what stands in them, those from `numbers` on to the right. A first cell that leaves the others
    no room on the console has a line of its own."""
    _title(console, title)
    table = [Line(tuple(Text(heading, style="dim") for heading in headings)), *lines]
    widths = [max(cell_len(str(line.cells[i])) for line in table) for i in range(len(headings))]
    room = console.width - sum(widths[1:]) - len(GAP) * (len(widths) - 1)
    widths[0] = max(cell_len(headings[0]), min(widths[0], room))
    for line in table:
        cells = [cell.copy() if isinstance(cell, Text) else Text(cell) for cell in line.cells]
        if cells[0].cell_len > widths[0]:
            console.print(cells[0])
            cells[0] = Text()
        for i, (cell, width) in enumerate(zip(cells, widths)):
            cell.align("right" if i >= numbers else "left", width)
        row = Text(GAP).join(cells)
        if line.sentence and row.cell_len + len(GAP) + cell_len(line.sentence) <= console.width:
            console.print(Text.assemble(row, GAP, line.sentence))
            continue
        row.rstrip()
        console.print(row)
        if line.sentence:
            console.print(Padding(Text(line.sentence), (0, 0, 0, INDENT), expand=False))
