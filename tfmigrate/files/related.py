"""Which files belong together: who imports the files that hold a needle. By text alone, before anything is parsed.

Too many is harmless here and costs time only: what an import really means is decided by `understand`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

_ROUNDS = 3
"""How many files a model may pass through between the one that wraps it and the one that builds or compiles it."""
_DEFINED = re.compile(rb"(?:async\s+def|def|class)\s+(\w+)|(\w+)\s*=[^=]")
_STATEMENT = re.compile(rb"^(?=[^\s#)\]}])", re.M)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.M
)

Search = Callable[[Sequence[bytes]], Mapping[str, bytes]]
"""Needles -> the files (path -> bytes) that hold at least one of them."""


def with_importers(hits: Mapping[str, bytes], needles: Sequence[bytes], search: Search) -> dict[str, bytes]:
    """The hits, and the files that import from one of them what holds a needle; their importers likewise."""
    known = dict(hits)
    wanted = {path: _concerned(data, needles) for path, data in hits.items()}
    for _ in range(_ROUNDS):
        stems = {module_name(path).encode() for path, names in wanted.items() if names}
        if not stems:
            break
        fresh = {}
        for path, data in search(sorted(stems)).items():
            names = {name for hit, names in wanted.items() if hit != path for name in _imported_from(data, hit, names)}
            if names and path not in known:
                fresh[path] = _concerned(data, sorted(names))
                known[path] = data
        wanted = fresh
    return known


def components(files: Mapping[str, bytes]) -> list[list[str]]:
    """The files in groups: two that import each other, directly or through others, stand in one group."""
    leader = {path: path for path in files}

    def find(path: str) -> str:
        while leader[path] != path:
            path = leader[path]
        return path

    by_stem: dict[bytes, list[str]] = {}
    for path in files:
        by_stem.setdefault(module_name(path).encode(), []).append(path)
    for path, data in files.items():
        for stem in by_stem.keys() & _imported_words(data):
            for other in by_stem[stem]:
                leader[find(path)] = find(other)
    groups: dict[str, list[str]] = {}
    for path in files:
        groups.setdefault(find(path), []).append(path)
    return list(groups.values())


def module_name(path: str) -> str:
    """The last word of the name a file is imported by."""
    pure = PurePath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _concerned(data: bytes, needles: Sequence[bytes]) -> frozenset[bytes]:
    """The names that a module's top level binds in statements that hold a needle."""
    found = set()
    for statement in _STATEMENT.split(data):
        if any(needle in statement for needle in needles):
            match = _DEFINED.match(statement)
            if match:
                found.add(match[1] or match[2])
    return frozenset(found)


def _imported_from(data: bytes, hit: str, names: Iterable[bytes]) -> set[bytes]:
    """Those of `names` that a file seems to import from, or reach through, the module `hit`."""
    words = _imported_words(data)
    if module_name(hit).encode() not in words:
        return set()
    return {name for name in names if re.search(rb"\b" + name + rb"\b", data)}


def _imported_words(data: bytes) -> set[bytes]:
    """Every word in the import statements of a file, and `*` where one imports everything."""
    words: set[bytes] = set()
    for module, listed, plain in _IMPORT.findall(data):
        words.update(re.findall(rb"\w+|\*", module + b" " + listed + b" " + plain))
    return words
