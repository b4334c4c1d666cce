"""One run of one script, as the line that a report has of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tfmigrate.verify.judge.contract import global_batch_size
from tfmigrate.verify.run.trace import Trace


@dataclass(frozen=True)
class RunSummary:
    """One run of one script. None stands for what the run did not tell."""

    role: str
    """"genuine", "genuine, other thread count", "restored on Keras 3", "migrated on Keras 2", ..."""
    runtime: str
    """"Python 3.7.16"."""
    tensorflow: str | None
    keras: str | None
    devices: tuple[str, ...]
    """What the replicas ran on, e.g. ("logical CPU: /device:CPU:0", ...)."""
    replicas: int | None
    global_batch_size: int | None
    steps: int
    samples_per_second: float | None
    """Inside training calls, the first step of each left out; of a script that trains nothing, inside all calls that
    predict but the first."""
    peak_memory_bytes: int | None
    """Resident memory of the process."""
    peak_gpu_memory_bytes: int | None
    """Of what the tensors took on all GPUs together; None without GPUs."""
    seconds: float
    """Wall time of the whole process."""
    outcome: str
    """"ok", or a description of the failure."""
    rows_predicted: int = 0
    """By a script that trains nothing."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of NumPy and of what the script's own files import, as far as they tell one."""
    sandbox: tuple[str, ...] | None = None
    """What kept it from what was not its own: ("namespaces", "Landlock")."""

    @property
    def speed(self) -> float | None:
        """Samples per second where each replica had a device of its own. Logical devices share one processor, so that
        theirs says nothing about the speed of the script."""
        return None if any(device.startswith("logical") for device in self.devices) else self.samples_per_second


def summarize(role: str, runtime: str, trace: Trace, seconds: float, outcome: str) -> RunSummary:
    """The line of the report for a run with this trace."""
    start, end = trace.start, trace.end
    return RunSummary(
        role,
        runtime,
        start.tensorflow if start else None,
        start.keras if start else None,
        tuple(f"{start.device_kind}: {device}" for device in start.devices) if start else (),
        max((model.replicas for model in trace.models), default=start.replicas if start else None),
        global_batch_size(trace),
        len(trace.steps),
        end.samples_per_second if end else None,
        end.peak_memory_bytes if end else None,
        end.peak_gpu_memory_bytes if end else None,
        seconds,
        outcome,
        sum(call.samples or 0 for call in trace.predictions),
        {**({"numpy": start.numpy} if start and start.numpy else {}), **(end.packages if end else {})},
        trace.confined,
    )
