from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tfmigrate.errors import UserError
from tfmigrate.files.changed import changed_files
from tfmigrate.files.scan import search


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
    with pytest.raises(UserError, match="needs a git repository"):
        changed_files(["."], None)


def test_a_file_that_was_only_touched_has_not_changed(repository: Path) -> None:
    os.utime("kept.py", (1, 1))
    os.utime("edited.py", (1, 1))
    assert changed_files(["."], "work") == ["edited.py", "sub/new é.py"]


def test_a_link_that_leads_elsewhere_now_has_changed(repository: Path) -> None:
    os.symlink("kept.py", "link.py")
    git("add", "link.py")
    git("commit", "-q", "-m", "link")
    os.utime("link.py", (1, 1), follow_symlinks=False)
    assert "link.py" not in changed_files(["."], "work")
    Path("link.py").unlink()
    os.symlink("edited.py", "link.py")
    assert "link.py" in changed_files(["."], "work")


COMMANDS = {
    "core.fsmonitor": "{}",
    "core.pager": "{}",
    "core.sshCommand": "{}",
    "core.editor": "{}",
    "core.askPass": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "core.hooksPath": "hooks",
    "credential.helper": "!{}",
    "diff.external": "{}",
    "diff.spy.command": "{}",
    "diff.spy.textconv": "{}",
    "filter.spy.clean": "{}",
    "filter.spy.smudge": "{}",
    "filter.spy.required": "true",
    "filter.long.process": "{}",
    "merge.spy.driver": "{}",
    "pager.diff": "{}",
    "pager.diff-index": "{}",
    "pager.ls-files": "{}",
    "alias.diff-index": "!{}",
    "gpg.program": "{}",
    "log.showSignature": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.url": "ext::{}",
    "remote.origin.uploadpack": "{}",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "uploadpack.packObjectsHook": "{}",
    "sequence.editor": "{}",
    "interactive.diffFilter": "{}",
    "trailer.spy.command": "{}",
    "submodule.recurse": "true",
}


def spied_on(folder: Path, spy: Path) -> None:
    """Every setting of git's that names a program names `spy` in the repository at `folder`."""
    for key, value in COMMANDS.items():
        git("config", key, value.format(spy), cwd=folder)
    git("config", "core.repositoryFormatVersion", "1", cwd=folder)
    (folder / "hooks").mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        (folder / "hooks" / hook).write_text(spy.read_text())
        (folder / "hooks" / hook).chmod(0o755)


@pytest.fixture
def spy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that leaves `ran` beside itself."""
    folder = tmp_path_factory.mktemp("spy")
    program = folder / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {folder}/ran\ncat > /dev/null\n')
    program.chmod(0o755)
    return program


def test_nothing_is_run_that_the_repository_names(repository: Path, spy: Path) -> None:
    Path(".gitattributes").write_text("edited.py filter=spy diff=spy merge=spy\nkept.py filter=long diff=spy\n")
    Path("committed.py").write_text("on\n")
    git("init", "-q", "inner")
    Path("inner/deep.py").write_text("1\n")
    git("add", ".", cwd=Path("inner"))
    git("commit", "-q", "-m", "inner", cwd=Path("inner"))
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "./inner", "module")
    git("commit", "-q", "-a", "-m", "more")
    Path("committed.py").write_text("off\n")
    Path("module/deep.py").write_text("2\n")
    for name in ("edited.py", "kept.py", "committed.py"):
        os.utime(name, (1, 1))
    git("add", "kept.py")
    for folder in (Path(), Path("module"), Path("inner")):
        spied_on(folder, spy)
    assert changed_files(["."], "HEAD") == ["committed.py", "sub/new é.py"]
    assert "edited.py" in changed_files(["."], None)
    Path(".gitignore").write_text("kept.py\n")
    search(["."], (b"1",))
    assert not spy.with_name("ran").exists(), spy.with_name("ran").read_text()


def test_the_spy_would_be_run_by_git_as_people_use_it(repository: Path, spy: Path) -> None:
    spied_on(Path(), spy)
    subprocess.run(["git", "status"], check=False, capture_output=True, timeout=60)
    assert spy.with_name("ran").exists()


def test_objects_that_a_partial_clone_lacks_are_not_fetched(repository: Path, spy: Path) -> None:
    base = git("rev-parse", "main").strip()
    git("repack", "-adq")
    spied_on(Path(), spy)
    for pack in Path(".git/objects/pack").glob("*"):
        pack.chmod(0o644)
        pack.rename(spy.parent / pack.name)
    with pytest.raises(UserError, match="--changed"):
        changed_files(["."], base)
    assert not spy.with_name("ran").exists(), spy.with_name("ran").read_text()


def test_git_that_waits_for_a_pipe_is_not_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmigrate.files.git._SECONDS", 1.0)
    os.mkfifo("sub/.gitignore")
    with pytest.raises(UserError, match="did not answer within 1 seconds"):
        changed_files(["."], None)
