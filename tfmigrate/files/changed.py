"""Which files git says were changed, for `--changed`."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence

from tfmigrate.errors import UserError
from tfmigrate.files.git import git
from tfmigrate.files.regular import read
from tfmigrate.files.scan import SUFFIXES

BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where work usually starts; without a revision, the first that exists."""


def changed_files(paths: Sequence[str], revision: str | None) -> list[str]:
    """The scripts and notebooks under `paths` that differ from where this branch left `revision`, and new ones.

    Where it left is git's merge-base. Deleted files are left out.

    Raises UserError when this is no git repository or the revision is unknown.
    """
    top = _git("rev-parse", "--show-toplevel").strip()
    if revision is None:
        revision = next((branch for branch in BRANCHES if _is_revision(branch)), "HEAD")
    elif not _is_revision(revision):
        raise UserError(
            f"--changed: git knows no revision {revision!r}; write --changed=REV, and pass paths separately"
        )
    base = _git("merge-base", "HEAD", revision).strip()
    listed = _differing(top, base, paths)
    new = _git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *paths).split("\0")
    return sorted({os.path.relpath(os.path.join(top, name)) for name in (*listed, *new) if name.endswith(SUFFIXES)})


def _differing(top: str, base: str, paths: Sequence[str]) -> Iterator[str]:
    """Tracked files whose content is not that of `base`, relative to `top`.

    `git diff` would run the repository's own filters to find that out; `diff-index` says which files may differ, and
    their bytes are compared here. One that a filter or a setting of line ends makes the same may so be listed too.
    """
    options = ("--no-renames", "--diff-filter=d", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "-z")
    fields = iter(_git("diff-index", *options, base, "--", *paths).split("\0"))
    for entry, name in zip(fields, fields, strict=False):
        _, _, before, after, _ = entry.split(" ")
        if not name.endswith(SUFFIXES):
            continue
        # Without a name, the content in the work tree was not looked at.
        if after.strip("0") or _object_name(os.path.join(top, name), len(before)) != before:
            yield name


def _object_name(path: str, digits: int) -> str | None:
    """The name that git gives to the content of a file: by SHA-1, or by SHA-256 where names have 64 digits."""
    try:
        data = os.fsencode(os.readlink(path)) if os.path.islink(path) else read(path)
    except OSError:
        return None
    digest = hashlib.sha256 if digits == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _is_revision(name: str) -> bool:
    try:
        _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except UserError:
        return False
    return True


def _git(*arguments: str) -> str:
    try:
        return git(*arguments)
    except FileNotFoundError:
        raise UserError("--changed needs git, which is not installed") from None
    except subprocess.CalledProcessError as error:
        reason = os.fsdecode(error.stderr).strip().splitlines()[-1:] or [f"git {arguments[0]} failed"]
        if "not a git repository" in reason[0]:
            raise UserError("--changed needs a git repository, and this folder is not in one; leave it out") from None
        raise UserError(f"--changed: {reason[0].removeprefix('fatal: ')}") from None
    except subprocess.TimeoutExpired as error:
        waited = f"git {arguments[0]} did not answer within {error.timeout:g} seconds"
        raise UserError(f"--changed: {waited}; is a .gitignore a pipe, or the disk slow?") from None
