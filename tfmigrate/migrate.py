"""What the commands do to the files at some paths: check, fix, add comments, migrate a copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tfmigrate import late
from tfmigrate.errors import UserError
from tfmigrate.files import scan
from tfmigrate.result import FileResult, Result
from tfmigrate.settings import Settings
from tfmigrate.survey import names_packages, survey_of

if TYPE_CHECKING:
    from tfmigrate import decoded, tasks
    from tfmigrate.decoded import Decoded
    from tfmigrate.files import pins, source, write
    from tfmigrate.tasks import Tell
else:
    decoded, tasks = (late.module(f"tfmigrate.{name}") for name in ("decoded", "tasks"))
    pins, source, write = (late.module(f"tfmigrate.files.{name}") for name in ("pins", "source", "write"))

_UNUSED = "TFM009"
"""The code of a comment that suppresses nothing: no other comment helps against it."""
_WRAPS = ("TFM001", "TFM010", "TFM1")
"""Prefixes of the codes of what is migrated, or refused, as a whole: other findings follow from it."""


def check(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> Result:
    """What `fix` would find and do; writes nothing. A path that cannot be read is an error result; the rest go on."""
    return survey_of(paths, settings, tell).result


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
    survey = survey_of(paths, settings, tell)
    reported = {file.path: file for file in survey.result.files}
    for group in survey.read.groups:
        program = [reported[path] for path in group if path in reported]
        if accept is not None and any(file.changed for file in program) and not accept(Result(tuple(program))):
            continue
        for file in _written(program, survey.read.files):
            reported[file.path] = file
    return replace(survey.result, files=tuple(reported[file.path] for file in survey.result.files))


def add_skips(paths: Sequence[str], settings: Settings, tell: Tell | None = None) -> tuple[Result, int]:
    """Write a `tfmigrate: skip` comment for each finding into its file; what is found then, and how many files changed.

    Skipping a use removes other findings too, so this starts with the wraps and continues with what is then
    left. Notebooks stay as they are.
    """
    from tfmigrate import skips

    done: set[str] = set()
    while True:
        survey = survey_of(paths, settings, tell)
        open_codes = {
            finding.code
            for _, finding in survey.result.findings
            if finding.action != "suppressed" and finding.code != _UNUSED
        }
        first = {code for code in open_codes if code.startswith(_WRAPS)} or open_codes
        reported = {
            file.path: replace(file, findings=tuple(finding for finding in file.findings if finding.code in first))
            for file in survey.result.files
        }
        changed = False
        for group in survey.read.groups:
            files = [_with_skips(reported[path], survey.read.files[path], skips) for path in group if path in reported]
            written = _written(files, survey.read.files)
            changing = {file.path for file in written if file.changed and file.status != "error"}
            changed, done = changed or bool(changing), done | changing
        if not changed:
            return survey.result, len(done)


def _with_skips(file: FileResult, read: Decoded, skips: ModuleType) -> FileResult:
    """A file as it reads with comments for its findings; unchanged where it is a notebook or cannot be read."""
    findings = [finding for finding in file.findings if finding.action != "suppressed" and finding.code != _UNUSED]
    if file.error or read.notebook or not findings:
        return replace(file, after=file.before)
    write_them = skips.with_skips_in_lines if names_packages(file.path) else skips.with_skips
    return replace(file, after=write_them(read.source.text, findings), before=read.source.text)


def migrate_bytes(data: bytes, path: str, settings: Settings) -> FileResult:
    """Migrate a source that is in memory already; `path` is only its name. Touches no disk."""
    read, unreadable = decoded.decode([scan.FoundFile(path, path, data)])
    own = {path: settings.for_file(path)}
    return (*tasks.migrated(read, [[path]] if read else [], own, jobs=1), *unreadable)[0]


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
        raise UserError(f"{script}: nothing to migrate; pass the script to compare it with as NEW")
    for file in files:
        if file.error:
            raise UserError(f"{names[file.path]}: {file.error}")
        for finding in file.findings:
            if finding.action == "refuse":
                place = f"{names[file.path]}:{finding.line}:{finding.column}: {finding.code}"
                raise UserError(f"{place} {finding.message}; migrate it by hand and pass the result as NEW")


def _left(file: FileResult, at_fault: str, reason: str) -> FileResult:
    """A file that stays as it was because `at_fault`, a file of its program, cannot be written: its findings stand."""
    if file.path != at_fault:
        reason = f"not written, because {at_fault}, a file of the same program, {reason}"
    return replace(file, status="error", error=reason, after=file.before)


def _written(files: Sequence[FileResult], read: Mapping[str, Decoded]) -> list[FileResult]:
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
