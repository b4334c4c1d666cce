from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tfmigrate.files import grep

NEEDLES = (b"multi_gpu_model", b"train_distribute")


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Forty files: every seventh holds a needle, the last is gone; enough for two processes."""
    monkeypatch.setattr(grep, "FEW", 10)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    paths = []
    for number in range(40):
        path = tmp_path / f"{number}.py"
        path.write_bytes(b"x = 1\n" * number + (NEEDLES[number % 2] if number % 7 == 0 else b""))
        paths.append(str(path))
    os.remove(paths[-1])
    return paths


WANTED = dict.fromkeys(range(0, 40, 7)) | {39: "No such file or directory"}


def test_several_processes_find_what_one_finds(many: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if hasattr(os, "fork"):
        monkeypatch.setattr(threading, "active_count", lambda: 1)
        assert len(grep._shares(len(many))) == 2
    assert grep.grep(many, NEEDLES) == WANTED
    monkeypatch.delattr(os, "fork", raising=False)
    assert grep.grep(many, NEEDLES) == WANTED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork searches in one process")
@pytest.mark.parametrize("code", [0, 9])
def test_the_share_of_a_process_that_died_is_searched(
    many: list[str], monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    parent, search = os.getpid(), grep._search
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(grep, "_search", lambda *share: search(*share) if os.getpid() == parent else os._exit(code))
    assert grep.grep(many, NEEDLES) == WANTED


def test_a_process_with_threads_is_not_copied(many: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert len(grep._shares(len(many))) == 1


def test_a_file_larger_than_a_block_is_searched_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_bytes(b"#" * (2 * grep._BLOCK) + NEEDLES[0])
    assert grep.grep([str(path)], NEEDLES) == {0: None}


def test_nothing_to_search() -> None:
    assert grep.grep([], NEEDLES) == {}
