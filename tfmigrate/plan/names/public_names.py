"""The public names and signatures of TensorFlow and Keras by version, as tools/index_names.py measured them."""

from __future__ import annotations

import difflib
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

SECTIONS = (
    "tensorflow.compat", "tensorflow.keras", "tensorflow.python", "tensorflow.raw_ops", "tensorflow", "tf_keras",
    "keras",
)  # fmt: skip
"""Parts of the index, each a file that is read when a name of it is asked for; the first that fits holds a name.

That of `tensorflow.python` has the private modules, and what those of the Keras in it bind, of fewer versions.
"""
_LASTING = ("2.9.3", "2.15.1", "2.21.0")
"""The measured versions of TensorFlow that lack multi_gpu_model."""
OPEN = "**"
"""Stands among the keywords of a callable that takes others too."""

Kind = Literal["module", "class", "function", "value", "opaque"]
_KINDS: dict[str, Kind] = {"m": "module", "c": "class", "f": "function", "v": "value", "o": "opaque"}


def section_of(name: str) -> str:
    """The section that holds a dotted name; "" where none does."""
    return next((section for section in SECTIONS if name == section or name.startswith(section + ".")), "")


def path_of(section: str) -> Path:
    """The file of a section."""
    return Path(__file__).with_name("public_names") / f"{section}.txt.xz"


@dataclass(frozen=True)
class Entry:
    """What a name is in one version. `keywords` is None where a call cannot be judged."""

    kind: Kind
    keywords: tuple[str, ...] | None = None

    @property
    def takes_any(self) -> bool:
        """Whether the callable takes keywords that it does not name."""
        return self.keywords is None or OPEN in self.keywords


class Section:
    """The names below one prefix. A name is dotted and begins with its package: `tensorflow.keras.layers.Dense`."""

    def __init__(self, text: str) -> None:
        header, keywords, names = text.split("\n\n")
        self.versions = tuple(header.split())
        """The versions measured of the package, oldest first."""
        self._keywords = keywords.splitlines()
        self.text = f"\n{names}"
        """A line for each name. Searched as it is: a dict of its lines costs more than all that one script asks."""
        self._lines: dict[str, str] = {}
        """Those asked for so far."""

    def ending_in(self, last: str) -> Iterator[str]:
        """The names below others whose last part is this one."""
        end = f".{last}\t"
        at = self.text.find(end)
        while at >= 0:
            yield self.text[self.text.rindex("\n", 0, at) + 1 : at + len(end) - 1]
            at = self.text.find(end, at + 1)

    def __iter__(self) -> Iterator[str]:
        """Every name that any version has."""
        return (line.partition("\t")[0] for line in self.text.splitlines() if line)

    def entry(self, name: str, version: str) -> Entry | None:
        """What `name` is in a version; None where it is not."""
        codes = self._codes(name)
        code = codes[self.versions.index(version)] if codes else "-"
        if code == "-":
            return None
        return Entry(_KINDS[code[0]], self._keywords_of(int(code[1:])) if len(code) > 1 else None)

    def versions_of(self, name: str) -> tuple[str, ...]:
        """The measured versions that have `name`."""
        return tuple(version for version, code in zip(self.versions, self._codes(name)) if code != "-")

    def renamed(self, name: str) -> str | None:
        """Another name that the object had besides `name`, and that the newest version still has."""
        return self._line(name).partition("\t")[2] or None

    def _codes(self, name: str) -> list[str]:
        return self._line(name).partition("\t")[0].split()

    def _line(self, name: str) -> str:
        """What stands after a name; "" where it is not."""
        if name not in self._lines:
            start = self.text.find(f"\n{name}\t")
            found = self.text[start + len(name) + 2 : self.text.index("\n", start + 1)] if start >= 0 else ""
            self._lines[name] = found
        return self._lines[name]

    def _keywords_of(self, number: int) -> tuple[str, ...]:
        line = self._keywords[number]
        return () if line == "-" else tuple(line.split())

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """The last part of each name, under what stands before it."""
        entries: dict[str, list[str]] = {}
        for name in self:
            head, _, last = name.rpartition(".")
            entries.setdefault(head, []).append(last)
        return entries


class PublicNames:
    """The whole index, read section by section as it is asked."""

    def __init__(self, sections: dict[str, Section] | None = None) -> None:
        """`sections`: what the index consists of, else the files."""
        self._given = sections
        self._read: dict[str, Section] = {}

    def section(self, name: str) -> Section:
        """The section that holds a name. About 5 ms for the first of its names."""
        key = section_of(name)
        if self._given is not None:
            return self._given[key if key in self._given else key.split(".", 1)[0]]
        if key not in self._read:
            self._read[key] = Section(lzma.decompress(path_of(key).read_bytes()).decode())
        return self._read[key]

    def versions(self, name: str) -> tuple[str, ...]:
        """The versions measured of the package of a name, oldest first."""
        return self.section(name).versions

    def entry(self, name: str, version: str) -> Entry | None:
        """What `name` is in a version of its package; None where it is not."""
        return self.section(name).entry(name, version)

    def missing(self, name: str, version: str) -> str | None:
        """The shortest beginning of `name` that is not there; None if all of it is, or that is unknown.

        Nothing is known of what hangs below a value, a function or a class whose members are not indexed.
        """
        parts = name.split(".")
        above: Entry | None = None
        for end in range(1, len(parts) + 1):
            begin = ".".join(parts[:end])
            entry = self.entry(begin, version)
            if entry is None:
                return begin if above is None or self._would_know(begin, above) else None
            above = entry
        return None

    def _would_know(self, name: str, above: Entry) -> bool:
        """Whether a name would be in the index if it were there, below what stands above it."""
        head, _, last = name.rpartition(".")
        if last.startswith("__") or last == "python":
            return False  # `tensorflow.lite.python` is a folder that an import finds, and no attribute leads to.
        if above.kind == "module":
            return True
        members = self.section(head).members.get(head, ()) if above.kind == "class" else ()
        return bool(members) and (not last.startswith("_") or any(member.startswith("_") for member in members))

    def nearest(self, name: str, version: str) -> str | None:
        """The name most like `name` in that version: another place of the same last part, else another spelling."""
        head, _, last = name.rpartition(".")
        same = (other for section in self._sections_of(name) for other in section.ending_in(last))
        elsewhere = [other for other in same if self.entry(other, version) is not None]
        if elsewhere:
            return min(elsewhere, key=lambda other: (_distance(other, name), other))
        known = self.section(head).members.get(head, ())
        siblings = [
            child
            for child in known
            if child.startswith("_") <= last.startswith("_") and self.entry(f"{head}.{child}", version) is not None
        ]
        near = difflib.get_close_matches(last, siblings, n=1, cutoff=0.75)
        return f"{head}.{near[0]}" if near else None

    def elsewhere(self, name: str) -> str | None:
        """Where a name stands that is not in its place: the nearest of the same last part, in a module of the same
        section, that no version from 2.9 on lacks. None where several functions are called so: they differ."""
        section, last = self.section(name), name.rpartition(".")[2]
        lasting = [
            other
            for other in section.ending_in(last)
            if set(_LASTING) <= set(section.versions_of(other))
            and (above := self.entry(other.rpartition(".")[0], _LASTING[-1])) is not None
            and above.kind == "module"
        ]
        if last[:1].islower() and len(lasting) > 1:
            return None
        return min(lasting, key=lambda other: (_distance(other, name), other), default=None)

    def _sections_of(self, name: str) -> Iterator[Section]:
        """The sections of the package of `name`, without the names that are not meant to be written."""
        root = name.split(".", 1)[0]
        return map(self.section, ("tensorflow", "tensorflow.keras") if root == "tensorflow" else (root,))


def _distance(name: str, other: str) -> int:
    """How many parts two dotted names do not share."""
    return len(set(name.split(".")) ^ set(other.split(".")))


@cache
def public_names() -> PublicNames:
    """The index of the measured versions."""
    return PublicNames()
