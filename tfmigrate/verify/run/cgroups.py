"""Groups of cgroup v2 (cgroups(7)), by which the kernel limits the memory and the processes of runs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

CONTROLLERS = frozenset(["memory", "pids"])
REMOVAL_SECONDS = 2.0


def for_run(group: Path) -> Path | None:
    """A group within `group` for one run, all of which the kernel ends when it ends one process for its memory."""
    child = group / uuid.uuid4().hex
    try:
        child.mkdir()
        (child / "memory.oom.group").write_text("1")
    except OSError:
        return None
    return child


def remove(group: Path) -> None:
    """Waits a little for the last processes to be gone."""
    deadline = time.monotonic() + REMOVAL_SECONDS
    while time.monotonic() < deadline:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def ran_out_of_memory(group: Path) -> bool:
    """Whether the kernel ended the run in this group for its memory."""
    with suppress(OSError, ValueError):
        events = dict(line.split() for line in (group / "memory.events").read_text().splitlines())
        return int(events.get("oom_group_kill", events.get("oom_kill", 0))) > 0
    return False


def own(cgroups: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")) -> tuple[Path, ...]:
    """The cgroup v2 folder of this process and those above it, the nearest first."""
    with suppress(OSError, StopIteration):
        path = next(line[3:] for line in cgroups.read_text().splitlines() if line.startswith("0::"))
        fields = (line.split() for line in mounts.read_text().splitlines())
        root = next(Path(field[4]) for field in fields if field[field.index("-") + 1] == "cgroup2")
        own = root / path.lstrip("/")
        return (own, *(above for above in own.parents if above.is_relative_to(root)))
    return ()


def make(groups: Iterable[Path], memory: int, tasks: int) -> Path | None:
    """A group beneath the nearest of `groups` that lets us make one whose memory and processes can be limited."""
    for above in groups:
        with suppress(OSError):
            if not CONTROLLERS.issubset((above / "cgroup.subtree_control").read_text().split()):
                continue
            (above / "cgroup.procs").open("a").close()  # a process can move to another group where this is allowed
            group = above / f"tfmigrate-{uuid.uuid4().hex}"
            group.mkdir()
            try:
                (group / "memory.max").write_text(str(memory))
                (group / "pids.max").write_text(str(tasks))
                (group / "cgroup.subtree_control").write_text("+memory")
            except OSError:
                group.rmdir()
                raise
            return group
    return None


def memory_of(total: int) -> int:
    """Bytes that this process and its like may take, where a group sets less than the machine has."""
    limits = [total]
    for group in own():
        with suppress(OSError, ValueError):  # "max", or the root, which has no limit
            limits.append(int((group / "memory.max").read_text()))
    return min(limits)
