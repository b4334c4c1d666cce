"""The verdict for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tfmigrate.verify.judge.report import CONTROL, Report, Written
from tfmigrate.verify.report.words import figure, margin, memory, not_run, roles

COLOURS = {
    "EQUIVALENT": "bold green",
    "SMOKE PASSED": "bold green",
    "DIFFERENT": "bold red",
    "DOES NOT RUN": "bold red",
    "COULD NOT RUN": "bold red",
    "INCONCLUSIVE": "bold yellow",
}


def show(report: Report, console: Console) -> None:
    """Prints runs, comparisons, what differs, the controls and, last, the verdict."""
    if report.runs:
        console.print(runs(report))
        if legend := roles(report.runs):
            console.print(Text(legend, style="dim"))
        for run in report.runs:
            if run.outcome != "ok" and not run.role.startswith(CONTROL):
                console.print(Text(run.outcome, style="red"))
    if report.pairs:
        console.print(pairs(report))
    shown = report.shown
    if shown and shown.comparison:
        apart = [row for row in shown.comparison.contract if not row.same]
        if apart:
            table = Table("contract", "old", "new", "", title="Not the same", title_justify="left")
            for row in apart:
                table.add_row(
                    row.what, figure(row.old), figure(row.new), f"known: {row.known}" if row.known else "DIFFERENT"
                )
            console.print(table)
    if report.written:
        console.print(written(report.written))
        apart = [row for row in report.written.contract if not row.same]
        for row in apart:
            console.print(Text(f"{row.what}: {figure(row.old)} became {figure(row.new)}", style="red"))
    if report.controls:
        console.print(controls(report))
    if left := not_run(report):
        console.print(Text(left, style="dim"))
    for name, what, size in report.known:
        console.print(Text.assemble(("Known difference, ", "dim"), f"{name}: {what}: {size:.3g}"))
    for note in report.notes:
        console.print(Text(f"Note: {note}", style="dim"))
    if report.covered:
        console.print(Text(f"Depth: {report.depth}. Trained: {report.covered}.", style="dim"))
    console.print(Text.assemble((report.verdict, COLOURS[report.verdict]), f"  {report.reason}"))


def runs(report: Report) -> Table:
    table = Table("run", "runtime", "TensorFlow", "Keras", title="Runs", title_justify="left")
    amounts = ("rows predicted",) if report.predicts else ("global batch", "steps")
    for heading in ("replicas", *amounts, "samples/s", "memory"):
        table.add_column(heading, justify="right")
    for run in report.runs:
        if run.role.startswith(CONTROL) or (report.written and not run.role.endswith("seed 1")):
            continue  # the one have a table of their own, the others are alike
        rate = None if run.samples_per_second is None else round(run.samples_per_second)
        table.add_row(
            run.role,
            run.runtime,
            figure(run.tensorflow),
            figure(run.keras),
            figure(run.replicas),
            *map(figure, (run.rows_predicted,) if report.predicts else (run.global_batch_size, run.steps)),
            figure(rate),
            memory(run.peak_memory_bytes),
        )
    return table


def pairs(report: Report) -> Table:
    title = "Predictions, call by call" if report.predicts else "Training loss, step by step"
    table = Table("old", "new", title=title, title_justify="left")
    table.add_column("largest relative difference", justify="right")
    table.add_column("tolerance", justify="right")
    table.add_column("same predictions" if report.predicts else "same training")
    for pair in report.pairs:
        comparison = pair.comparison
        answer = Text("yes", style="green") if pair.equivalent else Text("no", style="red")
        if pair.remark:
            answer.append(f": {pair.remark}", style="default")
        table.add_row(
            pair.old,
            pair.new,
            f"{comparison.max_relative_difference:.2e}" if comparison else figure(None),
            f"{comparison.tolerance:.1e}" if comparison else figure(None),
            answer,
        )
    return table


def written(found: Written) -> Table:
    count, planned = len(found.seeds), found.looks[-1].pairs
    table = Table("quantity", title=f"As written, {count} of {planned} pairs of runs", title_justify="left")
    for heading in ("old", "new", "difference", "interval", "margin", "p"):
        table.add_column(heading, justify="right")
    table.add_column("answer")
    for one in found.outcomes:
        old, new = found.old_losses[one.name], found.new_losses[one.name]
        p = one.p_different if one.answer == "different" else one.p_equivalent
        table.add_row(
            one.name,
            f"{sum(old) / count:.4g}",
            f"{sum(new) / count:.4g}",
            f"{one.mean:+.3g}",
            f"{one.interval[0]:+.3g} ... {one.interval[1]:+.3g}",
            f"{one.margin:.3g}",
            f"{p:.2g}",
            Text(one.answer, style={"equivalent": "green", "different": "red", "open": "yellow"}[one.answer]),
        )
    return table


def controls(report: Report) -> Table:
    shown = report.shown
    tolerance = shown.comparison.tolerance if shown and shown.comparison else None
    table = Table("wrong on purpose", title="Controls", title_justify="left")
    table.add_column(f"{report.compared} difference", justify="right")
    table.add_column("times the tolerance", justify="right")
    table.add_column("detected")
    table.add_column("found as")
    for control in report.controls:
        size = control.max_relative_difference
        table.add_row(
            control.mutation,
            figure(None) if size is None else f"{size:.2e}",
            margin(size, tolerance),
            Text("yes", style="green") if control.detected else Text("NO", style="bold red"),
            control.found,
        )
    return table
