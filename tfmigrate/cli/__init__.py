"""The command line: options in, exit code out.

Nothing heavy is imported at the top, here and in the commands: most runs hit nothing and end here. The module of a
command is loaded when it is asked for.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

# ruff: noqa: E402
# A run makes many small objects and few cycles, and looking for cycles takes a tenth of its time. It is put off before
# the imports, which are half of a run that finds nothing, and a script is migrated before the first.
gc.set_threshold(200_000, 20, 50)

import click

from tfmigrate import __version__
from tfmigrate.cli.output import COULD_NOT_RUN, INTERRUPTED, complain, say
from tfmigrate.errors import UserError, suggestion
from tfmigrate.quiet import reading_code


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit; every error is one clear line on stderr, never a traceback."""
    code = run(arguments)
    gc.freeze()  # Python looks for cycles once more when it ends, and all memory goes with the process anyway.
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        with reading_code():
            return int(cli.main(arguments, prog_name="tfmigrate", standalone_mode=False) or 0)
    except click.UsageError as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"))
    except click.ClickException as error:
        complain(error.format_message())
    except UserError as error:
        complain(str(error))
    except (KeyboardInterrupt, click.Abort):
        complain("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away. Nobody reads on, so give Python's own flush at exit nothing to fail on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        what = f"{type(error).__name__}: {error} ({place})"
        complain(f"internal error: {what}; please report it with the command you ran")
    return COULD_NOT_RUN


COMMANDS = ("check", "checkpoint", "explain", "fix", "runtimes", "server", "verify")
"""Each is a module of this folder with a command of the same name."""


def commands() -> dict[str, click.Command]:
    """All commands, by name."""
    return {name: _command(name) for name in COMMANDS}


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module(f"tfmigrate.cli.{name}"), name)
    return command


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}{suggestion(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(cmd_name) if cmd_name in COMMANDS else None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tfmigrate")
def cli() -> None:
    """Rewrite Keras multi_gpu_model to tf.distribute.MirroredStrategy, and check that the training stays the same."""
