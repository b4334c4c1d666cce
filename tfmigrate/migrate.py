"""The pipeline: paths -> scan -> read -> migrate -> write -> Result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tfmigrate import late
from tfmigrate.errors import UserError
from tfmigrate.files import scan
from tfmigrate.files.grep import grep
from tfmigrate.needles import needles
from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.result import FileResult, Result, no_users
from tfmigrate.settings import Settings

if TYPE_CHECKING:
    from tfmigrate import budget, incomplete
    from tfmigrate.files import pins, related, source, write
    from tfmigrate.files import project as project_files
    from tfmigrate.files.notebook import Notebook
else:
    budget, incomplete = map(late.module, ("tfmigrate.budget", "tfmigrate.incomplete"))
    pins, related, source, write, project_files = (
        late.module(f"tfmigrate.files.{name}") for name in ("pins", "related", "source", "write", "project")
    )

_USERS = (b"tensorflow", b"keras")
"""A file that uses the libraries at all contains one of these."""
_STRATEGIES = b"distribute"
"""A file that is on a strategy already contains one of these."""
_UNUSED = "TFM009"
"""The code of a comment that suppresses nothing: no other comment helps against it."""
_WRAPS = ("TFM001", "TFM010", "TFM1")
"""Prefixes of the codes of what is migrated, or refused, as a whole: other findings follow from it."""
_Task = tuple[str, str, Settings, Numbering]
"""A file of a program: its path, its text, the settings that hold for it, and how its lines are numbered."""
_ERROR_LENGTH = 200
"""Characters of a crash of this tool that are shown."""
_NAMED = 5
"""Files of a program that an error names."""
POOL_PAYS_FROM = 4
"""Files with a hit below which starting processes costs more than it saves (measured)."""


FEW = 500
"""Files that are read again if nothing was found, to see whether they use TensorFlow at all."""
Tell = Callable[[int, int], None]
"""Called with the number of programs done and their total."""


def check(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> Result:
    """What `fix` would find and do; writes nothing. A path that cannot be read is an error result; the rest go on."""
    return _plan(paths, settings, tell).result


def files(paths: Sequence[str], settings: Settings) -> Sequence[str]:
    """The paths that `check` looks at, in order; what cannot be read is left out."""
    files = scan.search(paths, (b"",), settings.exclude, settings.root).files  # It is in every file.
    return [file.path for file in files]


def check_within(path: str, settings: Settings) -> FileResult:
    """What `check` finds in one file when it is given the whole repository that the file lies in."""
    return check_program(path, settings)[0]


def check_program(path: str, settings: Settings) -> list[FileResult]:
    """What `check` finds in one file, and in the files that change together with it, when it is given the whole
    repository that the file lies in; the file itself first."""
    repository = scan.repository_of(os.path.dirname(os.path.realpath(path)))
    relative = os.path.relpath if not os.path.isabs(path) else str
    result = check([path] if repository is None else [path, relative(repository)], settings)
    path = os.path.normpath(path)
    program = next((members for members in result.programs if path in members), ())
    files = {file.path: file for file in result.files}
    return [
        files.get(path, FileResult(path, "unchanged")),
        *(file for name, file in files.items() if name in program and name != path),
    ]


def fix(
    paths: Sequence[str], settings: Settings, tell: Tell | None = None, accept: Callable[[Result], bool] | None = None
) -> Result:
    """Migrate in place. Findings say `applied` once their file is on disk; lines are those of the file before.

    `accept` is asked about each program that would change, and one that it declines stays as it is.
    """
    plan = _plan(paths, settings, tell)
    reported = {file.path: file for file in plan.result.files}
    for group in plan.groups:
        program = [reported[path] for path in group if path in reported]
        if accept is not None and any(file.changed for file in program) and not accept(Result(tuple(program))):
            continue
        for file in _written(program, plan.read):
            reported[file.path] = file
    return replace(plan.result, files=tuple(reported[file.path] for file in plan.result.files))


def add_skips(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> tuple[Result, int]:
    """Write a `tfmigrate: skip` comment for each finding into its file; what is found then, and how many files changed.

    Skipping a use removes other findings too, so this starts with the wraps and continues with what is then
    left. Notebooks stay as they are.
    """
    from tfmigrate import skips

    done: set[str] = set()
    while True:
        plan = _plan(paths, settings, tell)
        open_codes = {
            finding.code
            for _, finding in plan.result.findings
            if finding.action != "suppressed" and finding.code != _UNUSED
        }
        first = {code for code in open_codes if code.startswith(_WRAPS)} or open_codes
        reported = {
            file.path: replace(file, findings=tuple(finding for finding in file.findings if finding.code in first))
            for file in plan.result.files
        }
        changed = False
        for group in plan.groups:
            files = [_with_skips(reported[path], plan.read[path], skips) for path in group if path in reported]
            written = {file.path for file in _written(files, plan.read) if file.changed and file.status != "error"}
            changed, done = changed or bool(written), done | written
        if not changed:
            return plan.result, len(done)


def _with_skips(file: FileResult, read: _Read, skips: ModuleType) -> FileResult:
    """A file as it reads with comments for its findings; unchanged where it is a notebook or cannot be read."""
    findings = [finding for finding in file.findings if finding.action != "suppressed" and finding.code != _UNUSED]
    if file.error or read.notebook or not findings:
        return replace(file, after=file.before)
    write_them = skips.with_skips_in_lines if _names_packages(file.path) else skips.with_skips
    return replace(file, after=write_them(read.source.text, findings), before=read.source.text)


def migrate_bytes(data: bytes, path: str, settings: Settings) -> FileResult:
    """Migrate a source that is in memory already; `path` is only its name. Touches no disk."""
    read, unreadable = _read([scan.FoundFile(path, path, data)])
    return (*_migrated(read, [[path]] if read else [], {path: settings.for_file(path)}, jobs=1), *unreadable)[0]


def applied(file: FileResult) -> FileResult:
    """The same file after its new text has been written: its rewrites are applied."""
    done = (replace(finding, applied=finding.action == "rewrite") for finding in file.findings)
    return replace(file, findings=tuple(done))


def fix_copy(
    script: Path, copy: Path, settings: Settings, root: Path | None = None, reached: Sequence[str] = ()
) -> None:
    """Migrate, in place, a copy of the program that `script` is the main file of; `copy` is the script's own copy.

    `root`: the folder of the whole copy, by default the script's; `reached`: modules, relative to it, that the script
    imports. Raises UserError when there is nothing to migrate in script or modules, or something is refused.
    """
    pinned = pins.written_for(Path(os.path.realpath(script)).parent)
    settings = replace(settings, from_version=settings.from_version or pinned)
    root = root or copy.parent
    names = {str(copy): str(script), **{str(root / name): name for name in reached if root / name != copy}}
    files = [file for file in fix([str(root), str(copy)], settings).files if file.path in names]
    if not files:
        raise UserError(f"{script}: nothing to migrate; give the script to compare it with as NEW")
    for file in files:
        if file.error:
            raise UserError(f"{names[file.path]}: {file.error}")
        for finding in file.findings:
            if finding.action == "refuse":
                place = f"{names[file.path]}:{finding.line}:{finding.column}: {finding.code}"
                raise UserError(f"{place} {finding.message}; migrate it by hand and give that as NEW")


@dataclass(frozen=True)
class _Read:
    file: scan.FoundFile
    source: source.Source
    notebook: Notebook | None

    @property
    def program(self) -> str:
        """The Python in the file."""
        return self.notebook.program if self.notebook else self.source.text

    @property
    def numbering(self) -> Numbering:
        return self.notebook.numbering if self.notebook else SCRIPT


@dataclass(frozen=True)
class _Plan:
    result: Result
    read: Mapping[str, _Read]
    groups: Sequence[Sequence[str]]


def _plan(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> _Plan:
    wanted = _needles(settings)
    sources = [path for path in paths if not _names_packages(path)]
    needles = (*wanted, *_USERS) if settings.asks_for_names else wanted
    scanned = scan.search(sources, needles, settings.exclude, settings.root)
    seen = {*scanned.paths, *set(paths).difference(sources)}
    if not scanned.files and not settings.asks_for_projects:
        return _Plan(_result(scanned.errors, seen, (), scanned, settings), {}, ())
    hits = [file for file in scanned.files if any(needle in file.data for needle in wanted)]
    programs = _programs(hits, sources, settings)
    alone = [file for file in scanned.files if file.path not in programs.files]
    read, unreadable = _read((*programs.files.values(), *alone))
    unreadable = [file for file in unreadable if file.path not in programs.others]
    groups = [[path for path in group if path in read] for group in programs.groups]
    groups = [*filter(None, groups), *([file.path] for file in alone if file.path in read)]
    skipped = () if settings.from_version is not None else _odd_pins(read)
    files = (
        *_migrated(read, groups, _settings_for(read, settings), settings.jobs, tell),
        *unreadable,
        *scanned.errors,
    )
    files = (*files, *(pins_file for pins_file in skipped if all(pins_file.path != file.path for file in files)))
    files = (*files, *_outside(files, read, paths, settings))
    files, waiting = _with_projects(files, paths, settings, read, groups)
    others = programs.others | waiting.keys()
    reported = incomplete.held_back(
        files, lambda path: path not in others, programs.imports() if others else {}, waiting
    )
    searched = {file.path for file in scanned.files}
    reported = [file for file in reported if _is_told(file, read, searched)]
    # Requirements files, and modules outside the given paths, are read when a program of theirs is.
    seen.update(file.path for file in reported if file.path in read)
    return _Plan(_result(reported, seen, groups, scanned, settings), read, groups)


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
    files: Sequence[FileResult], read: Mapping[str, _Read], paths: Sequence[str], settings: Settings
) -> Sequence[FileResult]:
    """What is reported of files outside all programs."""
    if not any(file.changed for file in files):
        return ()
    from tfmigrate import importers, outside, readers  # Late: most runs change nothing.

    questions = (importers.of_removed_names(files), readers.of_written_files(files))
    return outside.reported(questions, read, paths, settings)


def _is_told(file: FileResult, read: Mapping[str, _Read], searched: Set[str]) -> bool:
    """Whether the result has something to say of a file.

    An importer may change though every finding stands in the file with the hit; one that does not parse is not ours.
    """
    ours = file.path in searched or file.path not in read
    return bool(file.findings) or file.changed or (file.status != "unchanged" and ours)


def _names_packages(path: str) -> bool:
    """Whether a given path is a requirements file, which is not Python, whatever words it contains."""
    if scan.is_source(path) or not os.path.isfile(path):
        return False
    from tfmigrate import project  # Late: most runs are given folders and sources.

    return project.is_part(path)


def _users(paths: Sequence[str]) -> int:
    """How many of these files use TensorFlow or Keras and no strategy; none are counted where many would have to be
    read for that."""
    if len(paths) > FEW:
        return 0
    using = (paths[place] for place, data in grep(paths, _USERS).items() if _uses_no_strategy(data))
    return len(set(map(os.path.realpath, using)))


def _uses_no_strategy(data: bytes | str) -> bool:
    return isinstance(data, bytes) and _STRATEGIES not in data


def _with_projects(
    files: tuple[FileResult, ...],
    paths: Sequence[str],
    settings: Settings,
    read: dict[str, _Read],
    groups: list[list[str]],
) -> tuple[tuple[FileResult, ...], dict[str, Sequence[str]]]:
    """The files, and those round them that name packages, which are read, and written together with their program.

    And those that would change, and cannot, because they lie outside the given paths, each with the paths of the files
    that it would change with.
    """
    if not any(file.changed for file in files) and not settings.asks_for_projects:
        return files, {}
    from tfmigrate import project  # Late: a run without a hit has no project to look at.

    reported: list[FileResult] = []
    waiting: dict[str, Sequence[str]] = {}
    for file in files:
        notebook = read[file.path].notebook if file.path in read else None
        reported.append(project.in_shell_lines(file, notebook, settings) if notebook else file)
    for around in project.around(files, paths, settings):
        if around.file.path in read:
            continue
        read[around.file.path] = _Read(around.file, around.source, None)
        reported.append(around.result)
        if around.waits:
            waiting[around.file.path] = around.users
        group = next((group for group in groups if around.program in group), None)
        if group is None:
            groups.append([around.file.path])
        else:
            group.append(around.file.path)
    return tuple(reported), waiting


@dataclass(frozen=True)
class _Programs:
    """The programs that the given files with a hit belong to."""

    files: Mapping[str, scan.FoundFile]
    groups: Sequence[Sequence[str]]
    links: Sequence[tuple[str, str]]
    """Pairs of files that belong together though neither imports the other."""
    others: Set[str]
    """The files that lie outside the given paths."""

    def imports(self) -> dict[str, set[str]]:
        """What each file imports, directly or through others."""
        return related.reached({path: _program(file) for path, file in self.files.items()}, self.links)


def _programs(hits: Sequence[scan.FoundFile], paths: Sequence[str], settings: Settings) -> _Programs:
    """The programs of the given hits, with the files that lie outside the given paths."""
    if not hits:
        return _Programs({}, (), (), frozenset())
    roots = dict.fromkeys(root for path in paths if (root := scan.program_root(path)) is not None)
    asked = project_files.real_places(paths)
    wider = [os.path.relpath(root) for root in roots if not project_files.within(root, asked)]
    if wider:
        paths = [*paths, *wider]
        hits = scan.search(paths, _needles(settings), settings.exclude, settings.root).files
    files, links = _with_their_programs(hits, paths, settings)
    groups = related.components({file.path: _program(file) for file in files}, links)
    others = {file.path for file in files if not project_files.within(file.real, asked)} if wider else set()
    groups = [group for group in groups if not others.issuperset(group)]
    asked_for = {path for group in groups for path in group}
    return _Programs({file.path: file for file in files if file.path in asked_for}, groups, links, others)


def _with_their_programs(
    hits: Sequence[scan.FoundFile], paths: Sequence[str], settings: Settings
) -> tuple[list[scan.FoundFile], list[tuple[str, str]]]:
    """The files with a hit, those that import them and those they import: a model may be built in one file, wrapped
    in another and compiled in a third. And pairs of files that belong together though neither imports the other."""
    by_path = {hit.path: hit for hit in hits}

    def search(needles: Sequence[bytes], named: Callable[[str], bool] = scan.is_source) -> dict[str, bytes]:
        more = scan.search(paths, needles, settings.exclude, settings.root, named).files
        by_path.update({file.path: file for file in more if file.path not in by_path})
        return {file.path: _program(file) for file in more}

    def find(wanted: Set[str]) -> dict[str, bytes]:
        names = {Path(path).name for path in wanted}
        return {path: data for path, data in search((b"",), names.__contains__).items() if path in wanted}

    if not hits:
        return [], []
    programs = {hit.path: _program(hit) for hit in hits}
    known = related.with_importers(programs, _needles(settings), search)
    mentioning, links = related.mentions_of_classes(programs, _needles(settings), search)
    files = related.with_imported({**known, **mentioning}, find)
    return [by_path[path] for path in related.with_users_of_keras(files, search, find)], links


def _program(file: scan.FoundFile) -> bytes:
    """The Python in a file, to look for imports in; nothing where it cannot be read."""
    if not file.path.endswith(scan.NOTEBOOK):
        return file.data
    try:
        return _cells(source.decode(file.data)).program.encode("utf-8", "replace")
    except source.SourceError:
        return b""


def _needles(settings: Settings) -> tuple[bytes, ...]:
    return (*needles(), *(alias.rsplit(".", 1)[-1].encode() for alias in settings.aliases))


def _read(files: Iterable[scan.FoundFile]) -> tuple[dict[str, _Read], list[FileResult]]:
    read, errors = {}, []
    for file in files:
        try:
            text = source.decode(file.data)
            read[file.path] = _Read(file, text, _cells(text) if file.path.endswith(scan.NOTEBOOK) else None)
        except source.SourceError as error:
            errors.append(FileResult(file.path, "error", error=str(error)))
    return read, errors


def _cells(text: source.Source) -> Notebook:
    from tfmigrate.files import notebook  # Late: most runs see none.

    return notebook.read(text.text)


def _settings_for(paths: Iterable[str], settings: Settings) -> dict[str, Settings]:
    """Each file's settings: `from_version` is filled in from the pins of the file's own project when not given."""
    own = {path: settings.for_file(path) for path in paths}
    if settings.from_version is not None:
        return own
    pinned = cache(pins.pinned_in)
    versions = cache(lambda folder: pins.written_for(folder, pinned))
    return {
        path: replace(file_settings, from_version=versions(Path(path).parent)) for path, file_settings in own.items()
    }


def _odd_pins(paths: Iterable[str]) -> list[FileResult]:
    """Files that would say what the sources at `paths` were written for, but cannot be read."""
    reasons = {odd: why for folder in {Path(path).parent for path in paths} for odd, why in pins.unreadable(folder)}
    message = "cannot be read ({}), so the versions that it pins are not known"
    return [FileResult(os.path.relpath(path), "skipped", error=message.format(why)) for path, why in reasons.items()]


def _migrated(
    read: Mapping[str, _Read],
    groups: Sequence[Sequence[str]],
    settings: Mapping[str, Settings],
    jobs: int,
    tell: Tell | None = None,
) -> list[FileResult]:
    tasks = [[(path, read[path].program, settings[path], read[path].numbering) for path in group] for group in groups]
    processes = jobs if len(tasks) >= POOL_PAYS_FROM else 1
    seconds = min((setting.program_timeout for setting in settings.values()), default=0)  # All have the same.
    done = budget.run(_migrate_group, tasks, _given_up, seconds=seconds, processes=processes, tell=tell)
    return [file for files in done for file in _as_files(files, read, settings)]


def _as_files(
    files: Sequence[FileResult], read: Mapping[str, _Read], settings: Mapping[str, Settings]
) -> list[FileResult]:
    """The outcome for one program; where one of its files cannot take its new text, all stay as they are."""
    placed = [_as_file(file, read[file.path], settings[file.path]) for file in files]
    failed = next((new.path for new, old in zip(placed, files, strict=True) if new.error and not old.error), None)
    if failed is None:
        return placed
    message = f"left as it is, because {failed}, a file of the same program, cannot be written"
    return [
        replace(file, status="error", findings=(), error=message, after=file.before) if file.changed else file
        for file in placed
    ]


def _as_file(file: FileResult, read: _Read, settings: Settings) -> FileResult:
    """The outcome for a program as that of its file; an error when the new text has no place in the file."""
    try:
        if read.notebook:
            file = read.notebook.restored(file, clear_outputs=settings.clear_outputs)
        source.encode(read.source, file.after)
    except source.SourceError as error:
        return FileResult(file.path, "error", error=str(error), encoding=read.source.encoding)
    return replace(file, encoding=read.source.encoding)


def _migrate_group(group: Sequence[_Task]) -> tuple[FileResult, ...]:
    # Late: it loads LibCST, which a run without a hit never needs.
    from tfmigrate.limits import room_for_depth
    from tfmigrate.rewrite import Source, migrate_program

    try:
        with room_for_depth():
            return migrate_program([Source(*task) for task in group])
    except Exception as error:
        # A program that crashes the tool must not stop the others, and its own text stays as it is.
        import textwrap
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        said = textwrap.shorten(str(error), _ERROR_LENGTH, placeholder=" ...")  # of a node: the whole tree below it
        what = f"{type(error).__name__}: {said} ({Path(frame.filename).name}:{frame.lineno})"
        message = f"tfmigrate failed on this file, which is left as it is: {what}; please report it with the file"
        return tuple(FileResult(path, "error", error=message, before=text, after=text) for path, text, *_ in group)


def _given_up(group: Sequence[_Task], why: budget.Late | budget.Died) -> tuple[FileResult, ...]:
    """The outcome for a program that could not be finished: each of its files stays as it is."""
    if isinstance(why, budget.Late):
        limit = "by the clock, ten times the processor time" if why.waited else "of processor time, the limit"
        what = f"not finished within {why.seconds:g} s {limit} for one program, and left as it is"
        advice = "give it more time (--program-timeout), or leave its largest files out (--exclude)"
    else:
        what = f"the process that worked on it ended ({_ending(why.code)}), and it is left as it is"
        advice = "please report it with the files"
    paths = sorted(path for path, *_ in group)
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    whole = f" (the program is {', '.join(paths[:_NAMED])}{more})" if len(paths) > 1 else ""
    return tuple(
        FileResult(path, "error", error=f"{what}{whole}; {advice}", before=text, after=text) for path, text, *_ in group
    )


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _left(file: FileResult, at_fault: str, reason: str) -> FileResult:
    """A file that stays as it was because `at_fault`, a file of its program, cannot be written: its findings stand."""
    if file.path != at_fault:
        reason = f"not written, because {at_fault}, a file of the same program, {reason}"
    return replace(file, status="error", error=reason, after=file.before)


def _written(files: Sequence[FileResult], read: Mapping[str, _Read]) -> list[FileResult]:
    """The files of one program, written together: all of them or none."""
    changed = [file for file in files if file.changed and file.status != "error" and file.path in read]
    changes = [
        write.Change(read[f.path].file.real, read[f.path].file.data, source.encode(read[f.path].source, f.after))
        for f in changed
    ]
    try:
        if changes:
            write.replace(changes)
    except write.WriteError as error:
        at_fault = next((file.path for file in changed if read[file.path].file.real == error.path), error.path)
        return [_left(file, at_fault, str(error)) if file in changed else file for file in files]
    return [applied(file) if file in changed else file for file in files]
