"""tools/trust.py: what it runs again, what it remembers, and what it calls a fault."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Limits, Run, World

from .laboratory import MODERN


@pytest.fixture(scope="module")
def trust() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "trust.py"
    spec = importlib.util.spec_from_file_location("trust", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["trust"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "train.py").write_text("train()\n")
    return World("migrated on Keras 3", "migrated", MODERN, tmp_path / "program", "train.py")


def test_a_run_is_made_once(trust: ModuleType, world: World, tmp_path: Path) -> None:
    ran: list[World] = []

    def run_all(
        worlds: Sequence[tuple[World, Trace | None]], limits: Limits, folders: Sequence[Path], jobs: Any = None
    ) -> list[Run]:
        for folder in folders:
            folder.mkdir(parents=True)
        ran.extend(each for each, _ in worlds)
        outs = [folder / "out" for folder in folders]
        return [
            Run(each, Trace(folder / "trace"), "trained", 0, out, out, 1.0, "")
            for (each, _), folder, out in zip(worlds, folders, outs)
        ]

    memory = trust.Memory(tmp_path / "memory", run_all)
    limits = Limits()

    def run(each: World, initial: Trace | None = None) -> Run:
        return memory([(each, initial)], limits, [])[0]  # type: ignore[no-any-return]

    first = run(world)
    assert run(world).trace == first.trace
    assert len(ran) == 1
    control = replace(world, role="control: batch x2", overlay={"train.py": "train(2)\n"})
    assert run(control).world.role == "control: batch x2"
    assert len(ran) == 2

    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "train.py").write_text("train(2)\n")
    memory.wrong = True
    assert run(replace(world, source=copy)).world.source == copy
    assert len(ran) == 2, "the wrong program is its control, wherever it lies"

    memory.wrong, memory.repetition = False, 2
    run(world)
    run(control)
    assert len(ran) == 3, "a repetition runs all but the controls anew"
    run(replace(world, threads=1))
    run(world, first.trace)
    assert len(ran) == 5

    memory.controls = False
    with pytest.raises(trust.Agreed):
        run(control)


@pytest.mark.parametrize(
    ("expected", "verdict", "kind", "nothing", "fault"),
    [
        ((), "EQUIVALENT", "", False, ""),
        ((), "INCONCLUSIVE", "", False, "false alarm"),
        ((), "DIFFERENT", "data", False, "false alarm"),
        (("data",), "DIFFERENT", "data", False, ""),
        (("data",), "DIFFERENT", "unknown", False, "wrong cause"),
        (("crash",), "DOES NOT RUN", "crash", False, ""),
        (("data",), "EQUIVALENT", "", False, "missed"),
        (("data",), "EQUIVALENT", "", True, "changes nothing"),
    ],
)
def test_faults(
    trust: ModuleType, expected: tuple[str, ...], verdict: str, kind: str, nothing: bool, fault: str
) -> None:
    cell = trust.Cell("p", "m", 1, expected, verdict, kind, "why", 0.0, nothing)
    assert cell.fault == fault
    assert trust.summary([cell]) == (fault in ("false alarm", "missed", "wrong cause"))


def test_every_runnable_fixture_is_in_the_matrix(trust: ModuleType) -> None:
    names = {program.name for program in trust.programs([])}
    assert names >= {"base_parallel", "adadelta_mlp", "guarded_generator", "convnet", "uneven_split"}
    assert all(program.old.is_file() and program.new.is_file() for program in trust.programs([]))
