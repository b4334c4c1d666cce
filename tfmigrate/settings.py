"""What the user asked for: `[tool.tfmigrate]` of the nearest pyproject.toml, then the command line, in one value."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from tfmigrate import patterns
from tfmigrate.errors import UserError, suggestion
from tfmigrate.files import regular

Strategy = Literal["mirrored", "multi-worker"]
Batch = Literal["auto", "seed", "keep"]
Pipeline = Literal["auto", "dataset", "gather", "arrays"]
Format = Literal["text", "grouped", "json", "sarif", "github", "gitlab", "junit", "rdjson"]

PROJECT = "TFM6"
"""Prefixes of the codes that concern the project around the code."""
OLDEST_TARGET = (2, 4)
"""First TensorFlow with MirroredStrategy stable under the names that the output uses."""


NAMES = "TFM5"
"""Prefixes of the codes of names and keywords that the target TensorFlow lacks."""


class SettingsError(UserError):
    """A setting that cannot be read or means nothing; the text names the file and the key."""


@dataclass(frozen=True)
class Settings:
    """All choices of one run. The defaults are those of a run without configuration."""

    target: str | None = None
    """Oldest TensorFlow the output must run on, e.g. "2.16"; None means every one from 2.4 to today's."""
    from_version: str | None = None
    """What the code was written for, e.g. "keras==2.2.4, tensorflow==1.13"; see `written_for`."""
    strategy: Strategy = "mirrored"
    batch: Batch = "auto"
    """How a global batch is written: "seed" `64 * strategy.num_replicas_in_sync`, "keep" the expression as it
    stands, "auto" the seed form where a literal divides by the number of replicas."""
    pipeline: Pipeline = "auto"
    """What `fit` on arrays is given: "dataset" `from_tensor_slices().shuffle().batch()`, "gather" batches gathered from
    the arrays by index, "arrays" the arrays themselves, "auto" what suits them; see plan/data/form.py."""
    select: tuple[str, ...] = ()
    """Codes, or beginnings of codes, to act on; empty means all."""
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Patterns in the .gitignore language, relative to the folder of the pyproject.toml, that a walk leaves out."""
    aliases: tuple[str, ...] = ()
    """Further qualified names that are `multi_gpu_model`, e.g. a copy kept in "mylib.parallel.multi_gpu_model"."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Codes to ignore in files that match a pattern, e.g. (("legacy/", ("TFM2",)),); patterns as in `exclude`."""
    unsafe_fixes: bool = False
    """Make the rewrites, too, that change what the program does (`safety = "unsafe"` in the front matter of a rule)."""
    clear_outputs: bool = False
    """Empty the outputs of notebooks that change."""
    baseline: str | None = None
    """The file of findings that `check` takes as known; in pyproject.toml relative to its folder."""
    format: Format = "text"
    budget: int | None = None
    """Training steps of each run of `verify`, where neither its --smoke nor its --thorough asks for others."""
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Processes that may work at once."""
    program_timeout: float = 60
    """Seconds of processor time for one program (files that import each other), ten times as many by the clock; past
    them its files are errors and the rest go on."""
    largest_file: int = 2_000_000
    """Characters of Python in one file; a longer one is an error."""
    root: Path | None = None
    """The folder of the pyproject.toml that was read; None when there was none."""

    def wants(self, code: str) -> bool:
        """Is `code` selected and not ignored? "TFM2" stands for every code that begins so."""
        selected = not self.select or any(code.startswith(prefix) for prefix in self.select)
        return selected and not any(code.startswith(prefix) for prefix in self.ignore)

    def asks_for(self, code: str) -> bool:
        """Is `code` itself selected, and not only its kind or all there are?"""
        return code in self.select and self.wants(code)

    @property
    def over_workers(self) -> bool:
        """Whether the strategy spreads over several machines."""
        return self.strategy == "multi-worker"

    @property
    def asks_for_names(self) -> bool:
        """Whether a code of TFM5 is selected by name: then every file counts that uses TensorFlow or Keras."""
        return any(code.startswith(NAMES) for code in self.select)

    @property
    def asks_for_projects(self) -> bool:
        """Whether a code of TFM6 is selected: then the files around the programs are read."""
        return any(code.startswith(PROJECT) for code in self.select)

    def for_file(self, path: str) -> Settings:
        """These settings with what `per_file_ignores` says of one file (a path from the current folder)."""
        if not self.per_file_ignores:
            return self
        relative = os.path.relpath(path, self.root or Path.cwd()).replace(os.sep, "/")
        codes = [
            code
            for pattern, codes in self.per_file_ignores
            if not relative.startswith("../") and patterns.compiled([pattern]).match_file(relative)
            for code in codes
        ]
        return replace(self, ignore=(*self.ignore, *codes))

    def written_for(self, package: str) -> tuple[int, ...] | None:
        """The version of "keras" or "tensorflow" that the code was written for, or None when nothing says so."""
        for name, version in _requirements(self.from_version or ""):
            if name == package:
                return version
        return None

    def written_before(self, flavour: str, first: Mapping[str, tuple[int, ...]]) -> bool | None:
        """Whether the code was written for a version before this one: of keras for "keras", of tensorflow for
        "tf.keras". None where neither a pin nor an option tells, or `first` has no such flavour."""
        version = self.written_for("keras" if flavour == "keras" else "tensorflow")
        return None if version is None or flavour not in first else version < first[flavour]


def load(
    start: Path, command_line: Mapping[str, Any], *, config: Path | None = None, isolated: bool = False
) -> Settings:
    """The settings for a run on `start` (a file or a folder); values of None on the command line count as not given.

    `config` is read in the place of the nearest pyproject.toml; with `isolated` no file is read. Raises SettingsError.
    """
    file, table = (None, {}) if isolated else _named_table(config) if config else _nearest_table(start)
    root = file.parent if file else None
    where = f"{file}: [tool.tfmigrate]" if file else ""
    configured = _checked({_field(key): value for key, value in table.items()}, where)
    if root and "baseline" in configured:
        configured["baseline"] = str(root / configured["baseline"])
    options = _checked({key: value for key, value in command_line.items() if value is not None}, "command line")
    return replace(Settings(root=root), **(configured | options))


def _key(field_name: str) -> str:
    """A field as it is written in pyproject.toml."""
    return "from" if field_name == "from_version" else field_name.replace("_", "-")


def _field(key: str) -> str:
    return "from_version" if key == "from" else key.replace("-", "_")


_KEYS = {_key(option.name) for option in fields(Settings)} - {"root"}
_LISTS = {"select", "ignore", "exclude", "aliases"}
_CHOICES = {
    "strategy": get_args(Strategy),
    "batch": get_args(Batch),
    "pipeline": get_args(Pipeline),
    "format": get_args(Format),
}


def _nearest_table(start: Path) -> tuple[Path | None, Mapping[str, Any]]:
    folder = Path(os.path.realpath(start))  # Path.resolve raises where links lead in a circle.
    for root in (folder, *folder.parents):
        path = root / "pyproject.toml"
        if os.path.isfile(path):
            return path, _table(path, "fix it or move it away") or {}
    return None, {}


def _named_table(path: Path) -> tuple[Path, Mapping[str, Any]]:
    """The table of a file that the command line names."""
    table = _table(path, "check --config")
    if table is None:
        raise SettingsError(f"{path}: has no table [tool.tfmigrate]; check --config")
    return Path(os.path.realpath(path)), table


def _table(path: Path, advice: str) -> Mapping[str, Any] | None:
    """[tool.tfmigrate] of a file; None where there is none."""
    from tfmigrate.toml import tomllib  # Late: many runs find no such file.

    try:
        document = tomllib.loads(regular.read(path).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{path}: cannot be read: {reason}; {advice}") from None
    tool = document.get("tool", {})
    table = tool.get("tfmigrate") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: tool.tfmigrate is not a table; write [tool.tfmigrate]")
    for key in table:
        if key not in _KEYS:
            raise SettingsError(f"{path}: [tool.tfmigrate] has no setting {key!r}{suggestion(key, _KEYS)}")
    return table


def _checked(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {key: _check(key, value, where) for key, value in values.items()}


def _check(key: str, value: Any, where: str) -> Any:
    name = _key(key)
    if key in _LISTS:
        items = _strings(name, value, where)
        return _patterns(name, items, where) if key == "exclude" else items
    if key == "per_file_ignores":
        if not isinstance(value, dict):
            raise SettingsError(f'{where}: {name} = {value!r} is not a table; write {{ "legacy/" = ["TFM2"] }}')
        _patterns(name, tuple(value), where)
        return tuple((pattern, _strings(f"{name}.{pattern}", codes, where)) for pattern, codes in value.items())
    if key in ("clear_outputs", "unsafe_fixes"):
        if not isinstance(value, bool):
            raise SettingsError(f"{where}: {name} = {value!r} is neither true nor false")
        return value
    if key in _COUNTS:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise SettingsError(f"{where}: {name} = {value!r} is not a number of {_COUNTS[key]} (1 or more)")
        return value
    if key == "program_timeout":
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise SettingsError(f"{where}: {name} = {value!r} is not a number of seconds (more than 0)")
        return float(value)
    if not isinstance(value, str):
        raise SettingsError(f"{where}: {name} = {value!r} is not a string; put it in quotes")
    _check_word(key, value, where)
    return value


_COUNTS = {"jobs": "processes", "budget": "training steps", "largest_file": "characters"}


def _check_word(key: str, value: str, where: str) -> None:
    """Raises SettingsError for a word that the setting does not know."""
    if key in _CHOICES and value not in _CHOICES[key]:
        choices = ", ".join(_CHOICES[key])
        known = f"one of {choices}{suggestion(value, _CHOICES[key])}"
        raise SettingsError(f"{where}: {_key(key)} = {value!r} is not {known}")
    if key == "target":
        version = _version(value)
        if version is None:
            raise SettingsError(f"{where}: target = {value!r} is not a TensorFlow version such as 2.16")
        if version < OLDEST_TARGET:
            raise SettingsError(f"{where}: target = {value!r} is older than 2.4, the first that the output can run on")
    if key == "from_version" and not _requirements(value):
        raise SettingsError(
            f"{where}: from = {value!r} is not understood; write tensorflow==1.15, keras==2.2.4, or both with a comma"
        )


def _strings(name: str, value: Any, where: str) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise SettingsError(f"{where}: {name} = {value!r} is not a list of strings")
    return tuple(items)


def _patterns(name: str, lines: tuple[str, ...], where: str) -> tuple[str, ...]:
    for line in lines:
        if (reason := patterns.malformed(line)) is not None:
            raise SettingsError(f"{where}: {name}: {reason}; write it as in a .gitignore")
    return lines


def _version(text: str) -> tuple[int, ...] | None:
    if not re.fullmatch(r"\d+(\.\d+)*", text):
        return None
    return tuple(int(part) for part in text.split("."))


def _requirements(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """[("keras", (2, 2, 4)), ...] from "keras==2.2.4, tf 1.15"; a bare version is TensorFlow's. [] when malformed."""
    values = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(?:(keras|tf|tensorflow(?:-cpu|-gpu)?)\s*(?:==|\s)\s*)?(\d+(?:\.\d+)*)\s*", part)
        if not match:
            return []
        version = _version(match[2])
        assert version is not None
        values.append(("keras" if match[1] == "keras" else "tensorflow", version))
    return values
