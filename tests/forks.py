"""Programs of the tests' own, run as `python PROGRAM ARGS` in a fork that has imported TensorFlow."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tfmigrate.verify.run.launch import Command, Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.scratch import environment
from tfmigrate.verify.run.world import World

Done = subprocess.CompletedProcess[str]
Python = Callable[..., Done]


def run(
    launch: Launch,
    runtime: Runtime,
    program: str | Path,
    args: tuple[str, ...],
    folder: Path,
    keras: int = 3,
    variables: Mapping[str, str] | None = None,
    seconds: float = 600,
) -> Done:
    """`program`: a path or a text. It runs in `folder`, which is empty, and sees no GPU. Its variables are those of a
    run of verify, so that both are forked from one server, and `variables`."""
    if isinstance(program, str):
        path = folder / "program.py"
        path.write_text(program, encoding="utf-8")
    else:
        path = program
    world = World("test", "migrated", runtime, folder, path.name, legacy_keras=keras == 2)
    env = {**environment(world, folder), "CUDA_VISIBLE_DEVICES": "-1", **(variables or {})}
    process = launch(Command(runtime.python, path.resolve(), args, folder, env))
    late = threading.Timer(seconds, lambda: os.killpg(process.pid, signal.SIGKILL))
    late.start()
    try:
        with ThreadPoolExecutor(2) as pool:
            assert process.stdout is not None
            assert process.stderr is not None
            out, error = pool.map(lambda pipe: pipe.read().decode(), (process.stdout, process.stderr))
        code = process.wait()
    finally:
        late.cancel()
    return Done([str(path), *args], code, out, error)
