"""What git says of a repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator


def git(*arguments: str, folder: str | None = None) -> str:
    """What a git command prints, run in `folder`.

    Raises FileNotFoundError without git, and CalledProcessError where git refuses.
    """
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return os.fsdecode(done.stdout)


def tracked_though_ignored(folder: str) -> Iterator[str]:
    """Files at and below `folder` that a .gitignore names and that were committed all the same, relative to it.

    For git they are files like any other: gitignore(5), "files already tracked by Git are not affected".
    """
    try:
        listed = git("ls-files", "--cached", "--ignored", "--exclude-standard", "-z", folder=folder)
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository of this user's
        return
    yield from filter(None, listed.split("\0"))
