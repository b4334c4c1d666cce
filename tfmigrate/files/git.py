"""What git says of a repository, asked so that nothing runs that the repository's own configuration names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

_SETTINGS = {
    "core.fsmonitor": "false",  # a program that is run when the index is read
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "false",
    "core.askPass": "",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",  # a submodule has a configuration of its own
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Given on the command line, which counts more than a repository's configuration (git-config(1))."""
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # Counts more than protocol.NAME.allow: what a partial clone lacks is not fetched.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
_SECONDS = 60.0
"""git itself waits forever for a pipe called .gitignore."""


def git(*arguments: str, folder: str | None = None) -> str:
    """What a git command prints, run in `folder`. Plumbing commands only: `diff` and `status` run the filters that a
    repository names in .gitattributes, which no setting turns off.

    Raises FileNotFoundError without git, CalledProcessError where git refuses, TimeoutExpired where it does not answer.
    """
    settings = [word for key, value in _SETTINGS.items() for word in ("-c", f"{key}={value}")]
    done = subprocess.run(
        ["git", "--no-pager", *settings, *arguments],
        cwd=folder,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return os.fsdecode(done.stdout)


def tracked_though_ignored(folder: str) -> Iterator[str]:
    """Files at and below `folder` that a .gitignore names and that were committed all the same, relative to it.

    For git they are files like any other: gitignore(5), "files already tracked by Git are not affected".
    """
    try:
        listed = git("ls-files", "--cached", "--ignored", "--exclude-standard", "-z", folder=folder)
    except (OSError, subprocess.SubprocessError):  # no git, or no repository of this user's
        return
    yield from filter(None, listed.split("\0"))
