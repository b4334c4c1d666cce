"""Runs as jobs of Slurm, through submitit; without Slurm as processes here, which shows that a set-up works.

What a site asks of its jobs (partition, account) is read by sbatch from the variables it knows (SBATCH_PARTITION).
"""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tfmigrate.errors import UserError
from tfmigrate.verify.on import job
from tfmigrate.verify.on.engine import Lost
from tfmigrate.verify.run.side_by_side import usual_jobs
from tfmigrate.verify.run.world import World

POLL_SECONDS = 0.1
IN_QUEUE = 64
"""Jobs of one verification that wait in Slurm's queue at a time; processes on this machine begin at once instead."""
LOG_LEVEL = "SUBMITIT_LOG_LEVEL"
SINFO_SECONDS = 60
MARGIN_MINUTES = 10
"""Beyond the run's own limit: to unpack it, and to find or make its interpreter."""


def import_submitit() -> Any:
    """The module, without its set-up of logging: that closes what other modules (absl) log to, which may be stderr
    (submitit 1.5.4, measured)."""
    level = os.environ.get(LOG_LEVEL)
    os.environ[LOG_LEVEL] = "NOCONFIG"
    try:
        import submitit
    finally:
        os.environ.pop(LOG_LEVEL)
        if level is not None:
            os.environ[LOG_LEVEL] = level
    return submitit


def has_gpus() -> bool:
    """Whether the machines of SBATCH_PARTITION, else of the default partition, have GPUs. The machine that jobs are
    sent from often has none."""
    partition = os.environ.get("SBATCH_PARTITION")
    command = ["sinfo", "--noheader", "--format=%P %G", *([f"--partition={partition}"] if partition else [])]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=SINFO_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    lines = [line.split() for line in listed.splitlines()]
    return any("gpu" in line[-1] for line in lines if partition or line[0].endswith("*"))


@dataclass(frozen=True)
class SlurmTask:
    job: Any
    lost: type[Exception]

    def result(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while not self.job.done():
            if time.monotonic() > deadline:
                return None
            time.sleep(POLL_SECONDS)
        try:
            answer: bytes = self.job.result()
        except self.lost as error:
            raise Lost(" ".join(str(error).split())[:200]) from None
        paths = self.job.paths
        for path in (paths.submitted_pickle, paths.result_pickle, paths.submission_file, paths.stdout, paths.stderr):
            path.unlink(missing_ok=True)  # submitit keeps all that was sent, and all that came back
        return answer

    def cancel(self) -> None:
        self.job.cancel(check=False)


class OnSlurm:
    """`folder` is one that all machines share: jobs and what they answer lie there. Raises ModuleNotFoundError where
    submitit is not installed, and UserError where Slurm is not."""

    def __init__(self, folder: Path, cluster: Literal["slurm", "local"], seconds: float, gpus: bool) -> None:
        submitit = import_submitit()
        try:
            self.executor = submitit.AutoExecutor(folder, cluster=cluster)
        except RuntimeError as error:
            raise UserError(f"--on {cluster}: {error}") from None
        self.lost = submitit.core.utils.UncompletedJobError
        self.minutes = int(seconds // 60) + MARGIN_MINUTES
        self.gpus = gpus
        self.at_once = usual_jobs() if cluster == "local" else IN_QUEUE

    def submit(self, packed: bytes, world: World) -> SlurmTask:
        on_gpus = self.gpus and world.kind != "genuine"
        self.executor.update_parameters(
            name="tfmigrate",
            timeout_min=self.minutes,
            cpus_per_task=1 if on_gpus else world.replicas,
            gpus_per_node=world.replicas if on_gpus else 0,
        )
        return SlurmTask(self.executor.submit(job.do, packed), self.lost)

    def close(self) -> None:
        """Each job was waited for, or cancelled."""
