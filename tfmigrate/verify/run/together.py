"""What runs that go on at the same time use together: limits of memory, disk and processes hold for all of them.

Where cgroup v2 hands its memory and pids controllers down to a group that may be made here, the kernel limits memory
and processes as well: it ends the largest run as soon as memory is short, and refuses to start processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from tfmigrate.verify.run import cgroups
from tfmigrate.verify.run.world import Limits

Resource = Literal["disk", "memory", "processes"]
SUMMED: tuple[Resource, ...] = ("disk", "processes")


@dataclass(frozen=True)
class Use:
    """What a run has in use now."""

    disk: int
    memory: int
    """Resident bytes, pages that its processes share counted for each of them."""
    processes: int


class Together:
    """The runs within a `with`. Several threads may report and ask at a time."""

    def __init__(self, limits: Limits) -> None:
        self._allowed = {"disk": limits.disk_bytes, "memory": limits.memory_bytes, "processes": limits.processes}
        self._used: dict[object, Use] = {}
        self._exact: dict[object, int] = {}
        self._lock = threading.Lock()
        self._group = cgroups.make(cgroups.own(), limits.memory_bytes, limits.tasks)

    def __enter__(self) -> Together:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._group is not None:
            cgroups.remove(self._group)

    def group_for_run(self) -> Path | None:
        """A group of cgroup v2 that the first process of a run is to join, where there are such."""
        return None if self._group is None else cgroups.for_run(self._group)

    def report(self, run: object, use: Use, exact_memory: Callable[[], int]) -> Resource | None:
        """Takes down what a run uses. Answers the limit for which it has to end: all runs together are over it, and
        this one has the most. What it holds counts no longer then, so that no other is ended for it.

        `exact_memory`: its bytes when pages are shared out, which takes longer to find out.
        """
        with self._lock:
            self._used[run] = use
            for name in SUMMED:
                if self._total(name) > self._allowed[name] and getattr(use, name) >= self._most(name):
                    self._leave(run)
                    return name
            if self._total("memory") <= self._allowed["memory"]:
                self._exact.pop(run, None)
                return None
        mine = exact_memory()
        with self._lock:
            self._exact[run] = mine
            known = [self._exact[user] for user in self._used if user in self._exact]
            # Others find out at their next look; until then nobody is ended for what may be shared.
            over = len(known) == len(self._used) and sum(known) > self._allowed["memory"]
            if not over or mine < max(known):
                return None
            self._leave(run)
            return "memory"

    def forget(self, run: object) -> None:
        """It has ended."""
        with self._lock:
            self._leave(run)

    def _leave(self, run: object) -> None:
        self._used.pop(run, None)
        self._exact.pop(run, None)

    def beside(self, run: object) -> int:
        """How many others have reported."""
        with self._lock:
            return len(self._used.keys() - {run})

    def _total(self, name: Resource) -> int:
        return sum(int(getattr(use, name)) for use in self._used.values())

    def _most(self, name: Resource) -> int:
        return max(int(getattr(use, name)) for use in self._used.values())
