"""Which files belong together: who imports the files that hold a needle. By text alone, before anything is parsed.

Too many is harmless here and costs time only: what an import really means is decided by `understand`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

_ROUNDS = 3
"""How many files a model may pass through between the one that wraps it and the one that builds or compiles it."""
_DEFINED = re.compile(rb"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*=", re.M)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.M)

Search = Callable[[Sequence[bytes]], Mapping[str, bytes]]
"""Needles -> the files (path -> bytes) that hold at least one of them."""


def with_importers(hits: Mapping[str, bytes], search: Search) -> dict[str, bytes]:
    """The hits, and the files that import one of them and mention a name it defines; their importers likewise."""
    known = dict(hits)
    fresh = dict(hits)
    for _ in range(_ROUNDS):
        names = {path: _defined(data) for path, data in fresh.items()}
        stems = {module_name(path).encode() for path, defined in names.items() if defined}
        if not stems:
            break
        fresh = {
            path: data
            for path, data in search(sorted(stems)).items()
            if path not in known and any(_uses(data, hit, names[hit]) for hit in names)
        }
        if not fresh:
            break
        known.update(fresh)
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


def _defined(data: bytes) -> frozenset[bytes]:
    return frozenset(a or b for a, b in _DEFINED.findall(data))


def _uses(data: bytes, hit: str, names: Iterable[bytes]) -> bool:
    words = _imported_words(data)
    if module_name(hit).encode() not in words:
        return False
    return b"*" in words or any(name in data for name in names)


def _imported_words(data: bytes) -> set[bytes]:
    """Every word in the import statements of a file, and `*` where one imports everything."""
    words: set[bytes] = set()
    for module, listed, plain in _IMPORT.findall(data):
        words.update(re.findall(rb"\w+|\*", module + b" " + listed + b" " + plain))
    return words
