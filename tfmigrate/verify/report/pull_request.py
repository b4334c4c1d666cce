"""The report as Markdown, for the description of a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfmigrate.verify.judge.report import CONTROL, Report
from tfmigrate.verify.report.words import devices, figure, margin, not_run, sentence, size

MARKS = {
    "EQUIVALENT": "✅",
    "SMOKE PASSED": "✅",
    "DIFFERENT": "❌",
    "DOES NOT RUN": "❌",
    "INCONCLUSIVE": "❔",
    "COULD NOT RUN": "❔",
}


def render(report: Report, pictures: Sequence[str] = ()) -> str:
    """`pictures`: files that lie beside the text once it is published."""
    parts = [f"### {MARKS[report.verdict]} {report.headline}: {_text(report.title)}", _text(sentence(report.reason))]
    if report.shown and report.shown.divergence and report.shown.line:
        line = report.shown.line
        parts.append(f"At {_code(line.place)}: {_code(line.text)}")
    if report.covered:
        parts.append(_text(f"Depth: {report.depth}. Trained: {report.covered}."))
    shown = report.shown
    comparison = shown.comparison if shown else None
    if report.pairs:
        rows = [
            (
                pair.old,
                pair.new,
                size(pair.comparison.max_relative_difference) if pair.comparison else figure(None),
                size(pair.comparison.tolerance) if pair.comparison else figure(None),
                "yes"
                if pair.equivalent
                else f"**no**: {pair.divergence.cause if pair.divergence else 'nothing to compare'}",
            )
            for pair in report.pairs
        ]
        same = "same predictions" if report.predicts else "same training"
        parts.append(_table(("old", "new", f"largest {report.compared} difference", "tolerance", same), rows))
    if report.written:
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
        parts.append(f"As written, over {count} pairs of runs, nothing neutralised:")
        parts.append(_table(("quantity", "old", "new", "difference", "margin", "answer"), quantities))
    parts += [f"![{name.removesuffix('.png')}]({name})" for name in pictures]
    apart = [row for row in report.contract if not row.same]
    if apart:
        parts.append(
            _table(
                ("not the same", "old", "new", ""),
                [
                    (r.what, figure(r.old), figure(r.new), f"known: {r.known}" if r.known else "**differs**")
                    for r in apart
                ],
            )
        )
    if report.known:
        parts.append("Known differences of the two systems:")
        parts.append("\n".join(f"- {name}: {_text(what)}: {size(value)}" for name, what, value in report.known))
    if report.controls:
        detected = sum(control.detected for control in report.controls)
        tolerance = comparison.tolerance if comparison else None
        rows = [
            (
                control.mutation,
                size(control.max_relative_difference),
                margin(control.max_relative_difference, tolerance),
                "yes" if control.detected else "**no**",
                control.found,
            )
            for control in report.controls
        ]
        of_controls = (
            "wrong on purpose",
            f"{report.compared} difference",
            "times the tolerance",
            "detected",
            "found as",
        )
        table = _table(of_controls, rows)
        table += f"\n\n{_text(left)}." if (left := not_run(report)) else ""
        parts.append(_folded(f"{detected} of {len(rows)} wrong migrations were detected", table))
    alike = [
        run
        for run in report.runs
        if not run.role.startswith(CONTROL) and (not report.written or run.role.endswith("seed 1"))
    ]
    if alike:
        fast = any(run.speed is not None for run in alike)
        amounts = ("rows predicted",) if report.predicts else ("global batch", "steps")
        runs = [
            (
                run.role,
                f"{run.runtime}, TensorFlow {figure(run.tensorflow)}, Keras {figure(run.keras)}",
                devices(run.devices),
                *map(figure, (run.rows_predicted,) if report.predicts else (run.global_batch_size, run.steps)),
                *((figure(None if run.speed is None else round(run.speed)),) if fast else ()),
            )
            for run in alike
        ]
        headings = ("run", "with", "devices", *amounts, *(("samples/s",) if fast else ()))
        parts.append(_folded(f"{len(runs)} runs", _table(headings, runs)))
    if report.notes:
        parts.append(_folded("Notes", "\n".join(f"- {_text(note)}" for note in report.notes)))
    return "\n\n".join(parts) + "\n"


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
