"""Repositories of others: fetched, or read from a mirror, and laid out at a commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LARGEST = 1 << 20
"""Bytes of the largest file that is laid out: a larger one is data or weights, which stand-ins replace."""


class SourceError(Exception):
    """Why a repository or a commit of it cannot be had."""


def repository(name: str, mirror: Path | None, cache: Path) -> Path:
    """The git directory of "owner/name": in `mirror` where one is given, else cloned into `cache` once."""
    plain = name.replace("/", "+")
    if mirror is not None:
        for path in (mirror / plain, mirror / plain / "repo", mirror / name, mirror / f"{name}.git"):
            for git in (path / ".git", path):
                if (git / "HEAD").is_file():
                    return git
        raise SourceError(f"{mirror} has no git directory for {name}: looked for {plain}, {name} and {name}.git")
    git = cache / f"{plain}.git"
    if not git.is_dir():
        _git("clone", "--quiet", "--bare", f"--filter=blob:limit={LARGEST}", f"https://github.com/{name}.git", str(git))
    return git


def lay_out(git: Path, commit: str, folder: str, target: Path) -> None:
    """Writes `folder` of the commit to `target`, which must not exist: regular files of at most `LARGEST` bytes.

    Read file by file, not by `git archive`: of a partial clone or mirror the large files are missing. Links and
    submodules are left out.
    """
    spec = commit if folder == "." else f"{commit}:{folder}"
    entries = _git("ls-tree", "-r", "-z", spec, git=git).split(b"\0")
    blobs = {}
    for entry in filter(None, entries):
        facts, _, path = entry.partition(b"\t")
        mode, kind, blob = facts.decode().split()
        if kind == "blob" and mode in ("100644", "100755"):
            blobs[path.decode("utf-8", "surrogateescape")] = blob
    if not blobs:
        raise SourceError(f"{folder} at {commit[:10]} has no files")
    small = _small(git, sorted(set(blobs.values())))
    target.mkdir(parents=True)
    for path, blob in blobs.items():
        if blob in small:
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(small[blob])


def _small(git: Path, blobs: list[str]) -> dict[str, bytes]:
    """The contents of those that are there and small, by their names."""
    told = _batch(git, "--batch-check=%(objectname) %(objectsize)", blobs).decode().splitlines()
    sizes = dict(line.split(" ", 1) for line in told)
    wanted = [blob for blob in blobs if sizes[blob].isdigit() and int(sizes[blob]) <= LARGEST]
    answer = _batch(git, "--batch=%(objectsize)", wanted)
    contents, start = {}, 0
    for blob in wanted:
        end = answer.index(b"\n", start)
        size = int(answer[start:end])
        contents[blob] = answer[end + 1 : end + 1 + size]
        start = end + size + 2
    return contents


def _batch(git: Path, option: str, blobs: list[str]) -> bytes:
    return _git("cat-file", option, git=git, given="\n".join(blobs).encode() + b"\n")


def _git(command: str, *arguments: str, git: Path | None = None, given: bytes | None = None) -> bytes:
    where = () if git is None else ("--git-dir", str(git))
    # Or git (2.44 and later) asks the host for every blob that a partial clone left out, one at a time.
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    done = subprocess.run(["git", *where, command, *arguments], input=given, capture_output=True, env=environment)
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise SourceError(f"git {command}: {told[-1] if told else f'exit status {done.returncode}'}")
    return done.stdout
