"""Scripts that misbehave: each leaves a clear report, and nothing behind. A few names stand in for TensorFlow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.launch import Command, Process, fresh
from tfmigrate.verify.run.servers import Forked, Servers
from tfmigrate.verify.run.world import Limits, Run, World

from .processes import running, wait_for, without_tensorflow

pytestmark = pytest.mark.starts_processes

ELSEWHERE = Path(__file__).parent
"""A folder that is not in /tmp."""

Attempt = Callable[..., Run]


@pytest.fixture(params=["new interpreter", "fork"])
def attempt(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Attempt]:
    """Runs a script under the probe, with few limits but those given."""
    runtime, environment = without_tensorflow(tmp_path)

    def run(script: str, **limits: float) -> Run:
        program = tmp_path / "program"
        program.mkdir(exist_ok=True)
        (program / "train.py").write_text(script)
        world = World("old", "genuine", runtime, program, "train.py", environment=environment)
        allowed = Limits(**{"seconds": 60, **limits})  # type: ignore[arg-type]
        done = experiment.run(world, allowed, folder=tmp_path / "results", launch=launch)
        assert launched == [Forked if request.param == "fork" else subprocess.Popen]
        return done

    launched: list[type] = []
    with Servers() as servers:

        def launch(command: Command, stops: Sequence[threading.Event] = ()) -> Process:
            process = (servers.launch if request.param == "fork" else fresh)(command, stops)
            launched.append(type(process))
            return process

        yield run


def printed(run: Run) -> str:
    return run.stdout_path.read_text()


def test_a_quiet_script(attempt: Attempt) -> None:
    run = attempt("print('hello')\n")
    assert (run.outcome, run.exit_code) == ("trained nothing", 0), run.stderr_path.read_text()
    assert printed(run) == "hello\n"


def test_one_that_forks(attempt: Attempt) -> None:
    run = attempt("import os, sys\nif os.fork() == 0:\n    sys.exit(7)\nos.wait()\nif os.fork():\n    os.wait()\n")
    assert (run.outcome, run.exit_code) == ("trained nothing", 0)
    assert run.trace.end is not None
    assert sum('"end"' in line for line in (run.trace.folder / "trace.jsonl").read_text().splitlines()) == 1


def test_one_whose_daemon_lives_on(attempt: Attempt) -> None:
    name = f"sleep-{os.urandom(8).hex()}"
    run = attempt(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.close(1), os.close(2)\n"
        f"    os.execve('/bin/sleep', [{name!r}, '600'], {{}})\n"
        "os.wait(), time.sleep(1)\n"
        "pids = [one for one in os.listdir('/proc') if one.isdigit()]\n"
        f"print(any({name!r} in open('/proc/%s/cmdline' % one).read() for one in pids))\n"
    )
    assert run.outcome == "trained nothing"
    assert printed(run) == "True\n"
    assert wait_for(lambda: not running(name))


def test_one_that_hangs(attempt: Attempt) -> None:
    run = attempt("import os\nfor ever in iter(int, 1): pass\n", seconds=3)
    assert run.outcome == "timed out"
    assert "after 3 seconds, before its first training step, at train.py:2; allow" in run.message


def test_one_that_starts_ever_more_processes(attempt: Attempt) -> None:
    script = (
        "import os, time\nfor i in range(100):\n    if os.fork() == 0:\n        time.sleep(600)\n"
        "print('done', flush=True)\ntime.sleep(600)\n"
    )
    run = attempt(script, processes=20)
    assert run.outcome == "over a limit"
    assert "started more than 20 processes" in run.message


def test_one_that_takes_all_memory(attempt: Attempt) -> None:
    run = attempt("import time\nheld = b'1' * (600 << 20)\ntime.sleep(600)\n", memory_bytes=300 << 20)
    assert run.outcome == "over a limit"
    assert "took more than 300 MiB of memory" in run.message


def test_memory_that_forked_processes_share_counts_once(attempt: Attempt) -> None:
    script = (
        "import os, time\nheld = b'1' * (150 << 20)\n"
        "for i in range(4):\n    if os.fork() == 0:\n        time.sleep(3)\n        os._exit(0)\n"
        "time.sleep(3)\n"
    )
    assert attempt(script, memory_bytes=400 << 20).outcome == "trained nothing"


def test_one_that_writes_a_huge_file(attempt: Attempt) -> None:
    run = attempt("with open('big', 'wb') as file:\n    file.write(b'0' * (20 << 20))\n", disk_bytes=10 << 20)
    assert run.outcome in ("crashed", "over a limit")
    assert "File too large (train.py:" in run.message or "wrote more than 10 MiB" in run.message


def test_one_that_writes_many_files(attempt: Attempt) -> None:
    script = "import time\nfor i in range(30):\n    open(str(i), 'wb').write(b'0' * (1 << 20))\ntime.sleep(600)\n"
    run = attempt(script, disk_bytes=10 << 20)
    assert run.outcome == "over a limit"
    assert "wrote more than 10 MiB" in run.message


def test_data_that_comes_with_the_program_is_no_output(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "data.npz").write_bytes(b"0" * (20 << 20))
    run = attempt("import time\nprint(len(open('data.npz').read()))\ntime.sleep(2)\n", disk_bytes=10 << 20)
    assert run.outcome == "trained nothing", run.message
    assert printed(run) == f"{20 << 20}\n"


def test_one_that_floods_stdout(attempt: Attempt) -> None:
    run = attempt("for i in range(200):\n    print('x' * 100000)\n", output_bytes=1000)
    assert run.outcome == "trained nothing"
    assert printed(run) == "x" * 500 + "\n[... 19,999,200 bytes left out ...]\n" + "x" * 499 + "\n"


@pytest.mark.parametrize(
    ("leaving", "code", "words"),
    [
        ("sys.exit(3)", 3, "crashed: SystemExit: 3 (train.py:2)"),
        ("sys.exit('no data')", 1, "crashed: SystemExit: no data (train.py:2)"),
        (
            "import argparse; argparse.ArgumentParser().parse_args(['data'])",
            2,
            "; its last line on stderr: train.py: error: unrecognized arguments: data; --args gives a script",
        ),
        ("from .data import rows", 1, "parent package (train.py:2); verify runs a file, as `python FILE` does"),
        ("os._exit(4)", 4, "ended with exit code 4 without reporting to the probe"),
        ("os.abort()", -6, "was killed by SIGABRT"),
        ("os.kill(0, 9)", -9, "was killed by SIGKILL"),
    ],
)
def test_one_that_leaves_early(attempt: Attempt, leaving: str, code: int, words: str) -> None:
    run = attempt(f"import os, sys\n{leaving}\n")
    assert run.outcome == "crashed"
    assert run.exit_code == code
    assert words in run.message


def test_one_that_ends_well_by_sys_exit(attempt: Attempt) -> None:
    assert attempt("import sys\nsys.exit(0)\n").outcome == "trained nothing"


def test_one_that_changes_directory(attempt: Attempt) -> None:
    run = attempt("import os\nos.chdir('/')\nraise ValueError('lost')\n")
    assert run.message == "old: train.py crashed: ValueError: lost (train.py:3)"


def test_one_that_reads_stdin(attempt: Attempt) -> None:
    run = attempt("answer = input('sure? ')\n")
    assert "EOFError: EOF when reading a line (train.py:1)" in run.message


def test_one_that_kills_its_parent(attempt: Attempt) -> None:
    run = attempt("import os\ntry:\n    os.kill(os.getppid(), 9)\nexcept PermissionError:\n    pass\nprint('on')\n")
    if run.trace.confined:
        assert printed(run) == "on\n", "the parent is nobody's to end"
    else:
        assert "was killed by SIGKILL" in run.message


def unconfined(run: Run) -> bool:
    return any("could write" in note for note in run.notes)


@pytest.mark.skipif(Path("/tmp") in ELSEWHERE.parents, reason="this checkout lies in /tmp, and each script has its own")
def test_one_that_writes_elsewhere(attempt: Attempt) -> None:
    with tempfile.TemporaryDirectory(dir=ELSEWHERE) as target:
        run = attempt(f"open({target + '/file'!r}, 'w').write('x')\n")
        if unconfined(run):
            pytest.skip(f"this system cannot confine a process: {run.notes}")
        assert re.search(r"(PermissionError|Errno 30\]).*\(train.py:1\); verify only lets a script write", run.message)
        assert os.listdir(target) == []


def test_one_that_writes_to_slash_tmp(attempt: Attempt) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as there:
        (Path(there) / "old").write_text("old")
        run = attempt(
            f"import os\nos.chdir({there!r})\nopen('new', 'w').write('new')\nopen('old', 'a').write('er')\n"
            "print(open('new').read(), open('old').read())\nos.remove('old')\n"
            f"open({there!r} + '-too', 'w').write('x')\n"
        )
        if unconfined(run):
            pytest.skip(f"this system cannot confine a process: {run.notes}")
        assert printed(run) == "new older\n", run.message
        assert (Path(there) / "old").read_text() == "old"
        assert os.listdir(there) == ["old"]
        assert not os.path.exists(there + "-too")


UNABLE = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
import run
package = run.load()
confine = importlib.import_module(package + ".confine")
importlib.import_module(package + ".landlock").CREATE_RULESET = 99999
confine.NEW_MOUNTS = -1
remarks = confine.begin({
    "sandbox": "namespaces", "scratch": sys.argv[2], "output": sys.argv[2], "initial_weights": None,
    "largest_file": 1 << 20, "shared_memory": 1 << 20, "tasks": 1000, "cgroup": sys.argv[2],
})
print(*remarks.left, sep="\\n")
open(sys.argv[2] + '/file', 'w').write('x')
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have neither")
def test_what_could_not_be_kept_from_a_script_is_said(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "cgroup.procs").mkdir()
    command = [sys.executable, "-c", UNABLE, str(experiment.PROBE.parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    cgroup, namespaces, temporary, modes, writes = done.stdout.splitlines()
    assert cgroup.startswith("memory and processes were watched, but not limited by the kernel: ")
    assert namespaces.startswith("the script could see and change things outside its copy: no namespaces (")
    assert temporary.startswith("the script could write to /tmp, because it could not get its own (")
    assert modes.startswith("the script could change modes, owners and times of files outside its scratch folder")
    assert writes.startswith("the script could write outside its scratch folder: ")
    assert (tmp_path / "file").read_text() == "x", done.stderr


def test_what_a_script_writes_is_listed(attempt: Attempt) -> None:
    run = attempt("open('model.h5', 'w').write('x')\nopen('train.py', 'a').write('#')\n")
    assert run.written == ("model.h5", "train.py")
    assert (run.world.source / "train.py").read_text().endswith("write('#')\n")
