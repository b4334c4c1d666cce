from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tfmigrate.errors import UserError
from tfmigrate.files.changed import changed_files


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """main has four files; the branch commits one, edits one, deletes one and adds one that git does not know."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    for name in ("kept.py", "edited.py", "deleted.py", "committed.py", "notes.txt"):
        Path(name).write_text("1\n")
    git("add", ".")
    git("commit", "-q", "-m", "start")
    git("checkout", "-q", "-b", "work")
    Path("committed.py").write_text("2\n")
    git("commit", "-q", "-a", "-m", "work")
    git("checkout", "-q", "main")
    Path("kept.py").write_text("main went on\n")
    git("commit", "-q", "-a", "-m", "on")
    git("checkout", "-q", "work")
    Path("edited.py").write_text("2\n")
    Path("notes.txt").write_text("2\n")
    Path("deleted.py").unlink()
    Path("sub").mkdir()
    Path("sub/new é.py").write_text("3\n")
    return tmp_path


def test_since_the_branch_left_main(repository: Path) -> None:
    assert changed_files(["."], None) == ["committed.py", "edited.py", "sub/new é.py"]


def test_since_a_revision(repository: Path) -> None:
    assert changed_files(["."], "work") == ["edited.py", "sub/new é.py"]


def test_only_under_the_given_paths_and_relative_to_the_current_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed_files(["sub", "edited.py"], None) == ["edited.py", "sub/new é.py"]
    monkeypatch.chdir(repository / "sub")
    assert changed_files(["."], None) == ["new é.py"]
    assert changed_files([".."], "work") == ["../edited.py", "new é.py"]


def test_an_unknown_revision_and_no_repository_are_told(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="no revision 'nope'"):
        changed_files(["."], "nope")
    monkeypatch.chdir(tmp_path_factory.mktemp("outside"))
    with pytest.raises(UserError, match="not a git repository"):
        changed_files(["."], None)
