"""Runs on other machines: two nodes of Ray on this one, processes of submitit, engines that lose what they have."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import needs_submitit
from tfmigrate.errors import UserError
from tfmigrate.verify.on import job
from tfmigrate.verify.on.engine import TRIES, Elsewhere, Engine, Lost
from tfmigrate.verify.on.on_ray import OnRay
from tfmigrate.verify.on.on_slurm import OnSlurm, has_gpus
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.side_by_side import run_all, usual_jobs
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Limits, Run, World

from .processes import Fake, alive, dead_soon, executable, wait_for

LIMITS = Limits(seconds=300, sandbox="none")
ANSWER = json.dumps({"python": [3, 8, 1], "prefix": "/", "found": {"tensorflow": "2.3.4"}})


@pytest.fixture
def interpreter(fake: Fake) -> Fake:
    """As `fake`; it says which TensorFlow it has."""
    return lambda body: fake(f"if [ \"$1\" = -c ]; then echo '{ANSWER}'; exit; fi\n{body}")


WRITES = f"""
{sys.executable} - "$2" <<'END'
import json, os, sys
config = json.load(open(sys.argv[1]))
events = [
    {{"event": "start", "python": "3", "tensorflow": "2.3.4", "keras": "2.4", "flavour": "tf.keras", "devices": [],
      "device_kind": "logical CPU", "replicas": 2}},
    {{"event": "step", "fit": 0, "epoch": 0, "step": 0, "loss": len(open(config["script"]).read())}},
    {{"event": "end", "ok": True, "error": None, "seconds": 1.0, "train_seconds": 1.0, "samples_per_second": None,
      "peak_memory_bytes": 1}},
]
with open(os.path.join(config["output"], "trace.jsonl"), "w") as file:
    for event in events:
        file.write(json.dumps(event) + "\\n")
open(os.path.join(config["output"], "weights.npz"), "w").write(config["initial_weights"] or "first")
print("hello from", sorted(os.listdir(".")), config["stubs"] is not None, config["setup"] is not None)
END
"""
"""An interpreter's body that records one step, whose loss is the script's length."""


@dataclass
class Here:
    """An engine of one machine, this one, that does each job at once, and loses the first `losses`."""

    losses: int = 0
    at_once: int = 4
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, packed: bytes, world: World) -> Here:
        self.packed = packed
        return self

    def result(self, seconds: float) -> bytes | None:
        with self.lock:
            self.done += 1
            if self.done <= self.losses:
                raise Lost("the node is gone")
        return job.do(self.packed)

    def cancel(self) -> None: ...

    def close(self) -> None: ...


def world(role: str, runtime: Runtime, program: Path, **more: object) -> World:
    return World(role, "genuine", runtime, program, "train.py", replicas=1, **more)  # type: ignore[arg-type]


def seen(run: Run) -> object:
    return run.outcome, run.message, [step.loss for step in run.trace.steps], run.written, run.trace.start, run.workers


def test_a_run_elsewhere_is_what_it_is_here(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    (program / "data").mkdir()
    (program / "data" / "rows.csv").write_text("1,2\n")
    (tmp_path / "made.py").write_text("")
    (tmp_path / "stub.py").write_text("")
    runtime = interpreter(WRITES)
    asked = world(
        "old", runtime, program,
        overlay={"train.py": "x = 1\n"}, setup=tmp_path / "made.py", stubs={"cv2": tmp_path / "stub.py"},
    )  # fmt: skip
    (here,) = run_all([(asked, None)], LIMITS, [tmp_path / "here"])
    (there,) = Elsewhere(Here())([(asked, None)], LIMITS, [tmp_path / "there"])
    assert here.ok, here.message
    assert seen(there) == seen(here)
    assert there.stdout_path.read_text() == here.stdout_path.read_text()
    assert "'data'" in there.stdout_path.read_text()
    assert there.world == asked
    assert there.trace.folder == tmp_path / "there" / "trace"
    assert (there.machine, there.lost) == (socket.gethostname(), ())


def test_a_run_starts_from_the_weights_that_were_sent_along(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    leader, follower = (world(role, interpreter(WRITES), program) for role in ("old", "new"))
    first, second = Elsewhere(Here())(
        [(leader, None), (follower, leader)], LIMITS, [tmp_path / "one", tmp_path / "two"]
    )
    assert first.ok
    assert second.ok
    assert (first.trace.folder / "weights.npz").read_text() == "first"
    assert (second.trace.folder / "weights.npz").read_text().endswith("/initial")


def test_what_is_lost_with_its_machine_is_done_again(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    asked = world("old", interpreter(WRITES), program)
    (run,) = Elsewhere(Here(losses=TRIES - 1))([(asked, None)], LIMITS, [tmp_path / "run"])
    assert run.ok
    assert run.lost == ("the node is gone",) * (TRIES - 1)
    with pytest.raises(UserError, match=f"old was lost {TRIES} times with its machine: the node is gone"):
        Elsewhere(Here(losses=TRIES))([(asked, None)], LIMITS, [tmp_path / "again"])


def test_another_version_and_a_missing_interpreter_are_refused(
    program: Path, interpreter: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = world("old", interpreter(WRITES), program)
    packed, _ = job.pack(asked, LIMITS, None)
    with monkeypatch.context() as patched:
        patched.setattr(job, "__version__", "0.0.1")
        with pytest.raises(UserError, match=r"has tfmigrate 0\.0\.1, and the run was sent by"):
            job.unpack(job.do(packed), asked, tmp_path / "run")
    asked.runtime.python.unlink()
    monkeypatch.setattr(job.runtimes, "discover", lambda: ())
    with pytest.raises(UserError, match=r"Python 3\.8\.1, TensorFlow 2\.3\.4 is not available: no interpreter"):
        job.unpack(job.do(packed), asked, tmp_path / "run")


def test_a_run_that_was_stopped_is_no_result(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    """When the run that others start from fails, they are cancelled."""

    class Slow(Here):
        cancelled = 0

        def result(self, seconds: float) -> bytes | None:
            time.sleep(seconds)
            return None

        def cancel(self) -> None:
            type(self).cancelled += 1

    stop = threading.Event()
    stop.set()
    asked = world("new", interpreter(WRITES), program)
    run = Elsewhere(Slow())._run(asked, LIMITS, tmp_path / "run", None, stop)
    assert (run.ok, run.message, Slow.cancelled) == (False, "new: was stopped", 1)
    assert run.stdout_path.exists()


def test_ctrl_c_in_another_thread_ends_the_runs_of_this_one(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    elsewhere = Elsewhere(Here())
    elsewhere.interrupted.set()
    with pytest.raises(KeyboardInterrupt):
        elsewhere([(world("old", interpreter(WRITES), program), None)], LIMITS, [tmp_path / "run"])


@pytest.fixture(scope="module")
def ray_nodes() -> Iterator[tuple[Engine, object]]:
    """Ray with a head that takes no runs, and two nodes of two processors each."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (the extra `cluster`)")
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    patch.setenv("RAY_ADDRESS", cluster.address)
    engine = OnRay(None)
    yield engine, cluster
    engine.close()
    cluster.shutdown()
    patch.undo()


@pytest.mark.starts_processes
def test_ray_does_runs_on_its_nodes_and_again_when_one_dies(
    ray_nodes: tuple[OnRay, object], program: Path, interpreter: Fake, tmp_path: Path
) -> None:
    engine, cluster = ray_nodes
    assert engine.at_once == 4
    fast = interpreter(WRITES)
    worlds = [(world(f"run {i}", fast, program), None) for i in range(6)]
    runs = Elsewhere(engine)(worlds, LIMITS, [tmp_path / str(i) for i in range(6)])
    assert [run.message for run in runs] == [""] * 6

    begun = tmp_path / "begun"
    slow = interpreter(f"echo $$ >> {begun}\n[ $(wc -l < {begun}) -gt 2 ] || sleep 600\n{WRITES}")
    results: list[Run] = []
    worlds = [(World(f"run {i}", "genuine", slow, program, "train.py", replicas=2), None) for i in range(2)]
    thread = threading.Thread(
        target=lambda: results.extend(Elsewhere(engine)(worlds, LIMITS, [tmp_path / "a", tmp_path / "b"]))
    )
    thread.start()
    assert wait_for(lambda: begun.exists() and len(begun.read_text().split()) == 2, 60)
    for node in list(cluster.worker_nodes):  # type: ignore[attr-defined]
        cluster.remove_node(node, allow_graceful=False)  # type: ignore[attr-defined]
    cluster.add_node(num_cpus=2)  # type: ignore[attr-defined]
    thread.join(180)
    assert [run.message for run in results] == ["", ""]
    assert all(run.lost for run in results)


@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_a_ray_cluster_that_does_not_answer_is_said_at_once(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (the extra `cluster`)")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = form.format(f"127.0.0.1:{closed.getsockname()[1]}")
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"no Ray cluster answers at {address}: "):
        OnRay(None)


CTRL_C = """
import signal, sys
from pathlib import Path
from tfmigrate.verify.on.engine import Elsewhere
from tfmigrate.verify.on.on_ray import OnRay
from tfmigrate.verify.on.on_slurm import OnSlurm
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import Limits, World
signal.signal(signal.SIGINT, signal.default_int_handler)
which, interpreter, program, results = sys.argv[1], *map(Path, sys.argv[2:])
engine = OnRay(None) if which == "ray" else OnSlurm(results / "jobs", "local", 600, False)
runtime = Runtime(interpreter, (3, 8, 1), "2.3.4", None)
world = World("one", "genuine", runtime, program, "train.py", replicas=1)
try:
    Elsewhere(engine)([(world, None)], Limits(seconds=600, sandbox="none"), [results / "run"])
finally:
    engine.close()
"""


@pytest.mark.starts_processes
@pytest.mark.parametrize("which", ["ray", pytest.param("slurm", marks=needs_submitit)])
def test_ctrl_c_ends_what_goes_on_elsewhere(
    which: str, program: Path, interpreter: Fake, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if which == "ray":
        request.getfixturevalue("ray_nodes")
    pid = tmp_path / "pid"
    runtime = interpreter(f"echo $$ > {pid}\nsleep 600\n")
    command = [sys.executable, "-c", CTRL_C, which, runtime.python, program, tmp_path / "results"]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, start_new_session=True)
    try:
        assert wait_for(lambda: pid.exists() and bool(pid.read_text()), 60)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in stderr
    assert dead_soon(int(pid.read_text()))
    assert not alive(int(pid.read_text()))


@needs_submitit
@pytest.mark.starts_processes
def test_submitit_does_runs(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    engine = OnSlurm(tmp_path / "jobs", "local", 60, gpus=False)
    assert engine.at_once == usual_jobs()  # nothing queues them: all would begin at once
    worlds = [(world(f"run {i}", interpreter(WRITES), program), None) for i in range(2)]
    runs = Elsewhere(engine)(worlds, LIMITS, [tmp_path / "a", tmp_path / "b"])
    assert [run.message for run in runs] == ["", ""]
    assert list((tmp_path / "jobs").iterdir()) == []


@needs_submitit
@pytest.mark.starts_processes
def test_importing_submitit_leaves_the_streams_of_other_loggers_open() -> None:
    """absl's handler closes its stream when logging is set up anew; TensorFlow's is stderr as it was on import."""
    code = (
        "import io, logging\n"
        "from tfmigrate.verify.on.on_slurm import import_submitit\n"
        "class Closing(logging.StreamHandler):\n"
        "    def close(self):\n"
        "        self.stream.close()\n"
        "handler = Closing(io.StringIO())\n"
        "import_submitit()\n"
        "assert not handler.stream.closed\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_submitit
def test_slurm_that_is_not_there_is_said() -> None:
    with pytest.raises(UserError, match="--on slurm: "):
        OnSlurm(Path("jobs"), "slurm", 60, gpus=False)


@pytest.mark.parametrize(
    ("partition", "listed", "gpus"),
    [
        (None, "cpu* (null)\nbig gpu:a100:8\n", False),
        (None, "cpu (null)\nbig* gpu:a100:8\n", True),
        ("big", "big gpu:a100:8\n", True),
        ("cpu", "cpu (null)\n", False),
        (None, "", False),
    ],
)
def test_slurm_is_asked_for_gpus_where_its_partition_has_some(
    partition: str | None, listed: str, gpus: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "sinfo", f"echo \"$*\" > {tmp_path}/asked\nprintf '{listed}'\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("SBATCH_PARTITION", raising=False)
    if partition:
        monkeypatch.setenv("SBATCH_PARTITION", partition)
    assert has_gpus() is gpus
    assert (f"--partition={partition}" in (tmp_path / "asked").read_text()) is bool(partition)


def test_a_trace_is_read_where_it_was_put(program: Path, interpreter: Fake, tmp_path: Path) -> None:
    """A world that starts from a finished run, as controls do."""
    asked = world("old", interpreter(WRITES), program)
    (first,) = Elsewhere(Here())([(asked, None)], LIMITS, [tmp_path / "one"])
    (second,) = Elsewhere(Here())([(asked, Trace(first.trace.folder))], LIMITS, [tmp_path / "two"])
    assert (second.trace.folder / "weights.npz").read_text().endswith("/initial")
