"""The pictures of a report: loss curves or predictions, old and new, and what is left between them on a log scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tfmigrate.verify.judge.align import PredictionPair, StepPair
from tfmigrate.verify.judge.report import Pair, Report, Written

SMALLEST = 3e-8
"""Where differences of exactly zero are drawn: half of what two float32 numbers can differ by without being equal."""

Style: TypeAlias = dict[str, Any]

# Told apart by lightness and dash, so that a grey print keeps them apart.
OLD: Style = {"color": "#9aa3ad", "linewidth": 5.0, "alpha": 0.75, "solid_capstyle": "round"}
STYLES: tuple[Style, ...] = (
    {"color": "#0b3c8c", "linestyle": "-", "linewidth": 1.6},
    {"color": "#c2570c", "linestyle": (0, (5, 2)), "linewidth": 1.6},
    {"color": "#2f7d4f", "linestyle": (0, (1, 1.2)), "linewidth": 1.9},
    {"color": "#7a3e9d", "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.4},
)
WRONG: Style = {"color": "#b3261e", "linewidth": 0.9, "alpha": 0.55}
PAIR: Style = {"color": "#5b6570", "linestyle": "", "marker": "o", "markersize": 5, "alpha": 0.6}
MARKS: tuple[Style, ...] = (
    {"marker": "o", "markersize": 7, "markerfacecolor": "none", "markeredgecolor": "#0b3c8c", "markeredgewidth": 1.1},
    {"marker": "x", "markersize": 5, "markeredgecolor": "#c2570c"},
    {"marker": "+", "markersize": 5, "markeredgecolor": "#2f7d4f"},
    {"marker": ".", "markersize": 2, "markeredgecolor": "#7a3e9d"},
)
STRAY: Style = {"marker": ".", "markersize": 3, "color": "#b3261e", "alpha": 0.3, "linestyle": ""}
LIMIT: Style = {"color": "#111111", "linewidth": 1.2, "linestyle": (0, (8, 3))}


@dataclass(frozen=True)
class Picture:
    """One PNG file and the words beside it."""

    file: str
    caption: str
    png: bytes


def draw(report: Report, folder: Path) -> tuple[Picture, ...]:
    """Writes the PNG files into `folder`; none when no pair of runs has a step or a prediction in common."""
    if report.written is not None and report.written.outcomes:
        caption = "Each pair's difference, new minus old, in margins; beside it the mean with its interval."
        return (_saved(paired(report.written), folder, "paired.png", caption),)
    pairs = [pair for pair in report.pairs if pair.comparison is not None and pair.comparison.common]
    if not pairs:
        return ()
    if report.predicts:
        drawn, file = predictions(report, pairs), "predictions.png"
        caption = (
            "Some of the values that both scripts predict, spread evenly. Where they agree, points lie on the line."
        )
        left = "The largest relative difference in each call, in which every value has a share."
    else:
        drawn, file = curves(pairs), "curves.png"
        caption = "The loss of each training batch, and the validation loss at each epoch's end."
        left = "The relative difference of each step's loss."
    return (
        _saved(drawn, folder, file, caption),
        _saved(residuals(report), folder, "residuals.png", f"{left} Below the dashed line is rounding."),
    )


def _saved(figure: Figure, folder: Path, file: str, caption: str) -> Picture:
    path = folder / file
    figure.savefig(path, dpi=160, facecolor="white")
    return Picture(file, caption, path.read_bytes())


def paired(written: Written) -> Figure:
    """A row for each quantity: the paired differences over the margin, their mean and its interval."""
    count = len(written.outcomes)
    figure = Figure(figsize=(9.6, 1.6 + 1.1 * count), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(-1.0, 1.0, color="#e8f0ea", zorder=0)
    for edge in (-1.0, 1.0):
        axes.axvline(edge, **LIMIT)
    axes.axvline(0.0, color="#9aa3ad", linewidth=0.8)
    for row, outcome in enumerate(written.outcomes):
        old, new = written.old_losses[outcome.name], written.new_losses[outcome.name]
        points = [(b - a) / outcome.margin for a, b in zip(old, new)]
        axes.plot(points, [row + 0.16] * len(points), **PAIR, label="one pair of runs" if not row else None)
        low, high = (end / outcome.margin for end in outcome.interval)
        axes.plot([low, high], [row - 0.14] * 2, **STYLES[0], label="interval of the mean" if not row else None)
        axes.plot(outcome.mean / outcome.margin, row - 0.14, "D", color="#0b3c8c", markersize=6)
        p = outcome.p_different if outcome.answer == "different" else outcome.p_equivalent
        axes.annotate(
            f"{outcome.answer} (p = {p:.2g}); margin {outcome.margin:.3g}",
            (-0.97, row - 0.32),
            va="center",
            fontsize=8,
            color="#5b6570",
        )
    axes.set_yticks(range(count), [outcome.name.replace(", ", ",\n") for outcome in written.outcomes])
    axes.set_ylim(count - 0.4, -0.6)
    furthest = max(map(abs, axes.get_xlim()))
    axes.set_xlim(-furthest, furthest)
    axes.set_xlabel("new minus old, in margins (1 = one standard deviation between two runs of the old script)")
    axes.set_title(f"{len(written.seeds)} pairs of runs as written", loc="left", fontweight="bold")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    _clean(axes)
    axes.grid(visible=False)
    return figure


def predictions(report: Report, pairs: Sequence[Pair]) -> Figure:
    """Each value that both worlds kept, the new one over the old one."""
    figure = Figure(figsize=(9.6, 6.2), layout="constrained")
    axes = figure.subplots()
    compared = [(pair.title, _values(pair.comparison.common if pair.comparison else ())) for pair in pairs]
    old = [x for _, points in compared for x, _ in points]
    if old:
        axes.plot([min(old), max(old)], [min(old), max(old)], **OLD)
    strays = [point for one in report.controls if _drawable(one.steps) for point in _values(one.steps)]
    if strays:
        axes.plot(*zip(*strays), label="wrong on purpose (controls)", **STRAY)
    for (title, points), style in zip(compared, MARKS * len(compared)):
        if points:
            axes.plot(*zip(*points), label=title, linestyle="", **style)
    axes.set_xlabel("old")
    axes.set_ylabel("new")
    axes.set_title("Predictions, old and new", loc="left", fontweight="bold")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    _clean(axes)
    return figure


SHOWN = 400
"""Points of each pair, and of each control, at most."""


def _values(calls: Sequence[StepPair | PredictionPair]) -> list[tuple[float, float]]:
    """(old, new) of the values kept in calls whose arrays have one shape."""
    found = [
        point
        for pair in calls
        if isinstance(pair, PredictionPair) and math.isfinite(pair.difference)
        for a, b in zip(pair.old.outputs, pair.new.outputs)
        for point in zip(a.values, b.values)
    ]
    return found[:: max(1, -(-len(found) // SHOWN))]


def curves(pairs: Sequence[Pair]) -> Figure:
    """Both worlds' losses over all steps; an old run that several pairs share is drawn once."""
    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    axes = figure.subplots()
    drawn: set[str] = set()
    styles = iter(STYLES * len(pairs))
    shared = sorted(pairs, key=lambda pair: not pair.decides)
    for pair in shared:
        assert pair.comparison is not None
        steps = pair.comparison.steps
        if pair.old not in drawn:
            first = not drawn
            style = OLD if first else next(styles)
            axes.plot([p.old for p in steps], label=pair.old, **style)
            drawn.add(pair.old)
        if pair.new not in drawn:
            axes.plot([p.new for p in steps], label=pair.new, **next(styles))
            drawn.add(pair.new)
    reference = shared[0].comparison
    assert reference is not None
    ends = _epoch_ends(reference.steps)
    validation = [(end, e.old_validation, e.new_validation) for end, e in zip(ends, reference.epochs)]
    old = [(x, v) for x, v, _ in validation if v is not None]
    new = [(x, v) for x, _, v in validation if v is not None]
    if old:
        axes.plot(*zip(*old), "o", color="#9aa3ad", markersize=9, label=f"validation, {shared[0].old}")
    if new:
        axes.plot(*zip(*new), "x", color="#0b3c8c", markersize=6, label=f"validation, {shared[0].new}")
    _epochs(axes, ends)
    axes.set_xlabel("optimizer step")
    axes.set_ylabel("loss")
    axes.set_title("Loss, old and new", loc="left", fontweight="bold")
    axes.legend(frameon=False, fontsize=9)
    _clean(axes)
    return figure


def residuals(report: Report) -> Figure:
    """Every pair's relative difference, the wrong migrations' too, and the tolerance."""
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    axes = figure.subplots()
    pairs = [pair for pair in report.pairs if pair.comparison is not None and pair.comparison.common]
    length = max(len(pair.comparison.common) for pair in pairs if pair.comparison)
    shown = report.shown
    comparison = (shown.comparison if shown else None) or pairs[0].comparison
    assert comparison is not None
    dots: Style = {"marker": "."} if length == 1 else {}
    labelled: list[tuple[float, str]] = []
    for control in report.controls:
        values = _drawable(control.steps)
        if values and max(values) > comparison.tolerance:  # the others were told apart by the contract
            axes.plot(values, **WRONG, **dots)
            labelled.append((values[-1], control.mutation))
    for pair, style in zip(pairs, STYLES * len(pairs)):
        assert pair.comparison is not None
        axes.plot(_drawable(pair.comparison.common), label=pair.title, **style, **dots)
    judged = len(comparison.steps) if comparison.shared else len(comparison.judged_steps)
    if judged < len(comparison.steps):
        axes.axvspan(judged - 0.5, length - 0.5, color="#f3ead9", zorder=-1)
        axes.annotate("from the first remainder batch on: not judged", (judged, 1.5 * SMALLEST), fontsize=9)
    axes.axhline(comparison.tolerance, **LIMIT)
    axes.annotate(
        f"tolerance {comparison.tolerance:.2g}",
        (length * 1.02, comparison.tolerance),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=9,
    )
    _epochs(axes, _epoch_ends(comparison.steps))
    axes.set_yscale("log")
    axes.set_ylim(SMALLEST / 2, None)
    axes.set_xlim(-0.02 * length, length * (1.3 if labelled else 1.02))
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= length and tick == int(tick)])
    for y, text in _spread(labelled, axes):
        axes.annotate(text, (length * 1.02, y), fontsize=8, color="#b3261e", va="center")
    axes.set_xlabel("call that predicts" if report.predicts else "optimizer step")
    axes.set_ylabel(f"relative {report.compared} difference")
    axes.set_title("What is left between them", loc="left", fontweight="bold")
    extra = [axes.plot([], [], label="wrong on purpose (controls)", **WRONG)[0]] if labelled else []
    handles = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_") and line not in extra]
    figure.legend(handles=[*handles, *extra], frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    _clean(axes)
    return figure


def _drawable(steps: Sequence[StepPair | PredictionPair]) -> list[float]:
    """Of an evenly shared remainder the losses are different means, and no line goes through them."""
    return [
        max(p.difference, SMALLEST)
        if math.isfinite(p.difference) and not (isinstance(p, StepPair) and p.uneven and p.shared)
        else math.nan
        for p in steps
    ]


def _spread(labels: list[tuple[float, str]], axes: Axes) -> list[tuple[float, str]]:
    """Heights on the log axis at which the labels do not touch, in the order of their lines."""
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    gap = 0.05 * (high - low)
    placed: list[tuple[float, str]] = []
    for y, text in sorted((math.log10(max(y, SMALLEST)), text) for y, text in labels if not math.isnan(y)):
        placed.append((max(y, placed[-1][0] + gap) if placed else y, text))
    return [(10.0**y, text) for y, text in placed]


def _epoch_ends(steps: Sequence[StepPair]) -> list[float]:
    """x of the boundary after each epoch of each training call."""
    keys = [(p.fit, p.epoch) for p in steps]
    return [i + 0.5 for i in range(len(keys)) if i + 1 == len(keys) or keys[i] != keys[i + 1]]


def _epochs(axes: Axes, ends: Sequence[float]) -> None:
    if len(ends) <= 40:
        for end in ends[:-1]:
            axes.axvline(end, color="#d7dce1", linewidth=0.8, zorder=0)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#eceff2", linewidth=0.8)
    axes.set_axisbelow(True)
