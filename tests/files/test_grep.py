from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
        path.write_bytes(_data(number))
        paths.append(str(path))
    os.remove(paths[-1])
    return paths


def _data(number: int) -> bytes:
    return b"x = 1\n" * number + (NEEDLES[number % 2] if number % 7 == 0 else b"")


WANTED = {number: _data(number) for number in range(0, 40, 7)} | {39: "No such file or directory"}


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


@pytest.mark.parametrize("size", [grep._BLOCK - 1, grep._BLOCK, grep._BLOCK + 1, 3 * grep._BLOCK])
def test_a_file_larger_than_a_block_is_searched_to_its_end(tmp_path: Path, size: int) -> None:
    path, data = tmp_path / "large.py", b"#" * (size - len(NEEDLES[0])) + NEEDLES[0]
    path.write_bytes(data)
    assert grep.grep([str(path)], NEEDLES) == {0: data}


def test_an_empty_needle_is_in_every_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.touch()
    assert grep.grep([str(path)], (b"x", b"")) == {0: b""}


def test_nothing_to_search() -> None:
    assert grep.grep([], NEEDLES) == {}
    assert grep.grep([__file__], []) == {}


@pytest.mark.parametrize("installed", [True, False])
@settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    needles=st.lists(st.text("ab_", min_size=1, max_size=4).map(str.encode), max_size=6),
    data=st.text("ab_\n", max_size=300).map(str.encode),
)
def test_a_needle_is_found_where_python_finds_it(installed: bool, needles: list[bytes], data: bytes) -> None:
    with mock.patch.dict(sys.modules, {} if installed else {"ahocorasick_rs": None}):
        assert bool(grep._finder(needles)(data)) == any(needle in data for needle in needles)
