"""Where the runs of a verification take place: on this machine, or on those of a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from tfmigrate.cli.extras import install_line
from tfmigrate.cli.output import say
from tfmigrate.errors import UserError
from tfmigrate.verify.judge.lab import Tell
from tfmigrate.verify.on.engine import Elsewhere, Engine
from tfmigrate.verify.run import devices, runtimes
from tfmigrate.verify.run.servers import Servers
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.world import Execute, Watch


@dataclass(frozen=True)
class Place:
    """What does the runs, and how many verifications it is worth beginning at a time."""

    execute: Execute
    watched: Callable[[Watch], Execute]
    """The same, which tells each step; nobody sees those of runs elsewhere."""
    jobs: int | None = None
    """Runs at a time, where another number than usual is right."""
    verifications: int = 1
    elsewhere: Elsewhere | None = None
    tell: Tell = say
    quiet: bool = False
    """No losses are shown as they come."""


@contextmanager
def place(on: str | None, seconds: float) -> Iterator[Place]:
    """`on`: "ray", "ray://HOST:PORT", "slurm" or "local"; None for this machine, each run forked from a process that
    has imported TensorFlow. `seconds`: the limit of a run. Raises UserError."""
    if on is None:
        with Servers() as servers:
            here = partial(run_all, launch=servers.launch)
            yield Place(here, lambda watch: partial(here, watch=watch))
        return
    try:
        engine = _engine(on, seconds)
    except ModuleNotFoundError as error:
        raise UserError(f"--on {on} needs {error.name}: {install_line('cluster')}") from None
    try:
        elsewhere = Elsewhere(engine)
        yield Place(elsewhere, lambda watch: elsewhere, engine.at_once, max(1, engine.at_once // 4), elsewhere)
    finally:
        engine.close()


def _engine(on: str, seconds: float) -> Engine:
    if match := re.fullmatch(r"ray(?:://(\S+))?", on):
        from tfmigrate.verify.on.on_ray import OnRay

        return OnRay(match[1])
    if on in ("slurm", "local"):
        from tfmigrate.verify.on.on_slurm import OnSlurm, has_gpus

        cluster: Literal["slurm", "local"] = "slurm" if on == "slurm" else "local"
        return OnSlurm(jobs_folder(), cluster, seconds, has_gpus() if on == "slurm" else bool(devices.gpus()))
    raise UserError(f"--on {on!r}: give ray, ray://HOST:PORT, slurm or local")


def jobs_folder() -> Path:
    """Where submitit puts jobs; all machines must see it, as they do a home folder."""
    return runtimes.home().parent / "jobs"
