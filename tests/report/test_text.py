from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tfmigrate.report import terminal, text
from tfmigrate.result import FileResult, Finding, Result


def test_one_line_a_finding_then_the_counts(result: Result) -> None:
    assert text.render(result).splitlines() == [
        "a b.py:2:5: TFM001 the wrap goes: 100% sure, see above [can be rewritten]",
        "broken.py: error: line 3: syntax error: invalid syntax; mend it",
        "far.py:1:1: TFM101 unknown callers [refused]",
        "far.py:9:2: TFM401 look [warning]",
        "12 files checked: 1 file can be migrated, 1 file refused, 1 file could not be handled, "
        "1 warning, 1 suppressed use.",
        "Left to do by hand: TFM101 not-followed, TFM401 trainable-toggle.",
    ]


def test_after_fix() -> None:
    finding = Finding(2, 5, "TFM001", "m", "rewrite", applied=True)
    done = Result((FileResult("a.py", "migrated", (finding,)),), scanned=1)
    assert text.render(done) == "a.py:2:5: TFM001 m [rewritten]\n1 file checked: 1 file migrated.\n"


@pytest.mark.parametrize(("scanned", "told"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_nothing_found(scanned: int, told: str) -> None:
    assert text.render(Result((), scanned)) == f"{told} checked, nothing to migrate.\n"


def test_terminal_says_the_same_with_the_source_line(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = terminal.render(result)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert "  TFM001 the wrap goes: 100% sure, see above [can be rewritten]" in plain
    assert "    2:5  y = wrap(m)" in plain
    assert "error line 3: syntax error" in plain
    assert text.counts(result) in plain


def test_terminal_takes_no_source_for_markup(result: Result) -> None:
    file = replace(result.files[2], before="x = m[bold]  # [/red] :smile:\n", path="[red].py")
    shown = terminal.render(Result((file,), 1))
    assert "m[bold]  # [/red] :smile:" in shown
    assert "[red].py" in shown


def test_terminal_honours_no_color(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.render(result))


def test_terminal_says_a_thing_once_and_hangs_long_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    places = [(1, 1), (1, 9), *((line, 1) for line in range(2, 9))]
    findings = tuple(Finding(line, column, "TFM203", "a name " * 10, "rewrite") for line, column in places)
    before = "".join(f"import keras as k{line}\n" for line in range(1, 9))
    shown = terminal.render(Result((FileResult("a.py", "migrated", findings, before=before),), 1))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert lines[1].startswith("  TFM203 a name")
    assert lines[2].startswith("    ")
    assert [line for line in lines if "import" in line] == [
        "    1:1, 1:9  import keras as k1",
        *(f"         {line}:1  import keras as k{line}" for line in (2, 3, 4, 5)),
    ]
    assert "    and at 6:1, 7:1, 8:1" in lines
    assert max(map(len, lines[1:-2])) <= 60
    assert not any(line.endswith(" ") for line in lines)
