"""The pictures of a report: loss curves or predictions, old and new, and what is left between them on a log scale.

Each is drawn three times: as a PNG file, and as two SVG images for the page, one for wide and one for narrow screens,
whose colours are those of the page.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tfmigrate.verify.judge.align import PredictionPair, StepPair
from tfmigrate.verify.judge.report import Pair, Report, Written
from tfmigrate.verify.report.labels import Label, at_the_end, write
from tfmigrate.verify.report.look import (
    FIFTH,
    FIRST,
    FOURTH,
    GRID,
    INK,
    INKED,
    INSIDE,
    MISTAKE,
    NOT_JUDGED,
    OLD_COLOUR,
    PAPER,
    RULE,
    SECOND,
    SOFT,
    THIRD,
    VARIABLES,
    Shape,
    Style,
)

SMALLEST = 3e-8
"""Where differences of exactly zero are drawn: half of what two float32 numbers can differ by without being equal."""

# Different in lightness and dash too, so that a grey print keeps them apart.
OLD: Style = {"color": OLD_COLOUR, "linewidth": 5.0, "alpha": 0.75, "solid_capstyle": "round"}
STYLES: tuple[Style, ...] = (
    {"color": FIRST, "linestyle": "-", "linewidth": 1.6},
    {"color": SECOND, "linestyle": (0, (5, 2)), "linewidth": 1.6},
    {"color": THIRD, "linestyle": (0, (1, 1.2)), "linewidth": 1.9},
    {"color": FOURTH, "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.4},
    {"color": FIFTH, "linestyle": (0, (2, 4)), "linewidth": 2.2},
)
WRONG: Style = {"color": MISTAKE, "linewidth": 0.9, "alpha": 0.55}
PAIR: Style = {"color": SOFT, "linestyle": "", "marker": "o", "markersize": 5, "alpha": 0.6}
MARKS: tuple[Style, ...] = (
    {"marker": "o", "markersize": 7, "markerfacecolor": "none", "markeredgecolor": FIRST, "markeredgewidth": 1.1},
    {"marker": "x", "markersize": 5, "markeredgecolor": SECOND},
    {"marker": "+", "markersize": 5, "markeredgecolor": THIRD},
    {"marker": ".", "markersize": 2, "markeredgecolor": FOURTH},
)
STRAY: Style = {"marker": ".", "markersize": 3, "color": MISTAKE, "alpha": 0.3, "linestyle": ""}
LIMIT: Style = {"color": INK, "linewidth": 1.2, "linestyle": (0, (8, 3))}


WIDE = Shape(9.6, 10.5, 34)
NARROW = Shape(5.0, 10.0, 20)


@dataclass(frozen=True)
class Picture:
    """One PNG file, the words below it, and the same as elements of a page."""

    file: str
    caption: str
    wide: str
    narrow: str
    """SVG."""


def draw(report: Report, folder: Path) -> tuple[Picture, ...]:
    """Writes the PNG files into `folder`; none when no pair of runs has a step or a prediction in common."""
    written = report.written
    if written is not None and written.outcomes:
        caption = "Each pair's difference, new minus old, in margins; beside it the mean with its interval."
        return (_saved(lambda shape: paired(written, shape), folder, "paired.png", caption),)
    pairs = [pair for pair in report.pairs if pair.comparison is not None and pair.comparison.common]
    if not pairs:
        return ()
    if report.predicts:
        caption = (
            "A sample of the values that both scripts predict, spread evenly. If they agree, the points are on "
            "the line."
        )
        first = _saved(lambda shape: predictions(report, pairs, shape), folder, "predictions.png", caption)
        left = "The largest relative difference in each call, to which every value contributes."
    else:
        caption = "The loss of each training batch, and the validation loss at each epoch's end."
        first = _saved(lambda shape: curves(pairs, shape), folder, "curves.png", caption)
        left = "The relative difference of each step's loss."
    caption = f"{left} Below the dashed line is rounding."
    return (first, _saved(lambda shape: residuals(report, pairs, shape), folder, "residuals.png", caption))


def _saved(draw: Callable[[Shape], Figure], folder: Path, file: str, caption: str) -> Picture:
    images = []
    for shape in (WIDE, NARROW):
        settings: dict[Any, Any] = dict.fromkeys(INKED, INK)
        settings |= {"font.size": shape.font, "svg.fonttype": "none", "svg.hashsalt": f"{file} {shape.width}"}
        with rc_context(settings):
            figure = draw(shape)
            if shape is WIDE:
                figure.savefig(folder / file, dpi=160, facecolor=PAPER)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", transparent=True)
            images.append(_for_page(buffer.getvalue(), caption))
    return Picture(file, caption, *images)


def _for_page(svg: str, caption: str) -> str:
    """An SVG file as an element of the page: its size, its letters and its colours are the page's."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]+"', element)
    assert view is not None
    element = re.sub(r"<svg[^>]*>", f'<svg {view[0]} role="img" aria-label="{caption}">', element, count=1)
    # Of groups, the same in every picture; marks and clips, to which it refers, have hashes.
    element = re.sub(r' id="(?![mp][0-9a-f]{10}")[^"]*"', "", element)
    element = re.sub(r"font-family: [^;\"]+", "font-family: inherit", element)
    element = re.sub(r"(font: [^;\"]*?px) [^;\"]+", r"\1 system-ui, sans-serif", element)
    for colour, name in VARIABLES.items():
        element = element.replace(colour, f"var({name})")
    return element


def paired(written: Written, shape: Shape) -> Figure:
    """A row for each quantity: the paired differences over the margin, their mean and its interval."""
    count = len(written.outcomes)
    figure = shape.figure(1.6 + 1.1 * count)
    axes = figure.subplots()
    axes.axvspan(-1.0, 1.0, color=INSIDE, zorder=0)
    for edge in (-1.0, 1.0):
        axes.axvline(edge, **LIMIT)
    axes.axvline(0.0, color=OLD_COLOUR, linewidth=0.8)
    for row, outcome in enumerate(written.outcomes):
        old, new = written.old_losses[outcome.name], written.new_losses[outcome.name]
        points = [(b - a) / outcome.margin for a, b in zip(old, new)]
        axes.plot(points, [row + 0.16] * len(points), **PAIR, label="one pair of runs" if not row else None)
        low, high = (end / outcome.margin for end in outcome.interval)
        axes.plot([low, high], [row - 0.14] * 2, **STYLES[0], label="interval of the mean" if not row else None)
        axes.plot(outcome.mean / outcome.margin, row - 0.14, "D", color=FIRST, markersize=6)
        p = outcome.p_different if outcome.answer == "different" else outcome.p_equivalent
        axes.annotate(
            f"{outcome.answer} (p = {p:.2g}); margin {outcome.margin:.3g}",
            (-0.97, row - 0.32),
            va="center",
            fontsize=0.8 * shape.font,
            color=SOFT,
        )
    names = [textwrap.fill(outcome.name, shape.label // 2) for outcome in written.outcomes]
    axes.set_yticks(range(count), names)
    axes.set_ylim(count - 0.4, -0.6)
    furthest = max(map(abs, axes.get_xlim()))
    axes.set_xlim(-furthest, furthest)
    words = "new minus old, in margins (1 = one standard deviation between two runs of the old script)"
    axes.set_xlabel(textwrap.fill(words, 3 * shape.label))
    axes.set_title(f"{len(written.seeds)} pairs of runs as written", loc="left", fontweight="bold")
    _legend(figure, shape)
    _clean(axes)
    axes.grid(visible=False)
    return figure


def predictions(report: Report, pairs: Sequence[Pair], shape: Shape) -> Figure:
    """Each value that both worlds kept, the new one over the old one."""
    figure = shape.figure(5.6)
    axes = figure.subplots()
    compared = [(pair.title, _values(pair.comparison.common if pair.comparison else ())) for pair in pairs]
    old = [x for _, points in compared for x, _ in points]
    if old:
        axes.plot([min(old), max(old)], [min(old), max(old)], **OLD)
    strays = [point for control in report.controls if _drawable(control.steps) for point in _values(control.steps)]
    if strays:
        axes.plot(*zip(*strays), label="wrong on purpose (controls)", **STRAY)
    for (title, points), style in zip(compared, MARKS * len(compared)):
        if points:
            axes.plot(*zip(*points), label=title, linestyle="", **style)
    axes.set_xlabel("old")
    axes.set_ylabel("new")
    axes.set_title("Predictions, old and new", loc="left", fontweight="bold")
    _legend(figure, shape)
    _clean(axes)
    return figure


def _legend(figure: Figure, shape: Shape) -> None:
    """Of points, which lie on one another: there is nowhere beside them for a label."""
    columns = 2 if shape is WIDE else 1
    figure.legend(frameon=False, fontsize=0.9 * shape.font, loc="outside lower center", ncols=columns)


SHOWN = 400
"""Points of each pair, and of each control, at most."""


def _values(calls: Sequence[StepPair | PredictionPair]) -> list[tuple[float, float]]:
    """(old, new) of the values kept in calls whose arrays have one shape."""
    points = [
        point
        for pair in calls
        if isinstance(pair, PredictionPair) and math.isfinite(pair.difference)
        for a, b in zip(pair.old.outputs, pair.new.outputs)
        for point in zip(a.values, b.values)
    ]
    return points[:: max(1, -(-len(points) // SHOWN))]


def curves(pairs: Sequence[Pair], shape: Shape) -> Figure:
    """Both worlds' losses over all steps; an old run that several pairs share is drawn once."""
    figure = shape.figure(3.7)
    axes = figure.subplots()
    labels: list[Label] = []
    drawn: set[str] = set()
    styles = iter(STYLES * len(pairs))
    shared = sorted(pairs, key=lambda pair: not pair.decides)
    for pair in shared:
        assert pair.comparison is not None
        steps = pair.comparison.steps
        for role, losses in ((pair.old, [p.old for p in steps]), (pair.new, [p.new for p in steps])):
            if role in drawn:
                continue
            style = next(styles) if drawn else OLD
            dots: Style = {"marker": "."} if len(losses) == 1 else {}
            axes.plot(losses, **style, **dots)
            drawn.add(role)
            labels += at_the_end(role, style["color"], losses)
    reference = shared[0].comparison
    assert reference is not None
    ends = _epoch_ends(reference.steps)
    known = [(end, e.old_validation, e.new_validation) for end, e in zip(ends, reference.epochs)]
    validation: tuple[tuple[str, list[tuple[float, float]], Style], ...] = (
        (shared[0].old, [(x, old) for x, old, _ in known if old is not None], {"marker": "o", "markersize": 9.0}),
        (shared[0].new, [(x, new) for x, _, new in known if new is not None], {"marker": "x", "markersize": 6.0}),
    )
    for role, points, style in validation:
        if points:
            colour = OLD_COLOUR if role == shared[0].old else FIRST
            axes.plot(*zip(*points), linestyle="", color=colour, **style)
            labels.append(Label(f"validation, {role}", colour, *points[-1]))
    _epochs(axes, ends)
    write(figure, axes, labels, shape)
    axes.set_xlabel("optimizer step")
    axes.set_ylabel("loss")
    axes.set_title("Loss, old and new", loc="left", fontweight="bold")
    _clean(axes)
    return figure


def residuals(report: Report, pairs: Sequence[Pair], shape: Shape) -> Figure:
    """Every pair's relative difference, the wrong migrations' too, and the tolerance."""
    compared = [(pair.title, pair.comparison) for pair in pairs if pair.comparison is not None]
    length = max(len(comparison.common) for _, comparison in compared)
    comparison = report.comparison or compared[0][1]
    wrong = _mistakes_seen(report, comparison.tolerance)
    figure = shape.figure(3.4 + 0.16 * len(wrong))
    axes = figure.subplots()
    dots: Style = {"marker": "."} if length == 1 else {}
    labels = [Label(f"tolerance {comparison.tolerance:.2g}", INK, length - 1, comparison.tolerance)]
    for name, values in wrong:
        axes.plot(values, **WRONG, **dots)
        labels += at_the_end(name, MISTAKE, values)
    for (title, each), style in zip(compared, STYLES * len(compared)):
        values = _drawable(each.common)
        axes.plot(values, **style, **dots)
        labels += at_the_end(title, style["color"], values)
    judged = len(comparison.steps) if comparison.shared else len(comparison.judged_steps)
    if judged < len(comparison.steps):
        axes.axvspan(judged - 0.5, length - 0.5, color=NOT_JUDGED, zorder=-1)
        words = "from the first remainder batch on: not judged"
        axes.annotate(words, (judged, 1.5 * SMALLEST), fontsize=0.9 * shape.font)
    axes.axhline(comparison.tolerance, **LIMIT)
    _epochs(axes, _epoch_ends(comparison.steps))
    axes.set_yscale("log")
    axes.set_ylim(SMALLEST / 2, None)
    axes.set_xlim(-0.02 * length, length * 1.02)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= length and tick == int(tick)])
    write(figure, axes, labels, shape)
    axes.set_xlabel("call that predicts" if report.predicts else "optimizer step")
    axes.set_ylabel(f"relative {report.compared} difference")
    axes.set_title("Difference between old and new", loc="left", fontweight="bold")
    _clean(axes)
    return figure


def _mistakes_seen(report: Report, tolerance: float) -> list[tuple[str, list[float]]]:
    """The wrong migrations whose losses lie outside the tolerance, for the words beside them, the first with what they
    are; the others were found by the contract."""
    drawable = [(control.mutation, _drawable(control.steps)) for control in report.controls]
    seen = [(name, values) for name, values in drawable if values and max(values) > tolerance]
    first = seen[0][0] if seen else ""
    return [(f"wrong on purpose: {name}" if name == first else name, values) for name, values in seen]


def _drawable(steps: Sequence[StepPair | PredictionPair]) -> list[float]:
    """Of an evenly shared remainder the losses are different means, and no line goes through them."""
    return [
        max(p.difference, SMALLEST)
        if math.isfinite(p.difference) and not (isinstance(p, StepPair) and p.uneven and p.shared)
        else math.nan
        for p in steps
    ]


def _epoch_ends(steps: Sequence[StepPair]) -> list[float]:
    """x of the boundary after each epoch of each training call."""
    keys = [(p.fit, p.epoch) for p in steps]
    return [i + 0.5 for i in range(len(keys)) if i + 1 == len(keys) or keys[i] != keys[i + 1]]


def _epochs(axes: Axes, ends: Sequence[float]) -> None:
    if len(ends) <= 40:
        for end in ends[:-1]:
            axes.axvline(end, color=RULE, linewidth=0.8, zorder=0)


def _clean(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
