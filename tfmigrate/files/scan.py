"""Find the files that may concern a rule: walk, read, and search bytes. Fast, because most runs hit nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from tfmigrate.files.grep import grep
from tfmigrate.files.installed import NEVER_WALKED, is_installed, is_marked, lies_in_installed
from tfmigrate.files.regular import read, what_is
from tfmigrate.patterns import compiled, well_formed
from tfmigrate.result import FileResult

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NOTEBOOK = ".ipynb"
SUFFIXES = (".py", NOTEBOOK)
_NEVER = "is never searched, because it holds installed packages or version control; name files in it"


@dataclass(frozen=True)
class FoundFile:
    """A file that holds a needle. `real` is the path that a write replaces: `path` with all links followed."""

    path: str
    real: str
    data: bytes


@dataclass(frozen=True)
class Scan:
    """The files that hold a needle, in path order; what could not be read or was skipped; and all paths searched."""

    files: tuple[FoundFile, ...]
    errors: tuple[FileResult, ...]
    paths: tuple[str, ...]


def is_source(name: str) -> bool:
    """Whether a file of this name is looked at by a walk that asks for nothing else."""
    return name.endswith(SUFFIXES)


def search(
    paths: Sequence[str],
    needles: Sequence[bytes],
    exclude: Sequence[str] = (),
    root: Path | None = None,
    named: Callable[[str], bool] = is_source,
) -> Scan:
    """Search `paths` (files, or folders to walk for *.py and *.ipynb) for files that hold at least one of `needles`.

    `named` says which file names a walk looks at.

    A walk leaves out what a .gitignore of any level names unless git tracks it, `exclude` (the same language, relative
    to `root`), version control, virtual environments and node_modules; a file that is named is always read. Links to
    folders are not followed; a link to a file counts when its target lies inside `paths`. What a walk comes by and
    cannot use (a link that leads outside, links in a circle, a pipe) is skipped, and said; named, it is an error.
    """
    search = _Search(needles, exclude, root or Path.cwd(), named)
    for path in paths:
        search.add(path)
    search.search()
    return search.outcome(paths)


def walked(paths: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None) -> list[str]:
    """The files that a search of `paths` reads, and some that it leaves out for a .gitignore; none is opened."""
    search = _Search((), exclude, root or Path.cwd(), is_source)
    for path in paths:
        search.add(path)
    return [path for path, _ in search.looked_at]


@dataclass(frozen=True)
class _Folder:
    """A folder that a walk comes by: under which path, its real one, and the patterns that hold in it."""

    shown: str
    real: str
    ignores: Sequence[tuple[GitIgnoreSpec, str]]


class _Search:
    def __init__(
        self, needles: Sequence[bytes], exclude: Sequence[str], root: Path, named: Callable[[str], bool]
    ) -> None:
        self.needles = tuple(needles)
        self.named = named
        self.excluded = [(compiled(exclude), os.path.realpath(root))] if exclude else []
        self.files: list[FoundFile] = []
        self.errors: dict[str, FileResult] = {}
        self.skipped: dict[str, FileResult] = {}
        self.odd_ignores = False
        """Whether a .gitignore could not be read."""
        self.looked_at: list[tuple[str, Sequence[tuple[GitIgnoreSpec, str]]]] = []

    def add(self, path: str) -> None:
        path = os.path.normpath(path)
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            self.error(path, "is a broken link" if os.path.islink(path) else "does not exist; check the spelling")
        except OSError as error:
            self.error(path, f"cannot be read: {error.strerror}")
        else:
            if stat.S_ISDIR(mode):
                self.walk(path)
            elif stat.S_ISREG(mode):
                self.looked_at.append((path, ()))
            else:
                self.error(path, f"is {what_is(mode)}; name a file or a folder")

    def walk(self, top: str) -> None:
        real = os.path.realpath(top)
        if os.path.basename(real) in NEVER_WALKED:
            self.error(top, _NEVER)
            return
        start = "" if top == "." else top
        looked_at: dict[str, Sequence[tuple[GitIgnoreSpec, str]]] = {}
        pending = [_Folder(start, real, self.excluded + self.ignores_above(real))]
        ignored = False
        while pending:
            folder = pending.pop()
            children = self.children(folder, top)
            prefix, ignores = os.path.join(folder.shown, ""), folder.ignores
            if ".gitignore" in children:
                ignores = [*ignores, *self.ignores_of(prefix + ".gitignore", folder.real)]
            ignored = ignored or len(ignores) > len(self.excluded)
            for name, child in children.items():
                if child.is_dir(follow_symlinks=False):
                    if name not in NEVER_WALKED and not _ignored(child.path, ignores, is_folder=True):
                        pending.append(_Folder(prefix + name, child.path, ignores))
                elif self.named(name) and self.is_file(child, prefix + name):
                    looked_at[prefix + name] = ignores
        if ignored and not self.odd_ignores:  # git itself waits for a pipe called .gitignore
            looked_at.update((os.path.join(start, name), self.excluded) for name in self.committed(real))
        self.looked_at.extend(looked_at.items())

    def children(self, folder: _Folder, top: str) -> Mapping[str, os.DirEntry[str]]:
        """What a walk from `top` sees in a folder; nothing where it holds installed packages or cannot be read.

        A folder that was named may look like an environment, as long as it does not say that it is one.
        """
        try:
            with os.scandir(folder.real) as entries:
                children = {child.name: child for child in sorted(entries, key=attrgetter("name"))}
        except OSError as error:
            self.error(folder.shown or top, f"cannot be read: {error.strerror}")
            return {}
        if folder.shown not in ("", top):
            return {} if is_installed(folder.real, children.keys()) else children
        if is_marked(children.keys()):
            self.error(top, _NEVER)
            return {}
        return children

    def is_file(self, child: os.DirEntry[str], path: str) -> bool:
        """Whether a walk reads this entry; what it cannot read is reported, except for folders and broken links,
        which editors make (`.#train.py`)."""
        try:
            if child.is_file():
                return True
            mode = os.stat(child.path).st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            self.skip(path, f"cannot be read: {error.strerror}")
            return False
        if not stat.S_ISDIR(mode):
            self.skip(path, f"is {what_is(mode)}")
        return False

    def ignores_above(self, folder: str) -> list[tuple[GitIgnoreSpec, str]]:
        """The patterns that hold in `folder` because of the repository it lies in, outermost first.

        None when they leave `folder` itself out: naming it overrules them.
        """
        above = _up_to_repository(folder)
        if not above:
            return []
        files = [(os.path.join(above[-1], ".git", "info", "exclude"), above[-1])]
        files += [(os.path.join(place, ".gitignore"), place) for place in reversed(above[1:])]
        ignores = [ignore for file, place in files for ignore in self.ignores_of(os.path.relpath(file), place)]
        return [] if any(_ignored(place, ignores, is_folder=True) for place in above[:-1]) else ignores

    def ignores_of(self, path: str, folder: str) -> list[tuple[GitIgnoreSpec, str]]:
        """What a .gitignore says of `folder`; nothing where it is missing, or holds only comments as git's first."""
        try:
            lines = read(path).decode("utf-8", "replace").splitlines()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return []
        except OSError as error:
            self.odd_ignores = True
            self.skip(path, f"cannot be read ({error.strerror}), so its patterns are ignored")
            return []
        patterns = well_formed([line for line in lines if line.strip() and not line.startswith("#")])
        return [(compiled(patterns), folder)] if patterns else []

    def committed(self, folder: str) -> Iterator[str]:
        """Files below `folder` that a .gitignore would leave out of the walk, were they not in the repository."""
        from tfmigrate.files.git import tracked_though_ignored

        installed = cache(is_installed)
        for name in tracked_though_ignored(folder):
            path = os.path.join(folder, name)
            if self.named(name) and os.path.isfile(path) and not lies_in_installed(folder, name, installed):
                yield os.path.normpath(name)

    def search(self) -> None:
        """Searches what the walks came by, all at once."""
        for place, outcome in grep([path for path, _ in self.looked_at], self.needles).items():
            path, ignores = self.looked_at[place]
            if isinstance(outcome, str):
                self.error(path, f"cannot be read: {outcome}")
            # Asked last: matching patterns costs more than reading, and few files hit.
            elif not _ignored(_place(path), ignores, is_folder=False):
                self.files.append(FoundFile(path, os.path.realpath(path), outcome))

    def error(self, path: str, message: str) -> None:
        self.errors.setdefault(path, FileResult(path, "error", error=message))

    def skip(self, path: str, message: str) -> None:
        self.skipped[path] = FileResult(path, "skipped", error=message)

    def outcome(self, paths: Sequence[str]) -> Scan:
        folders = [os.path.join(os.path.realpath(path), "") for path in paths if os.path.isdir(path)]
        named = {_place(path) for path in paths if not os.path.isdir(path)}
        hits: dict[str, FoundFile] = {}
        # Each file is handled once, under the first name it was found by; a link to it comes last.
        for hit in sorted(self.files, key=lambda hit: _place(hit.path) != hit.real):
            if hit.real not in named and not any(hit.real.startswith(folder) for folder in folders):
                tell = self.error if _place(hit.path) in named else self.skip
                tell(hit.path, f"is a link to {hit.real}, outside the given paths; name that file itself")
            else:
                hits.setdefault(hit.real, hit)
        ordered = sorted(hits.values(), key=lambda hit: hit.path)
        failed = sorted((self.skipped | self.errors).values(), key=lambda error: error.path)
        return Scan(tuple(ordered), tuple(failed), tuple(path for path, _ in self.looked_at))


def _place(path: str) -> str:
    """The path with the links of its folders followed, but not its own."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def program_root(path: str) -> str | None:
    """The folder in which the other files of a program lie: the repository of a path, or what stands round a file.

    Outside a repository that is the file's folder, or the one that holds its outermost package. None where that would
    be a folder for all things, and for a folder outside a repository, which says itself how far it goes.
    """
    real = os.path.realpath(path)
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    repository = repository_of(folder)
    if repository is not None or folder == real:
        return repository
    import tempfile  # Late: it loads much, and a run without a hit asks for no program.

    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    shared = (os.path.expanduser("~"), tempfile.gettempdir(), os.sep)
    return None if folder in map(os.path.realpath, shared) else folder


def repository_of(folder: str) -> str | None:
    """The nearest folder from `folder` upwards that holds .git."""
    return next(iter(_up_to_repository(folder)[-1:]), None)


def _up_to_repository(folder: str) -> list[str]:
    """`folder` and those above it up to the one that holds .git; nothing outside a repository."""
    passed = [folder]
    while not os.path.exists(os.path.join(folder, ".git")):
        folder, child = os.path.dirname(folder), folder
        if folder == child:
            return []
        passed.append(folder)
    return passed


def _ignored(path: str, ignores: Sequence[tuple[GitIgnoreSpec, str]], *, is_folder: bool) -> bool:
    for spec, place in reversed(ignores):
        relative = os.path.relpath(path, place).replace(os.sep, "/")
        if relative.startswith("../") or relative == ".":
            continue
        verdict = _of_folder(spec, f"{relative}/") if is_folder else spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def _of_folder(spec: GitIgnoreSpec, folder: str) -> bool | None:
    """What the last pattern says that means the folder itself: in `*`, `!src/` it is the second.

    GitIgnoreSpec answers for a file in the folder, where a pattern for folders counts less.
    """
    for pattern in reversed(spec.patterns):
        match = pattern.regex.match(folder) if pattern.regex is not None else None
        if match and (match.groupdict().get("ps_d") is None or match.end("ps_d") == len(folder)):
            return bool(pattern.include)
    return None
