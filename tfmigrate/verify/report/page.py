"""The folder of a report: report.html, which holds everything and needs no other file, and the same for programs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from tfmigrate.verify.judge.report import CONTROL, Report
from tfmigrate.verify.report import events, figures, junit, pull_request
from tfmigrate.verify.report.words import devices, figure, margin, memory, not_run, roles, sentence, size

TEMPLATE = "report.html.jinja"


def write(report: Report, folder: Path) -> Path:
    """Writes report.html, report.json, report.xml (JUnit), pull-request.md, the pictures and TensorBoard's events/ into
    `folder`, made if need be; returns the path of report.html. Raises OSError when the folder cannot be written.

    Each file is replaced as a whole, so that it can be read at any time. Of a report that is under way only
    report.html and report.json are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = report.state == "under way"
    pictures = () if unfinished else figures.draw(report, folder)
    replace_file(folder / "report.json", json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n")
    if not unfinished:
        replace_file(folder / "report.xml", junit.render(report))
        replace_file(folder / "pull-request.md", pull_request.render(report, [picture.file for picture in pictures]))
        events.write(report, folder / "events")
    page = folder / "report.html"
    replace_file(page, html(report, pictures))
    return page


def replace_file(path: Path, text: str) -> None:
    """Writes a file as a whole. Raises OSError."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def html(report: Report, pictures: tuple[figures.Picture, ...]) -> str:
    """The page as one text, pictures inside."""
    return (
        environment()
        .get_template(TEMPLATE)
        .render(
            report=report,
            comparison=report.comparison,
            divergence=report.shown.divergence if report.shown else None,
            runs=[run for run in report.runs if not run.role.startswith(CONTROL)],  # controls have a table of their own
            pictures=[(p.caption, Markup(p.wide), Markup(p.narrow)) for p in pictures],
        )
    )


def environment() -> jinja2.Environment:
    """Where the templates are found, with the filters that they use."""
    loader = jinja2.PackageLoader("tfmigrate.verify.report")
    templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    templates.filters.update(
        figure=figure,
        memory=memory,
        margin=margin,
        devices=devices,
        size=size,
        roles=roles,
        not_run=not_run,
        sentence=sentence,
        breakable=breakable,
        command_line=shlex.join,
    )
    return templates


LONGEST_WORD = 20
"""Characters that a column of a table can have in a line."""


def breakable(text: object) -> Markup:
    """Text as HTML in which a long word may be broken after its punctuation: paths, dotted names, settings."""
    words = re.split(rf"(\S{{{LONGEST_WORD},}})", str(text))
    safe = [str(escape(word)) for word in words]  # a Markup would escape what is put into it
    safe[1::2] = [_BREAK.sub(r"\g<0><wbr>", word) for word in safe[1::2]]
    return Markup("".join(safe))


_BREAK = re.compile(r"[/_=(\[,:](?=\S)|[.-](?=[^\s\d])")
