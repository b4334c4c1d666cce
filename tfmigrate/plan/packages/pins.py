"""The packages a project asks for: old TensorFlow, standalone Keras, and pins of what TensorFlow brings along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tfmigrate.plan import codes
from tfmigrate.plan.packages.files import CONDA, DOCKER
from tfmigrate.plan.selection import LEFT_ALONE, Selection
from tfmigrate.result import Action, FileResult, Finding
from tfmigrate.rules import Rule
from tfmigrate.settings import OLDEST_TARGET, Settings
from tfmigrate.toml import tomllib
from tfmigrate.understand.suppressions import in_lines

OLDEST = Version(".".join(map(str, OLDEST_TARGET)))
_KERAS_3 = Version("3.0")
_FIRST_WITH_KERAS_3 = Version("2.16")
_TENSORFLOWS = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu"})
_NOT_HERE = "this file format cannot be edited"
_HASHED = "a file locked with hashes must be regenerated"


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


_Key = tuple[str, frozenset[str], str, str]


@dataclass(frozen=True)
class _Pin:
    """One requirement in a file's text."""

    requirement: Requirement
    text: str
    start: int
    """Where `text` begins in the file."""
    whole: tuple[int, int]
    """What goes with it when it goes."""
    left: str | None = None
    """Why it cannot be written to, in words."""
    table: bool = False
    """Is it `name = "specifier"`?"""
    block: str = ""
    """The heading or array that it stands under, where a file has several."""

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def key(self) -> _Key:
        """What two lines of one file have in common that ask for the same package."""
        of = self.requirement
        return _kept_name(self.name), frozenset(of.extras), str(of.marker or ""), self.block


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
    selection = Selection(project.settings, in_lines(text))
    findings: list[Finding] = []
    edits: list[tuple[int, int, str]] = []
    seen: dict[_Key, int] = {}
    pins = list(_pins(PurePath(path).name, text))
    before_keras_3 = any(_is_held_back(pin, project) for pin in pins)
    for pin in pins:
        verdict = _verdict(pin, project, seen, before_keras_3)
        line, column = _position(text, pin.start)
        seen.setdefault(pin.key, line)
        if verdict is None or not project.settings.wants(verdict.code):
            continue
        left = project.stays or pin.left
        action: Action = "warn" if left is not None or verdict.new is None else "rewrite"
        message = verdict.message
        if selection.suppresses(verdict.code, line):
            action, message = "suppressed", LEFT_ALONE
        elif action == "rewrite":
            edits.append((*pin.whole, "") if not verdict.new else _replacement(pin, verdict.new))
        elif left is not None and verdict.new is not None:
            wanted = f"write {verdict.new}" if verdict.new else "take it out"
            message = f"{message}: {wanted} by hand ({left})"
        findings.append(Finding(line, column, verdict.code, message, action))
    findings += _images(path, text, project)
    board = None if before_keras_3 else _without_tensorboard(pins, project)
    if board is not None:
        line, column = _position(text, board.start)
        reason = project.stays or board.left or (None if _is_plain(path) else _NOT_HERE)
        message = (
            f"{project.writes_for_tensorboard} uses the callback TensorBoard, and TensorFlow 2.21 no longer installs "
            "the package tensorboard"
        )
        if selection.suppresses(codes.TENSORBOARD, line):
            findings.append(Finding(line, column, codes.TENSORBOARD, LEFT_ALONE, "suppressed"))
        elif reason is None:
            end = board.whole[1]
            newline = "\r\n" if "\r\n" in text else "\n"
            edits.append((end, end, f"tensorboard{newline}" if text[:end].endswith("\n") else f"{newline}tensorboard"))
            findings.append(Finding(line, column, codes.TENSORBOARD, f"{message}: it is required", "rewrite"))
        else:
            findings.append(Finding(line, column, codes.TENSORBOARD, f"{message}: add it by hand ({reason})", "warn"))
    after = text
    for start, end, new in sorted(edits, reverse=True):
        after = after[:start] + new + after[end:]
    return FileResult(
        path, "migrated" if after != text else "unchanged", tuple(sorted(findings)), before=text, after=after
    )


def _is_plain(path: str) -> bool:
    """Whether a file has one requirement a line and nothing else, as requirements files do."""
    name = PurePath(path).name
    others = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile")
    return name not in others and not CONDA.fullmatch(name) and not DOCKER.fullmatch(name)


def _without_tensorboard(pins: Sequence[_Pin], project: Project) -> _Pin | None:
    """The last requirement of TensorFlow where a program uses TensorBoard and nothing requires that."""
    if project.writes_for_tensorboard is None or not project.settings.wants(codes.TENSORBOARD):
        return None
    if any(pin.name == "tensorboard" for pin in pins):
        return None
    return next((pin for pin in reversed(pins) if pin.name in _TENSORFLOWS), None)


def shell_findings(line: int, text: str, project: Project) -> Iterator[Finding]:
    """What is reported about the packages that one shell line, such as `!pip install ...` of a notebook, installs."""
    for pin in _words(text):
        verdict = _verdict(pin, project, {}, before_keras_3=False)
        if verdict is not None and project.settings.wants(verdict.code):
            wanted = "" if verdict.new is None else f": write {verdict.new}" if verdict.new else ": take it out"
            yield Finding(line, pin.start + 1, verdict.code, verdict.message + wanted, "warn")


# ---- what is decided ----


def _is_held_back(pin: _Pin, project: Project) -> bool:
    """Whether this asks for a TensorFlow that migrated code runs on and that is older than 2.16, as `==2.9.3` does."""
    clauses = pin.requirement.specifier
    held = any(_stays_below(clause, _FIRST_WITH_KERAS_3) for clause in clauses)
    return pin.name in _TENSORFLOWS and held and _from(clauses, project.needed) is None


def _verdict(pin: _Pin, project: Project, seen: dict[_Key, int], before_keras_3: bool) -> _Verdict | None:
    """What is wrong with a pin. `before_keras_3`: its project asks for a TensorFlow that takes such old companions."""
    if pin.name in _TENSORFLOWS:
        return _tensorflow(pin, project, seen)
    if pin.name == "keras":
        return _keras(pin, project)
    at_least = None if before_keras_3 else project.brought.get(pin.name)
    if at_least is not None and any(_stays_below(clause, at_least) for clause in pin.requirement.specifier):
        message = f"{pin.text.strip()} keeps TensorFlow {_FIRST_WITH_KERAS_3} and later out, which brings {pin.name} "
        return _Verdict(codes.BROUGHT_PIN, message + "along itself", _with(pin, pin.requirement.name, ""))
    return None


def _tensorflow(pin: _Pin, project: Project, seen: dict[_Key, int]) -> _Verdict | None:
    name, specifier = _kept_name(pin.name), _from(pin.requirement.specifier, project.needed)
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
    return _Verdict(codes.TENSORFLOW_PIN, message, _with(pin, written, old if specifier is None else specifier))


def _keras(pin: _Pin, project: Project) -> _Verdict | None:
    first = _KERAS_3 if project.needed >= _FIRST_WITH_KERAS_3 else OLDEST
    if not any(_stays_below(clause, first) for clause in pin.requirement.specifier):
        return None
    message = f"{pin.text.strip()} is standalone Keras, which does not work with today's TensorFlow"
    if project.imports_keras is not None:
        return _Verdict(codes.KERAS_PIN, f"{message}, and {project.imports_keras} imports it still", None)
    return _Verdict(codes.KERAS_PIN, f"{message}, and the code takes Keras from TensorFlow now")


def _kept_name(name: str) -> str:
    return "tensorflow" if name == "tensorflow-gpu" else name


def _from(specifier: SpecifierSet, needed: Version) -> str | None:
    """The specifier without the versions older than `needed`, None where it admits none or names no version."""
    clauses = sorted(specifier, key=str)
    if not clauses or any(_begins_at(clause, needed) for clause in clauses):
        return None
    if any(_stays_below(clause, needed) for clause in clauses):
        return f">={needed}"
    ends = [f"{c.operator}{c.version}" for c in clauses if c.operator in ("<", "<=", "!=") and _release(c) > needed]
    ends += [f"<{end}" for end in map(_end, clauses) if end is not None]
    return ",".join([f">={needed}", *ends])


def _begins_at(clause: Specifier, needed: Version) -> bool:
    """Whether a clause leaves out every version before `needed`."""
    return clause.operator in (">=", ">", "==", "===", "~=") and _release(clause) >= needed


def _stays_below(clause: Specifier, version: Version) -> bool:
    """Whether a clause leaves out `version` and every one after it."""
    end = _end(clause)
    if end is not None:
        return end <= version
    if clause.operator == "<":
        return _release(clause) <= version
    return clause.operator in ("==", "===", "<=") and _release(clause) < version


def _end(clause: Specifier) -> Version | None:
    """The first version after those that `~=1.2` and `==1.2.*` admit; None for other clauses."""
    release = _release(clause).release
    if clause.operator == "~=" and len(release) > 1:
        release = release[:-1]
    elif not (clause.operator == "==" and clause.version.endswith(".*")):
        return None
    return Version(".".join(map(str, (*release[:-1], release[-1] + 1))))


def _release(clause: Specifier) -> Version:
    try:
        return Version(clause.version.removesuffix(".*"))
    except InvalidVersion:  # Of `===`, which takes any text.
        return Version("0")


# ---- how it is written ----

_PARTS = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\s*\[[^\]]*\])?(?P<space>\s*)\(?(?P<specifier>[^;)]*)\)?(?P<rest>.*)")


def _with(pin: _Pin, name: str, specifier: str) -> str:
    """The requirement under another name and specifier, its extras, marker and spaces as they stood."""
    if pin.table:
        return f'{name} = "{specifier or "*"}"'
    parts = _PARTS.fullmatch(pin.text)
    assert parts is not None, pin.text
    between = " " if re.match(r"[<>=!~]+\s", parts["specifier"]) else ""
    if between:
        specifier = re.sub(r"([<>=!~]+)", r"\1 ", specifier).replace(",", ", ")
    rest = parts["rest"] if specifier or not parts["rest"].startswith(";") else f" {parts['rest']}"
    space = parts["space"] if specifier and parts["specifier"].strip() else ""
    return name + (parts["extras"] or "") + space + specifier + (" " if rest.startswith(";") else "") + rest


def _replacement(pin: _Pin, new: str) -> tuple[int, int, str]:
    return pin.start, pin.start + len(pin.text), new


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


# ---- where they stand ----


def _pins(name: str, text: str) -> Iterator[_Pin]:
    if name == "pyproject.toml":
        yield from _toml(text)
    elif name == "setup.py":
        yield from (pin for _, pin in _quoted(text, _NOT_HERE))
    elif name == "setup.cfg":
        yield from _lines(text, re.compile(r"(?:\s+|\w+\s*=(?!=)\s*)"), _NOT_HERE)
    elif name == "Pipfile":
        yield from _table(text, _NOT_HERE)
    elif CONDA.fullmatch(name):
        yield from _lines(text, re.compile(r"\s*-\s*[\"']?(?:[\w.-]+::)?"), _NOT_HERE)
    elif DOCKER.fullmatch(name):
        yield from _words(text)
    else:
        yield from _lines(text, re.compile(r"\s*"), None)


def _lines(text: str, indent: re.Pattern[str], left: str | None) -> Iterator[_Pin]:
    """A requirement a line, behind what `indent` matches; a line that ends in a backslash goes on in the next."""
    for match in re.finditer(r"(?:[^\n]*\\\r?\n)*[^\n]*(?:\n|$)", text):
        begin = indent.match(match[0])
        line = match[0][begin.end() :] if begin else ""
        requirement_match = re.match(
            r"[A-Za-z0-9](?:(?!\s#|\s--|\\\r?\n)[^\n;\"'])*(?:;(?:(?!\s#|\s--|\\\r?\n)[^\n])*)?", line
        )
        if begin is None or requirement_match is None:
            continue
        written = requirement_match[0].rstrip()
        requirement = _requirement(written)
        if requirement is not None:
            reason = _HASHED if "--hash" in match[0] else left
            yield _Pin(requirement, written, match.start() + begin.end(), match.span(), reason)


def _requirement(text: str) -> Requirement | None:
    """A requirement as pip or conda writes it (`keras=2.2.4=py36_0`), None for anything else."""
    conda = re.fullmatch(r"([\w.-]+)=([\d.]+)(?:\.?\*)?(?:=[\w.*-]+)?", text)
    try:
        return Requirement(f"{conda[1]}=={conda[2].rstrip('.')}.*" if conda else text)
    except InvalidRequirement:
        return None


def _quoted(text: str, left: str | None) -> Iterator[tuple[str, _Pin]]:
    """(content, pin) of each string on one line that is a requirement."""
    for match in re.finditer(r"\"([^\"\n]+)\"|'([^'\n]+)'", text):
        content = match[1] or match[2]
        requirement = _requirement(content)
        if requirement is not None:
            whole = _element(text, *match.span())
            block = _key_of(text, match.start())
            yield content, _Pin(requirement, content, match.start() + 1, whole, left, block=block)


def _key_of(text: str, offset: int) -> str:
    """The nearest heading and key above a place in a TOML file, with a dot between."""
    above = text[:offset]
    headings = re.findall(r"^\s*\[+([^\]\n]+)\]+\s*(?:#.*)?$", above, re.M)
    keys = re.findall(r"^\s*([\w.-]+|\"[^\"\n]+\"|'[^'\n]+')\s*=(?!=)", above, re.M)
    return ".".join([*headings[-1:], *keys[-1:]])


def _element(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of an array that goes with one of its strings: its line where it has one, else its comma."""
    line_start, after = text.rfind("\n", 0, start) + 1, re.compile(r"\s*,").match(text, end)
    stop = after.end() if after else end
    rest = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n").match(text, stop)
    if rest and not text[line_start:start].strip():
        return line_start, rest.end()
    if after:
        return start, stop + len(text[stop:]) - len(text[stop:].lstrip(" "))
    before = re.search(r",\s*$", text[:start])
    return (before.start() if before else start), end


def _toml(text: str) -> Iterator[_Pin]:
    """The requirements in the arrays of a pyproject.toml, and those of Poetry's tables."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    listed = set(_dependencies(document, ()))
    for content, pin in _quoted(text, None):
        if content in listed and _speaks_of_dependencies(pin.block):
            yield pin
    if "poetry" in document.get("tool", {}):
        yield from _table(text, None)


def _dependencies(value: Any, path: Sequence[str]) -> Iterator[str]:
    """Every string in an array whose key mentions dependencies."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _dependencies(item, (*path, key))
    elif isinstance(value, list) and _speaks_of_dependencies(".".join(path)):
        yield from (item for item in value if isinstance(item, str))


def _speaks_of_dependencies(key: str) -> bool:
    return "depend" in key or "require" in key


def _table(text: str, left: str | None) -> Iterator[_Pin]:
    """`keras = "2.2.4"` under a heading that mentions dependencies or packages."""
    heading = ""
    for match in re.finditer(r"[^\n]*(?:\n|$)", text):
        title = re.match(r"\s*\[([^\]]+)\]", match[0])
        heading = title[1] if title else heading
        entry = re.match(r"(?P<all>(?P<name>[\w.-]+)\s*=\s*[\"'](?P<specifier>[^\"']*)[\"'])", match[0])
        if entry is None or not re.search(r"dependencies|packages", heading):
            continue
        requirement = _requirement(entry["name"] + _as_pep440(entry["specifier"]))
        if requirement is not None:
            yield _Pin(requirement, entry["all"], match.start(), match.span(), left, table=True, block=heading)


def _as_pep440(specifier: str) -> str:
    """Poetry's `^1.15`, `~1.15`, `1.15` and `*` in the language of packaging."""
    parts = []
    for part in (bound.strip() for bound in specifier.split(",")):
        version = part.lstrip("^~=")
        if part.startswith("^") and version[:1].isdigit():
            first, *more = version.split(".")
            zero = first == "0" and more
            parts += [f">={version}", f"<0.{int(more[0]) + 1}" if zero and more[0].isdigit() else f"<{int(first) + 1}"]
        elif part.startswith("~") and not part.startswith("~=") and version[:1].isdigit():
            parts.append(f"~={version}.0" if version.count(".") < 2 else f"~={version}")
        elif part[:1].isdigit():
            parts.append(f"=={part}")
        elif part != "*":
            parts.append(part)
    return ",".join(parts)


_INSTALLS = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\b(?:[^\n;&|]*?)\binstall\b(?P<words>(?:\\\r?\n|[^\n;&|])*)")


def _words(text: str) -> Iterator[_Pin]:
    """The words of `pip install ...` and `conda install ...` in a Dockerfile or a shell line."""
    for match in _INSTALLS.finditer(text):
        for word in re.finditer(r"(?<![\w./:=-])[A-Za-z][^\s\"'\\]*", match["words"]):
            requirement = _requirement(word[0])
            if requirement is not None:
                start = match.start("words") + word.start()
                whole = (start, start + len(word[0]))
                yield _Pin(requirement, word[0], start, whole, _NOT_HERE, block=str(match.start()))


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
                f"the image {match['image']}:{match['version']}{match['tag']} holds a TensorFlow older than "
                f"{project.needed}, the oldest that the migrated code runs on: choose a later image by hand"
            )
            line, column = _position(text, match.start("image"))
            images.append(Finding(line, column, codes.TENSORFLOW_PIN, message, "warn"))
    return images
