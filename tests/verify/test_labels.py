"""Words beside the ends of curves."""

from __future__ import annotations

import io
import math

import pytest
from matplotlib.figure import Figure

from tfmigrate.verify.report import figures
from tfmigrate.verify.report.labels import Label, write


@pytest.mark.parametrize("y", [math.nan, math.inf])
def test_a_curve_that_ends_in_no_number_has_no_label(y: float) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([7.0, 8.0])
    write(figure, axes, [Label("old", "black", 1, 8.0), Label("validation, old", "red", 1, y)], figures.WIDE)
    figure.savefig(io.BytesIO(), format="svg")
    assert [text.get_text() for text in axes.texts] == ["old"]
