"""What an engine adds to a run, and how runs scale: `python benchmarks/cluster.py`.

A Ray cluster of 1, 2 and 4 nodes of one processor each is started on this machine. The runs wait rather than compute:
their interpreter is a script that sleeps.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tfmigrate.verify.on.engine import Elsewhere, Engine  # noqa: E402 - the checkout's own
from tfmigrate.verify.on.on_ray import OnRay  # noqa: E402
from tfmigrate.verify.on.on_slurm import OnSlurm  # noqa: E402
from tfmigrate.verify.run.runtimes import Runtime  # noqa: E402
from tfmigrate.verify.run.side_by_side import run_all  # noqa: E402
from tfmigrate.verify.run.world import Execute, Limits, World  # noqa: E402

SECONDS = 5.0
RUNS = 16
NODES = (1, 2, 4)


def waiting(folder: Path) -> World:
    """A world whose interpreter answers what it is asked, serves nobody (see run/servers.py), and else sleeps."""
    answer = json.dumps({"python": [3, 8, 1], "prefix": "/", "found": {"tensorflow": "2.3.4"}})
    interpreter = folder / "interpreter"
    interpreter.write_text(
        f"#!/bin/sh\ncase \"$1\" in -c) echo '{answer}'; exit;; */server.py) exit 1;; esac\nsleep {SECONDS}\n"
    )
    interpreter.chmod(0o755)
    program = folder / "program"
    program.mkdir()
    (program / "train.py").touch()
    return World("waits", "genuine", Runtime(interpreter, (3, 8, 1), "2.3.4", None), program, "train.py", replicas=1)


def measure(name: str, execute: Execute, world: World, runs: int, at_once: int, folder: Path) -> None:
    began = time.monotonic()
    places = [folder / f"{name} {number}" for number in range(runs)]
    execute([(world, None)] * runs, Limits(seconds=600, sandbox="none"), places, at_once)
    took = time.monotonic() - began
    added = took / (runs / at_once) - SECONDS
    print(f"| {name} | {at_once} | {runs} | {took:.1f} | {60 * runs / took:.1f} | {added:.2f} |", flush=True)


def on(engine: Engine, name: str, world: World, at_once: int, folder: Path) -> None:
    try:
        measure(f"{name}, first", Elsewhere(engine), world, at_once, at_once, folder)  # starts the workers
        measure(name, Elsewhere(engine), world, RUNS, at_once, folder)
    finally:
        engine.close()


def main() -> None:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    print(f"| where | runs at a time | runs of {SECONDS:g} s | whole, s | runs a minute | added to a run, s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        world = waiting(folder)
        measure("here", run_all, world, RUNS, 4, folder)
        on(OnSlurm(folder / "jobs", "local", 600, False), "submitit, processes", world, 4, folder)
        for nodes in NODES:
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
            for _ in range(nodes):
                cluster.add_node(num_cpus=1)
            os.environ["RAY_ADDRESS"] = cluster.address
            on(OnRay(None), f"Ray, {nodes} nodes", world, nodes, folder)
            cluster.shutdown()


if __name__ == "__main__":
    main()
