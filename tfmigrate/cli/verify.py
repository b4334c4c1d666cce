"""`tfmigrate verify`: run the old and the new script and compare them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from tfmigrate import __version__, settings
from tfmigrate.cli.amounts import size
from tfmigrate.cli.extras import install_line
from tfmigrate.cli.output import table_width, write, write_json
from tfmigrate.errors import UserError
from tfmigrate.printable import everywhere

if TYPE_CHECKING:
    from tfmigrate.cli.places import Place
    from tfmigrate.verify.judge.plan import VerifyOptions
    from tfmigrate.verify.judge.report import Report

Form = Literal["text", "json", "junit"]
LEVELS = ("auto", "namespaces", "bubblewrap", "landlock", "none")


@click.command(short_help="Run the old and the new script and compare their training.")
@click.argument("old", type=click.Path(path_type=Path), required=False)
@click.argument("new", type=click.Path(path_type=Path), required=False)
@click.option("--smoke", is_flag=True, help="Train one step and compare its loss.")
@click.option("--thorough", is_flag=True, help="Train as long as the scripts do; run every control.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Train at most N steps in total (default 30).")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="Stop after this time and report the results so far.",
)
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does; OLD and NEW are folders.")
@click.option("--driver", type=click.Path(path_type=Path), metavar="FILE", help="A script that runs OLD's library.")
@click.option(
    "--program", type=click.Path(path_type=Path), metavar="DIR", help="The program's folder, copied as a whole."
)
@click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR", help="Where in that folder the scripts start.")
@click.option(
    "--setup",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A script to run first, to create stand-in data.",
)
@click.option("--stub", "stubs", multiple=True, metavar="MODULE=FILE", help="Import FILE instead of a module.")
@click.option("--replicas", type=click.IntRange(min=2), metavar="N", help="Devices to train on (default: as OLD asks).")
@click.option("--from", "written_for", metavar="VERSION", help="What OLD was written for, e.g. keras==2.2.4.")
@click.option("--old-python", type=click.Path(path_type=Path), metavar="P", help="Interpreter with an old TensorFlow.")
@click.option("--new-python", type=click.Path(path_type=Path), metavar="P", help="Interpreter with TensorFlow 2.16+.")
@click.option("--no-packages", is_flag=True, help="Do not install the packages that OLD needs besides TensorFlow.")
@click.option("--require-genuine", is_flag=True, help="Without a run on an old TensorFlow, be inconclusive.")
@click.option("--report", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Write report.html and more.")
@click.option(
    "--format", "form", type=click.Choice(("text", "json", "junit")), default="text", help="Format of the verdict."
)
@click.option("--pull-request", is_flag=True, help="Print the verdict as Markdown to paste in a pull request.")
@click.option(
    "--batch",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Verify many programs: a TOML file, or a folder of verify.toml files.",
)
@click.option("--on", metavar="ENGINE", help="Run on ray, ray://HOST:PORT, slurm or local (processes).")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, metavar="N", help="Run NEW in N processes, as on N machines."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs at the same time.")
@click.option("--timeout", type=click.FloatRange(min=1), default=900, metavar="SECONDS", help="Time limit of each run.")
@click.option("--memory", type=size, metavar="SIZE", help="Memory limit of all runs together, e.g. 12G (default: 80%).")
@click.option(
    "--disk", type=size, metavar="SIZE", help="Limit on what all runs together write (default: half of the free space)."
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Limit on the processes of all runs together (default: 512).",
)
@click.option(
    "--sandbox",
    type=click.Choice(LEVELS),
    default="auto",
    help="How runs are isolated (default: the strongest way available).",
)
@click.option("--args", "arguments", default="", metavar="ARGS", help="Command line of both scripts, as one string.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set in the environment of both scripts (repeatable).")
@click.option("--epochs", type=click.IntRange(min=1), metavar="N", help="Train at most this many epochs.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Train at most this many steps per epoch.")
@click.option("--subset", type=click.IntRange(min=1), metavar="N", help="Train on at most this many samples per epoch.")
@click.option(
    "--as-written", is_flag=True, help="Leave the scripts unchanged; compare runs with many seeds statistically."
)
@click.option(
    "--pairs", type=click.IntRange(min=1), metavar="N", help="With --as-written: this many seeds (default 20)."
)
@click.option("--synthetic-data", is_flag=True, help="Use made-up data instead of keras.datasets downloads.")
def verify(
    old: Path | None,
    new: Path | None,
    folder: Path | None,
    form: Form,
    pull_request: bool,
    batch: Path | None,
    on: str | None,
    **options: Any,
) -> int:
    """Run OLD and NEW and compare their training step by step. Without NEW, compare OLD with a migrated copy of itself.

    OLD and NEW are scripts, notebooks, or dotted names of modules. By default each run trains 30 steps; --smoke trains
    one, --thorough all of them.

    Exit code: 0 equivalent, 1 different or NEW crashed, 2 could not run, 3 inconclusive, 130 interrupted.
    """
    import signal

    # What a terminal that closes and a CI job that is cancelled send ends the runs as Ctrl-C does.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    if pull_request and form != "text":
        raise click.UsageError(f"--pull-request prints Markdown; leave out --format {form}")
    if batch is None and old is None:
        raise click.UsageError("Missing argument 'OLD'.")
    if batch is not None and (old is not None or pull_request or options["time_limit"]):
        raise click.UsageError("--batch reads its programs from a file; leave out OLD, --pull-request and --time-limit")
    try:
        from tfmigrate.verify.report import page, terminal  # noqa: F401 - what the report needs is asked for before the runs.
    except ModuleNotFoundError as error:
        package = (error.name or "a package").split(".")[0]
        raise UserError(f"verify needs {package}: {install_line('verify')}") from None
    from tfmigrate.cli.places import place

    if folder is not None:
        make_folder(folder)
    with place(on, options["timeout"]) as where:
        if batch is not None:
            from tfmigrate.cli import batch as batches

            return batches.verify_all(batch, folder or Path("verified"), form, options, where)
        assert old is not None
        report = verified(old, new, options, folder, where)
    # Names of layers, and above all what the scripts died of, are text from others.
    _show_verdict(everywhere(report), folder, "pull request" if pull_request else form)
    return report.exit_code


def verified(old: Path, new: Path | None, options: dict[str, Any], folder: Path | None, where: Place) -> Report:
    """One verification; `options` are those of the command. What is known lies in `folder` after every run. Raises
    UserError and click.UsageError."""
    from tfmigrate.verify.judge.stopping import time_limit

    if options["smoke"] and (options["thorough"] or options["as_written"] or options["budget"]):
        raise click.UsageError("--smoke only compares the first step; leave out --thorough, --as-written and --budget")
    if options["cwd"] and not options["cwd"].is_dir():
        raise UserError(f"--cwd {options['cwd']}: no such folder")
    if options["pairs"] and not options["as_written"]:
        raise UserError("--pairs goes with --as-written")
    with tempfile.TemporaryDirectory(prefix="tfmigrate-") as scratch:
        chosen = _asked(old, new, Path(scratch).resolve(), options)
        chosen = replace(chosen, keep=folder / "runs" if folder else None, jobs=chosen.jobs or where.jobs)
        title = f"{options['module'] + ': ' if options['module'] else ''}{old} -> {new or 'its migrated copy'}"
        with time_limit(options["time_limit"]):
            report = _judged(chosen, options["as_written"], options["pairs"], title, folder, where)
    return replace(report, title=title)


HANDED_ON = (
    "setup", "require_genuine", "replicas", "workers", "old_python", "new_python", "memory", "disk", "processes",
    "sandbox", "epochs", "steps", "subset", "synthetic_data", "jobs", "time_limit",
)  # fmt: skip
"""Options of the command that the verification takes under their own names."""


def _asked(old: Path, new: Path | None, scratch: Path, options: dict[str, Any]) -> VerifyOptions:
    from tfmigrate.cli import programs
    from tfmigrate.files import pins
    from tfmigrate.verify.judge.depth import Depth
    from tfmigrate.verify.judge.plan import VerifyOptions

    named = {"strategy": "multi-worker"} if options["workers"] > 1 else {}
    configured = settings.load(old.parent, {**named, "from_version": options["written_for"]})
    what = programs.Named(old, new, options["module"], options["driver"], options["program"], options["cwd"])
    before, after, start = programs.resolve(what, configured, scratch)
    depth: Depth = (
        "smoke" if options["smoke"] else "thorough" if options["thorough"] or options["as_written"] else "default"
    )
    start = None if start is None or start.resolve() == before.root else start
    own_place = before.root == before.script.resolve().parent and start is None and not before.as_module
    return VerifyOptions(
        old=before.script,
        new=after.script,
        args=_words(options["arguments"]),
        program=None if own_place else before.root,
        new_program=None if own_place or after.root == before.root else after.root,
        start=start,
        as_modules=before.as_module,
        stubs=programs.stubs(options["stubs"]),
        written_for=configured.from_version or pins.written_for(before.root),
        depth=depth,
        budget=options["budget"] or (configured.budget if depth == "default" else None),
        packages=not options["no_packages"],
        seconds=options["timeout"],
        environment=dict(map(_variable, options["env"])),
        with_todays_names=lambda: programs.with_todays_names(before, configured),
        version=__version__,
        command=_command_line(sys.argv),
        **{name: options[name] for name in HANDED_ON},
    )


def _command_line(words: Sequence[str]) -> tuple[str, ...]:
    """For the report, which others read: without the values of --env, that may be keys."""
    shown = [Path(words[0]).name, *words[1:]] if words else []
    for i, word in enumerate(shown):
        before = shown[i - 1] if i else ""
        if word.startswith("--env="):
            shown[i] = word[: word.find("=", 6) + 1] + "..." if "=" in word[6:] else word
        elif before == "--env" and "=" in word:
            shown[i] = word.partition("=")[0] + "=..."
    return tuple(shown)


def _judged(
    chosen: VerifyOptions, as_written: bool, pairs: int | None, title: str, folder: Path | None, where: Place
) -> Report:
    """Verifies; on a terminal the losses are shown as they come, in `folder` what is known after every run."""
    from functools import partial

    from rich.console import Console

    from tfmigrate.verify.judge import verdict, written
    from tfmigrate.verify.report.progress import Progress

    def publish(report: Report) -> None:
        if folder is not None:
            write_report(everywhere(replace(report, title=title)), folder)

    verify = partial(written.verify_as_written, pairs=pairs or written.PAIRS) if as_written else verdict.verify
    if where.quiet or not sys.stderr.isatty():
        return verify(chosen, tell=where.tell, execute=where.execute, publish=publish)
    with Progress(Console(stderr=True, markup=False)) as live:
        return verify(chosen, tell=live.tell, execute=where.watched(live.step), publish=publish)


def _show_verdict(report: Report, folder: Path | None, form: str) -> None:
    from rich.console import Console

    from tfmigrate.verify.report import junit, pull_request, terminal

    html = write_report(report, folder) if folder else None
    if form == "json":
        write_json(report.to_json())
        return
    if form == "junit":
        write(junit.render(report))
        return
    if form == "pull request":
        write(pull_request.render(report, [file.name for file in sorted(folder.glob("*.png"))] if folder else ()))
        return
    # In a log or a pipe nothing says how wide the page is, and 80 columns would break the tables.
    terminal.show(report, Console(width=table_width(), markup=False))
    if html:
        write(f"Report: {html}\n")


def _words(arguments: str) -> tuple[str, ...]:
    import shlex

    try:
        return tuple(shlex.split(arguments))
    except ValueError as error:
        raise UserError(f"--args {arguments!r}: {str(error).lower()}; write it as on a shell command line") from None


def write_report(report: Report, folder: Path) -> Path:
    from tfmigrate.verify.report import page

    try:
        return page.write(report, folder)
    except OSError as error:
        raise UserError(f"--report {folder}: cannot be written: {error.strerror}") from None


def _variable(assignment: str) -> tuple[str, str]:
    name, sign, value = assignment.partition("=")
    if not name or not sign:
        raise click.UsageError(f"--env {assignment!r} is not NAME=VALUE")
    return name, value


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--report {folder}: cannot be created: {error.strerror}") from None
