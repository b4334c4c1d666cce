"""`tfmigrate check`: what is there, and what would be done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tfmigrate import migrate
from tfmigrate.cli.inputs import Choices, choices_of, paths_of, pipeline_options, read_stdin, result_of
from tfmigrate.cli.output import COULD_NOT_RUN, Output, complain, say, show, write
from tfmigrate.cli.progress import Progress
from tfmigrate.report import summary
from tfmigrate.result import Result


@click.command(short_help="Report what would change. Writes nothing.")
@pipeline_options
@click.option("--baseline", metavar="FILE", help="Leave out the findings recorded in FILE.")
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Record today's findings in FILE for --baseline.",
)
@click.option("--add-skips", is_flag=True, help="Write a `# tfmigrate: skip[CODE]` comment for each finding.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
@click.option("--show-files", is_flag=True, help="Only list the files that would be read.")
def check(
    paths: tuple[str, ...],
    changed: str | None,
    stdin_filename: str,
    write_baseline: Path | None,
    add_skips: bool,
    watch: bool,
    show_files: bool,
    **options: Any,
) -> int:
    """Report what would change, and what cannot be. Writes nothing. `-` reads stdin.

    Exit code: 0 nothing, 1 something, 2 could not run.
    """
    choices = choices_of(paths, options, stdin_filename)
    chosen = choices.settings
    if watch:
        if paths == ("-",) or write_baseline or show_files or add_skips:
            others = "`-`, --write-baseline, --add-skips and --show-files"
            raise click.UsageError(f"--watch checks files repeatedly; leave out {others}")
        from tfmigrate.cli import watching

        watching.watch(lambda: _report(paths, changed, choices), lambda: paths_of(paths, changed), chosen)
    if show_files:
        write("".join(f"{path}\n" for path in migrate.files(paths_of(paths, changed), chosen)))
        return 0
    if add_skips:
        return _add_skips(paths_of(paths, changed), choices)
    if paths == ("-",):
        result = result_of(migrate.migrate_bytes(read_stdin(), stdin_filename, chosen))
        return _shown(result, (stdin_filename,), choices)
    if write_baseline:
        return _write_baseline(_checked(paths_of(paths, changed), choices), write_baseline)
    return _report(paths, changed, choices)


def _report(paths: tuple[str, ...], changed: str | None, choices: Choices) -> int:
    """Check paths and show what was found; the exit code."""
    wanted = paths_of(paths, changed)
    return _shown(_checked(wanted, choices), wanted, choices)


def _checked(paths: Sequence[str], choices: Choices) -> Result:
    with Progress(choices.output.quiet) as progress:
        return migrate.check(paths, choices.settings, progress)


def _shown(result: Result, paths: Sequence[str], choices: Choices) -> int:
    chosen, output = choices.settings, choices.output
    if chosen.baseline:
        result = _without_known(result, Path(chosen.baseline), paths, output)
    show(result, chosen, sys.stdout, output)
    return choices.exit_code(summary.check_exit_code(result))


def _add_skips(paths: Sequence[str], choices: Choices) -> int:
    with Progress(choices.output.quiet) as progress:
        result, files = migrate.add_skips(paths, choices.settings, progress)
    choices.output.say(f"Comments were added to {files} file{'' if files == 1 else 's'}.")
    return _shown(result, paths, choices)


def _write_baseline(result: Result, path: Path) -> int:
    from tfmigrate.files import baseline

    for file in result.errors:
        complain(f"{file.path}: {file.error}")
    count = baseline.save(path, baseline.entries(path, result))
    say(f"{path}: {count} finding{'' if count == 1 else 's'} recorded as known.")
    return COULD_NOT_RUN if result.errors else 0


def _without_known(result: Result, path: Path, paths: Sequence[str], output: Output) -> Result:
    from tfmigrate.files import baseline

    left = baseline.remaining(path, result, paths)
    if left.known:
        output.say(f"{left.known} known from {path}, not shown.")
    if left.stale:
        gone = "1 finding is" if left.stale == 1 else f"{left.stale} findings are"
        output.say(f"{path}: {gone} no longer found; renew it with --write-baseline.")
    return left.result
