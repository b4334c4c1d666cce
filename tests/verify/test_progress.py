from __future__ import annotations

import io

from rich.console import Console

from tfmigrate.verify.report.progress import SHOWN, Progress


def shown(progress: Progress) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=100).print(progress.table())
    return out.getvalue().splitlines()


def test_two_losses_stand_side_by_side_at_the_same_step() -> None:
    progress = Progress(Console(file=io.StringIO()))
    for loss in (0.75, 0.5, 0.25):
        progress.step("genuine", loss)
    progress.step("migrated on Keras 3", 0.7500001)
    progress.step("migrated on Keras 3", 0.5000001)
    heading, old, new = shown(progress)
    assert heading.split() == ["run", "step", "loss", "genuine"]
    assert old.split() == ["genuine", "3", "0.250000"]
    assert new.split()[-3:] == ["2", "0.500000", "0.500000"]


def test_only_so_many_rows_are_shown() -> None:
    progress = Progress(Console(file=io.StringIO()))
    for number in range(2 * SHOWN):
        progress.step(f"control: {number}", 1.0)
    lines = shown(progress)
    assert len(lines) == 1 + SHOWN
    assert lines[-1].startswith(f"control: {2 * SHOWN - 1}")


def test_before_the_first_step_there_is_nothing_to_show() -> None:
    assert len(shown(Progress(Console(file=io.StringIO())))) <= 1


def test_what_is_told_stays_when_the_table_goes() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=True, width=80)) as progress:
        progress.tell("running genuine")
        progress.step("genuine", 0.5)
    assert "running genuine" in out.getvalue()
