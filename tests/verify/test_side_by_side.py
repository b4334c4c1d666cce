"""Runs beside one another: how many at once, which begins when, and what ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tfmigrate.verify.run import side_by_side
from tfmigrate.verify.run.trace import End, Trace
from tfmigrate.verify.run.world import Limits, Run, World

from .processes import Fake, alive, dead_soon, wait_for

CTRL_C = """
import signal
import sys
from pathlib import Path
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.world import Limits, World
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import End, Trace
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started ignoring it
interpreter, program, results = map(Path, sys.argv[1:])
runtime = Runtime(interpreter, (3, 8, 1), "2.3.4", None)
worlds = [(World(role, "genuine", runtime, program, "train.py"), None) for role in ("one", "two")]
run_all(worlds, Limits(seconds=600), [results / "one", results / "two"], jobs=2)
"""


def test_ctrl_c_ends_every_child(program: Path, fake: Fake, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    runtime = fake(f"echo $$ >> {pids}\nsleep 600\n")
    process = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, str(runtime.python), str(program), str(tmp_path / "results")],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 2, 30)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
        left = [pid for pid in map(int, pids.read_text().split()) if not dead_soon(pid)]
        for pid in left:
            os.killpg(pid, signal.SIGKILL)
    assert left == []
    assert b"KeyboardInterrupt" in stderr


def test_an_interruption_between_two_starts_ends_the_first(
    program: Path, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    world = World("old", "genuine", fake(f"echo $$ >> {pids}\nsleep 600\n"), program, "train.py")

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **named: Any) -> Any:
            if pids.exists():
                raise KeyboardInterrupt
            future = super().submit(*arguments, **named)
            assert wait_for(lambda: pids.exists() and bool(pids.read_text()), 30)
            return future

    monkeypatch.setattr(side_by_side, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        side_by_side.run_all(
            [(world, None), (world, None)], Limits(seconds=60), [tmp_path / "one", tmp_path / "two"], jobs=2
        )
    assert not alive(int(pids.read_text()))


GIB = 1 << 30


@pytest.mark.parametrize(
    ("available", "gpus", "free", "tensors", "at_once"),
    [
        (100, 0, 0, None, 1),
        (250, 0, 0, None, 2),
        (10_000, 0, 0, None, 4),
        (10_000, 2, 99 * GIB, GIB, 1),  # a card for each replica, whose speed is read
        (10_000, 1, 99 * GIB, GIB, 4),
        (250, 1, 99 * GIB, GIB, 2),
        (10_000, 1, 7 * GIB, GIB, 2),  # twice what it took, with 0.5 GiB for CUDA
        (10_000, 1, GIB, GIB, 1),
        (10_000, 1, 99 * GIB, None, 1),  # a genuine run, on the CPU
    ],
)
def test_no_more_runs_at_once_than_memory_and_gpus_hold(
    program: Path,
    fake: Fake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    available: int,
    gpus: int,
    free: int,
    tensors: int | None,
    at_once: int,
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(side_by_side.devices, "gpus", lambda: ("a card",) * gpus)
    monkeypatch.setattr(side_by_side.devices, "free_memory", lambda: free)
    memory = type("Memory", (), {"available": available, "total": 1 << 34})
    monkeypatch.setattr(side_by_side.psutil, "virtual_memory", lambda: memory)
    pools: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, max_workers: int) -> None:
            pools.append(max_workers)
            super().__init__(max_workers)

    monkeypatch.setattr(side_by_side, "ThreadPoolExecutor", Counted)
    end = End(True, None, 1.0, 1.0, 1.0, peak_memory_bytes=100, peak_gpu_memory_bytes=tensors)
    initial = Trace(tmp_path, end=end)
    world = World("new", "migrated", fake("exit 0\n"), program, "train.py", replicas=2)
    side_by_side.run_all([(world, initial)] * 4, Limits(seconds=60), [tmp_path / str(i) for i in range(4)], jobs=4)
    assert pools == [at_once]


STEP = '{"event": "step", "fit": 0, "epoch": 0, "step": 0, "loss": 0.5}'
END = '{"event": "end", "ok": true, "error": null, "seconds": 1, "train_seconds": 1, "samples_per_second": 1,'
END += ' "peak_memory_bytes": 1}'
LED = """
folder=$(dirname $2); leader=$(dirname $folder)/leader/trace
case $folder in
*/leader) {leader} ;;
*) if [ -e $leader/running ]; then echo beside > $folder/seen; else echo after > $folder/seen; fi
   echo '{step}' > $folder/trace/trace.jsonl
   {follower}
   echo '{end}' >> $folder/trace/trace.jsonl ;;
esac
"""


def led(
    program: Path, fake: Fake, tmp_path: Path, leader: str, follower: str = "true", jobs: int = 2
) -> tuple[Sequence[Run], list[str]]:
    """The runs of a leader and two that start from its weights, and when those began."""
    runtime = fake(LED.format(leader=leader, follower=follower, step=STEP, end=END))
    first = World("leader", "genuine", runtime, program, "train.py")
    others = [World(role, "migrated", runtime, program, "train.py") for role in ("one", "two")]
    folders = [tmp_path / name for name in ("leader", "one", "two")]
    worlds = [(first, None), *((world, first) for world in others)]
    runs = side_by_side.run_all(worlds, Limits(seconds=60), folders, jobs)
    return runs, [(folder / "seen").read_text().strip() for folder in folders[1:] if (folder / "seen").exists()]


WAITS = f"""echo '{STEP}' > $folder/trace/trace.jsonl
    for i in $(seq 300); do [ -e $(dirname $folder)/two/seen ] && break; sleep 0.1; done
    echo '{END}' >> $folder/trace/trace.jsonl"""


def test_runs_begin_beside_the_one_they_start_from_once_it_trains(program: Path, fake: Fake, tmp_path: Path) -> None:
    runs, seen = led(program, fake, tmp_path, WAITS)
    assert [run.outcome for run in runs] == ["trained"] * 3, [run.message for run in runs]
    assert seen == ["beside", "beside"]


def test_one_job_at_a_time_runs_the_first_to_its_end(program: Path, fake: Fake, tmp_path: Path) -> None:
    both = f"printf '%s\n' '{STEP}' '{END}' > $folder/trace/trace.jsonl"
    runs, seen = led(program, fake, tmp_path, both, jobs=1)
    assert [run.outcome for run in runs] == ["trained"] * 3, [run.message for run in runs]
    assert seen == ["after", "after"]


def test_a_run_that_fails_ends_those_that_start_from_it(program: Path, fake: Fake, tmp_path: Path) -> None:
    dies = f"echo '{STEP}' > $folder/trace/trace.jsonl; sleep 2; exit 3"
    began = time.monotonic()
    runs, _ = led(program, fake, tmp_path, dies, follower="sleep 50")
    assert time.monotonic() - began < 30
    assert [run.outcome for run in runs] == ["crashed"] * 3
    assert "exit code 3" in runs[0].message


def test_without_room_for_two_they_wait(
    program: Path, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available = iter((4 << 30, *[1 << 30] * 9))
    memory = type("Memory", (), {"available": property(lambda self: next(available)), "total": 1 << 34})
    monkeypatch.setattr(side_by_side.psutil, "virtual_memory", memory)
    takes_long = f"echo '{STEP}' > $folder/trace/trace.jsonl; sleep 2; echo '{END}' >> $folder/trace/trace.jsonl"
    runs, seen = led(program, fake, tmp_path, takes_long, jobs=3)
    assert [run.outcome for run in runs] == ["trained"] * 3, [run.message for run in runs]
    assert seen == ["after", "after"]


@pytest.mark.parametrize(
    ("free", "begin"),
    [
        ((99 * GIB, 90 * GIB), "beside"),
        ((99 * GIB, 60 * GIB), "after"),  # it may grow, and the next one too
    ],
)
def test_runs_on_one_card_go_beside_one_another_where_there_is_room(
    program: Path, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: tuple[int, int], begin: str
) -> None:
    told = iter(free)
    monkeypatch.setattr(side_by_side.devices, "visible", lambda: 1)
    monkeypatch.setattr(side_by_side.devices, "free_memory", lambda: next(told))
    takes_long = f"echo '{STEP}' > $folder/trace/trace.jsonl; sleep 2; echo '{END}' >> $folder/trace/trace.jsonl"
    runs, seen = led(program, fake, tmp_path, takes_long, jobs=3)
    assert [run.outcome for run in runs] == ["trained"] * 3, [run.message for run in runs]
    assert seen == [begin] * 2
