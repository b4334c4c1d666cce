from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tfmigrate.files import write
from tfmigrate.files.write import Change, WriteError, replace


def change(path: Path, after: bytes = b"new\n") -> Change:
    return Change(str(path), path.read_bytes(), after)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\n")
    return path


def test_replaces_and_leaves_nothing_beside(file: Path) -> None:
    replace([change(file)])
    assert file.read_bytes() == b"new\n"
    assert os.listdir(file.parent) == ["a.py"]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o640])
def test_keeps_the_mode(file: Path, mode: int) -> None:
    file.chmod(mode)
    replace([change(file)])
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_keeps_the_owner(file: Path) -> None:
    os.chown(file, 1234, 2345)
    replace([change(file)])
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)


def test_an_owner_that_cannot_be_given_is_no_reason_to_stop(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    replace([change(file)])
    assert file.read_bytes() == b"new\n"


def test_keeps_extended_attributes(file: Path) -> None:
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    replace([change(file)])
    assert os.getxattr(file, "user.note") == b"kept"


def test_a_read_only_file_is_left_with_a_clear_word(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(WriteError, match="is read-only; left as it is; make it writable") as told:
        replace([change(file)])
    assert told.value.path == str(file)
    assert file.read_bytes() == b"old\n"


def test_a_file_changed_meanwhile_is_left(file: Path) -> None:
    planned = change(file)
    file.write_bytes(b"someone else\n")
    with pytest.raises(WriteError, match="another program changed it"):
        replace([planned])
    assert file.read_bytes() == b"someone else\n"


def test_a_file_gone_meanwhile_is_told(file: Path) -> None:
    planned = change(file)
    file.unlink()
    with pytest.raises(WriteError, match="cannot be read again"):
        replace([planned])


def test_a_hard_link_keeps_the_old_text(file: Path) -> None:
    other = file.with_name("b.py")
    os.link(file, other)
    replace([change(file)])
    assert (file.read_bytes(), other.read_bytes()) == (b"new\n", b"old\n")


def test_all_or_nothing(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for file in files:
        file.write_bytes(b"old\n")
    files[2].chmod(0o444)
    with pytest.raises(WriteError):
        replace([change(file) for file in files])
    assert [file.read_bytes() for file in files] == [b"old\n"] * 3
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py", "c.py"]


def test_a_rename_that_fails_undoes_those_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for file in files:
        file.write_bytes(b"old\n")
        file.chmod(0o640)
    real = os.replace

    def fail_on_c(source: str, target: str) -> None:
        if target.endswith("c.py"):
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail_on_c)
    with pytest.raises(WriteError, match="Input/output error") as told:
        replace([change(file) for file in files])
    assert told.value.path.endswith("c.py")
    assert [file.read_bytes() for file in files] == [b"old\n"] * 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o640}
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py", "c.py"]


def test_a_full_disk_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="No space left"):
        replace([change(file)])
    assert file.read_bytes() == b"old\n"
    assert os.listdir(file.parent) == ["a.py"]


def test_the_new_text_is_on_disk_before_the_old_name_points_to_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("fsync"), real_fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), real_replace(a, b)))
    replace([change(file)])
    assert order == ["fsync", "rename", "fsync"]


def test_a_folder_that_cannot_be_written(unprivileged: Path) -> None:
    file = unprivileged / "a.py"
    file.write_bytes(b"old\n")
    unprivileged.chmod(0o555)
    with pytest.raises(WriteError, match=r"cannot be replaced: folder .*: Permission denied"):
        replace([change(file)])
    assert file.read_bytes() == b"old\n"


def test_killed_in_the_middle_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "_rename", kill)
    with pytest.raises(KeyboardInterrupt):
        replace([change(file)])
    assert file.read_bytes() == b"old\n"
    assert os.listdir(file.parent) == ["a.py"]
