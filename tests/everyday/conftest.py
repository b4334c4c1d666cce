from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, git


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
