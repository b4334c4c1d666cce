"""Runs in forks of an interpreter that has imported TensorFlow: nobody can tell them from runs in new interpreters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.conftest import ROOT, RuntimeFor
from tfmigrate.verify.run import experiment, servers
from tfmigrate.verify.run.launch import Command, Launch, fresh
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.scratch import MARK
from tfmigrate.verify.run.servers import Forked, Servers
from tfmigrate.verify.run.world import Limits, Run, World

from .processes import alive, dead_soon, wait_for, without_tensorflow

pytestmark = [
    pytest.mark.starts_processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems start new interpreters"),
]

IMPORTED = """
import os, pathlib, random, tempfile
PLACE = os.path.join(os.path.expanduser("~"), ".keras")
SCRATCH = tempfile.gettempdir()
os.makedirs(PLACE, exist_ok=True)
pathlib.Path(PLACE, "keras.json").write_text("{}")
with open(IMPORTS, "a") as file:
    file.write("imported\\n")
"""
"""What imports of Keras do: a file in the home folder, whose place is remembered."""

STATE = """
import atexit, json, locale, os, resource, signal, stat, sys, tempfile, threading, warnings
import tensorflow

home = os.path.expanduser("~")
print(json.dumps({
    "environ": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv, "path": sys.path, "flags": list(sys.flags),
    "stdin": sys.stdin.read(), "home": sorted(os.listdir(home)), "keras": os.listdir(tensorflow.PLACE),
    "places": [tensorflow.PLACE, tensorflow.SCRATCH, tempfile.gettempdir()],
    "streams": [(s.encoding, s.errors, s.line_buffering, s.isatty()) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "signals": [str(signal.getsignal(one)) for one in sorted(signal.Signals) if one.name != "SIGRTMIN"],
    "wakeup": signal.set_wakeup_fd(-1), "umask": os.umask(0o22), "locale": locale.setlocale(locale.LC_ALL),
    "files": sorted(stat.S_IFMT(os.stat("/proc/self/fd/" + name).st_mode) for name in os.listdir("/proc/self/fd")
                    if os.path.exists("/proc/self/fd/" + name)),
    "threads": [thread.name for thread in threading.enumerate()], "filters": [str(one) for one in warnings.filters],
    "limits": [resource.getrlimit(one) for one in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS)],
    "leader": os.getsid(0) == os.getppid(), "group": os.getpgid(0) == os.getsid(0), "name": [__name__, __file__],
    "main": sys.modules["__main__"].__file__, "hash": hash("a word"), "recursion": sys.getrecursionlimit(),
    "own modules": [name for name in ("run", "server", "session") if name in sys.modules],
}))
atexit.register(print, "at exit")
threading.Timer(0.2, print, ["after the last line"]).start()
"""

Begin = Callable[..., Run]
Plain = Callable[..., Forked]


@pytest.fixture
def known() -> Iterator[Servers]:
    with Servers() as known:
        yield known


@pytest.fixture
def begin(tmp_path: Path, known: Servers) -> Begin:
    """Runs a script where a few names stand in for TensorFlow, which notes each time that it is imported."""
    runtime, environment = without_tensorflow(tmp_path, f"IMPORTS = {str(tmp_path / 'imports')!r}\n{IMPORTED}")
    count = iter(range(100))

    def run(script: str, launch: Launch = known.launch, seconds: float = 60, **world: Any) -> Run:
        program = tmp_path / "program"
        program.mkdir(exist_ok=True)
        (program / "train.py").write_text(script)
        world["environment"] = {**environment, **world.get("environment", {})}
        made = World("old", "genuine", runtime, program, "train.py", **world)
        return experiment.run(made, Limits(seconds=seconds), tmp_path / f"results {next(count)}", launch=launch)

    return run


@pytest.fixture
def plain(tmp_path: Path, begin: Begin, known: Servers) -> Plain:
    """Launches a program alone, without the probe: unconfined, and in the folder of the test."""
    count = iter(range(100))

    def start(program: str, mark: str = "x" * 32) -> Forked:
        path = tmp_path / f"plain {next(count)}.py"
        path.write_text(program)
        env = {"PYTHONPATH": str(tmp_path / "packages"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path), MARK: mark}
        process = known.launch(Command(Path(sys.executable), path, (), tmp_path, env))
        assert isinstance(process, Forked)
        return process

    return start


def imports(tmp_path: Path) -> int:
    return len((tmp_path / "imports").read_text().splitlines())


def printed(run: Run) -> str:
    assert run.outcome == "trained nothing", run.message + run.stderr_path.read_text()
    return run.stdout_path.read_text()


def test_a_fork_finds_what_a_new_interpreter_finds(begin: Begin) -> None:
    def state(launch: Launch | None) -> tuple[dict[str, Any], list[str]]:
        run = begin(STATE, *([launch] if launch else []), args=("--epochs", "3"), environment={"LC_ALL": "C"})
        line, *rest = printed(run).splitlines()
        scratch = str(Path(json.loads(line)["cwd"]).parent)
        found = json.loads(line.replace(scratch, "SCRATCH"))
        del found["environ"][MARK]
        return found, rest

    (forked, after), (new, expected) = state(None), state(fresh)
    assert forked == new
    assert after == expected == ["after the last line", "at exit"]
    assert forked["argv"] == ["SCRATCH/program/train.py", "--epochs", "3"]
    assert forked["environ"]["HOME"] == "SCRATCH/home"
    assert forked["places"] == ["SCRATCH/home/.keras", "SCRATCH/tmp", "SCRATCH/tmp"]
    assert "keras.json" in forked["keras"]
    assert forked["stdin"] == ""


def test_what_is_random_is_not_the_same_in_two_forks(begin: Begin) -> None:
    script = "import random, numpy, uuid\nprint(random.random(), numpy.random.rand(), uuid.uuid4())\n"
    first, second = (printed(begin(f"{script}", aligned=True, seed=7)).split() for _ in range(2))
    assert first[:2] == second[:2], "the probe seeds both"
    assert first[2] != second[2]


def test_tensorflow_is_imported_once_for_each_environment(begin: Begin, tmp_path: Path) -> None:
    for _ in range(3):
        assert printed(begin("print('hello')\n")) == "hello\n"
    assert imports(tmp_path) == 1
    own = {"TF_CONFIG": "{}", "CUDA_VISIBLE_DEVICES": "5"}
    show = "import os\nprint(os.environ['TF_CONFIG'], os.environ['CUDA_VISIBLE_DEVICES'])\n"
    assert printed(begin(show, environment=own)) == "{} 5\n"
    assert imports(tmp_path) == 1, "nothing reads these while it is imported"
    begin("print('hello')\n", threads=1)
    assert imports(tmp_path) == 2, "libraries read OMP_NUM_THREADS"
    begin("print('hello')\n", environment={"XLA_FLAGS": ""})
    assert imports(tmp_path) == 3


def test_tensorflow_is_compiled_once_and_nothing_of_the_script_is(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "help.py").write_text("")
    assert printed(begin("import sys, help\nprint(sys.dont_write_bytecode)\n")) == "True\n"
    assert list((tmp_path / "packages" / "__pycache__").glob("tensorflow.*.pyc"))
    assert not (tmp_path / "program" / "__pycache__").exists()


def test_what_one_run_does_to_tensorflow_no_other_sees(begin: Begin) -> None:
    script = "import tensorflow\nprint(hasattr(tensorflow, 'mine'))\ntensorflow.mine = 1\n"
    assert [printed(begin(script)) for _ in range(2)] == ["False\n", "False\n"]


def test_a_search_path_that_starts_at_the_folder_is_read_there(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "program" / "lib").mkdir(parents=True)
    (tmp_path / "program" / "lib" / "help.py").write_text("word = 'found'\n")
    path = {"PYTHONPATH": f"{tmp_path / 'packages'}{os.pathsep}lib"}
    assert printed(begin("import help\nprint(help.word)\n", environment=path)) == "found\n"


@pytest.mark.parametrize("name", ["keras", "run", "server", "select", "numpy"])
def test_a_module_of_the_program_with_a_name_that_is_taken(begin: Begin, tmp_path: Path, name: str) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / f"{name}.py").write_text("mine = True\n")
    script = f"import {name}\nprint(hasattr({name}, 'mine'))\n"
    assert printed(begin(script)) == printed(begin(script, fresh))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_script_may_start_workers_of_its_own(begin: Begin, method: str) -> None:
    script = (
        "import multiprocessing\n\ndef double(x):\n    return 2 * x\n\nif __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(pool.map(double, range(3)))\n"
    )
    assert printed(begin(script)) == "[0, 2, 4]\n"


def test_forks_run_side_by_side(plain: Plain, tmp_path: Path) -> None:
    """None waits for another, nor holds another's output open."""
    first = plain("import os, time\nwhile not os.path.exists('flag'):\n    time.sleep(0.05)\nprint('seen')\n")
    second = plain("print('quick')\n")
    assert second.stdout.read() == b"quick\n"
    assert second.wait(30) == 0
    assert first.poll() is None
    (tmp_path / "flag").touch()
    assert first.stdout.read() == b"seen\n"
    assert first.wait(30) == 0


def test_an_import_that_fails_is_the_runs_own_error(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages" / "tensorflow.py").write_text("raise ImportError('no AVX here')\n")
    tried: list[Command] = []
    real = servers._Server.of
    monkeypatch.setattr(servers._Server, "of", lambda command, stops: tried.append(command) or real(command, stops))
    for _ in range(2):
        run = begin("print('hello')\n")
        assert run.outcome == "crashed"
        assert "no AVX here" in run.message
        assert len(tried) == 1, "a server is tried once"


def test_a_stop_does_not_wait_for_the_import(begin: Begin, tmp_path: Path, known: Servers) -> None:
    (tmp_path / "packages" / "tensorflow.py").write_text("import time\ntime.sleep(600)\n")
    stop = threading.Event()
    threading.Timer(1, stop.set).start()
    world = World("old", "genuine", Runtime(Path(sys.executable), (3, 12, 0), "1.15.0", None), tmp_path, "train.py",
                  environment={"PYTHONPATH": str(tmp_path / "packages")})  # fmt: skip
    begun = time.monotonic()
    run = experiment.run(world, Limits(), tmp_path / "results", stop=stop, launch=known.launch)
    assert run.message.endswith("was stopped")
    assert time.monotonic() - begun < 30


def server_of(known: Servers) -> subprocess.Popen[bytes]:
    (place,) = known._known.values()
    assert place.server is not None
    return place.server.process


def test_a_server_that_is_killed(plain: Plain, begin: Begin, known: Servers) -> None:
    process = plain("import time\ntime.sleep(600)\n")
    server_of(known).kill()
    assert process.wait(30) == -signal.SIGKILL
    os.kill(process.pid, signal.SIGKILL)  # as Child does with all that is in its session
    assert printed(begin("print('hello')\n")) == "hello\n", "in a new interpreter"


def test_what_is_too_long_to_be_asked_of_a_server(begin: Begin) -> None:
    script = "import os\nprint(len(os.environ['LONG']))\n"
    assert printed(begin(script, environment={"LONG": "x" * 100_000})) == "100000\n"


def test_servers_end_with_the_block(plain: Plain, known: Servers) -> None:
    process = plain("import time\ntime.sleep(600)\n")
    server = server_of(known)
    home = Path(f"/proc/{server.pid}/cwd").resolve()
    assert home.is_dir()
    known.__exit__()
    assert not home.exists()
    assert dead_soon(server.pid)
    assert dead_soon(process.pid), "and what they run"


ABANDONED = """
import sys
from pathlib import Path
from tfmigrate.verify.run.launch import Command
from tfmigrate.verify.run.servers import Servers
folder = Path(sys.argv[1])
servers = Servers()
env = {"PYTHONPATH": str(folder / "packages"), "HOME": str(folder), "TMPDIR": str(folder), "TFMIGRATE_RUN": "x" * 32}
process = servers.launch(Command(Path(sys.executable), folder / "sleep.py", (), folder, env))
print(type(process).__name__, process.pid, *(p.server.process.pid for p in servers._known.values()), flush=True)
input()
"""


def test_a_tool_that_is_killed_leaves_neither_server_nor_run(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text("import time\ntime.sleep(600)\n")
    command = [sys.executable, "-c", ABANDONED, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as tool:  # type: ignore[call-overload]
        kind, *pids = tool.stdout.readline().split()
        assert kind == "Forked"
        assert all(alive(int(pid)) for pid in pids)
        tool.kill()
    assert all(dead_soon(int(pid)) for pid in pids)


def test_a_fork_is_found_by_its_mark(plain: Plain) -> None:
    """Its own, and not the server's, is what the system shows of it."""
    process = plain("import time\ntime.sleep(600)\n", "a" * 32)
    shown = Path(f"/proc/{process.pid}/environ")
    assert wait_for(lambda: f"{MARK}={'a' * 32}".encode() in shown.read_bytes())
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize(("leaving", "code"), [("sys.exit(3)", 3), ("os._exit(4)", 4), ("os.abort()", -signal.SIGABRT),
                                               ("sys.exit('no data')", 1), ("None", 0), ("1 / 0", 1)])  # fmt: skip
def test_how_a_fork_ended(plain: Plain, leaving: str, code: int) -> None:
    process = plain(f"import os, sys\n{leaving}\n")
    assert process.wait(30) == process.poll() == code


def test_elsewhere_than_on_linux_each_run_has_an_interpreter(
    begin: Begin, known: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers.sys, "platform", "darwin")
    assert printed(begin("print('hello')\n")) == "hello\n"
    assert not known._known


# With TensorFlow


TRAINED = """
import numpy as np
from {keras}.layers import Dense, Dropout
from {keras}.models import Sequential
{head}
random = np.random.RandomState(0)
x, y = random.rand(64, 4).astype("float32"), random.rand(64, 1).astype("float32")
{scope}
    model = Sequential([Dense(8, activation="relu", input_shape=(4,)), Dropout(0.5), Dense(1)])
    {parallel}
    model.compile("adam", "mse")
model.fit(x, y, batch_size=16, epochs=2, verbose=0)
"""
OLD = TRAINED.format(
    keras="KERAS",
    head="from KERAS.utils import multi_gpu_model",
    scope="if True:",
    parallel="model = multi_gpu_model(model, gpus=2)",
)
NEW = TRAINED.format(
    keras="tensorflow.keras",
    head="import tensorflow as tf",
    scope="with tf.distribute.MirroredStrategy().scope():",
    parallel="",
)


UNTOUCHED = """
import tensorflow
from tensorflow.python.eager import context
made = context._context
print([getattr(made, name, None) for name in ("_context_handle", "_physical_devices", "_logical_devices")])
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("kind", ["genuine keras", "genuine tf.keras", "keras 3", "keras 2"])
def test_no_device_is_touched_before_the_fork(
    kind: str, tmp_path: Path, launch: Launch, runtime_for: RuntimeFor
) -> None:
    done = forks.run(launch, runtime_for(kind), UNTOUCHED, (), tmp_path, 2 if kind == "keras 2" else 3)
    assert done.stdout == "[None, None, None]\n", done.stderr


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("kind", ["genuine keras", "genuine tf.keras", "keras 3", "keras 2"])
def test_a_fork_trains_as_a_new_interpreter_does(
    kind: str, tmp_path: Path, launch: Launch, runtime_for: RuntimeFor
) -> None:
    (tmp_path / "program").mkdir()
    old = OLD.replace("KERAS", "keras" if kind == "genuine keras" else "tensorflow.keras")
    genuine = kind.startswith("genuine")
    (tmp_path / "program" / "train.py").write_text(old if genuine else NEW)
    world = World(
        "one",
        "genuine" if genuine else "migrated",
        runtime_for(kind),
        tmp_path / "program",
        "train.py",
        replicas=2,
        legacy_keras=kind == "keras 2",
    )
    new, *forked = (
        experiment.run(world, Limits(seconds=300), tmp_path / str(number), launch=way)
        for number, way in enumerate((fresh, launch, launch))
    )
    for run in (new, *forked):
        assert run.ok, run.message
        assert [step.loss for step in run.trace.steps] == [step.loss for step in new.trace.steps]
        assert [step.fingerprint for step in run.trace.steps] == [step.fingerprint for step in new.trace.steps]
        assert len(run.trace.steps) == 8
        assert run.trace.models == new.trace.models
        assert run.notes == new.notes
        assert run.trace.end is not None
        assert new.trace.end is not None
        assert run.trace.end.peak_memory_bytes is not None
        assert new.trace.end.peak_memory_bytes is not None
        assert 100 << 20 < run.trace.end.peak_memory_bytes <= 1.1 * new.trace.end.peak_memory_bytes
