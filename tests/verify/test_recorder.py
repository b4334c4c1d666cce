"""A run may wait for what another one, still under way, writes."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tfmigrate.verify.probe.devices import Machine
from tfmigrate.verify.probe.recorder import Recorder, peak_gpu_memory


@pytest.fixture
def theirs(tmp_path: Path) -> Recorder:
    return Recorder({"output": str(tmp_path / "theirs")})


@pytest.fixture
def ours(tmp_path: Path, theirs: Recorder) -> Recorder:
    return Recorder({"output": str(tmp_path / "ours"), "initial_weights": theirs.lines.folder})


def test_arrays_are_waited_for_while_the_other_run_goes_on(theirs: Recorder, ours: Recorder) -> None:
    (Path(theirs.lines.folder) / "running").touch()
    late = threading.Timer(0.3, theirs.lines.save, ("model-1-initial.npz", [np.arange(3.0), np.eye(2)]))
    late.start()
    began = time.monotonic()
    found = ours.starts.theirs("model-1-initial.npz")
    late.join()
    assert time.monotonic() - began >= 0.2
    assert [array.tolist() for array in found] == [[0.0, 1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]]


@pytest.mark.parametrize(
    ("limits", "taken", "ends"),
    [
        ({"steps_per_epoch": 4}, [4, 3], False),
        ({"steps_per_epoch": 4}, [8, 4], True),
        ({"steps_per_epoch": 4}, [80, 1], True),
        ({"steps_per_epoch": 4, "epochs": 3}, [8, 8], False),
        ({"steps_per_epoch": 4, "epochs": 3}, [12, 12], True),
        ({"epochs": 1}, [1000], False),
        ({"steps_per_epoch": 4}, [], False),
    ],
)
def test_a_loop_of_train_on_batch_ends_where_the_limits_say(
    tmp_path: Path, limits: dict[str, int], taken: list[int], ends: bool
) -> None:
    recorder = Recorder({"output": str(tmp_path / "trace"), **limits})
    recorder.batch_calls = {number: SimpleNamespace(step=steps) for number, steps in enumerate(taken)}
    if not ends:
        recorder.budget.end_of_batches(recorder.calls, recorder.batch_calls.values())
        return
    with pytest.raises(SystemExit) as leaving:
        recorder.budget.end_of_batches(recorder.calls, recorder.batch_calls.values())
    assert leaving.value.code == 0
    assert "as --steps asks" in (tmp_path / "trace" / "trace.jsonl").read_text()


def test_arrays_that_an_ended_run_never_wrote_are_not_there(theirs: Recorder, ours: Recorder) -> None:
    assert ours.starts.theirs("model-7-initial.npz") is None
    running = Path(theirs.lines.folder) / "running"
    running.touch()
    threading.Timer(0.2, running.unlink).start()
    assert ours.starts.theirs("model-7-initial.npz") is None


def test_without_another_run_there_is_nothing_to_wait_for(theirs: Recorder) -> None:
    assert theirs.starts.theirs("model-0-initial.npz") is None


def test_what_the_tensors_took_on_all_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = {"GPU:0": {"current": 1, "peak": 300}, "GPU:1": {"current": 2, "peak": 40}}
    experimental = SimpleNamespace(get_memory_info=peaks.__getitem__)
    tensorflow = SimpleNamespace(config=SimpleNamespace(experimental=experimental))
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    assert peak_gpu_memory(Machine("logical GPU", ("/gpu:0", "/gpu:1"), 2)) == 340
    assert peak_gpu_memory(Machine("physical GPU", ("/gpu:1",), 1)) == 40
    assert peak_gpu_memory(Machine("logical CPU", ("/cpu:0", "/cpu:1"), 2)) is None
    assert peak_gpu_memory(None) is None, "the run died before it had devices"
