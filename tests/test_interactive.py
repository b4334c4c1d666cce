"""`fix --interactive` writes what is accepted and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate

pytestmark = pytest.mark.usefixtures("fake_rewrite")
HIT = "p = multi_gpu_model(m)\n"


@pytest.fixture
def three(project: Path) -> Callable[[], str]:
    """Three programs; which of them are migrated."""
    for name in "abc":
        Path(f"{name}.py").write_text(HIT)
    return lambda: "".join(name for name in "abc" if Path(f"{name}.py").read_text() != HIT)


@pytest.mark.parametrize(
    ("answers", "written", "code"),
    [
        ("y\nn\ny\n", "ac", 1),
        ("n\na\n", "bc", 1),
        ("a\n", "abc", 0),
        ("y\nq\n", "a", 1),
        ("q\n", "", 1),
        ("\n\n\n", "abc", 0),
        ("what\ny\nn\nn\n", "a", 1),
    ],
)
def test_answers(three: Callable[[], str], tfmigrate: Tfmigrate, answers: str, written: str, code: int) -> None:
    done = tfmigrate("fix", "--interactive", stdin=answers.encode())
    assert (three(), done.code) == (written, code)
    assert done.text.count("[rewritten]") == len(written)
    counted = [(len(written), "migrated"), (3 - len(written), "can be migrated")]
    parts = [f"{count} file{'' if count == 1 else 's'} {what}" for count, what in counted if count]
    assert done.text.splitlines()[-1] == f"3 files checked: {', '.join(parts)}."


def test_the_patch_is_shown_before_the_question(three: Callable[[], str], tfmigrate: Tfmigrate) -> None:
    shown = tfmigrate("fix", "-i", "a.py", stdin=b"n\n").text
    assert shown.index("a.py:1:5: TFM001") < shown.index("-p = multi_gpu_model(m)\n+p = scope(m)\n")
    assert shown.index("+p = scope(m)") < shown.index("Migrate a.py? (y: write it;")
    assert "\x1b" not in shown
    assert "\x1b[32m+p = scope(m)" in tfmigrate("fix", "-i", "--color", "always", "a.py", stdin=b"n\n").text


def test_what_is_found_several_times_is_one_line(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("a.py").write_text(HIT + HIT)
    shown = tfmigrate("fix", "-i", stdin=b"n\n").text.partition("diff --git")[0]
    assert shown.count("TFM001") == 1
    assert shown.endswith("(also at 2:5)\n")


def test_when_answers_end_nothing_more_is_written(three: Callable[[], str], tfmigrate: Tfmigrate) -> None:
    done = tfmigrate("fix", "-i", stdin=b"y\n")
    assert (three(), done.code) == ("a", 130)


def test_the_files_of_one_program_are_one_question(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("a.py").write_text("import b\n" + HIT)
    Path("b.py").write_text(HIT)
    done = tfmigrate.exits(0, "fix", "-i", stdin=b"y\n")
    assert "Migrate a.py, b.py?" in done.text


def test_nothing_is_asked_where_nothing_changes(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("a.py").write_text("multi_gpu_model # refuse\n".replace("multi", "x = 1  # multi"))
    assert "Migrate" not in tfmigrate("fix", "-i").text.partition("looked")[0]


@pytest.mark.parametrize("options", [("--diff",), ("-",)])
def test_what_does_not_go_with_it(project: Path, tfmigrate: Tfmigrate, options: tuple[str, ...]) -> None:
    done = tfmigrate("fix", "-i", *options)
    assert (done.code, "--interactive" in done.err) == (2, True)
