"""What all pictures of a report are drawn with: colours, which are those of the page, and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib.figure import Figure

Style: TypeAlias = dict[str, Any]

PAPER, INK, SOFT, RULE, GRID = "#ffffff", "#14181d", "#5b6570", "#d7dce1", "#eceff2"
OLD_COLOUR, FIRST, SECOND, THIRD = "#98a2ac", "#0b3c8c", "#c2570c", "#2f7d4f"
FOURTH, FIFTH = "#7a3e9d", "#7d6608"
MISTAKE, INSIDE, NOT_JUDGED = "#b3261e", "#e8f0ea", "#f3ead9"
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
VARIABLES = {
    PAPER: "--paper",
    INK: "--ink",
    SOFT: "--soft",
    RULE: "--rule",
    GRID: "--grid",
    OLD_COLOUR: "--old",
    FIRST: "--first",
    SECOND: "--second",
    THIRD: "--third",
    FOURTH: "--fourth",
    FIFTH: "--fifth",
    MISTAKE: "--bad",
    INSIDE: "--inside",
    NOT_JUDGED: "--not-judged",
}
"""The page's names for these colours, by which it has others in dark mode."""


@dataclass(frozen=True)
class Shape:
    """What a picture is drawn for; lengths in inches of 72 points."""

    width: float
    font: float
    """Points."""
    label: int
    """Characters in a line of a label beside a curve."""

    def figure(self, height: float) -> Figure:
        return Figure(figsize=(self.width, height), layout="constrained")
