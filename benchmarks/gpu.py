"""Everything that is to be known on a machine with GPUs: `python benchmarks/gpu.py`, or `make gpu`.

1. `fixtures`: each program in fixtures/ that trains is verified on 2 and on 4 devices, as far as it asks for no more,
   with Keras 3 and Keras 2. With fewer cards than replicas the first card is cut into logical GPUs; with none there are
   logical CPUs, which shows that all of it works.
2. `trust`: every right pair and every mistake that can be made in one (tools/trust.py).
3. `training`: benchmarks/training.py.

Results lie in build/gpu: report.md with the machine and a row for each run, index.html with all verdicts. What is known
already is not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tfmigrate.toml import tomllib  # noqa: E402 - the checkout's own
from tfmigrate.verify.judge.report import CONTROL  # noqa: E402
from tfmigrate.verify.run import devices  # noqa: E402

PARTS = ("fixtures", "trust", "training")
REPLICAS = (2, 4)
HEAD = """# On {cards}

Made by `python benchmarks/gpu.py` on {day}; driver {driver}; {devices}.

## Verified

The largest relative difference of the losses between the old script and the new one, samples a second inside training
calls (none on logical devices, which share one card or processor), and the most memory that the tensors took on GPUs,
or, without one, the process on the host.

| program | replicas | run | verdict | difference | tolerance | samples/s | memory, MiB | devices |
|---|---|---|---|---|---|---|---|---|
"""


def programs(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Tables of a batch: each fixture that trains, on each number of devices that it does not exceed."""
    for file in sorted((ROOT / "fixtures").glob("*/fixture.toml")):
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
        name, script = file.parent.name, facts["script"]
        if (names and name not in names) or facts.get("untrained"):
            continue
        for replicas in REPLICAS:
            if replicas >= facts.get("gpus", 2):
                yield {
                    "name": f"{name} on {replicas}",
                    "old": f"{file.parent}/before/{script}",
                    "new": f"{file.parent}/after/{script}",
                    "replicas": replicas,
                    "args": " ".join(facts["args"]),
                }


def toml(tables: Sequence[dict[str, Any]]) -> str:
    lines = [
        "[[program]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in one.items()) for one in tables
    ]
    return "\n".join(lines)


def rows(folder: Path) -> Iterator[str]:
    batch = json.loads((folder / "batch.json").read_text(encoding="utf-8"))
    for program in sorted(batch["programs"], key=lambda one: str(one["name"])):
        name, _, replicas = program["name"].rpartition(" on ")
        if program["page"] is None:
            yield f"| {name} | {replicas} |  | {program['verdict']}: {program['reason']} |  |  |  |  |  |"
            continue
        report = json.loads((folder / program["page"]).with_name("report.json").read_text(encoding="utf-8"))
        pairs = {pair["new"]: pair for pair in report["pairs"] if pair["decides"]}
        for run in report["runs"]:
            if run["role"].startswith(CONTROL):
                continue
            pair = pairs.get(run["role"])
            difference = f"{pair['max_relative_difference']:.1e}" if pair and pair["max_relative_difference"] else ""
            tolerance = f"{report['loss']['tolerance']:.1e}" if pair else ""
            logical = any(one.startswith("logical") for one in run["devices"])
            speed = "" if logical or not run["samples_per_second"] else f"{run['samples_per_second']:,.0f}"
            used = run["peak_gpu_memory_bytes"] or run["peak_memory_bytes"]
            memory = f"{used / 2**20:,.0f}" if used else ""
            where = ", ".join(sorted({one.partition(":")[0] for one in run["devices"]}))
            verdict = program["verdict"] if pair else ""
            yield (
                f"| {name} | {replicas} | {run['role']} | {verdict} | {difference} | {tolerance} | {speed} | {memory} "
                f"| {where} |"
            )


def driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0].strip()
    except (OSError, subprocess.SubprocessError):
        return "none"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Verifies and measures everything on the devices of this machine.")
    parser.add_argument("--only", nargs="+", metavar="FIXTURE", default=(), help="these fixtures alone (default: all)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--budget", type=int, default=30, help="training steps of each run of a fixture")
    return parser


def main() -> int:
    asked = parser().parse_args()
    asked.results.mkdir(parents=True, exist_ok=True)
    codes = []
    if "fixtures" in asked.parts:
        batch = asked.results / "fixtures.toml"
        batch.write_text(toml(list(programs(asked.only))), encoding="utf-8")
        folder = asked.results / "fixtures"
        codes.append(call("-m", "tfmigrate", "verify", "--batch", batch, "--report", folder, "--budget", asked.budget))
        cards = devices.gpus()
        head = HEAD.format(
            cards=", ".join(cards) or "logical CPUs",
            day=date.today().isoformat(),
            driver=driver(),
            devices=f"{len(cards)} GPUs" if cards else "no GPU, logical CPUs stand in",
        )
        (asked.results / "report.md").write_text(head + "\n".join(rows(folder)) + "\n", encoding="utf-8")
        print(f"{asked.results / 'report.md'}\n{folder / 'index.html'}")
    if "trust" in asked.parts:
        codes.append(call(ROOT / "tools" / "trust.py", "--results", asked.results / "trust", *asked.only))
    if "training" in asked.parts:
        with (asked.results / "training.md").open("w", encoding="utf-8") as output:
            codes.append(call(ROOT / "benchmarks" / "training.py", output=output))
    return max(codes, default=0)


def call(*words: object, output: Any = None) -> int:
    """Runs Python with these words. Ctrl-C reaches it as well, and it is left time to end its own runs."""
    process = subprocess.Popen([sys.executable, *map(str, words)], cwd=ROOT, stdout=output)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted. The same command continues.")
