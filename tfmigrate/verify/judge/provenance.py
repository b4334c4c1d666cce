"""Where a report comes from: enough for someone else to make the same one, or to see why theirs is another."""

from __future__ import annotations

import difflib
import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import psutil

from tfmigrate.verify.judge.plan import Plan
from tfmigrate.verify.run import devices
from tfmigrate.verify.run.program import program_of

LONGEST_DIFF = 4000
"""Lines; the diff of an entirely different program tells nothing."""

LONGEST_LINE = 1000
"""Characters; data may stand in a script as one line."""


@dataclass(frozen=True)
class Machine:
    system: str
    """"Linux-6.1.0-x86_64", as Python names it."""
    cores: int
    """Logical ones."""
    memory_bytes: int
    gpus: tuple[str, ...]
    """Names and memory, as NVIDIA's tool has them."""


@dataclass(frozen=True)
class Provenance:
    version: str
    """Of tfmigrate; empty when it was called as a library."""
    date: str
    """When it began, ISO 8601, UTC."""
    machine: Machine
    command: tuple[str, ...]
    """Words of the command line, without the values that --env sets; empty when it was called as a library."""
    limits: Mapping[str, Any]
    """Of each run (see Limits), in seconds and bytes; `time_limit` is that of the whole verification, None for none."""
    old: Mapping[str, str]
    """SHA-256 of the script, which comes first, and of each module of its program that it imports, by path."""
    new: Mapping[str, str]
    diff: str
    """Of the same files, unified; cut after LONGEST_DIFF lines."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of(plan: Plan) -> Provenance:
    """Reads both programs, and asks the machine what it has."""
    o = plan.options
    before, after = (program_of(*plan.place_of(script)) for script in (o.old, o.new))
    return Provenance(
        version=o.version,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=Machine(
            platform.platform(), os.cpu_count() or 1, int(psutil.virtual_memory().total), tuple(devices.gpus())
        ),
        command=o.command,
        limits={**asdict(plan.limits), "time_limit": o.time_limit, "depth": o.depth},
        old={path: hashlib.sha256(source).hexdigest() for path, source in before.items()},
        new={path: hashlib.sha256(source).hexdigest() for path, source in after.items()},
        diff="\n".join(_diff(before, after)),
    )


def _diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """The scripts, whatever their names, come first; other files go by their paths."""
    scripts = next(iter(before)), next(iter(after))
    others = sorted((before.keys() | after.keys()) - set(scripts))
    count = 0
    for a, b in [scripts, *((path, path) for path in others)]:
        old, new = (part.get(path, b"").decode("utf-8", "replace") for part, path in ((before, a), (after, b)))
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), f"old/{a}", f"new/{b}", lineterm=""):
            if count == LONGEST_DIFF:
                yield f"[only the first {LONGEST_DIFF:,} lines are shown]"
                return
            count += 1
            yield line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} [...]"
