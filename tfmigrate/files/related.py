"""Which files belong together: who imports the files that hold a needle, and what these import themselves.

By text alone, before anything is parsed.

Too many is harmless here and costs time only: what an import really means is decided by `understand`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import PurePath

from tfmigrate.importing import LIBRARIES, folders_added, paths_of

_ROUNDS = 3
"""How many files a model may pass through between the one that wraps it and the one that builds or compiles it."""
_DEFINED = re.compile(rb"(?:async\s+def|def|class)\s+(\w+)|(\w+)\s*=[^=]")
_STATEMENT = re.compile(rb"^(?=[^\s#)\]}])", re.M)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.M
)
_MENDED = (*(library.encode() for library in LIBRARIES), b"numpy", b"scipy")
_WORD = re.compile(rb"\w+")
_TRAINS = re.compile(rb"\.(?:fit|fit_generator|train_on_batch)\(")
_HANDLES = re.compile(
    rb"\.(?:fit|(?:fit|evaluate|predict)_generator|train_on_batch|save_weights|load_weights)\(|(?<!\bre)\.compile\("
)
"""What is done to a model that a module is handed, which may name no library. `re.compile()` is another thing."""
_STANDALONE = re.compile(rb"^[ \t]*(?:from|import)[ \t]+keras\b", re.M)

Search = Callable[[Sequence[bytes]], Mapping[str, bytes]]
"""Needles -> the files (path -> bytes) that hold at least one of them."""
Find = Callable[[Set[str]], Mapping[str, bytes]]
"""Paths -> those that are there, with their bytes."""


def with_importers(hits: Mapping[str, bytes], needles: Sequence[bytes], search: Search) -> dict[str, bytes]:
    """The hits, and the files that import from one of them what holds a needle; their importers likewise."""
    known = dict(hits)
    wanted = {path: _concerned(data, needles) for path, data in hits.items()}
    mentioned = dict(wanted)
    for _ in range(_ROUNDS):
        stems = {os.fsencode(module_name(path)) for path, names in wanted.items() if names}
        if not stems:
            break
        offered: dict[bytes, set[bytes]] = {}
        for path, concerned in wanted.items():
            offered.setdefault(os.fsencode(module_name(path)), set()).update(concerned)
        fresh = {}
        for path, data in search(sorted(stems)).items():
            package = PurePath(path).stem == "__init__"
            names = _offered_to(data, offered) if package else _imported_from(data, offered)
            if names:
                # A file with a hit may pass on what another one makes of its own: an __init__.py does, and what its
                # modules hold is reached through it.
                passed = _concerned(data, sorted(names)) | (names if package else frozenset())
                fresh[path] = passed - mentioned.get(path, frozenset())
                mentioned[path] = mentioned.get(path, frozenset()) | fresh[path]
                known[path] = data
        wanted = fresh
    return known


def with_imported(known: Mapping[str, bytes], find: Find) -> dict[str, bytes]:
    """The known files, and those they import, directly or through others, that have to do with Keras.

    A file has when it names Keras or TensorFlow, or imports one that has; or when one that trains imports it, because
    it may say what the data is. So has one that names NumPy or SciPy: the program stops there at names that are gone.
    And so has one that compiles, trains or saves a model that it is handed.
    """
    reached: dict[str, bytes] = {}
    fresh = dict(known)
    while fresh:
        targets = {target for path, data in fresh.items() for target in imported_paths(path, data)}
        wanted = targets - known.keys() - reached.keys()
        fresh = dict(find(wanted)) if wanted else {}
        reached.update(fresh)
    useful = {path for path, data in reached.items() if any(part in data for part in _MENDED) or _HANDLES.search(data)}
    while True:
        more = {path for path in reached.keys() - useful if useful.intersection(imported_paths(path, reached[path]))}
        if not more:
            break
        useful |= more
    for path, data in known.items():
        if _TRAINS.search(data):
            useful.update(imported_paths(path, data))
    return {**known, **{path: reached[path] for path in reached if path in useful}}


def with_users_of_keras(known: Mapping[str, bytes], search: Search, find: Find) -> dict[str, bytes]:
    """The known files, and those on standalone Keras that share a module on it with them; what these import likewise.

    A script that only predicts names no wrap, and builds its model with a function whose layers come from tf.keras now.
    """
    files = dict(known)
    for _ in range(_ROUNDS):
        leads = {path for path, data in files.items() if _STANDALONE.search(data)}
        leads |= {path for path, targets in reached(files).items() if leads.intersection(targets)}
        stems = sorted({os.fsencode(module_name(path)) for path in leads})
        shared = {str(PurePath(path)) for path in leads}
        more = {
            path: data
            for path, data in (search(stems) if stems else {}).items()
            if path not in files and _STANDALONE.search(data) and shared.intersection(imported_paths(path, data))
        }
        if not more:
            break
        files = with_imported({**files, **more}, find)
    return files


@lru_cache(maxsize=10_000)
def imported_paths(path: str, data: bytes) -> frozenset[str]:
    """Every path that a file's imports may mean. They are asked for several times of each file of a repository."""
    return frozenset(_imported_paths(path, data))


def _imported_paths(path: str, data: bytes) -> Iterator[str]:
    added = folders_added(data.decode(errors="replace")) if b"sys.path" in data else ()
    for module, listed, plain in _IMPORT.findall(data):
        dotted = [module] if module else re.findall(rb"(?:^|,)\s*([.\w]+)", plain)
        members = [word.decode(errors="replace") for word in _WORD.findall(listed)]
        for name in (name.decode(errors="replace") for name in dotted):
            level = len(name) - len(name.lstrip("."))
            for tail in ("", *members):
                yield from paths_of(f"{name.lstrip('.')}.{tail}", level, path, added)


def mentions_of_classes(
    hits: Mapping[str, bytes], needles: Sequence[bytes], search: Search
) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """The files that mention a class which only wraps what holds a needle, and (file, file of the class) for each.

    Such a class goes with the last wrap: whoever mentions it must be read, by whatever way he gets it.
    """
    homes: dict[bytes, str] = {}
    for path, data in hits.items():
        homes.update((name, path) for name in _wrapper_classes(data, needles))
    contents: dict[str, bytes] = {}
    links = []
    if homes:
        word = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(homes)))
        for path, data in search(sorted(homes)).items():
            named = set(word.findall(data))
            if named:
                contents[path] = data
                links += [(path, homes[name]) for name in sorted(named) if homes[name] != path]
    return contents, links


def _wrapper_classes(data: bytes, needles: Sequence[bytes]) -> Iterator[bytes]:
    """The classes of a module's top level that hold a needle and take over the attributes of another object, or place
    what they do on devices."""
    for statement in _STATEMENT.split(data):
        defined = _DEFINED.match(statement)
        if defined and statement.startswith(b"class") and (b"__dict__" in statement or b".device(" in statement):
            if any(needle in statement for needle in needles):
                yield defined[1]


def reached(files: Mapping[str, bytes], links: Iterable[tuple[str, str]] = ()) -> dict[str, set[str]]:
    """For each of some files those that it imports, directly or through others; `links` count as imports."""
    by_path = {str(PurePath(path)): path for path in files}
    direct = {
        path: {by_path[target] for target in imported_paths(path, data) if target in by_path} - {path}
        for path, data in files.items()
    }
    for first, other in links:
        if first in direct and other in direct:
            direct[first].add(other)
    reachable: dict[str, set[str]] = {}
    for path in files:
        seen: set[str] = set()
        pending = [path]
        while pending:
            fresh = direct[pending.pop()] - seen
            seen |= fresh
            pending += fresh
        reachable[path] = seen
    return reachable


def components(files: Mapping[str, bytes], links: Iterable[tuple[str, str]] = ()) -> list[list[str]]:
    """The files in groups: two that import each other, directly or through others, stand in one group.

    `links`: further pairs of files that belong together.
    """
    leader = {path: path for path in files}

    def find(path: str) -> str:
        while leader[path] != path:
            path = leader[path]
        return path

    for first, other in links:
        if first in leader and other in leader:
            leader[find(first)] = find(other)
    by_path = {str(PurePath(path)): path for path in files}
    for path, data in files.items():
        for target in imported_paths(path, data):
            if target in by_path:
                leader[find(path)] = find(by_path[target])
    groups: dict[str, list[str]] = {}
    for path in files:
        groups.setdefault(find(path), []).append(path)
    return list(groups.values())


def module_name(path: str) -> str:
    """The last word of the name a file is imported by."""
    pure = PurePath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _concerned(data: bytes, needles: Sequence[bytes]) -> frozenset[bytes]:
    """The names that a module's top level binds in statements that hold a needle, or import all there is, and in those
    that use one of these names."""
    names: set[bytes] = set()
    left: list[tuple[bytes, bytes]] = []
    for statement in _STATEMENT.split(data):
        passed_on, defined = _IMPORT.match(statement), _DEFINED.match(statement)
        if passed_on:
            words = re.findall(rb"\w+|\*", passed_on[2] or b"")
            names.update(needles if b"*" in words else _bound(words, needles))
        elif defined and any(needle in statement for needle in needles):
            names.add(defined[1] or defined[2])
        elif defined:
            left.append((defined[1] or defined[2], statement))
    fresh = names.difference(needles)
    used = [(name, frozenset(_WORD.findall(statement))) for name, statement in left] if fresh else []
    while fresh:
        fresh = {name for name, words in used if not fresh.isdisjoint(words)} - names
        names |= fresh
    return frozenset(names)


def _bound(words: Sequence[bytes], needles: Sequence[bytes]) -> Iterator[bytes]:
    """The names under which an import statement binds the needles it lists: `a as b` binds b."""
    for word, *after in zip(words, [*words[1:], b""], [*words[2:], b""], strict=False):
        if word in needles:
            yield after[1] if after[0] == b"as" else word


def _imported_from(data: bytes, offered: Mapping[bytes, Set[bytes]]) -> set[bytes]:
    """Those of the names offered by each module (by its last word) that a file seems to import, or reach through it."""
    words = _imported_words(data)
    names = _of_modules(words, offered)
    return names if b"*" in words or not names else names & set(_WORD.findall(data))


def _offered_to(data: bytes, offered: Mapping[bytes, Set[bytes]]) -> set[bytes]:
    """The names offered by each module that a file imports, or imports from."""
    return _of_modules(_imported_words(data), offered)


def _of_modules(words: Set[bytes], offered: Mapping[bytes, Set[bytes]]) -> set[bytes]:
    return set().union(*(offered[module] for module in offered.keys() & words))


def _imported_words(data: bytes) -> set[bytes]:
    """Every word in the import statements of a file, and `*` where one imports everything."""
    words: set[bytes] = set()
    for module, listed, plain in _IMPORT.findall(data):
        words.update(re.findall(rb"\w+|\*", module + b" " + listed + b" " + plain))
    return words
