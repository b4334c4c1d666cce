"""`tfmigrate runtimes`: the interpreters that verify can use."""

from __future__ import annotations

import click

from tfmigrate.cli.extras import install_line
from tfmigrate.cli.output import COULD_NOT_RUN, complain, say, write, write_json


@click.command(short_help="List the TensorFlows and devices that verify can use.")
@click.option(
    "--make",
    metavar="NAME|all",
    help="First build an old TensorFlow: tf1.15, tf1.15-keras2.2, tf2.3, ..., or all that verify needs.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="Format of the table.")
def runtimes(make: str | None, form: str) -> int:
    """List the interpreters, TensorFlows and devices that verify can use.

    Exit code: 0, or 2 if a runtime could not be built.
    """
    from tfmigrate.verify.run import devices
    from tfmigrate.verify.run import runtimes as known

    code = 0
    for name in dict.fromkeys(known.MAKES.values()) if make == "all" else [make] if make else []:
        if name in known.RECIPES:
            say(f"Building {name}, unless it already exists ...")
        try:
            known.make(name)
        except known.CannotMake as error:
            complain(str(error))
            code = COULD_NOT_RUN
    discovered = known.discover()
    gpus = devices.gpus()
    if form == "json":
        rows = [
            {
                "python": str(runtime.python),
                "version": ".".join(map(str, runtime.version)),
                "tensorflow": runtime.tensorflow,
                "keras": runtime.keras,
                "tf_keras": runtime.tf_keras,
                "origin": runtime.origin,
                "serves": list(runtime.kinds),
            }
            for runtime in discovered
        ]
        write_json({"version": 1, "runtimes": rows, "gpus": list(gpus)})
        return code
    for runtime in discovered:
        serves = ", ".join(runtime.kinds) or "nothing here"
        write(f"{runtime.label}\n    {runtime.python} ({runtime.origin})\n    serves: {serves}\n")
    for gpu in gpus:
        write(f"GPU: {gpu}\n")
    if not gpus:
        write("No GPU found: replicas run on logical CPUs.\n")
    for kind, recipe in known.MAKES.items():
        if not any(kind in runtime.kinds for runtime in discovered):
            write(f"No runtime for {kind}: `tfmigrate runtimes --make {recipe}` builds one.\n")
    for keras, recipe in known.KERAS_RECIPES.items():
        if not any(runtime.kinds and runtime.keras_version == keras for runtime in discovered):
            version = ".".join(map(str, keras))
            write(f"No runtime with Keras {version}: `tfmigrate runtimes --make {recipe}` builds one.\n")
    if not discovered:
        write(f"No TensorFlow found: {install_line('verify')} installs today's.\n")
    return code
