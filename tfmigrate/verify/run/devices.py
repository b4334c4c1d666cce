"""The GPUs of this machine, without loading TensorFlow."""

from __future__ import annotations

import os
import subprocess


def shared() -> bool:
    """Whether runs that go on at once would share a GPU. TensorFlow takes the whole memory of each that it sees."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "all") not in ("", "-1") and bool(gpus())


def gpus() -> tuple[str, ...]:
    """Names of the GPUs, by NVIDIA's own tool; none where it is missing or finds none."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in answer.splitlines() if line.strip())
