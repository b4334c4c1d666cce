"""`tfmigrate verify --batch`: many programs in one go, which can be stopped and gone on with.

The file is TOML: a table [[program]] for each program, with `old`, `new` and any option of `verify` by its name
without the dashes before it; [defaults] holds options of all. Paths are relative to the file. A folder stands for each
verify.toml in it and below.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tfmigrate import __version__
from tfmigrate.cli.output import complain, say, table_width, write, write_json
from tfmigrate.cli.places import Place
from tfmigrate.cli.programs import stubs
from tfmigrate.cli.verify import Form, make_folder, verified, verify, write_report
from tfmigrate.errors import UserError
from tfmigrate.files import regular
from tfmigrate.printable import everywhere
from tfmigrate.toml import tomllib
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.report import batch as table
from tfmigrate.verify.report.batch import Row
from tfmigrate.verify.run.futures import results_of
from tfmigrate.verify.run.scratch import fingerprint
from tfmigrate.verify.run.world import Limits

FILE = "verify.toml"
KEY = "key.txt"
"""In a program's folder of reports: the hash of all that it was made of."""
OF_THE_WHOLE = ("batch", "on", "report", "format", "pull_request", "time_limit")


@dataclass(frozen=True)
class Item:
    """One program of a batch. `options` are those of the command, by name: in a batch as read, those alone that the
    file gives."""

    name: str
    old: Path
    new: Path | None
    options: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Changes with whatever the verdict can depend on."""
        largest = Limits().largest_copied_file
        folders = {self.options["program"] or path.parent for path in (self.old, self.new) if path}
        parts = [fingerprint(folder.resolve(), largest) for folder in sorted(folders)]
        parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in self._beside() if path.is_file()]
        facts = {name: str(value) for name, value in self.options.items()}
        document = [__version__, str(self.old), str(self.new), facts, parts]
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

    def _beside(self) -> list[Path]:
        """Files that may lie outside the program's folder."""
        modules = stubs(self.options.get("stubs", ()))
        return [path for path in (self.options.get("setup"), self.options.get("driver"), *modules.values()) if path]


def read(path: Path) -> list[Item]:
    """The programs of a batch file, or of those in a folder. Raises UserError with the file and what is wrong in it."""
    if path.is_dir():
        files = sorted(path.rglob(FILE))
        if not files:
            raise UserError(f"--batch {path}: this folder contains no {FILE}")
        items = [
            replace(item, name=f"{file.parent.relative_to(path)}/{item.name}") if file.parent != path else item
            for file in files
            for item in read(file)
        ]
    else:
        items = _of_file(path)
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: {names.count(name)} programs are called {name!r}; give each its own `name`")
    return items


def _of_file(path: Path) -> list[Item]:
    try:
        document = tomllib.loads(regular.read(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file: {error}") from None
    unknown = sorted(document.keys() - {"defaults", "program"})
    if unknown:
        raise UserError(f"{path}: unknown {unknown[0]!r}; a batch has [defaults] and [[program]]")
    programs = document.get("program")
    if not isinstance(programs, list) or not programs:
        raise UserError(f"{path}: contains no [[program]]")
    return [
        _item(path, number, {**document.get("defaults", {}), **program}) for number, program in enumerate(programs, 1)
    ]


def _item(path: Path, number: int, fields: Mapping[str, Any]) -> Item:
    named = {name: value for name, value in fields.items() if name not in ("name", "old", "new")}
    if "old" not in fields:
        raise UserError(f"{path}: program {number} has no `old`")
    words = [word for name, value in named.items() for word in _words(path, number, name, value)]
    try:
        context = verify.make_context("verify", words)
    except click.ClickException as error:
        raise UserError(f"{path}: program {number}: {error.format_message()}") from None
    written = click.core.ParameterSource.COMMANDLINE
    options = {name: value for name, value in context.params.items() if context.get_parameter_source(name) is written}
    old, new = (path.parent / fields[name] if name in fields else None for name in ("old", "new"))
    assert old is not None
    return Item(str(fields.get("name", fields["old"])), old, new, options)


def _words(path: Path, number: int, name: str, value: Any) -> list[str]:
    """An option as it stands on the command line, paths from the file's folder."""
    option = "-m" if name == "module" else f"--{name}"
    known = {flag: param for param in verify.params if isinstance(param, click.Option) for flag in param.opts}
    if option not in known or name.replace("-", "_") in OF_THE_WHOLE:
        raise UserError(f"{path}: program {number}: verify has no option {name!r} for a single program")
    if known[option].is_flag:
        return [option] if value else []
    words = []
    for word in value if isinstance(value, list) else [value]:
        if isinstance(known[option].type, click.Path):
            word = path.parent / word
        elif name == "stub":
            module, _, file = str(word).partition("=")
            word = f"{module}={path.parent / file}"
        words += [option, str(word)]
    return words


def verify_all(batch: Path, folder: Path, form: Form, values: Mapping[str, Any], where: Place) -> int:
    """Verifies every program of a batch, several at a time where the place is a cluster, each report in a folder of
    its own under `folder`, beside index.html. What was verified before, and has not changed since, is not run again.

    `values`: options of the command line, which hold where a program has none of its own. Returns the exit code.
    """
    items = [replace(item, options={**values, **item.options}) for item in read(batch)]
    make_folder(folder)
    rows: dict[str, Row] = {}
    one_at_a_time = threading.Lock()
    stop = threading.Event()

    def do(item: Item) -> None:
        if stop.is_set():
            return
        row = _verified(item, folder / _folder_name(item.name), where)
        with one_at_a_time:
            rows[item.name] = row
            seconds = "as before" if row.remembered else f"{row.seconds:.0f} s of runs"
            say(f"[{len(rows)}/{len(items)}] {item.name}: {row.headline} ({seconds})")
            _write(list(rows.values()), len(items), folder)
            if not row.complete:
                stop.set()

    if where.verifications == 1:
        for item in items:
            do(item)
    else:
        _do_beside(do, items, where, stop)
    done = [rows[item.name] for item in items if item.name in rows]
    _show(done, len(items), folder, form)
    return table.exit_code(done)


def _do_beside(do: Any, items: Sequence[Item], where: Place, stop: threading.Event) -> None:
    """Ctrl-C reaches the main thread alone, and the others through the runs that are ended under them."""
    pool = ThreadPoolExecutor(where.verifications)
    try:
        results_of([pool.submit(do, item) for item in items])
    except KeyboardInterrupt:
        stop.set()
        assert where.elsewhere is not None
        where.elsewhere.interrupted.set()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _verified(item: Item, folder: Path, where: Place) -> Row:
    page = f"{folder.name}/report.html"
    try:
        key = item.key
        known = _remembered(folder, key)
        if known is not None:
            return Row.of(item.name, known, page, True)
        (folder / KEY).unlink(missing_ok=True)
        quiet = replace(where, quiet=True, tell=lambda line: None)
        report = everywhere(verified(item.old, item.new, dict(item.options), folder, quiet))
        write_report(report, folder)
    except (UserError, OSError, click.UsageError) as error:
        words = error.format_message() if isinstance(error, click.UsageError) else str(error)
        complain(f"{item.name}: {words}")
        document = everywhere(Report("COULD NOT RUN", words, item.name)).to_json()
        return Row.of(item.name, document, None, False)
    if report.state == "complete":
        (folder / KEY).write_text(key + "\n", encoding="utf-8")
    return Row.of(item.name, report.to_json(), page, False)


def _remembered(folder: Path, key: str) -> Mapping[str, Any] | None:
    """The report that was made of the same."""
    try:
        if (folder / KEY).read_text(encoding="utf-8").strip() != key:
            return None
        document: Mapping[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document


def _folder_name(name: str) -> str:
    """Readable, and different for different names."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _write(rows: Sequence[Row], planned: int, folder: Path) -> Path:
    try:
        return table.write(rows, planned, folder)
    except OSError as error:
        raise UserError(f"--report {folder}: cannot be written: {error.strerror}") from None


def _show(rows: Sequence[Row], planned: int, folder: Path, form: Form) -> None:
    page = _write(rows, planned, folder)
    if form == "json":
        write_json(json.loads((folder / "batch.json").read_text(encoding="utf-8")))
        return
    if form == "junit":
        write((folder / "batch.xml").read_text(encoding="utf-8"))
        return
    table.show(rows, Console(width=table_width(), highlight=False))
    left = f"; {planned - len(rows)} of {planned} not verified" if len(rows) < planned else ""
    write(f"{table.counts(rows)}{left}\nReport: {page}\n")
