"""What `check` and `fix` have in common: their options, settings and sources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from tfmigrate import settings
from tfmigrate.cli.output import Output
from tfmigrate.errors import suggestion
from tfmigrate.result import FileResult, Result
from tfmigrate.settings import Settings

if TYPE_CHECKING:
    from tfmigrate.rules import Rule

STDIN = "<stdin>"
Command = TypeVar("Command", bound=Callable[..., Any])


def _codes(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    codes = tuple(code.strip() for value in values for code in value.split(",") if code.strip())
    return codes or None  # None: not given, so that pyproject.toml counts.


def _forms(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[settings.Format, Path], ...]:
    known: tuple[settings.Format, ...] = get_args(settings.Format)
    formats = []
    for value in values:
        name, _, file = value.partition("=")
        form = next((known_form for known_form in known if known_form == name), None)
        if form is None or not file:
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE with one of the formats {', '.join(known)}")
        formats.append((form, Path(file)))
    return tuple(formats)


_PIPELINE_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATHS]..."),
    click.option("--target", metavar="VERSION", help="Oldest TensorFlow the output must run on (2.4 or later)."),
    click.option(
        "--from",
        "from_version",
        metavar="VERSION",
        help="What the code was written for, e.g. keras==2.2.4; a version alone is TensorFlow's (default: read from "
        "the project's requirements).",
    ),
    click.option("--strategy", type=click.Choice(get_args(settings.Strategy)), help="Which strategy to write."),
    click.option(
        "--batch",
        type=click.Choice(get_args(settings.Batch)),
        help="How to write batch sizes: 64 * num_replicas_in_sync (seed), unchanged (keep), or whichever fits (auto).",
    ),
    click.option(
        "--pipeline",
        type=click.Choice(get_args(settings.Pipeline)),
        help="What fit() on arrays becomes: a shuffled dataset, batches gathered by index (for large arrays), still "
        "fit() on arrays, or whichever suits their size (auto).",
    ),
    click.option(
        "--select", multiple=True, callback=_codes, metavar="CODE", help="Only these rules (TFM2: all TFM2xx)."
    ),
    click.option("--ignore", multiple=True, callback=_codes, metavar="CODE", help="All rules except these."),
    click.option(
        "--exclude",
        multiple=True,
        callback=_codes,
        metavar="PATTERN",
        help="Skip these files (patterns as in .gitignore).",
    ),
    click.option(
        "--unsafe-fixes/--no-unsafe-fixes",
        default=None,
        help="Also make rewrites that change what the program does.",
    ),
    click.option("--format", type=click.Choice(get_args(settings.Format)), help="Format of the report."),
    click.option(
        "--changed",
        is_flag=False,
        flag_value="",
        metavar="[=REV]",
        help="Only files changed since this branch left REV (default: the main branch).",
    ),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes (default: all processors)."),
    click.option(
        "--program-timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Limit of processor time for one program, that is, files that import each other (default: 60).",
    ),
    click.option(
        "--largest-file",
        type=click.IntRange(min=1),
        metavar="N",
        help="Refuse files with more characters of Python than this (default: 2000000).",
    ),
    click.option(
        "--config", type=click.Path(path_type=Path), metavar="FILE", help="Read [tool.tfmigrate] from this TOML file."
    ),
    click.option("--isolated", is_flag=True, help="Read no configuration file."),
    click.option(
        "-o", "--output-file", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to this file."
    ),
    click.option(
        "--also",
        multiple=True,
        callback=_forms,
        metavar="FORMAT=FILE",
        help="Also write the report to this file, in this format; may be repeated.",
    ),
    click.option("--statistics", is_flag=True, help="Count the findings by code and outcome."),
    click.option("-q", "--quiet", is_flag=True, help="Print only findings and errors."),
    click.option(
        "--color",
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        help="When to use colours (default: auto).",
    ),
    click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if something is found."),
    click.option(
        "--stdin-filename",
        metavar="PATH",
        default=STDIN,
        help="The file name for `-`; it decides which settings apply.",
    ),
)


def pipeline_options(command: Command) -> Command:
    for option in reversed(_PIPELINE_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Choices:
    """What the command line and the configuration ask for."""

    settings: Settings
    output: Output
    exit_zero: bool

    def exit_code(self, findings: int) -> int:
        """The exit code of a run that ends with this one by itself."""
        return 0 if self.exit_zero and findings == 1 else findings


def choices_of(paths: Sequence[str], options: dict[str, Any], stdin_filename: str) -> Choices:
    """Reads the configuration; `options` as the command has them. Raises SettingsError and UsageError."""
    options = dict(options)
    quiet, statistics, colour = options.pop("quiet"), options.pop("statistics"), options.pop("color")
    output = Output(options.pop("output_file"), colour, statistics, quiet, options.pop("also"))
    exit_zero, config, isolated = options.pop("exit_zero"), options.pop("config"), options.pop("isolated")
    if config and isolated:
        raise click.UsageError("--isolated reads no configuration file; leave out --config")
    chosen = _settings(paths, options, stdin_filename, config, isolated)
    if statistics and chosen.format not in ("text", "grouped", "json"):
        raise click.UsageError(f"--statistics supports text and json, not {chosen.format}; leave one of them out")
    return Choices(chosen, output, exit_zero)


def _settings(
    paths: Sequence[str], options: dict[str, Any], stdin_filename: str, config: Path | None, isolated: bool
) -> Settings:
    named = [stdin_filename if path == "-" else path for path in paths]
    start = Path(named[0]) if named and named[0] != STDIN else Path.cwd()
    chosen = settings.load(start, options, config=config, isolated=isolated)
    per_file = [(f"per-file-ignores.{pattern}", codes) for pattern, codes in chosen.per_file_ignores]
    for option, codes in (("select", chosen.select), ("ignore", chosen.ignore), *per_file):
        for code in codes:
            from tfmigrate import rules  # Late: most runs name no code.

            known = rules.by_code()
            if not any(other.startswith(code) for other in known):
                raise settings.SettingsError(f"{option}: there is no code {code!r}; {_meant(code, known)}")
    return chosen


def _meant(code: str, known: Mapping[str, Rule]) -> str:
    """What a wrong code may stand for: the rule of that name, or a code of the same group."""
    named = next((other_code for other_code, rule in known.items() if rule.name == code), None)
    if named:
        return f"the code of {code} is {named}"
    group = [other for other in known if other.startswith(code.upper()[:4])]
    near = suggestion(code.upper(), group)
    return near.removeprefix("; ") or "`tfmigrate explain` lists them"


def paths_of(paths: tuple[str, ...], changed: str | None) -> Sequence[str]:
    if "-" in paths:
        raise click.UsageError("`-` (stdin) must be the only path")
    if changed is None:
        return paths or (".",)
    from tfmigrate.files.changed import changed_files

    return changed_files(paths or (".",), changed or None)


def read_stdin() -> bytes:
    return sys.stdin.buffer.read()


def result_of(file: FileResult) -> Result:
    shown = file.status != "unchanged" or bool(file.findings)
    return Result((file,) if shown else (), scanned=1)
