"""Words beside the ends of curves, which do not touch one another."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tfmigrate.verify.report.look import OLD_COLOUR, SOFT, Shape, Style

LEADER: Style = {"arrowstyle": "-", "linewidth": 0.6, "alpha": 0.6, "shrinkA": 2, "shrinkB": 1, "relpos": (0.0, 0.5)}


@dataclass(frozen=True)
class Label:
    """Words beside the end of a curve."""

    text: str
    colour: str
    x: float
    y: float


def at_the_end(text: str, colour: str, values: Sequence[float]) -> list[Label]:
    """A label where the last number of a curve lies; none for a curve without numbers."""
    last = next((i for i in reversed(range(len(values))) if math.isfinite(values[i])), None)
    return [] if last is None else [Label(text, colour, last, values[last])]


def write(figure: Figure, axes: Axes, labels: Sequence[Label], shape: Shape) -> None:
    """Writes each label to the right of the axes, as near to the height of its curve's end as the others let it, with a
    thin line to that end. A figure whose axes are lower than all labels together becomes higher."""
    labels = [label for label in labels if math.isfinite(label.y)]  # of a loss that is NaN there is no end to point to
    if not labels:
        return
    size = 0.88 * shape.font
    texts = [textwrap.wrap(label.text, shape.label) for label in labels]
    width, height = figure.get_size_inches()
    needed = 72 * 0.75 * height
    lines = sum(map(len, texts)) * 1.35 * size
    if lines > needed:
        figure.set_size_inches(width, height + (lines - needed) / 72 / 0.85)
        needed = lines
    axes.get_xlim(), axes.get_ylim()  # matplotlib settles them when they are asked for
    ends = [axes.transAxes.inverted().transform(axes.transData.transform((other.x, other.y)))[1] for other in labels]
    heights = [1.35 * size * len(text) / needed for text in texts]
    for one, text, y in zip(labels, texts, spread(ends, heights)):
        axes.annotate(
            "\n".join(text),
            (one.x, one.y),
            xytext=(1.04, y),
            textcoords="axes fraction",
            fontsize=size,
            color=SOFT if one.colour == OLD_COLOUR else one.colour,  # a pale line is seen, pale words are not read
            va="center",
            annotation_clip=False,
            arrowprops={**LEADER, "color": one.colour},
        )


def spread(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """The middles of labels of these heights that do not touch, each near to where it is wanted, in the order of
    `wanted`; within 0 to 1 where the heights are 1 together at most."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = list(wanted)
    for before, i in zip([None, *order], order):
        low = heights[i] / 2 if before is None else placed[before] + (heights[before] + heights[i]) / 2
        placed[i] = max(wanted[i], low)
    for after, i in zip([None, *reversed(order)], reversed(order)):
        high = 1 - heights[i] / 2 if after is None else placed[after] - (heights[after] + heights[i]) / 2
        placed[i] = min(placed[i], high)
    return placed
