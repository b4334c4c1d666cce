"""Which files git says were changed, for `--changed`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from tfmigrate.errors import UserError
from tfmigrate.files.git import git
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
        raise UserError(f"--changed: git knows no revision {revision!r}; write --changed=REV, paths come without it")
    base = _git("merge-base", "HEAD", revision).strip()
    listed = _git("diff", "--name-only", "--no-renames", "--diff-filter=d", "-z", base, "--", *paths).split("\0")
    new = _git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *paths).split("\0")
    return sorted({os.path.relpath(os.path.join(top, name)) for name in (*listed, *new) if name.endswith(SUFFIXES)})


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
        raise UserError(f"--changed: {reason[0]}") from None
