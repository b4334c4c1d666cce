"""The report as Markdown, for the description of a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tfmigrate.verify.judge.report import EXIT_CODES, Report
from tfmigrate.verify.report.words import devices, figure, margin, not_run, sentence, size

MARKS = {0: "✅", 1: "❌", 2: "❔", 3: "❔"}
"""By the exit code of a verdict."""


def render(report: Report, pictures: Sequence[str] = ()) -> str:
    """`pictures`: files that lie beside the text once it is published."""
    parts = (
        *_verdict(report),
        *_pairs(report),
        *_seeds(report),
        *(f"![{name.removesuffix('.png')}]({name})" for name in pictures),
        *_contract(report),
        *_controls(report),
        *_runs(report),
    )
    notes = "\n".join(f"- {_text(note)}" for note in report.notes)
    return "\n\n".join((*parts, *([_folded("Notes", notes)] if notes else []))) + "\n"


def _verdict(report: Report) -> Iterator[str]:
    yield f"### {MARKS[EXIT_CODES[report.verdict]]} {report.headline}: {_text(report.title)}"
    yield _text(sentence(report.reason))
    if report.line:
        yield f"At {_code(report.line.place)}: {_code(report.line.text)}"
    if report.covered:
        yield _text(f"Depth: {report.depth}. Trained: {report.covered}.")


def _pairs(report: Report) -> Iterator[str]:
    """Each old run against each new one."""
    if not report.pairs:
        return
    rows = []
    for pair in report.pairs:
        largest = pair.comparison.max_relative_difference if pair.comparison else None
        tolerance = pair.comparison.tolerance if pair.comparison else None
        cause = pair.divergence.cause if pair.divergence else "nothing to compare"
        answer = "yes" if pair.equivalent else f"**no**: {cause}"
        sizes = (size(value) if pair.comparison else figure(None) for value in (largest, tolerance))
        rows.append((pair.old, pair.new, *sizes, answer))
    same = "same predictions" if report.predicts else "same training"
    yield _table(("old", "new", f"largest {report.compared} difference", "tolerance", same), rows)


def _seeds(report: Report) -> Iterator[str]:
    """What runs as written, with several seeds, came to."""
    if not report.written:
        return
    written, count = report.written, len(report.written.seeds)
    quantities = [
        (
            outcome.name,
            size(sum(written.old_losses[outcome.name]) / count),
            size(sum(written.new_losses[outcome.name]) / count),
            f"{size(outcome.interval[0])} ... {size(outcome.interval[1])}",
            size(outcome.margin),
            outcome.answer if outcome.answer == "equivalent" else f"**{outcome.answer}**",
        )
        for outcome in written.outcomes
    ]
    yield f"As written, over {count} pairs of runs, nothing neutralised:"
    yield _table(("quantity", "old", "new", "difference", "margin", "answer"), quantities)


def _contract(report: Report) -> Iterator[str]:
    """What is not the same on both sides, and the differences of the two systems that are known."""
    apart = [
        (row.what, figure(row.old), figure(row.new), f"known: {row.known}" if row.known else "**differs**")
        for row in report.contract
        if not row.same
    ]
    if apart:
        yield _table(("not the same", "old", "new", ""), apart)
    if report.known:
        yield "Known differences of the two systems:"
        yield "\n".join(f"- {name}: {_text(what)}: {size(value)}" for name, what, value in report.known)


def _controls(report: Report) -> Iterator[str]:
    """The wrong migrations that were made on purpose."""
    if not report.controls:
        return
    rows = [
        (
            control.mutation,
            size(control.max_relative_difference),
            margin(control.max_relative_difference, report.tolerance),
            "yes" if control.detected else "**no**",
            control.found,
        )
        for control in report.controls
    ]
    headings = ("wrong on purpose", f"{report.compared} difference", "times the tolerance", "detected", "found as")
    left = not_run(report)
    table = _table(headings, rows) + (f"\n\n{_text(left)}." if left else "")
    detected = sum(control.detected for control in report.controls)
    yield _folded(f"{detected} of {len(rows)} wrong migrations were detected", table)


def _runs(report: Report) -> Iterator[str]:
    """With what each script ran; of runs with several seeds those of the first."""
    told = report.scripts
    if not told:
        return
    fast = any(run.speed is not None for run in told)
    amounts = ("rows predicted",) if report.predicts else ("global batch", "steps")
    rows = [
        (
            run.role,
            f"{run.runtime}, TensorFlow {figure(run.tensorflow)}, Keras {figure(run.keras)}",
            devices(run.devices),
            *map(figure, (run.rows_predicted,) if report.predicts else (run.global_batch_size, run.steps)),
            *((figure(None if run.speed is None else round(run.speed)),) if fast else ()),
        )
        for run in told
    ]
    headings = ("run", "with", "devices", *amounts, *(("samples/s",) if fast else ()))
    yield _folded(f"{len(rows)} runs", _table(headings, rows))


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(_text(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _code(text: str) -> str:
    """A line of a script: between more backticks than it has."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _text(text: str) -> str:
    """On one line, and no tag of HTML's."""
    return " ".join(text.split()).replace("<", "&lt;")
