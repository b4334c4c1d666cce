"""Measure what migrating and verifying cost in training time: `python benchmarks/training.py > docs/throughput.md`.

Four tables: the migrated program against the old and a hand-tuned one; ways to feed arrays; the probe against the bare
script; a whole verification against its longest run. Programs are run in turns, and the best of each counts; steps with
the probe and without it take turns in one process. So the ratios hold on a busy machine too. GPUs are used where there
are as many as replicas, else logical devices.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tfmigrate.rewrite import migrate_sources  # noqa: E402 - the checkout's own
from tfmigrate.settings import Settings  # noqa: E402
from tfmigrate.verify.run import devices, runtimes  # noqa: E402
from tfmigrate.verify.run.experiment import run as run_world  # noqa: E402
from tfmigrate.verify.run.runtimes import KERAS_2, Runtime  # noqa: E402
from tfmigrate.verify.run.world import Limits, World  # noqa: E402

PROGRAMS = ROOT / "benchmarks" / "programs"
BARE = ROOT / "benchmarks" / "bare.py"
ALTERNATE = ROOT / "benchmarks" / "alternate.py"
TURNS = 60
"""Epochs, half of them with the probe."""
WAITING_EPOCHS = 30


@dataclass(frozen=True)
class Measured:
    """The best of several runs of one program."""

    samples_per_second: float = 0.0
    processor: float = float("inf")
    """Milliseconds of all processors a step."""
    start: float = float("inf")
    """Seconds until its first training step."""

    def better(self, printed: str, began: float) -> Measured:
        speed = re.search(r"samples per second: ([\d.]+)", printed)
        processor = re.search(r"processor milliseconds a step: ([\d.]+)", printed)
        start = re.search(r"training since ([\d.]+)", printed)
        if speed is None or start is None or processor is None:
            raise SystemExit(f"a program of the benchmark failed:\n{printed[-3000:]}")
        return Measured(
            max(self.samples_per_second, float(speed[1])),
            min(self.processor, float(processor[1])),
            min(self.start, float(start[1]) - began),
        )


Runner = Callable[[], tuple[str, float]]


def in_turns(runners: Mapping[str, Runner], times: int) -> dict[str, Measured]:
    best = {name: Measured() for name in runners}
    for _ in range(times):
        for name, run in runners.items():
            best[name] = best[name].better(*run())
    return best


def bare(runtime: Runtime, world: str, script: Path, *arguments: object, keras_2: bool = False) -> Runner:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TF_"))}
    environment.update(TF_CPP_MIN_LOG_LEVEL="2", TF_ENABLE_ONEDNN_OPTS="0", REPLICAS="2")
    if len(devices.gpus()) < 2 or world == "genuine":
        environment["CUDA_VISIBLE_DEVICES"] = "-1" if world == "genuine" else "0"
    if keras_2:
        environment[KERAS_2] = "1"

    def run() -> tuple[str, float]:
        began = time.time()
        command = [str(runtime.python), str(BARE), world, str(script), *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)
        return done.stdout + (done.stderr if done.returncode else ""), began

    return run


def probed(
    runtime: Runtime, folder: Path, command: Sequence[str], keras_2: bool, overlay: Mapping[str, str] | None = None
) -> Runner:
    """A script of the folder and its arguments, as verify runs it; `overlay` are files that the copy has too."""
    script, *arguments = command
    world = World(
        "migrated",
        "migrated",
        runtime,
        folder,
        script,
        tuple(arguments),
        replicas=2,
        legacy_keras=keras_2,
        overlay=overlay or {},
    )

    def run() -> tuple[str, float]:
        with tempfile.TemporaryDirectory() as scratch:
            began = time.time()
            done = run_world(world, Limits(seconds=1200), folder=Path(scratch))
            return done.stdout_path.read_text() + done.message, began

    return run


def migrated(name: str, scratch: Path) -> Path:
    """What tfmigrate makes of the program, in a folder of its own."""
    (result,) = migrate_sources({"before.py": (PROGRAMS / name / "before.py").read_text()}, Settings())
    folder = scratch / name
    folder.mkdir()
    (folder / "after.py").write_text(result.after)
    return folder / "after.py"


def throughput(scratch: Path, modern: Runtime, old: Runtime | None, epochs: int, times: int) -> None:
    print("## Migrated against old and hand-tuned\n")
    print(
        "Samples a second and, in brackets, milliseconds of all processors a step, which a busy machine changes less;"
    )
    print(
        "2 replicas, a global batch of 256, the best epoch after the first. *Hand-tuned* is the same training with the"
    )
    print(
        "fastest pipeline known for arrays: shuffled row numbers, gathered batch by batch in parallel. The last column"
    )
    print("compares processor times. The programs are in `benchmarks/programs`.\n")
    print("| program | Keras | old, genuine | old, restored | migrated | hand-tuned | migrated / hand-tuned |")
    print("|---|---|---|---|---|---|---|")
    for name in ("mlp", "convnet"):
        before, tuned, after = PROGRAMS / name / "before.py", PROGRAMS / name / "hand_tuned.py", migrated(name, scratch)
        for keras_2 in (False, True):
            runners = {
                "restored": bare(modern, "restored", before, epochs, keras_2=keras_2),
                "migrated": bare(modern, "migrated", after, epochs, keras_2=keras_2),
                "tuned": bare(modern, "migrated", tuned, epochs, keras_2=keras_2),
            }
            if old is not None and not keras_2:
                runners["genuine"] = bare(old, "genuine", before, epochs)
            best = in_turns(runners, times)
            speed = {key: f"{one.samples_per_second:,.0f} ({one.processor:.2f})" for key, one in best.items()}
            ratio = best["tuned"].processor / best["migrated"].processor
            print(
                f"| {name} | {2 if keras_2 else 3} | {speed.get('genuine', '')} | {speed['restored']} | "
                f"{speed['migrated']} | {speed['tuned']} | {ratio:.3f} |",
                flush=True,
            )


def pipelines(modern: Runtime, times: int) -> None:
    print("\n## The pipeline\n")
    print("`fit` on arrays under MirroredStrategy with Keras 3: the arrays themselves (`arrays`), the usual pipeline,")
    print("`from_tensor_slices().shuffle(n).batch()` (`slices`), and what `--pipeline gather` writes, row numbers")
    print("shuffled and rows gathered by them (`rows`). The processor seconds an epoch, the least of the runs, and")
    print("resident memory above that before, the most.\n")
    print("| data | arrays | slices | rows | arrays, MiB | slices, MiB | rows, MiB |")
    print("|---|---|---|---|---|---|---|")
    for count, columns in ((100_000, 1000), (300_000, 20)):
        cpu: dict[str, float] = {}
        extra: dict[str, float] = {}
        size = 0.0
        for _ in range(times):
            for idiom in ("arrays", "slices", "rows"):
                run = bare(modern, "migrated", PROGRAMS / "pipelines.py", idiom, count, columns)
                found = re.search(r"cpu ([\d.]+) extra ([\d.-]+) data ([\d.]+)", run()[0])
                if found is None:
                    raise SystemExit(f"the pipeline {idiom} failed")
                seconds, memory, size = map(float, found.groups())
                cpu[idiom] = min(seconds, cpu.get(idiom, seconds))
                extra[idiom] = max(memory, extra.get(idiom, memory))
        row = [f"{value:.2f}" for value in cpu.values()] + [f"{value:,.0f}" for value in extra.values()]
        print(f"| {count:,} x {columns} float32, {size:,.0f} MiB | {' | '.join(row)} |", flush=True)
    print("\n`slices` is the form of TensorFlow's guides; it handles each row by itself, and its shuffle holds a")
    print("second copy of rows whose size is not a multiple of 64 bytes, as here. See")
    print("[What old and new TensorFlow do](semantics.md).")


def probe(scratch: Path, modern: Runtime, epochs: int, times: int) -> None:
    print("\n## What the probe costs\n")
    print("The migrated program alone, and under the probe, which fingerprints each batch and records each step:")
    print("milliseconds a step, of the clock and of all processors, and seconds from the command to the first step.")
    print("The steps take turns, an epoch without the probe and one with it, in one process: medians over")
    print(f"{TURNS // 2} epochs each, and the median of the ratios of neighbours.\n")
    print("| program | Keras | step, ms | probed | more | processors, ms | probed | more | start, s | probed | more |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in ("mlp", "convnet"):
        after = scratch / name / "after.py"
        script = after if after.exists() else migrated(name, scratch)
        for keras_2 in (False, True):
            steps = alternating(modern, script, keras_2)
            best = in_turns(
                {
                    "bare": bare(modern, "migrated", script, epochs, keras_2=keras_2),
                    "probed": probed(modern, script.parent, (script.name, str(epochs)), keras_2),
                },
                times,
            )
            start, later = (best[key].start for key in ("bare", "probed"))
            print(
                f"| {name} | {2 if keras_2 else 3} | {' | '.join(steps)} | "
                f"{start:.2f} | {later:.2f} | {later - start:+.2f} |",
                flush=True,
            )


def alternating(modern: Runtime, script: Path, keras_2: bool) -> list[str]:
    """The cells of one row: milliseconds a step alone and probed, and how much more, by the clock and of processors."""
    command = ALTERNATE.name, script.name, str(TURNS + 2)
    printed, _ = probed(modern, script.parent, command, keras_2, {ALTERNATE.name: ALTERNATE.read_text()})()
    cells = []
    for clock in ("clock", "processors"):
        found = re.search(rf"{clock}: ([\d.]+) ([\d.]+) ([\d.]+)", printed)
        if found is None:
            raise SystemExit(f"a program of the benchmark failed:\n{printed[-3000:]}")
        cells += [f"{float(found[1]):.2f}", f"{float(found[2]):.2f}", f"{float(found[3]) - 1:+.1%}"]
    return cells


def verification(scratch: Path) -> None:
    fixture = ROOT / "fixtures" / "base_parallel"
    waiting = PROGRAMS / "waiting" / "before.py"
    print("\n## A whole verification\n")
    print("| program | runs | controls | jobs | one by one, s | longest, s | whole, s | whole / longest |")
    print("|---|---|---|---|---|---|---|---|")
    verified(scratch, "fixtures/base_parallel", fixture / "before" / "train.py", fixture / "after" / "train.py")
    # Each run by itself, as where there are processors for all of them.
    arguments = ("--args", str(WAITING_EPOCHS), "--jobs", "8")
    verified(scratch, "waiting", waiting, migrated("waiting", scratch), *arguments)
    print(f"\n*waiting* sleeps a second at each of its 8 steps and {WAITING_EPOCHS} epochs, and so needs hardly any")
    print("processor: it shows the time of a verification where each run has processors of its own.")


def verified(scratch: Path, name: str, before: Path, after: Path, *arguments: str) -> None:
    folder = scratch / f"report-{before.parent.name}"
    command = [sys.executable, "-m", "tfmigrate", "verify", str(before), str(after), "--report", str(folder)]
    began = time.time()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
    wall = time.time() - began
    runs = json.loads((folder / "report.json").read_text())["runs"]
    chief = [run for run in runs if not run["role"].startswith("control")]
    longest = max(run["seconds"] for run in chief)
    jobs = arguments[-1] if arguments else "-"
    print(
        f"| {name} | {len(chief)} | {len(runs) - len(chief)} | {jobs} | {sum(run['seconds'] for run in runs):.0f} | "
        f"{longest:.0f} | {wall:.0f} | {wall / longest:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--times", type=int, default=3, help="how often each program is run")
    parser.add_argument("--only", choices=["throughput", "pipelines", "probe", "verification"], nargs="+")
    options = parser.parse_args()
    found = runtimes.discover()
    modern = runtimes.modern(found, 2)
    if modern is None:
        raise SystemExit("this needs TensorFlow 2.16 or later with tf-keras: pip install 'tfmigrate[verify]'")
    old = runtimes.genuine_for("tf.keras", found)
    print("# Speed of the training\n")
    print("Made by `python benchmarks/training.py`, which runs everything in turns on one machine:")
    kind = ", ".join(devices.gpus()) or "no GPU, logical CPUs stand in"
    print(f"{os.cpu_count()} processors, {kind}, load {os.getloadavg()[0]:.1f}; {modern.label};")
    print(f"old: {old.label if old else 'none found'}.\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="tfmigrate-bench-") as folder:
        scratch = Path(folder)
        steps: dict[str, Callable[[], None]] = {
            "throughput": lambda: throughput(scratch, modern, old, options.epochs, options.times),
            "pipelines": lambda: pipelines(modern, options.times),
            "probe": lambda: probe(scratch, modern, options.epochs, options.times),
            "verification": lambda: verification(scratch),
        }
        for name in options.only or steps:
            steps[name]()


if __name__ == "__main__":
    main()
