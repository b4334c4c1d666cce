#!/usr/bin/env python
"""Is verify to be trusted? Runs it on every right pair and on every wrong one that controls.py can make of them.

    python tools/trust.py [--results FOLDER] [--minutes N] [--repetitions N] [PROGRAM ...]

A cell is one verification of a program in fixtures/: the right pair, `--repetitions` times over, and one pair for each
mistake that applies to it. Printed last: false alarms (a right pair not EQUIVALENT), misses (a wrong one not
DIFFERENT), wrong causes, and mistakes that change nothing, with the proof: the wrong program's run equals the right
one's to the last bit.

Runs are remembered in FOLDER (build/trust), each under a hash of the program, the probe and all that it was started
with, so that an interrupted matrix goes on where it stood and a changed judge judges anew without running. A mistake
is judged on Keras 3, against the first repetition's old runs; its run is that repetition's control.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tfmigrate.verify.judge import controls
from tfmigrate.verify.judge.compare import same_run
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import CONTROL, INTERRUPTED, Report
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.experiment import PROBE
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.servers import Servers
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Done, Execute, Limits, Run, World

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
KERASES: tuple[Literal[2, 3], ...] = (3, 2)
GENUINE = {"tf1.15": "genuine keras", "tf2.3": "genuine tf.keras"}
ESTIMATOR = "genuine estimator"


class Agreed(Exception):
    """Every pair of runs agreed, so that verify asked for its controls; nothing more is to be learned."""


class Memory:
    """Runs what it has not run before. `repetition` is a part of what a run is, but for controls."""

    def __init__(self, folder: Path, execute: Execute) -> None:
        self.folder, self.execute = folder, execute
        self.repetition = 1
        self.wrong = False
        self.controls = True
        self.ran = 0
        self.keys: dict[str, str] = {}
        """By the trace's folder."""
        self.seen: dict[str, Run] = {}
        """By role, of the verification under way."""

    def __call__(
        self,
        worlds: Sequence[tuple[World, Trace | None]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        if not self.controls and any(world.role.startswith(CONTROL) for world, _ in worlds):
            raise Agreed
        places = [self.folder / self.key(world, limits, initial) for world, initial in worlds]
        missing = [i for i, place in enumerate(places) if not (place / "run.pickle").exists()]
        for i in missing:
            shutil.rmtree(places[i], ignore_errors=True)
        self.ran += len(missing)
        for run, i in zip(
            self.execute([worlds[i] for i in missing], limits, [places[i] for i in missing], os.cpu_count()), missing
        ):
            (places[i] / "run.pickle").write_bytes(pickle.dumps(run))
        runs = []
        for (world, _), place in zip(worlds, places):
            run = pickle.loads((place / "run.pickle").read_bytes())
            run = replace(run, world=world, message=run.message.replace(run.world.role, world.role))
            self.keys[str(run.trace.folder)] = place.name
            self.seen[world.role] = run
            runs.append(run)
            if done is not None:
                done(run)
        return runs

    def key(self, world: World, limits: Limits, initial: Trace | None) -> str:
        facts = asdict(world)
        del facts["role"], facts["overlay"]
        facts["source"] = tree_hash(world.source, world.overlay)
        facts["runtime"] = str(world.runtime.python)
        facts["limits"] = asdict(limits)
        facts["initial"] = self.keys.get(str(initial.folder)) if initial else None
        facts["probe"] = tree_hash(PROBE.parent, {})
        once = world.role.startswith(CONTROL) or self.wrong
        facts["repetition"] = 1 if once else self.repetition
        return hashlib.sha1(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:20]


def tree_hash(folder: Path, overlay: Any) -> str:
    digest = hashlib.sha1()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in name:
            text = overlay.get(name)
            digest.update(name.encode() + b"\0" + (path.read_bytes() if text is None else text.encode()) + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True)
class Program:
    """A runnable fixture."""

    name: str
    script: str
    args: tuple[str, ...]
    gpus: int
    genuine: str

    @property
    def old(self) -> Path:
        return ROOT / "fixtures" / self.name / "before" / self.script

    @property
    def new(self) -> Path:
        return ROOT / "fixtures" / self.name / "after" / self.script


def programs(names: Sequence[str]) -> list[Program]:
    found = []
    for file in sorted((ROOT / "fixtures").glob("*/fixture.toml")):
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
        if facts.get("genuine") and (not names or file.parent.name in names):
            found.append(
                Program(
                    file.parent.name, facts["script"], tuple(facts["args"]), facts["gpus"], GENUINE[facts["genuine"][0]]
                )
            )
    for folder in sorted((ROOT / "fixtures").glob("estimator_*")):
        if not names or folder.name in names:
            found.append(Program(folder.name, "train.py", (), 2, ESTIMATOR))
    return found


@dataclass(frozen=True)
class Cell:
    """One verification and what came of it. `expected` is empty for a right pair."""

    program: str
    mutation: str
    repetition: int
    expected: tuple[str, ...]
    verdict: str
    kind: str
    """The cause in a word, of the pair that explains the verdict."""
    reason: str
    size: float | None
    nothing: bool
    """The wrong run is the right one to the last bit."""

    @property
    def fault(self) -> str:
        if not self.expected:
            return "" if self.verdict == "EQUIVALENT" else "false alarm"
        if self.verdict not in ("DIFFERENT", "DOES NOT RUN"):
            return "changes nothing" if self.nothing else "missed"
        return "" if self.kind in self.expected else "wrong cause"


class Matrix:
    """Every cell, in an order in which what matters most comes first."""

    def __init__(self, folder: Path, legacy: dict[str, Path], execute: Execute) -> None:
        self.memory = Memory(folder / "runs", execute)
        self.legacy = legacy

    def options(self, program: Program, new: Path, kerases: tuple[Literal[2, 3], ...] = KERASES) -> VerifyOptions:
        return VerifyOptions(
            program.old,
            new,
            args=program.args,
            old_python=self.legacy.get(program.genuine),
            new_python=Path(sys.executable),
            replicas=program.gpus,
            seconds=600,
            epochs=1,
            kerases=kerases,
            jobs=1,  # a run that is remembered has its initial weights from a finished one
        )

    def right(self, program: Program, repetition: int) -> Cell:
        self.memory.repetition, self.memory.wrong, self.memory.controls = repetition, False, repetition == 1
        self.memory.seen = {}
        try:
            report = verify(self.options(program, program.new), execute=self.memory)
        except Agreed:
            report = Report("EQUIVALENT", "the runs agree; controls are the first repetition's", "")
        return cell(program, "", repetition, (), report, False)

    def wrong(self, program: Program) -> Iterator[Cell]:
        """The right pair's first repetition must have been run."""
        folder = program.new.parent
        files = program_of(folder, program.script)
        self.right(program, 1)
        right = dict(self.memory.seen)
        restored = right.get("restored on Keras 3")
        # Where the old script cannot be restored on Keras 3, what it validates is judged by Keras 2.
        kerases = KERASES if restored is not None and not restored.ok else KERASES[:1]
        predicts = any(run.trace.predictions for run in right.values())
        chosen = controls.controls_of(predicts=predicts, estimators=program.genuine == ESTIMATOR)
        made = controls.mutants(files, program.script, program.gpus, 3, chosen)
        for mutant in made:
            self.memory.repetition, self.memory.wrong, self.memory.controls = 1, True, False
            self.memory.seen = {}
            with tempfile.TemporaryDirectory(prefix="trust-") as scratch:
                copy = Path(scratch) / "program"
                shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
                for path, text in mutant.files.items():
                    (copy / path).write_text(text, encoding="utf-8")
                try:
                    options = self.options(program, copy / program.script, kerases)
                    report = verify(options, execute=self.memory)
                except Agreed:
                    report = Report("EQUIVALENT", "the runs agree", "")
            new = {role: run for role, run in self.memory.seen.items() if run.world.kind == "migrated"}
            nothing = all(same_run(right[role].trace, run.trace) for role, run in new.items())
            yield cell(program, mutant.mutation, 1, tuple(sorted(mutant.expected)), report, nothing)


def cell(
    program: Program, mutation: str, repetition: int, expected: tuple[str, ...], report: Report, nothing: bool
) -> Cell:
    if report.state == "interrupted":
        raise KeyboardInterrupt  # what was cut short says nothing about verify
    shown = report.shown
    kind = shown.divergence.kind if shown and shown.divergence else ""
    size = report.max_relative_difference
    return Cell(program.name, mutation, repetition, expected, report.verdict, kind, report.reason, size, nothing)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs verify on right pairs and on wrong ones.")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "trust")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no cell after this")
    options = parser.parse_args()
    found = runtimes.discover()
    kinds = (*GENUINE.values(), ESTIMATOR)
    legacy = {kind: r.python for kind in kinds if (r := oldest(found, kind)) is not None}
    chosen = programs(options.programs)
    cells: list[Cell] = []
    started = time.monotonic()

    def late() -> bool:
        return bool(time.monotonic() - started > 60 * options.minutes)

    interrupted = False
    with Servers() as servers:
        matrix = Matrix(options.results, legacy, partial(run_all, launch=servers.launch))
        try:
            for repetition in range(1, options.repetitions + 1):
                for program in chosen:
                    if not late():
                        cells.append(told(matrix.right(program, repetition), started))
                for program in chosen if repetition == 1 else ():
                    if not late():
                        cells.extend(told(one, started) for one in matrix.wrong(program))
        except KeyboardInterrupt:
            interrupted = True
    (options.results / "cells.jsonl").write_text("".join(json.dumps(asdict(one)) + "\n" for one in cells))
    faults = summary(cells)
    minutes = (time.monotonic() - started) / 60
    print(f"{matrix.memory.ran} runs, {minutes:.1f} minutes{', cut short' if late() or interrupted else ''}")
    return INTERRUPTED if interrupted else 1 if faults else 0


def oldest(found: Sequence[runtimes.Runtime], kind: str) -> runtimes.Runtime | None:
    fitting = [r for r in found if kind in r.kinds]
    pick = max if kind == "genuine tf.keras" else min
    return pick(fitting, key=lambda r: r.tensorflow_version, default=None)


def told(one: Cell, started: float) -> Cell:
    what = one.mutation or f"right, repetition {one.repetition}"
    fault = f"  <-- {one.fault.upper()}: {one.reason}" if one.fault else ""
    print(f"{time.monotonic() - started:6.0f} s  {one.program}: {what}: {one.verdict} {one.kind}{fault}", flush=True)
    return one


def summary(cells: Sequence[Cell]) -> int:
    """Prints what counts; returns how many cells are wrong."""
    right = [one for one in cells if not one.expected]
    wrong = [one for one in cells if one.expected]
    kinds, names = {one.mutation.split(" x")[0].split(" /")[0] for one in wrong}, {one.program for one in cells}
    count = Counter(one.fault for one in cells)
    print(f"\n{len(right)} right pairs of {len(names)} programs: {count['false alarm']} false alarms")
    faults = f"{count['missed']} missed, {count['wrong cause']} wrong causes"
    print(f"{len(wrong) - count['changes nothing']} wrong pairs of {len(kinds)} kinds: {faults}")
    print(f"{count['changes nothing']} mistakes change nothing (their runs equal the right ones to the last bit):")
    for one in cells:
        if one.fault == "changes nothing":
            print(f"  {one.program}: {one.mutation}")
    for one in cells:
        if one.fault in ("false alarm", "missed", "wrong cause"):
            what = f"{one.program}: {one.mutation or 'right'}"
            print(f"{one.fault.upper()}: {what}: {one.verdict} {one.kind}: {one.reason}")
    return count["false alarm"] + count["missed"] + count["wrong cause"]


if __name__ == "__main__":
    sys.exit(main())
