"""report.html, report.json and the pictures; report.html holds everything and needs no other file."""

from __future__ import annotations

import base64
import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from . import figures
from .report import Report

TEMPLATE = "report.html.jinja"


def write(report: Report, folder: Path) -> Path:
    """Writes report.html, report.json, curves.png and residuals.png into `folder`, made if need be; returns the path of
    report.html. Raises OSError when the folder cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = figures.draw(report, folder)
    text = json.dumps(report.to_json(), indent=2, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    page = folder / "report.html"
    page.write_text(html(report, pictures), encoding="utf-8")
    return page


def html(report: Report, pictures: tuple[figures.Picture, ...]) -> str:
    """The page as one text, pictures inside."""
    source = resources.files(__package__).joinpath("templates").joinpath(TEMPLATE).read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(figure=figure, memory=memory, margin=margin, devices=devices, size=size)
    shown = report.shown
    return environment.from_string(source).render(
        report=report,
        comparison=shown.comparison if shown else None,
        divergence=shown.divergence if shown else None,
        shown=shown,
        pictures=[(p.caption, base64.b64encode(p.png).decode("ascii")) for p in pictures],
    )


def figure(value: Any) -> str:
    """A value for people: six digits, thousands separated, a dash for what is not known."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def size(value: float | None) -> str:
    """A difference for people: three digits."""
    return figure(None) if value is None else f"{value:.3g}"


def devices(values: tuple[str, ...]) -> str:
    """`("logical CPU: /cpu:0", "logical CPU: /cpu:1")` as `2 x logical CPU`."""
    kinds = Counter(value.split(":")[0] for value in values)
    return ", ".join(f"{count} x {kind}" for kind, count in kinds.items()) or figure(None)


def memory(value: int | None) -> str:
    return figure(None) if value is None else f"{value / 2**20:,.0f} MiB"


def margin(difference: float | None, tolerance: float | None) -> str:
    """How many tolerances a difference is."""
    if difference is None or not tolerance:
        return figure(None)
    return f"{difference / tolerance:,.3g} x"
