"""Programs are migrated: here or in processes of their own, none for longer than it may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tfmigrate import budget
from tfmigrate.decoded import Decoded
from tfmigrate.files import source
from tfmigrate.numbering import Numbering
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

_Task = tuple[str, str, Settings, Numbering]
"""A file of a program: its path, its text, the settings that hold for it, and how its lines are numbered."""
_ERROR_LENGTH = 200
"""Characters of a crash of this tool that are shown."""
_NAMED = 5
"""Files of a program that an error names."""
POOL_PAYS_FROM = 4
"""Files with a hit below which starting processes costs more than it saves (measured)."""
Tell = Callable[[int, int], None]
"""Called with the number of programs done and their total."""


def migrated(
    read: Mapping[str, Decoded],
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
    files: Sequence[FileResult], read: Mapping[str, Decoded], settings: Mapping[str, Settings]
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


def _as_file(file: FileResult, read: Decoded, settings: Settings) -> FileResult:
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
        message = f"tfmigrate failed on this file and left it as it is: {what}; please report it with the file"
        return tuple(FileResult(path, "error", error=message, before=text, after=text) for path, text, *_ in group)


def _given_up(group: Sequence[_Task], why: budget.Late | budget.Died) -> tuple[FileResult, ...]:
    """The outcome for a program that could not be finished: each of its files stays as it is."""
    if isinstance(why, budget.Late):
        limit = "of wall time, ten times the processor time" if why.waited else "of processor time, the limit"
        what = f"not finished within {why.seconds:g} s {limit} for one program, and left as it is"
        advice = "give it more time (--program-timeout), or leave its largest files out (--exclude)"
    else:
        what = f"its process ended ({_ending(why.code)}), so it is left as it is"
        advice = "please report it with the files"
    paths = sorted(path for path, *_ in group)
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    whole = f" (the program is {', '.join(paths[:_NAMED])}{more})" if len(paths) > 1 else ""
    return tuple(
        FileResult(path, "error", error=f"{what}{whole}; {advice}", before=text, after=text) for path, text, *_ in group
    )


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
