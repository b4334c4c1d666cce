"""`tfmigrate fix`: migrate in place, as a patch, or from stdin to stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from tfmigrate import migrate
from tfmigrate.cli.inputs import Choices, choices_of, paths_of, pipeline_options, read_stdin, result_of
from tfmigrate.cli.output import deliver, show, write_bytes
from tfmigrate.cli.progress import Progress
from tfmigrate.printable import visible
from tfmigrate.report import summary
from tfmigrate.result import Result


@click.command(short_help="Migrate in place.")
@pipeline_options
@click.option("--diff", is_flag=True, help="Print a patch for `git apply`; write nothing.")
@click.option("-i", "--interactive", is_flag=True, help="Show the patch of each program and ask before writing it.")
@click.option("--clear-outputs", is_flag=True, default=None, help="Clear the outputs of notebooks that change.")
def fix(
    paths: tuple[str, ...],
    changed: str | None,
    diff: bool,
    interactive: bool,
    stdin_filename: str,
    **options: Any,
) -> int:
    """Migrate in place. `-` migrates stdin to stdout and reports on stderr.

    Exit code: 0 all done, 1 something refused or left (--diff: a patch exists), 2 could not run.
    """
    if diff and options["format"] is not None:
        raise click.UsageError("--diff prints a patch; leave out --format, or use check for a report")
    if interactive and (diff or paths == ("-",)):
        raise click.UsageError("--interactive asks before it writes files; leave out --diff and `-`")
    choices = choices_of(paths, options, stdin_filename)
    if diff:
        return choices.exit_code(_print_patch(paths, changed, stdin_filename, choices))
    if paths == ("-",):
        return choices.exit_code(_fix_stdin(stdin_filename, choices))
    with Progress(choices.output.quiet) as progress:
        accept = _asking(choices, progress) if interactive else None
        result = migrate.fix(paths_of(paths, changed), choices.settings, progress, accept)
    show(result, choices.settings, sys.stdout, choices.output)
    return choices.exit_code(summary.fix_exit_code(result))


def _asking(choices: Choices, progress: Progress) -> Callable[[Result], bool]:
    from tfmigrate.cli.asking import Questions

    return Questions(choices.output.colour, progress.clear).accept


def _print_patch(paths: tuple[str, ...], changed: str | None, stdin_filename: str, choices: Choices) -> int:
    from tfmigrate.report import diff

    chosen = choices.settings
    if paths == ("-",):
        result = result_of(migrate.migrate_bytes(read_stdin(), stdin_filename, chosen))
    else:
        result = migrate.check(paths_of(paths, changed), chosen)
    patch = diff.render(result)
    # `git apply` needs every byte as it is, also those that are no UTF-8, which are surrogates here.
    file = choices.output.file
    shown = visible(patch, "\n\t") if sys.stdout.isatty() and file is None else patch
    deliver(shown.encode("utf-8", "surrogateescape"), sys.stdout, file)
    show(result, replace(chosen, format="text"), sys.stderr, replace(choices.output, file=None))
    return summary.diff_exit_code(result)


def _fix_stdin(name: str, choices: Choices) -> int:
    data, chosen = read_stdin(), choices.settings
    file = migrate.migrate_bytes(data, name, chosen)
    result = result_of(migrate.applied(file) if file.changed else file)
    write_bytes(file.after.encode(file.encoding) if file.changed else data)  # It can: migrate checked.
    show(result, chosen, sys.stderr, choices.output)
    return summary.fix_exit_code(result)
