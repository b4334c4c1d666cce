"""From the given paths to what is found in them and would be written: scan, read, migrate, and look round."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmigrate import late
from tfmigrate.files import scan
from tfmigrate.files.grep import grep
from tfmigrate.needles import needles_with
from tfmigrate.result import FileResult, Result, no_users
from tfmigrate.settings import Settings

if TYPE_CHECKING:
    from tfmigrate import decoded, incomplete, pinned, programs, tasks
    from tfmigrate.decoded import Decoded
    from tfmigrate.programs import Programs
    from tfmigrate.project import Around
    from tfmigrate.tasks import Tell
else:
    decoded, incomplete, pinned, programs, tasks = (
        late.module(f"tfmigrate.{name}") for name in ("decoded", "incomplete", "pinned", "programs", "tasks")
    )

_USERS = (b"tensorflow", b"keras")
"""A file that uses the libraries at all contains one of these."""
_STRATEGIES = b"distribute"
"""A file that is on a strategy already contains one of these."""
FEW = 500
"""Files that are read again if nothing was found, to see whether they use TensorFlow at all."""


@dataclass(frozen=True)
class Read:
    """The files that were read, and which of them change together."""

    files: Mapping[str, Decoded]
    groups: Sequence[Sequence[str]]

    def joined_by(self, around: Sequence[Around]) -> Read:
        """These and files round their programs, each in the group of the program that it belongs to."""
        files, groups = dict(self.files), [list(group) for group in self.groups]
        for each in around:
            files[each.file.path] = decoded.Decoded(each.file, each.source, None)
            group = next((group for group in groups if each.program in group), None)
            if group is None:
                groups.append([each.file.path])
            else:
                group.append(each.file.path)
        return Read(files, groups)


@dataclass(frozen=True)
class Survey:
    """What is found and would be written, and the files that this is about."""

    result: Result
    read: Read


def survey_of(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> Survey:
    """What `fix` would find and do."""
    sources = [path for path in paths if not names_packages(path)]
    wanted = needles_with(settings.aliases)
    needles = (*wanted, *_USERS) if settings.asks_for_names else wanted
    scanned = scan.search(sources, needles, settings.exclude, settings.root)
    seen = {*scanned.paths, *set(paths).difference(sources)}
    if not scanned.files and not settings.asks_for_projects:
        return Survey(_result(scanned.errors, seen, (), scanned, settings), Read({}, ()))
    hits = [file for file in scanned.files if any(needle in file.data for needle in wanted)]
    of_hits = programs.programs_of(hits, sources, settings)
    read, unreadable = _read(of_hits, scanned.files)
    files = [*_migrated(read, settings, tell), *unreadable, *scanned.errors]
    files += _odd_pins(read.files, settings, {file.path for file in files})
    files += _outside(files, read.files, paths, settings)
    files = _of_other_programs(files, read.groups, settings)
    around = _around(files, paths, settings, read.files)
    files = [*(_with_shell_lines(file, read.files, settings) for file in files), *(each.result for each in around)]
    read = read.joined_by(around)
    searched = {file.path for file in scanned.files}
    reported = [file for file in _held_back(files, of_hits, around) if _is_told(file, read.files, searched)]
    # Requirements files, and modules outside the given paths, are read when a program of theirs is.
    seen.update(file.path for file in reported if file.path in read.files)
    return Survey(_result(reported, seen, read.groups, scanned, settings), read)


def _read(of_hits: Programs, found: Iterable[scan.FoundFile]) -> tuple[Read, list[FileResult]]:
    """The programs, and what was found beside them, each file for itself; and what was given and cannot be read."""
    alone = [file for file in found if file.path not in of_hits.files]
    read, unreadable = decoded.decode((*of_hits.files.values(), *alone))
    groups = [[path for path in group if path in read] for group in of_hits.groups]
    groups += [[file.path] for file in alone if file.path in read]
    return Read(read, [*filter(None, groups)]), [file for file in unreadable if file.path not in of_hits.others]


def _migrated(read: Read, settings: Settings, tell: Tell | None) -> list[FileResult]:
    return tasks.migrated(read.files, read.groups, pinned.settings_for(read.files, settings), settings.jobs, tell)


def _odd_pins(read: Collection[str], settings: Settings, known: Set[str]) -> list[FileResult]:
    """Files that are not `known` yet, would say what the sources were written for, and cannot be read."""
    if settings.from_version is not None:
        return []
    return [file for file in pinned.odd_pins(read) if file.path not in known]


def _held_back(files: Sequence[FileResult], of_hits: Programs, around: Sequence[Around]) -> list[FileResult]:
    """The results of what was given, without the changes that need one in a file that was not."""
    waiting = {each.file.path: each.users for each in around if each.waits}
    others = of_hits.others | waiting.keys()
    imports = of_hits.imports() if others else {}
    return incomplete.held_back(files, lambda path: path not in others, imports, waiting)


def _result(
    reported: Iterable[FileResult],
    seen: Set[str],
    groups: Iterable[Sequence[str]],
    scanned: scan.Scan,
    settings: Settings,
) -> Result:
    """`seen`: the paths of all files that were looked at."""
    files = tuple(sorted(reported, key=lambda file: file.path))
    users = no_users if files or settings.asks_for_names else lambda: _users(scanned.paths)
    return Result(files, len(seen), tuple(map(tuple, groups)), users)


def _outside(
    files: Sequence[FileResult], read: Mapping[str, Decoded], paths: Sequence[str], settings: Settings
) -> Sequence[FileResult]:
    """What is reported of files outside all programs."""
    if not any(file.changed for file in files) or read.keys() >= set(paths):  # All that was given are these programs.
        return ()
    from tfmigrate import importers, outside, readers  # Late: most runs change nothing.

    questions = (importers.of_removed_names(files), readers.of_written_files(files))
    return outside.reported(questions, read, paths, settings)


def _of_other_programs(
    files: list[FileResult], groups: Sequence[Sequence[str]], settings: Settings
) -> list[FileResult]:
    """The files, with what concerns what other programs of the run write."""
    if sum(any(file.changed for file in files if file.path in group) for group in map(set, groups)) < 2:
        return files
    from tfmigrate import outside, readers  # Late: most runs change one program.

    return outside.with_findings(files, readers.in_other_programs(files, groups), settings)


def _is_told(file: FileResult, read: Mapping[str, Decoded], searched: Set[str]) -> bool:
    """Whether the result has something to say of a file.

    An importer may change though every finding stands in the file with the hit; one that does not parse is not ours.
    """
    ours = file.path in searched or file.path not in read
    return bool(file.findings) or file.changed or (file.status != "unchanged" and ours)


def _users(paths: Sequence[str]) -> int:
    """How many of these files use TensorFlow or Keras and no strategy; none are counted where many would have to be
    read for that."""
    if len(paths) > FEW:
        return 0
    using = (paths[place] for place, data in grep(paths, _USERS).items() if _uses_no_strategy(data))
    return len(set(map(os.path.realpath, using)))


def _uses_no_strategy(data: bytes | str) -> bool:
    return isinstance(data, bytes) and _STRATEGIES not in data


def _around(
    files: Sequence[FileResult], paths: Sequence[str], settings: Settings, known: Collection[str]
) -> list[Around]:
    """The files round those programs that name packages, but for those that are `known`. They are written together
    with their program."""
    if not any(file.changed for file in files) and not settings.asks_for_projects:
        return []
    from tfmigrate import project  # Late: a run without a hit has no project to look at.

    around: dict[str, Around] = {}
    for each in project.around(files, paths, settings):
        if each.file.path not in known:
            around.setdefault(each.file.path, each)
    return list(around.values())


def _with_shell_lines(file: FileResult, read: Mapping[str, Decoded], settings: Settings) -> FileResult:
    """A file, with what is reported of its shell lines where it is a notebook."""
    notebook = read[file.path].notebook if file.path in read else None
    if notebook is None:
        return file
    from tfmigrate import project  # Late: see _around.

    return project.in_shell_lines(file, notebook, settings)


def names_packages(path: str) -> bool:
    """Whether a given path is a requirements file, which is not Python, whatever words it contains."""
    if scan.is_source(path) or not os.path.isfile(path):
        return False
    from tfmigrate import project  # Late: most runs are given folders and sources.

    return project.is_part(path)
