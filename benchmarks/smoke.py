"""How long `tfmigrate verify --smoke` takes on each program in fixtures/: `python benchmarks/smoke.py [NAME ...]`.

One program after the other, as a user starts it: seconds by the clock from the command to its end, and seconds of all
processors, the more so as a busy machine changes only the first. The slowest come first.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
GOAL = 15.0
"""Seconds by the clock on an idle machine."""


@dataclass(frozen=True)
class Program:
    name: str
    script: str
    options: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        places = [str(FIXTURES / self.name / side / self.script) for side in ("before", "after")]
        return ["verify", "--smoke", "--format", "json", *places, *self.options]


def programs() -> list[Program]:
    """Those with a description, and those of Estimators, which have one script."""
    found = []
    for folder in sorted(path.parent for path in FIXTURES.glob("*/before")):
        described = folder / "fixture.toml"
        if described.exists():
            facts = tomllib.loads(described.read_text(encoding="utf-8"))
            found.append(Program(folder.name, facts["script"], (f"--args={shlex.join(facts['args'])}",)))
        else:
            found.append(Program(folder.name, "train.py", ("--replicas", "2")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time verify --smoke on every program in fixtures/.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args()
    rows = []
    for program in programs():
        if chosen.names and program.name not in chosen.names:
            continue
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "tfmigrate", *program.command], cwd=folder, capture_output=True, text=True
            )
        clock = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        try:
            verdict = json.loads(done.stdout)["headline"]
        except ValueError:
            verdict = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        rows.append((clock, processor, os.getloadavg()[0], program.name, verdict))
        print(f"{clock:6.1f} {processor:6.1f}  {program.name}: {verdict}", file=sys.stderr, flush=True)
    print("| program | seconds | processor seconds | load | verdict |\n|---|---|---|---|---|")
    for clock, processor, load, name, verdict in sorted(rows, reverse=True):
        print(f"| {name} | {clock:.1f} | {processor:.1f} | {load:.1f} | {verdict} |")
    slow = [row for row in rows if row[0] > GOAL]
    print(f"\n{len(slow)} of {len(rows)} take more than {GOAL:g} s.")


if __name__ == "__main__":
    main()
