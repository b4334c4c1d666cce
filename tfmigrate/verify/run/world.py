"""A world: a script and where it runs, what it may use there, and what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import psutil

from tfmigrate.old_keras import LAST_WITH_MULTI_GPU_MODEL
from tfmigrate.verify.run import cgroups, disk
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.sandbox import Asked
from tfmigrate.verify.run.trace import Trace

Kind = Literal["genuine", "restored", "migrated"]
Outcome = Literal[
    "trained", "predicted", "crashed", "timed out", "stood still", "over a limit", "trained nothing", "missing runtime"
]
Watch = Callable[[str, float], None]
"""Told each step that a run takes: the run's role, and the loss."""
SEED = 20200401
THREADS_A_PROCESSOR = 64


@dataclass(frozen=True)
class Limits:
    """What a run may use. `epochs` and `steps_per_epoch` shorten the training itself; None leaves it as written."""

    seconds: float = 900.0
    still_seconds: float = 120.0
    """A run that uses next to no processor time for so long is ended, unless it may be waiting for another run."""
    disk_bytes: int = field(default_factory=disk.half_of_free)
    """Written to scratch folders by all runs that go on at a time; no single file may be larger."""
    output_bytes: int = 512 << 10
    """Of stdout and of stderr so much is kept, half from the start and half from the end."""
    memory_bytes: int = field(default_factory=lambda: cgroups.memory_of(psutil.virtual_memory().total) * 4 // 5)
    """Resident, of all processes of all runs that go on at a time."""
    processes: int = 512
    """Of all runs that go on at a time."""
    sandbox: Asked = "auto"
    largest_copied_file: int = 1 << 30
    epochs: int | None = None
    steps_per_epoch: int | None = None
    samples: int | None = None
    """Of each training call's data so many samples an epoch at most, in whole batches."""
    budget: int | None = None
    """Training steps of the whole run: whole epochs while they fit, else the first steps; then the script is ended."""
    patience: float | None = None
    """Seconds of training after the first step: a run that takes longer is ended after a few steps."""
    exactly: int | None = None
    """Steps after which a run is ended, even in the middle of a training call."""
    gradient: bool = True
    """Record the gradient of the first step."""

    @property
    def tasks(self) -> int:
        """Processes and threads, which is what the kernel counts: TensorFlow starts some for each processor."""
        return self.processes + THREADS_A_PROCESSOR * (os.cpu_count() or 1)


@dataclass(frozen=True)
class World:
    """A script and where it runs. `role` names it in the report; `kind` says what the probe makes of the world."""

    role: str
    kind: Kind
    runtime: Runtime
    source: Path
    """The program's folder; copied whole."""
    script: str
    """Relative to `source`."""
    args: tuple[str, ...] = ()
    replicas: int = 4
    legacy_keras: bool = False
    """Keras 2 (tf_keras) in the place of Keras 3."""
    synthetic_data: bool = False
    threads: int | None = None
    aligned: bool = True
    """What is random is neutralised, so that runs can be compared step by step; else all of it follows from `seed`."""
    seed: int = SEED
    shares_evenly: bool = False
    """An old script's batch that does not divide is shared among the replicas as MirroredStrategy shares it."""
    old_optimizers: bool = False
    """Restored on Keras 2: its optimizers are those of TensorFlow 2.10, whose arithmetic is that of 1.15 and 2.3."""
    whole_batches: bool = False
    """Restored: multi_gpu_model does not cut the batch, as train_on_batch of Keras 3 under a strategy does not."""
    nudged: bool = False
    """It starts from the other run's weights moved by one unit in their last place, which shows what rounding does."""
    doubles: bool = False
    """Computed in float64 where the script says nothing else."""
    deterministic: bool = True
    """Operations that have no deterministic form on GPUs raise an error, and the others take theirs."""
    standalone: bool = False
    """The script trains with standalone Keras, whose defaults were not tf.keras's."""
    defaults_of: tuple[int, ...] = LAST_WITH_MULTI_GPU_MODEL
    """Restored: its layers have the defaults of this version, of keras where `standalone`, else of tensorflow."""
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    """Processes that train together over loopback, each told by TF_CONFIG which it is; the replicas are shared out."""
    overlay: Mapping[str, str] = field(default_factory=dict)
    """Files written into the copy, relative path to text: a wrong migration to be detected, say."""
    start: str = ""
    """The folder in which it is started, relative to `source`."""
    module: str = ""
    """Run as `python -m MODULE` from `start`, and not as a file."""
    setup: Path | None = None
    """A Python file that is run in the start folder before the script, in a process of its own: it makes stand-in
    data."""
    stubs: Mapping[str, Path] = field(default_factory=dict)
    """Files and folders that stand in for modules, by the module's name."""
    packages: Path | None = None
    """A folder of packages that the runtime lacks, put last on the path."""

    @property
    def flavour(self) -> str:
        """ "keras" or "tf.keras"."""
        return "keras" if self.standalone else "tf.keras"

    @property
    def home(self) -> Path:
        """Where the script's absolute imports begin."""
        return self.source / self.start if self.module else (self.source / self.script).parent


@dataclass(frozen=True)
class Run:
    """What became of a world. `message` is for the user: empty when the script ran to its end and trained, or predicted
    where it trains nothing."""

    world: World
    trace: Trace
    outcome: Outcome
    exit_code: int | None
    stdout_path: Path
    stderr_path: Path
    seconds: float
    message: str
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files that the script made or changed in its copy of the program, by relative path."""
    workers: tuple[Run, ...] = ()
    """Of several workers, each one's own run, the chief's first; `trace` is then that of all together."""
    machine: str | None = None
    """Where it took place, if not here."""
    lost: tuple[str, ...] = ()
    """Why it was done again: how each machine that had it before was lost."""

    @property
    def ok(self) -> bool:
        return self.outcome in ("trained", "predicted")

    @property
    def error(self) -> str:
        """What it died of, as the probe saw it where it did."""
        return self.trace.error or self.message


Done = Callable[[Run], None]
"""Told each run that is over, in the thread that ran it."""
Initial = Trace | World | None
"""Whose initial weights a run starts from: a finished run's, by its trace, or a world's that runs in the same call."""


class Execute(Protocol):
    """What `run_all` does; another one may remember what it ran before."""

    def __call__(
        self,
        worlds: Sequence[tuple[World, Initial]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        /,
        *,
        done: Done | None = None,
    ) -> list[Run]: ...
