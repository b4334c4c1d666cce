"""The table of public programs: `table.toml`, read into values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfmigrate.toml import tomllib

HERE = Path(__file__).resolve().parent
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


class TableError(Exception):
    """What is wrong with an entry, in words for the person who wrote it."""


@dataclass(frozen=True)
class Library:
    """A package that the program imports, laid out beside it at a commit of its time, as if it were vendored."""

    repository: str
    commit: str
    folder: str
    """Of the repository."""
    at: str
    """Where in the program's folder."""


@dataclass(frozen=True)
class Program:
    """One public program at one commit, and what it takes to start it. Paths are absolute."""

    name: str
    """Of its folder in `build/field`, and of its row."""
    repository: str
    """ "owner/name"."""
    commit: str
    shape: str
    """In words: "GAN", "several files", "generator"."""
    script: str
    """By its path in `folder`; for a library that of the driver, in the root of `folder`."""
    folder: str = "."
    """What of the repository is migrated and copied: the program's own folder."""
    start: str | None = None
    """Where in `folder` the script starts; None for `folder` itself."""
    module: str | None = None
    """Run so, as `python -m`, in the place of `script`."""
    driver: Path | None = None
    """A script of ours that uses the library; put into `folder` before it is migrated."""
    args: str = ""
    env: tuple[str, ...] = ()
    """NAME=VALUE."""
    written_for: str | None = None
    """As `--from`; None where the program's own requirements tell."""
    additions: Mapping[str, Path] = field(default_factory=dict)
    """Where in `folder` to file of ours: what the repository's own build would make, a compiled module say."""
    libraries: tuple[Library, ...] = ()
    constants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """File to name to expression: what every plain assignment to the name in the file is given instead, in the old tree
    before anything else, as somebody does who adapts a script to a small machine."""
    setup: Path | None = None
    """Makes stand-in data, in our own words."""
    stubs: Mapping[str, Path] = field(default_factory=dict)
    """Modules that are not installed, and the stand-in of each."""
    options: tuple[str, ...] = ()
    """More options of `verify`."""
    run: bool = True
    """Whether it can be started here; where not, it is only migrated, and `cause` says why."""
    fault: str = ""
    """Whose it is that it does not end well, where a person knows better than the runs tell: "the program", say."""
    cause: str = ""
    """Where it does not end well: why, as far as a person has found out."""

    @property
    def files(self) -> tuple[Path, ...]:
        """What of ours goes into the run."""
        return tuple(
            path
            for path in (self.driver, self.setup, *self.stubs.values(), *self.additions.values())
            if path is not None
        )


def read(path: Path = HERE / "table.toml") -> tuple[Program, ...]:
    """All programs, in the order of the table. Raises TableError."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    programs = tuple(_program(entry, path.parent) for entry in document.get("program", ()))
    twice = {one.name for one in programs if sum(one.name == other.name for other in programs) > 1}
    if twice:
        raise TableError(f"{path}: two programs are named {', '.join(sorted(twice))}")
    return programs


def _program(entry: dict[str, Any], folder: Path) -> Program:
    name = entry.get("name", "")
    if not NAME.fullmatch(name):
        raise TableError(f"a program's name {name!r}: lower-case letters, digits, '-' and '.' only")
    values = dict(entry)
    for key in ("driver", "setup"):
        if key in values:
            values[key] = _ours(folder / f"{key}s" / values[key], name)
    for key in ("stubs", "additions"):
        if key in values:
            values[key] = {place: _ours(folder / "stubs" / file, name) for place, file in values[key].items()}
    for key in ("env", "options"):
        values[key] = tuple(values.get(key, ()))
    if values.get("driver") is not None:
        values["script"] = values["driver"].name
    elif "module" in values:
        values["script"] = values["module"].replace(".", "/") + ".py"
    try:
        values["libraries"] = tuple(Library(**library) for library in values.get("libraries", ()))
        program = Program(**values)
    except TypeError as error:
        raise TableError(f"program {name}: {str(error).partition('__init__() ')[2]}") from None
    sources = (program, *program.libraries)
    if not all(re.fullmatch(r"[\w.-]+/[\w.-]+", one.repository) for one in sources) or not all(
        re.fullmatch(r"[0-9a-f]{40}", one.commit) for one in sources
    ):
        raise TableError(f"program {name}: repository is owner/name, commit its 40 digits")
    return program


def _ours(path: Path, name: str) -> Path:
    if not path.exists():
        raise TableError(f"program {name}: {path} is not there")
    return path
