"""The GPUs of this machine, without loading TensorFlow."""

from __future__ import annotations

import os
import subprocess


def visible() -> int:
    """How many GPUs a run may use."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return len(gpus())
    named = sum(name.strip() not in ("", "-1") for name in allowed.split(","))
    return min(named, len(gpus())) if named else 0


def free_memory() -> int:
    """Bytes that the first GPU that a run may use has free; 0 where there is none."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    told = _ask("memory.free", "--format=csv,noheader,nounits", f"--id={first}")
    return int(told[0]) << 20 if told and told[0].isdigit() else 0


def gpus() -> tuple[str, ...]:
    """Names of the GPUs, by NVIDIA's own tool; none where it is missing or finds none."""
    return _ask("name,memory.total", "--format=csv,noheader")


def _ask(what: str, *options: str) -> tuple[str, ...]:
    """A line for each GPU."""
    command = ["nvidia-smi", f"--query-gpu={what}", *options]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in answer.splitlines() if line.strip())
