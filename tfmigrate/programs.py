"""Which files make up the programs that have something to migrate."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from tfmigrate.decoded import program_in
from tfmigrate.files import project, related, scan
from tfmigrate.needles import needles_with
from tfmigrate.settings import Settings


@dataclass(frozen=True)
class Programs:
    """The programs that the given files with a hit belong to."""

    files: Mapping[str, scan.FoundFile]
    groups: Sequence[Sequence[str]]
    links: Sequence[tuple[str, str]]
    """Pairs of files that belong together though neither imports the other."""
    others: Set[str]
    """The files that lie outside the given paths."""

    def imports(self) -> dict[str, set[str]]:
        """What each file imports, directly or through others."""
        return related.reached({path: program_in(file) for path, file in self.files.items()}, self.links)


def programs_of(hits: Sequence[scan.FoundFile], paths: Sequence[str], settings: Settings) -> Programs:
    """The programs of the given hits, with the files that lie outside the given paths."""
    if not hits:
        return Programs({}, (), (), frozenset())
    roots = dict.fromkeys(root for path in paths if (root := scan.program_root(path)) is not None)
    asked = project.real_places(paths)
    wider = [os.path.relpath(root) for root in roots if not project.within(root, asked)]
    if wider:
        paths = [*paths, *wider]
        hits = scan.search(paths, needles_with(settings.aliases), settings.exclude, settings.root).files
    files, links = _with_their_programs(hits, paths, settings)
    groups = related.components({file.path: program_in(file) for file in files}, links)
    others = {file.path for file in files if not project.within(file.real, asked)} if wider else set()
    groups = [group for group in groups if not others.issuperset(group)]
    asked_for = {path for group in groups for path in group}
    return Programs({file.path: file for file in files if file.path in asked_for}, groups, links, others)


def _with_their_programs(
    hits: Sequence[scan.FoundFile], paths: Sequence[str], settings: Settings
) -> tuple[list[scan.FoundFile], list[tuple[str, str]]]:
    """The files with a hit, those that import them and those they import: a model may be built in one file, wrapped
    in another and compiled in a third. And pairs of files that belong together though neither imports the other."""
    by_path = {hit.path: hit for hit in hits}

    def search(needles: Sequence[bytes], named: Callable[[str], bool] = scan.is_source) -> dict[str, bytes]:
        more = scan.search(paths, needles, settings.exclude, settings.root, named).files
        by_path.update({file.path: file for file in more if file.path not in by_path})
        return {file.path: program_in(file) for file in more}

    def find(wanted: Set[str]) -> dict[str, bytes]:
        names = {Path(path).name for path in wanted}
        return {path: data for path, data in search((b"",), names.__contains__).items() if path in wanted}

    if not hits:
        return [], []
    programs = {hit.path: program_in(hit) for hit in hits}
    known = related.with_importers(programs, needles_with(settings.aliases), search)
    mentioning, links = related.mentions_of_classes(programs, needles_with(settings.aliases), search)
    files = related.with_imported({**known, **mentioning}, find)
    return [by_path[path] for path in related.with_users_of_keras(files, search, find)], links
