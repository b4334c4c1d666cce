"""The packages a project asks for: old TensorFlow, standalone Keras, and pins of what TensorFlow brings along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from packaging.version import Version

from tfmigrate.plan import codes
from tfmigrate.plan.packages.files import CONDA, DOCKER
from tfmigrate.plan.packages.versions import stays_below, versions_from
from tfmigrate.plan.packages.written_pins import NOT_HERE, Key, Pin, kept_name, pins_of, words
from tfmigrate.plan.selection import LEFT_ALONE, Selection
from tfmigrate.result import Action, FileResult, Finding, Status
from tfmigrate.rules import Rule
from tfmigrate.settings import OLDEST_TARGET, Settings
from tfmigrate.understand.suppressions import in_lines

OLDEST = Version(".".join(map(str, OLDEST_TARGET)))
_KERAS_3 = Version("3.0")
_FIRST_WITH_KERAS_3 = Version("2.16")
_TENSORFLOWS = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu"})

_OF_OLD_TENSORFLOW = frozenset({"tensorflow-estimator", "tensorflow-tensorboard"})
"""What TensorFlow before 2.16 brought along, and later ones do without."""


@dataclass(frozen=True)
class Project:
    """What decides about the pins of one project, whatever file they stand in."""

    settings: Settings
    rules: tuple[Rule, ...]
    imports_keras: str | None = None
    """A file that imports standalone Keras when all is done."""
    writes_for_tensorboard: str | None = None
    """A file whose program uses the callback TensorBoard."""
    stays: str | None = None
    """Why its files are reported and left, in words; None: they are edited where their form allows."""

    @property
    def needed(self) -> Version:
        """The oldest TensorFlow for the migrated code."""
        return Version(self.settings.target) if self.settings.target else OLDEST

    @property
    def brought(self) -> dict[str, Version]:
        """Packages that TensorFlow brings along -> the oldest version that TensorFlow 2.16 takes."""
        return {need.package: Version(need.at_least) for rule in self.rules for need in rule.needs}


@dataclass(frozen=True)
class _Verdict:
    code: str
    message: str
    new: str | None = ""
    """The requirement as it shall be; empty: it goes; None: that is for the user to decide."""


def mended(path: str, text: str, project: Project) -> FileResult:
    """What is reported about the pins of one file of a project, and its text without them where that is for this tool.

    `path` tells the form: a requirements file, pyproject.toml, setup.py, setup.cfg, Pipfile, conda environment or
    Dockerfile.
    """
    mending = _Mending(path, text, project)
    pins = list(pins_of(PurePath(path).name, text))
    before_keras_3 = any(_is_held_back(pin, project) for pin in pins)
    seen: dict[Key, int] = {}
    for pin in pins:
        verdict = _verdict(pin, project, seen, before_keras_3)
        seen.setdefault(pin.key, _position(text, pin.start)[0])
        if verdict is not None and project.settings.wants(verdict.code):
            mending.follow(verdict, pin)
    mending.findings.extend(_images(path, text, project))
    board = None if before_keras_3 else _without_tensorboard(pins, project)
    if board is not None:
        mending.require_tensorboard(board)
    return mending.result()


@dataclass(frozen=True, eq=False)
class _Mending:
    """What is reported about one file, and the edits that go with it."""

    path: str
    text: str
    project: Project
    findings: list[Finding] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    """(start, end, new text)."""

    @cached_property
    def _selection(self) -> Selection:
        return Selection(self.project.settings, in_lines(self.text))

    def follow(self, verdict: _Verdict, pin: Pin) -> None:
        left = self.project.stays or pin.left
        if verdict.new is None:
            self._say(pin, verdict.code, verdict.message, "warn")
        elif left is not None:
            wanted = f"write {verdict.new}" if verdict.new else "take it out"
            self._say(pin, verdict.code, f"{verdict.message}: {wanted} by hand ({left})", "warn")
        else:
            start, end = pin.span if verdict.new else pin.whole
            self._say(pin, verdict.code, verdict.message, "rewrite", (start, end, verdict.new))

    def require_tensorboard(self, last: Pin) -> None:
        """A line below the last requirement of TensorFlow."""
        reason = self.project.stays or last.left or (None if _is_plain(self.path) else NOT_HERE)
        message = (
            f"{self.project.writes_for_tensorboard} uses the callback TensorBoard, and TensorFlow 2.21 no longer "
            "installs the tensorboard package"
        )
        if reason is not None:
            self._say(last, codes.TENSORBOARD, f"{message}: add it by hand ({reason})", "warn")
            return
        end = last.whole[1]
        newline = "\r\n" if "\r\n" in self.text else "\n"
        line = f"tensorboard{newline}" if self.text[:end].endswith("\n") else f"{newline}tensorboard"
        self._say(last, codes.TENSORBOARD, f"{message}: it is required", "rewrite", (end, end, line))

    def _say(self, pin: Pin, code: str, message: str, action: Action, *edits: tuple[int, int, str]) -> None:
        """Reported and done, but where a comment on its line leaves a pin alone."""
        line, column = _position(self.text, pin.start)
        if self._selection.suppresses(code, line):
            self.findings.append(Finding(line, column, code, LEFT_ALONE, "suppressed"))
        else:
            self.findings.append(Finding(line, column, code, message, action))
            self.edits.extend(edits)

    def result(self) -> FileResult:
        after = self.text
        for start, end, new in sorted(self.edits, reverse=True):
            after = after[:start] + new + after[end:]
        status: Status = "migrated" if after != self.text else "unchanged"
        return FileResult(self.path, status, tuple(sorted(self.findings)), before=self.text, after=after)


def _is_plain(path: str) -> bool:
    """Whether a file has one requirement a line and nothing else, as requirements files do."""
    name = PurePath(path).name
    others = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile")
    return name not in others and not CONDA.fullmatch(name) and not DOCKER.fullmatch(name)


def _without_tensorboard(pins: Sequence[Pin], project: Project) -> Pin | None:
    """The last requirement of TensorFlow where a program uses TensorBoard and nothing requires that."""
    if project.writes_for_tensorboard is None or not project.settings.wants(codes.TENSORBOARD):
        return None
    if any(pin.name == "tensorboard" for pin in pins):
        return None
    return next((pin for pin in reversed(pins) if pin.name in _TENSORFLOWS), None)


def shell_findings(line: int, text: str, project: Project) -> Iterator[Finding]:
    """What is reported about the packages that one shell line, such as `!pip install ...` of a notebook, installs."""
    for pin in words(text):
        verdict = _verdict(pin, project, {}, before_keras_3=False)
        if verdict is not None and project.settings.wants(verdict.code):
            wanted = "" if verdict.new is None else f": write {verdict.new}" if verdict.new else ": remove it"
            yield Finding(line, pin.start + 1, verdict.code, verdict.message + wanted, "warn")


# ---- what is decided ----


def _is_held_back(pin: Pin, project: Project) -> bool:
    """Whether this asks for a TensorFlow that migrated code runs on and that is older than 2.16, as `==2.9.3` does."""
    clauses = pin.requirement.specifier
    held = any(stays_below(clause, _FIRST_WITH_KERAS_3) for clause in clauses)
    return pin.name in _TENSORFLOWS and held and versions_from(clauses, project.needed) is None


def _verdict(pin: Pin, project: Project, seen: dict[Key, int], before_keras_3: bool) -> _Verdict | None:
    """What is wrong with a pin. `before_keras_3`: its project asks for a TensorFlow that takes such old companions."""
    if pin.name in _TENSORFLOWS:
        return _tensorflow(pin, project, seen)
    if pin.name == "keras":
        return _keras(pin, project)
    if pin.name in _OF_OLD_TENSORFLOW and not before_keras_3:
        held = any(stays_below(clause, _FIRST_WITH_KERAS_3) for clause in pin.requirement.specifier)
        message = f"{pin.text.strip()} belongs to an older TensorFlow, and today's does without it"
        return _Verdict(codes.BROUGHT_PIN, message) if held else None
    at_least = None if before_keras_3 else project.brought.get(pin.name)
    if at_least is not None and any(stays_below(clause, at_least) for clause in pin.requirement.specifier):
        message = f"{pin.text.strip()} keeps TensorFlow {_FIRST_WITH_KERAS_3} and later out, which installs {pin.name} "
        return _Verdict(codes.BROUGHT_PIN, message + "itself", pin.written(pin.requirement.name, ""))
    return None


def _tensorflow(pin: Pin, project: Project, seen: dict[Key, int]) -> _Verdict | None:
    name, specifier = kept_name(pin.name), versions_from(pin.requirement.specifier, project.needed)
    if name == pin.name and specifier is None:
        return None
    if name == pin.name:
        message = f"{pin.text.strip()}: the migrated code runs on TensorFlow {project.needed} and later"
    else:
        message = (
            f"{pin.name} can no longer be installed; tensorflow includes the GPU code, and from 2.14 on "
            "tensorflow[and-cuda] installs CUDA"
        )
    twin = seen.get(pin.key)
    if twin is not None:
        return _Verdict(codes.TENSORFLOW_PIN, f"{message}; line {twin} already requires it")
    written = pin.requirement.name if name == pin.name else name
    old = str(pin.requirement.specifier)
    return _Verdict(codes.TENSORFLOW_PIN, message, pin.written(written, old if specifier is None else specifier))


def _keras(pin: Pin, project: Project) -> _Verdict | None:
    first = _KERAS_3 if project.needed >= _FIRST_WITH_KERAS_3 else OLDEST
    if not any(stays_below(clause, first) for clause in pin.requirement.specifier):
        return None
    message = f"{pin.text.strip()} is standalone Keras, which does not work with today's TensorFlow"
    if project.imports_keras is not None:
        return _Verdict(codes.KERAS_PIN, f"{message}, but {project.imports_keras} still imports it", None)
    return _Verdict(codes.KERAS_PIN, f"{message}, and the code now uses TensorFlow's Keras")


def _position(text: str, offset: int) -> tuple[int, int]:
    """The line and column of a place in a text, from 1."""
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


_IMAGE = re.compile(
    r"^\s*FROM\s+(?:--\S+\s+)?(?P<image>(?:\S+/)?tensorflow):(?P<version>\d+(?:\.\d+)+)(?P<tag>\S*)", re.M
)


def _images(path: str, text: str, project: Project) -> list[Finding]:
    """Old images that a Dockerfile begins with. NVIDIA's are numbered by year, and had TensorFlow 1 until 2019."""
    if not DOCKER.fullmatch(PurePath(path).name) or not project.settings.wants(codes.TENSORFLOW_PIN):
        return []
    images = []
    for match in _IMAGE.finditer(text):
        version, dated = Version(match["version"]), "nvidia" in match["image"]
        if (version < Version("20") or "-tf1" in match["tag"]) if dated else version < project.needed:
            message = (
                f"the image {match['image']}:{match['version']}{match['tag']} has a TensorFlow older than "
                f"{project.needed}, the oldest that the migrated code runs on: choose a newer image by hand"
            )
            line, column = _position(text, match.start("image"))
            images.append(Finding(line, column, codes.TENSORFLOW_PIN, message, "warn"))
    return images
