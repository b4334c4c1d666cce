"""The project round the programs that are migrated: what its requirements, images and notebooks still ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from tfmigrate import rules
from tfmigrate.files import project, scan, source
from tfmigrate.plan.packages.files import names_packages
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings

if TYPE_CHECKING:
    from tfmigrate.files.notebook import Notebook

_PUT_RIGHT = ("TFM40", "TFM41")
"""Codes of what goes wrong under a strategy: a program that was on one already may stay on its TensorFlow."""


@dataclass(frozen=True)
class Around:
    """One file of a project, and what becomes of it together with `program`, the migrated file that it belongs to."""

    file: scan.FoundFile
    source: source.Source
    result: FileResult
    program: str | None
    waits: bool
    """Whether it would change, were it among the given paths."""
    users: Sequence[str]
    """The migrated files that it belongs to, `program` among them."""


def around(files: Sequence[FileResult], paths: Sequence[str], settings: Settings) -> list[Around]:
    """What is reported about the projects of all migrated `files`, or with `--select TFM6` about all below `paths`."""
    done: list[Around] = []
    if settings.asks_for_projects:
        hits = scan.search(paths, (b"",), settings.exclude, settings.root, names_packages).files
        folders: dict[str, list[scan.FoundFile]] = {}
        for hit in hits:
            if names_packages(os.path.basename(hit.path)):
                folders.setdefault(os.path.dirname(hit.real), []).append(hit)
        for folder, listed in folders.items():
            done += _project(listed, folder, files, paths, settings, None)
        return done
    first: dict[str, str] = {}
    for file in files:
        if file.status == "migrated" and _leaves_its_versions(file):
            first.setdefault(os.path.dirname(file.path), file.path)
    named = cache(partial(project.files_named, named=names_packages))
    seen: set[str] = set()
    for place, path in first.items():
        folder, listed = project.nearest(place, named)
        if folder not in seen:
            seen.add(folder)
            done += _project(listed, folder, files, paths, settings, path)
    return done


def is_part(path: str) -> bool:
    """Whether a file is one that says which packages its project needs, by its name."""
    return names_packages(os.path.basename(path))


def in_shell_lines(file: FileResult, cells: Notebook, settings: Settings) -> FileResult:
    """A notebook with what is reported about the packages that its shell lines install."""
    if not (file.changed or settings.asks_for_projects):
        return file
    from tfmigrate.plan.packages import pins  # Late: most programs stand beside no file that names a package.

    asked = pins.Project(settings, rules.all_rules())
    findings = [
        replace(finding, cell=cell)
        for cell, number, line in cells.shell_lines()
        for finding in pins.shell_findings(number, line, asked)
    ]
    return replace(file, findings=tuple(sorted((*file.findings, *findings), key=_in_order))) if findings else file


def _leaves_its_versions(file: FileResult) -> bool:
    """Whether a file was changed for a newer TensorFlow, and not only put right for the one that it runs on."""
    changes = [finding for finding in file.findings if finding.action == "rewrite"]
    return file.changed and any(not finding.code.startswith(_PUT_RIGHT) for finding in changes)


_USES_TENSORBOARD = re.compile(r"^(?!\s*#).*(?<![\w])TensorBoard\(", re.MULTILINE)


def _in_order(finding: Finding) -> tuple[int, int, int]:
    return finding.cell.number if finding.cell else 0, finding.line, finding.column


def _project(
    listed: Sequence[scan.FoundFile],
    folder: str,
    files: Sequence[FileResult],
    paths: Sequence[str],
    settings: Settings,
    program: str | None,
) -> Iterator[Around]:
    if not listed:
        return
    from tfmigrate.plan.packages import pins  # Late: see in_shell_lines.

    asked, here = project.real_places(paths), project.real_places([folder])
    inside = [file for file in files if project.within(os.path.realpath(file.path), here)]
    users = [file.path for file in inside if file.changed]
    refused = next((file.path for file in inside if file.status in ("refused", "error")), None)
    after = {os.path.realpath(file.path): file.after.encode(file.encoding) for file in inside if file.changed}
    importer = project.importer_of_keras(folder, settings.exclude, settings.root, after)
    board = next((file.path for file in inside if _USES_TENSORBOARD.search(file.after)), None)
    for file in listed:
        try:
            text = source.decode(file.data)
        except source.SourceError:
            continue
        stays = f"{refused} still needs the old one" if refused is not None else None
        outside = not project.within(file.real, asked)
        own = pins.Project(settings.for_file(file.path), rules.all_rules(), importer, board, stays)
        waits = outside and pins.mended(file.path, text.text, own).changed
        if outside:
            own = replace(own, stays="the file is outside the given paths")
        result = replace(pins.mended(file.path, text.text, own), encoding=text.encoding)
        if result.findings:
            yield Around(file, text, result, program, waits, users)
