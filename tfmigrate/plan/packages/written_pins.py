"""The requirements that stand in a file, and how one is written anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tfmigrate.plan.packages.files import CONDA, DOCKER
from tfmigrate.toml import tomllib

NOT_HERE = "this file format cannot be edited"
_HASHED = "a file locked with hashes must be regenerated"
_PARTS = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\s*\[[^\]]*\])?(?P<space>\s*)\(?(?P<specifier>[^;)]*)\)?(?P<rest>.*)")
Key = tuple[str, frozenset[str], str, str]


@dataclass(frozen=True)
class Pin:
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
    def span(self) -> tuple[int, int]:
        return self.start, self.start + len(self.text)

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def key(self) -> Key:
        """What two lines of one file have in common that ask for the same package."""
        of = self.requirement
        return kept_name(self.name), frozenset(of.extras), str(of.marker or ""), self.block

    def written(self, name: str, specifier: str) -> str:
        """The requirement under another name and specifier, its extras, marker and spaces as they stood."""
        if self.table:
            return f'{name} = "{specifier or "*"}"'
        parts = _PARTS.fullmatch(self.text)
        assert parts is not None, self.text
        between = " " if re.match(r"[<>=!~]+\s", parts["specifier"]) else ""
        if between:
            specifier = re.sub(r"([<>=!~]+)", r"\1 ", specifier).replace(",", ", ")
        rest = parts["rest"] if specifier or not parts["rest"].startswith(";") else f" {parts['rest']}"
        space = parts["space"] if specifier and parts["specifier"].strip() else ""
        return name + (parts["extras"] or "") + space + specifier + (" " if rest.startswith(";") else "") + rest


def kept_name(name: str) -> str:
    return "tensorflow" if name == "tensorflow-gpu" else name


def pins_of(name: str, text: str) -> Iterator[Pin]:
    """The requirements in a file of this name."""
    if name == "pyproject.toml":
        yield from _toml(text)
    elif name == "setup.py":
        yield from (pin for _, pin in _quoted(text, NOT_HERE))
    elif name == "setup.cfg":
        yield from _lines(text, re.compile(r"(?:\s+|\w+\s*=(?!=)\s*)"), NOT_HERE)
    elif name == "Pipfile":
        yield from _table(text, NOT_HERE)
    elif CONDA.fullmatch(name):
        yield from _lines(text, re.compile(r"\s*-\s*[\"']?(?:[\w.-]+::)?"), NOT_HERE)
    elif DOCKER.fullmatch(name):
        yield from words(text)
    else:
        yield from _lines(text, re.compile(r"\s*"), None)


def _lines(text: str, indent: re.Pattern[str], left: str | None) -> Iterator[Pin]:
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
            yield Pin(requirement, written, match.start() + begin.end(), match.span(), reason)


def _requirement(text: str) -> Requirement | None:
    """A requirement as pip or conda writes it (`keras=2.2.4=py36_0`), None for anything else."""
    conda = re.fullmatch(r"([\w.-]+)=([\d.]+)(?:\.?\*)?(?:=[\w.*-]+)?", text)
    try:
        return Requirement(f"{conda[1]}=={conda[2].rstrip('.')}.*" if conda else text)
    except InvalidRequirement:
        return None


def _quoted(text: str, left: str | None) -> Iterator[tuple[str, Pin]]:
    """(content, pin) of each string on one line that is a requirement."""
    for match in re.finditer(r"\"([^\"\n]+)\"|'([^'\n]+)'", text):
        content = match[1] or match[2]
        requirement = _requirement(content)
        if requirement is not None:
            whole = _element(text, *match.span())
            block = _key_of(text, match.start())
            yield content, Pin(requirement, content, match.start() + 1, whole, left, block=block)


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


def _toml(text: str) -> Iterator[Pin]:
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


def _table(text: str, left: str | None) -> Iterator[Pin]:
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
            yield Pin(requirement, entry["all"], match.start(), match.span(), left, table=True, block=heading)


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


def words(text: str) -> Iterator[Pin]:
    """The words of `pip install ...` and `conda install ...` in a Dockerfile or a shell line."""
    for match in _INSTALLS.finditer(text):
        for word in re.finditer(r"(?<![\w./:=-])[A-Za-z][^\s\"'\\]*", match["words"]):
            requirement = _requirement(word[0])
            if requirement is not None:
                start = match.start("words") + word.start()
                whole = (start, start + len(word[0]))
                yield Pin(requirement, word[0], start, whole, NOT_HERE, block=str(match.start()))
