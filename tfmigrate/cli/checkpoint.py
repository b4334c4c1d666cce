"""`tfmigrate checkpoint`: a file that the parallel model saved, for the plain one."""

from __future__ import annotations

from pathlib import Path

import click

from tfmigrate.cli.extras import install_line
from tfmigrate.cli.output import write
from tfmigrate.errors import UserError


@click.command(short_help="Convert weights that a parallel model saved.")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The plain model's architecture: the output of model.to_json(), a .keras file or a whole .h5 file.",
)
def checkpoint(old: Path, new: Path, model: Path | None) -> int:
    """Convert OLD, saved by a parallel model, to NEW, which the plain model loads. OLD stays as it is.

    OLD is a .h5 file of save() or save_weights(). NEW ends in .weights.h5, or in .h5 for the layout that both Keras
    versions read. Exit code: 0 done, 2 could not.
    """
    try:
        from tfmigrate.checkpoint.convert import convert
    except ModuleNotFoundError as error:
        raise UserError(f"checkpoint needs {error.name}: {install_line('verify')}") from None
    done = convert(old, new, model)
    write(f"{new}: {done.weights} weights of {done.layers} layers, from {done.template}.\n")
    if done.dropped_optimizer:
        write("The optimizer's state is left out: training resumed from this file starts with a fresh optimizer.\n")
    return 0
