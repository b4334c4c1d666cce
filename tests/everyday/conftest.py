from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT, git
from tfmigrate import rewrite
from tfmigrate.result import FileResult

_migrate_program = rewrite.migrate_program


@cache
def _migrated(sources: tuple[rewrite.Source, ...]) -> tuple[FileResult, ...]:
    return _migrate_program(sources)


@pytest.fixture
def each_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The codemod works on a program once in this process: for tests about the files that stand beside it."""

    def migrate_program(sources: Sequence[rewrite.Source]) -> tuple[FileResult, ...]:
        return _migrated(tuple(sources))

    monkeypatch.setattr(rewrite, "migrate_program", migrate_program)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """This project as a git repository with its present files in one commit, as users fetch it; and that commit."""
    copy = tmp_path_factory.mktemp("published") / "tfmigrate"
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("fixtures/", "tests/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    git("init", "-q", "-b", "main", cwd=copy)
    git("add", ".", cwd=copy)
    git("commit", "-q", "-m", "present", cwd=copy)
    return copy, git("rev-parse", "HEAD", cwd=copy).strip()
