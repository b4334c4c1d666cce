"""`tfmigrate server`: findings, rule pages and migrations in an editor."""

from __future__ import annotations

import click

from tfmigrate.cli.extras import install_line
from tfmigrate.errors import UserError


@click.command(short_help="Serve an editor (Language Server Protocol).")
def server() -> int:
    """Serve an editor over stdin and stdout, using the Language Server Protocol.

    A file is checked as part of its whole program when it is opened and when it is saved.
    """
    try:
        from tfmigrate.cli import language_server
    except ModuleNotFoundError as error:
        raise UserError(f"server needs {error.name}: {install_line('server')}") from None
    language_server.build().start_io()
    return 0
