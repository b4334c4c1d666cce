"""Options in, exit code out. Nothing heavy is imported at the top: most runs hit nothing and end here."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar, get_args

import click

from tfmigrate import __version__, migrate, settings
from tfmigrate.errors import UserError, suggestion
from tfmigrate.printable import everywhere, visible
from tfmigrate.report import summary
from tfmigrate.result import FileResult, Finding, Result
from tfmigrate.settings import Settings

if TYPE_CHECKING:
    from tfmigrate.rules import Rule
    from tfmigrate.verify.plan import VerifyOptions
    from tfmigrate.verify.report import Report

COULD_NOT_RUN = 2
INTERRUPTED = 130
STDIN = "<stdin>"

Command = TypeVar("Command", bound=Callable[..., Any])


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit; every error is one clear line on stderr, never a traceback."""
    # A run makes many small objects and few cycles, and to look for those takes a tenth of its time.
    gc.set_threshold(50_000, 20, 50)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        return int(cli.main(arguments, prog_name="tfmigrate", standalone_mode=False) or 0)
    except click.UsageError as error:
        shown = io.StringIO()
        error.show(shown)
        _say(shown.getvalue().rstrip("\n"))
    except click.ClickException as error:
        _complain(error.format_message())
    except UserError as error:
        _complain(str(error))
    except (KeyboardInterrupt, click.Abort):
        _complain("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away. Nobody reads on, so give Python's own flush at exit nothing to fail on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        what = f"{type(error).__name__}: {error} ({place})"
        _complain(f"internal error: {what}; please report it with the command you ran")
    return COULD_NOT_RUN


def _complain(message: str) -> None:
    _say(f"tfmigrate: {visible(message)}")


def _say(message: str) -> None:
    """Print on stderr, which may well be a terminal, what may hold text from others."""
    click.echo(visible(message, "\n"), err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tfmigrate")
def cli() -> None:
    """Take Keras multi_gpu_model out, put tf.distribute.MirroredStrategy in, and prove that training is the same."""


def _codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    codes = tuple(code.strip() for value in values for code in value.split(",") if code.strip())
    return codes or None  # None: not given, so that pyproject.toml counts.


_PIPELINE_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATHS]..."),
    click.option("--target", metavar="VERSION", help="Oldest TensorFlow the output must run on (2.4 or later)."),
    click.option(
        "--from",
        "from_version",
        metavar="VERSION",
        help="What the code was written for, e.g. keras==2.2.4; read from the project's pins when not given.",
    ),
    click.option("--strategy", type=click.Choice(get_args(settings.Strategy)), help="Which strategy to write."),
    click.option(
        "--batch",
        type=click.Choice(get_args(settings.Batch)),
        help="How to write batch sizes: 64 * num_replicas_in_sync (seed), as they are (keep), or what fits (auto).",
    ),
    click.option("--select", multiple=True, callback=_codes, metavar="CODE", help="Only these (TFM2: all TFM2xx)."),
    click.option("--ignore", multiple=True, callback=_codes, metavar="CODE", help="Not these."),
    click.option(
        "--exclude", multiple=True, callback=_codes, metavar="PATTERN", help="Leave out, as .gitignore would."
    ),
    click.option("--format", type=click.Choice(get_args(settings.Format)), help="Form of the report."),
    click.option(
        "--changed",
        is_flag=False,
        flag_value="",
        metavar="[=REV]",
        help="Only files changed since this branch left REV (default: the main branch).",
    ),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes that may work at once."),
    click.option(
        "--program-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Limit for one program, that is for files that import each other (default: 60).",
    ),
    click.option(
        "--largest-file",
        type=click.IntRange(min=1),
        metavar="N",
        help="Characters of Python in one file above which it is not read (default: 2000000).",
    ),
    click.option("--stdin-filename", metavar="PATH", default=STDIN, help="What `-` reads: for its name and settings."),
)


def _pipeline_options(command: Command) -> Command:
    for option in reversed(_PIPELINE_OPTIONS):
        command = option(command)
    return command


@cli.command()
@_pipeline_options
@click.option("--baseline", metavar="FILE", help="Leave out the findings that this file knows.")
@click.option("--write-baseline", type=click.Path(path_type=Path), metavar="FILE", help="Make that file; no report.")
def check(
    paths: tuple[str, ...], changed: str | None, stdin_filename: str, write_baseline: Path | None, **options: Any
) -> int:
    """Say what is there and what would be done; write nothing. `-` reads stdin.

    Exit code: 0 nothing, 1 something, 2 could not run.
    """
    chosen = _settings(paths, options, stdin_filename)
    if paths == ("-",):
        paths = (stdin_filename,)
        result = _of_one(migrate.migrate_bytes(_stdin(), stdin_filename, chosen))
    else:
        paths = tuple(_paths(paths, changed))
        result = migrate.check(paths, chosen)
    if write_baseline:
        return _write_baseline(result, write_baseline)
    if chosen.baseline:
        result = _without_known(result, Path(chosen.baseline), paths)
    _show(result, chosen, sys.stdout)
    return summary.check_exit_code(result)


def _write_baseline(result: Result, path: Path) -> int:
    from tfmigrate.files import baseline

    for file in result.errors:
        _complain(f"{file.path}: {file.error}")
    count = baseline.save(path, baseline.entries(path, result))
    _say(f"{path}: {count} finding{'' if count == 1 else 's'} taken as known.")
    return COULD_NOT_RUN if result.errors else 0


def _without_known(result: Result, path: Path, paths: Sequence[str]) -> Result:
    from tfmigrate.files import baseline

    left = baseline.remaining(path, result, paths)
    if left.known:
        _say(f"{left.known} known from {path}, not shown.")
    if left.stale:
        _say(f"{left.stale} of {path} gone: make it anew with --write-baseline.")
    return left.result


@cli.command()
@_pipeline_options
@click.option("--diff", is_flag=True, help="Print a patch that `git apply` takes; write nothing.")
@click.option("--clear-outputs", is_flag=True, default=None, help="Empty the outputs of notebooks that change.")
def fix(paths: tuple[str, ...], changed: str | None, diff: bool, stdin_filename: str, **options: Any) -> int:
    """Migrate in place. `-` migrates stdin to stdout and reports on stderr.

    Exit code: 0 all done, 1 something refused or left (--diff: a patch exists), 2 could not run.
    """
    if diff and options["format"] is not None:
        raise click.UsageError("--diff prints a patch; leave --format out, or use check for a report")
    chosen = _settings(paths, options, stdin_filename)
    if diff:
        return _print_patch(paths, changed, stdin_filename, chosen)
    if paths == ("-",):
        return _fix_stdin(stdin_filename, chosen)
    result = migrate.fix(_paths(paths, changed), chosen)
    _show(result, chosen, sys.stdout)
    return summary.fix_exit_code(result)


def _print_patch(paths: tuple[str, ...], changed: str | None, stdin_filename: str, chosen: Settings) -> int:
    from tfmigrate.report import diff, text

    if paths == ("-",):
        result = _of_one(migrate.migrate_bytes(_stdin(), stdin_filename, chosen))
    else:
        result = migrate.check(_paths(paths, changed), chosen)
    patch = diff.render(result, chosen)
    # `git apply` needs every byte as it is, also those that are no UTF-8, which are surrogates here.
    _write_bytes((visible(patch, "\n\t") if sys.stdout.isatty() else patch).encode("utf-8", "surrogateescape"))
    _say(text.render(result, chosen).rstrip("\n"))
    return summary.diff_exit_code(result)


def _fix_stdin(name: str, chosen: Settings) -> int:
    data = _stdin()
    file = migrate.migrate_bytes(data, name, chosen)
    result = _of_one(migrate.applied(file) if file.changed else file)
    _write_bytes(file.after.encode(file.encoding) if file.changed else data)  # It can: migrate checked.
    _show(result, chosen, sys.stderr)
    return summary.fix_exit_code(result)


@cli.command()
@click.argument("what", metavar="CODE|FILE:LINE", required=False)
def explain(what: str | None) -> int:
    """Show a rule's page; or why the use at FILE:LINE is rewritten so, or refused. Without either, list the rules.

    A place in a notebook is FILE:CELL:LINE.
    """
    from tfmigrate import rules

    known = rules.by_code()
    if what is None:
        _write("".join(f"{rule.code}  {rule.title}\n" for rule in known.values()))
        return 0
    if what.upper() in known:
        _write_page(known[what.upper()].text)
        return 0
    path, _, line = what.rpartition(":")
    path, _, cell = path.rpartition(":") if path.rpartition(":")[2].isdigit() else (path, "", "")
    if not path or not line.isdigit():
        raise UserError(f"explain: {what!r} is no code and no FILE:LINE{suggestion(what.upper(), known)}")
    file = migrate.check_within(path, settings.load(Path(path).parent, {}))
    if file.error:
        raise UserError(f"{file.path}: {file.error}")
    return _explain_line(file, (int(cell) if cell else None, int(line)), known)


def _explain_line(file: FileResult, place: tuple[int | None, int], known: dict[str, Rule]) -> int:
    from tfmigrate.report.text import path, told

    def at(finding: Finding) -> tuple[int | None, int]:
        return finding.cell.number if finding.cell else None, finding.line

    here = [finding for finding in file.findings if at(finding) == place]
    if not here:
        others = sorted({at(finding) for finding in file.findings}, key=lambda one: (one[0] or 0, one[1]))
        told_others = ", ".join(f"{cell}:{line}" if cell else f"{line}" for cell, line in others)
        elsewhere = f"; this file has findings at line {told_others}" if others else "; this file has no findings"
        shown = f"{place[0]}:{place[1]}" if place[0] else f"{place[1]}"
        _write(f"{path(file)}:{shown}: nothing to explain{elsewhere}\n")
        return 1
    for finding in here:
        trail = "".join(f"    {step}\n" for step in finding.trail)
        _write(f"{path(file)}:{told(finding)}\n{trail}\n")
    for code in sorted({finding.code for finding in here}):
        _write_page(known[code].text + "\n")
    return 0


def _write_page(markdown: str) -> None:
    if not sys.stdout.isatty():
        _write(markdown)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(markdown))


@cli.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path), required=False)
@click.option("--smoke", is_flag=True, help="Only: do both reach the end of step 1, with the same loss?")
@click.option("--thorough", is_flag=True, help="Train as long as the scripts ask for, and run every control.")
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Train so many steps in all (default 30).")
@click.option("--time-limit", type=click.FloatRange(min=1), metavar="SECONDS", help="Stop then; report what is known.")
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m`; OLD and NEW are folders.")
@click.option("--driver", type=click.Path(path_type=Path), metavar="FILE", help="A script that runs OLD's library.")
@click.option("--program", type=click.Path(path_type=Path), metavar="DIR", help="The program's folder, copied whole.")
@click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR", help="Where in it scripts start.")
@click.option("--setup", type=click.Path(path_type=Path), metavar="FILE", help="Python that makes stand-in data first.")
@click.option("--stub", "stubs", multiple=True, metavar="MODULE=FILE", help="Put FILE in the place of a module.")
@click.option("--replicas", type=click.IntRange(min=2), metavar="N", help="Devices to train on (default: as OLD says).")
@click.option("--from", "written_for", metavar="VERSION", help="What OLD was written for, e.g. keras==2.2.4.")
@click.option("--old-python", type=click.Path(path_type=Path), metavar="P", help="Interpreter with an old TensorFlow.")
@click.option("--new-python", type=click.Path(path_type=Path), metavar="P", help="Interpreter with TensorFlow 2.16+.")
@click.option("--require-genuine", is_flag=True, help="Inconclusive without a run on an old TensorFlow.")
@click.option("--report", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Write report.html and more.")
@click.option(
    "--format", "form", type=click.Choice(("text", "json", "junit")), default="text", help="Form of the verdict."
)
@click.option("--pull-request", is_flag=True, help="Print the verdict as Markdown to paste in a pull request.")
@click.option("--workers", type=click.IntRange(min=1), default=1, metavar="N", help="Spread NEW over N processes.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Runs that may go on at once.")
@click.option("--timeout", type=click.FloatRange(min=1), default=900, metavar="SECONDS", help="Limit of each run.")
@click.option("--args", "arguments", default="", metavar="ARGS", help="Command line of both scripts, in one string.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set for both scripts; may be repeated.")
@click.option("--epochs", type=click.IntRange(min=1), metavar="N", help="Train so many epochs at most.")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Train so many steps an epoch at most.")
@click.option("--subset", type=click.IntRange(min=1), metavar="N", help="Train on so many samples an epoch at most.")
@click.option("--as-written", is_flag=True, help="Neutralise nothing; compare runs under many seeds by statistics.")
@click.option("--pairs", type=click.IntRange(min=1), metavar="N", help="With --as-written: so many seeds (default 20).")
@click.option("--synthetic-data", is_flag=True, help="Made-up data in the place of keras.datasets downloads.")
def verify(
    old: Path,
    new: Path | None,
    folder: Path | None,
    form: str,
    pull_request: bool,
    env: tuple[str, ...],
    **options: Any,
) -> int:
    """Run OLD and NEW and compare their training step by step; without NEW, a migrated copy of OLD.

    OLD and NEW are scripts, notebooks, or modules by their dotted names. Trains 30 steps, or whole epochs while they
    fit into that; --smoke looks at the first alone, --thorough at everything.

    Exit code: 0 equivalent, 1 different or NEW crashed, 2 could not run, 3 inconclusive, 130 interrupted.
    """
    import signal
    import tempfile

    # What a terminal that closes and a CI job that is cancelled send ends the runs as Ctrl-C does.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    if pull_request and form != "text":
        raise click.UsageError(f"--pull-request prints Markdown; leave --format {form} out")
    if options["smoke"] and (options["thorough"] or options["as_written"] or options["budget"]):
        raise click.UsageError("--smoke looks at the first step alone; leave --thorough, --as-written and --budget out")
    try:
        from tfmigrate.verify import page, terminal  # noqa: F401 - what the report needs is asked for before the runs.
        from tfmigrate.verify.stopping import time_limit
    except ModuleNotFoundError as error:
        package = (error.name or "a package").split(".")[0]
        raise UserError(f"verify needs {package}: pip install 'tfmigrate[verify]'") from None
    if options["cwd"] and not options["cwd"].is_dir():
        raise UserError(f"--cwd {options['cwd']}: no such folder")
    if options["pairs"] and not options["as_written"]:
        raise UserError("--pairs goes with --as-written")
    if folder is not None:
        _make_folder(folder)
    with tempfile.TemporaryDirectory(prefix="tfmigrate-") as scratch:
        chosen = _asked(old, new, Path(scratch).resolve(), env, options)
        chosen = replace(chosen, keep=folder / "runs" if folder else None)
        title = f"{options['module'] + ': ' if options['module'] else ''}{old} -> {new or 'its migrated copy'}"
        with time_limit(options["time_limit"]):
            report = replace(_judged(chosen, options["as_written"], options["pairs"], title, folder), title=title)
    # Names of layers, and above all what the scripts died of, are text from others.
    _show_verdict(everywhere(report), folder, "pull request" if pull_request else form)
    return report.exit_code


def _asked(old: Path, new: Path | None, scratch: Path, env: Sequence[str], options: dict[str, Any]) -> VerifyOptions:
    from tfmigrate import asked
    from tfmigrate.files import pins
    from tfmigrate.verify.depth import Depth
    from tfmigrate.verify.plan import VerifyOptions

    named = {"strategy": "multi-worker"} if options["workers"] > 1 else {}
    configured = settings.load(old.parent, {**named, "from_version": options["written_for"]})
    what = asked.Asked(old, new, options["module"], options["driver"], options["program"], options["cwd"])
    before, after, start = asked.resolve(what, configured, scratch)
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
        setup=options["setup"],
        stubs=asked.stubs(options["stubs"]),
        written_for=configured.from_version or pins.written_for(before.root),
        depth=depth,
        budget=options["budget"] or (configured.budget if depth == "default" else None),
        require_genuine=options["require_genuine"],
        replicas=options["replicas"],
        workers=options["workers"],
        old_python=options["old_python"],
        new_python=options["new_python"],
        seconds=options["timeout"],
        epochs=options["epochs"],
        steps=options["steps"],
        subset=options["subset"],
        synthetic_data=options["synthetic_data"],
        environment=dict(map(_variable, env)),
        jobs=options["jobs"],
    )


def _judged(chosen: VerifyOptions, as_written: bool, pairs: int | None, title: str, folder: Path | None) -> Report:
    """Verifies; on a terminal the losses are shown as they come, in `folder` what is known after every run."""
    from functools import partial

    from rich.console import Console

    from tfmigrate.verify import verdict, written
    from tfmigrate.verify.progress import Progress
    from tfmigrate.verify.servers import Servers
    from tfmigrate.verify.side_by_side import run_all

    def publish(report: Report) -> None:
        if folder is not None:
            _write_report(everywhere(replace(report, title=title)), folder)

    verify = partial(written.verify_as_written, pairs=pairs or written.PAIRS) if as_written else verdict.verify
    with Servers() as servers:
        forking = partial(run_all, launch=servers.launch)
        if not sys.stderr.isatty():
            return verify(chosen, tell=_say, execute=forking, publish=publish)
        with Progress(Console(stderr=True, markup=False)) as live:
            return verify(chosen, tell=live.tell, execute=partial(forking, watch=live.step), publish=publish)


def _show_verdict(report: Report, folder: Path | None, form: str) -> None:
    from rich.console import Console

    from tfmigrate.verify import junit, pull_request, terminal

    html = _write_report(report, folder) if folder else None
    if form == "json":
        _write_json(report.to_json())
        return
    if form == "junit":
        _write(junit.render(report))
        return
    if form == "pull request":
        _write(pull_request.render(report, [file.name for file in sorted(folder.glob("*.png"))] if folder else ()))
        return
    # In a log or a pipe nothing says how wide the page is, and 80 columns would break the tables.
    terminal.show(report, Console(width=None if sys.stdout.isatty() else 140, markup=False))
    if html:
        _write(f"Report: {html}\n")


def _words(arguments: str) -> tuple[str, ...]:
    import shlex

    try:
        return tuple(shlex.split(arguments))
    except ValueError as error:
        raise UserError(f"--args {arguments!r}: {str(error).lower()}; write it as on a shell's command line") from None


def _write_report(report: Report, folder: Path) -> Path:
    from tfmigrate.verify import page

    try:
        return page.write(report, folder)
    except OSError as error:
        raise UserError(f"--report {folder}: cannot be written: {error.strerror}") from None


def _variable(assignment: str) -> tuple[str, str]:
    name, sign, value = assignment.partition("=")
    if not name or not sign:
        raise click.UsageError(f"--env {assignment!r} is not NAME=VALUE")
    return name, value


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--report {folder}: cannot be made: {error.strerror}") from None


@cli.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The plain model's architecture: what model.to_json() returns, a .keras file or a whole .h5 file.",
)
def checkpoint(old: Path, new: Path, model: Path | None) -> int:
    """Turn OLD, saved from the parallel model, into NEW, which the plain model loads. OLD stays as it is.

    OLD is a .h5 file of save() or save_weights(). NEW ends in .weights.h5, or in .h5 for the layout that both Keras
    versions read. Exit code: 0 done, 2 could not.
    """
    try:
        from tfmigrate.checkpoint.convert import convert
    except ModuleNotFoundError as error:
        raise UserError(f"checkpoint needs {error.name}: pip install 'tfmigrate[verify]'") from None
    done = convert(old, new, model)
    _write(f"{new}: {done.weights} weights of {done.layers} layers, taken out of {done.template}.\n")
    if done.dropped_optimizer:
        _write("The optimizer's state is left out: training that goes on from here starts the optimizer anew.\n")
    return 0


@cli.command()
@click.option(
    "--make",
    metavar="NAME|all",
    help="Build a legacy runtime first: tf1.15, tf1.15-keras2.2, tf2.3, ..., or all needed.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", help="Form of the table.")
def runtimes(make: str | None, form: str) -> int:
    """Which interpreters, TensorFlows and devices verify can use.

    Exit code: 0, or 2 when a runtime could not be made.
    """
    from tfmigrate.verify import devices
    from tfmigrate.verify import runtimes as known

    code = 0
    for name in dict.fromkeys(known.MAKES.values()) if make == "all" else [make] if make else []:
        _say(f"Making {name} (or finding the one made before) ...")
        try:
            known.make(name)
        except known.CannotMake as error:
            _complain(str(error))
            code = COULD_NOT_RUN
    found = known.discover()
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
            for runtime in found
        ]
        _write_json({"version": 1, "runtimes": rows, "gpus": list(gpus)})
        return code
    for runtime in found:
        serves = ", ".join(runtime.kinds) or "nothing here"
        _write(f"{runtime.label}\n    {runtime.python} ({runtime.origin})\n    serves: {serves}\n")
    for gpu in gpus:
        _write(f"GPU: {gpu}\n")
    if not gpus:
        _write("No GPU found: logical CPUs stand in for the replicas.\n")
    for kind, recipe in known.MAKES.items():
        if not any(kind in runtime.kinds for runtime in found):
            _write(f"No runtime for {kind}: `tfmigrate runtimes --make {recipe}` builds one.\n")
    for keras, recipe in known.KERAS_RECIPES.items():
        if not any(runtime.kinds and runtime.keras_version == keras for runtime in found):
            version = ".".join(map(str, keras))
            _write(f"No runtime with Keras {version}: `tfmigrate runtimes --make {recipe}` builds one.\n")
    if not found:
        _write("No TensorFlow found: pip install 'tfmigrate[verify]' brings today's.\n")
    return code


def _settings(paths: Sequence[str], options: dict[str, Any], stdin_filename: str) -> Settings:
    named = [stdin_filename if path == "-" else path for path in paths]
    start = Path(named[0]) if named and named[0] != STDIN else Path.cwd()
    chosen = settings.load(start, options)
    per_file = [(f"per-file-ignores.{pattern}", codes) for pattern, codes in chosen.per_file_ignores]
    for option, codes in (("select", chosen.select), ("ignore", chosen.ignore), *per_file):
        for code in codes:
            from tfmigrate import rules  # Late: most runs name no code.

            known = rules.by_code()
            if not any(one.startswith(code) for one in known):
                raise settings.SettingsError(f"{option}: there is no code {code!r}{suggestion(code, known)}")
    return chosen


def _paths(paths: tuple[str, ...], changed: str | None) -> Sequence[str]:
    if "-" in paths:
        raise click.UsageError("`-` (stdin) comes alone, without other paths")
    if changed is None:
        return paths or (".",)
    from tfmigrate.files.changed import changed_files

    return changed_files(paths or (".",), changed or None)


def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def _of_one(file: FileResult) -> Result:
    told = file.status != "unchanged" or bool(file.findings)
    return Result((file,) if told else (), scanned=1)


def _show(result: Result, chosen: Settings, stream: TextIO) -> None:
    name: str = chosen.format
    if name == "text" and stream.isatty() and result.files:
        name = "terminal"  # Loads rich, which a run without a hit never needs.
    text = str(import_module(f"tfmigrate.report.{name}").render(result, chosen))
    # The terminal's own colours are escape sequences too: that report takes care of the text from others itself.
    _write_bytes((text if name == "terminal" else visible(text, "\n")).encode(), stream)


def _write(text: str) -> None:
    """Print on stdout what may hold text from others."""
    _write_bytes(visible(text, "\n").encode())


def _write_json(document: object) -> None:
    import json

    _write(json.dumps(document, indent=2) + "\n")


def _write_bytes(data: bytes, stream: TextIO | None = None) -> None:
    buffer = (stream or sys.stdout).buffer
    buffer.write(data)
    buffer.flush()
