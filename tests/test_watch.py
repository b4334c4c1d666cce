"""`check --watch`: one report at the start, one after each change, none without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate
from tfmigrate.cli import watching
from tfmigrate.errors import UserError
from tfmigrate.settings import Settings

pytestmark = pytest.mark.usefixtures("fake_rewrite")
HIT = "p = multi_gpu_model(m)\n"


def watched(*steps: Callable[[], object], fails: bool = False) -> list[int]:
    """After how many steps a report was made, when each pause of the watch is one step; then Ctrl-C."""
    done, reports = [0], []

    def report() -> None:
        reports.append(done[0])
        if fails:
            raise UserError("gone for a moment")

    def sleep(seconds: float) -> None:
        assert seconds >= watching.PAUSE
        if done[0] == len(steps):
            raise KeyboardInterrupt
        steps[done[0]]()
        done[0] += 1

    with pytest.raises(KeyboardInterrupt):
        watching.watch(report, lambda: ["."], Settings(), sleep)
    return reports


def touched(name: str) -> Callable[[], None]:
    return lambda: os.utime(name, ns=(0, Path(name).stat().st_mtime_ns + 1))


def test_a_report_for_each_change_and_no_other(project: Path) -> None:
    Path("a.py").write_text(HIT)
    steps = (
        lambda: None,
        touched("a.py"),
        lambda: Path("b.py").write_text(HIT),
        lambda: Path("notes.txt").write_text("no program"),
        lambda: Path("b.py").unlink(),
    )
    assert watched(*steps) == [0, 2, 3, 5]


def test_no_file_is_read_to_know_that(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(HIT)

    def opened(*arguments: object) -> Iterator[object]:
        raise AssertionError("read")

    monkeypatch.setattr("tfmigrate.files.scan.grep", opened)
    assert watched(touched("a.py")) == [0, 1]


def test_what_the_user_must_mend_ends_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(HIT)
    assert watched(touched("a.py"), fails=True) == [0, 1]
    assert capsys.readouterr().err.count("tfmigrate: gone for a moment") == 2


def test_the_command(project: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(HIT)
    pauses = iter([lambda: Path("a.py").write_text("x = 1\n")])

    def pause(seconds: float) -> None:
        step = next(pauses, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(watching.watch, "__defaults__", (pause,))
    done = tfmigrate("check", "--watch", ".")
    assert done.code == 130
    assert done.text.count(" checked") == 2
    assert done.text.endswith("1 file checked, nothing to migrate.\n")


@pytest.mark.parametrize("options", [("-",), ("--show-files",), ("--write-baseline", "known.json")])
def test_what_does_not_go_with_it(project: Path, tfmigrate: Tfmigrate, options: tuple[str, ...]) -> None:
    done = tfmigrate("check", "--watch", *options)
    assert (done.code, "--watch" in done.err) == (2, True)
