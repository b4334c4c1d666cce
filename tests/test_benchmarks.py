"""The programs of the benchmarks start; what they measure is for docs/throughput.md."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.run.runtimes import KERAS_2

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_old_program_runs_restored_without_the_probe(keras: int, runtime_for: RuntimeFor) -> None:
    program = ROOT / "benchmarks" / "programs" / "mlp" / "before.py"
    command = [runtime_for(f"keras {keras}").python, ROOT / "benchmarks" / "bare.py", "restored", program, "2"]
    settings = {"CUDA_VISIBLE_DEVICES": "-1", **({KERAS_2: "1"} if keras == 2 else {})}
    done = subprocess.run(list(map(str, command)), env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "samples per second: " in done.stdout
