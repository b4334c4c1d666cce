"""What a run is kept from, attack by attack, on every level that this system has: a small script stands for all.

All attacks that end by themselves are made by one process for each level and user. Where the tests are run by root,
they are made as an ordinary user too.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tfmigrate.errors import UserError
from tfmigrate.verify.run import experiment, sandbox
from tfmigrate.verify.run.child import Child, Ended
from tfmigrate.verify.run.disk import remove_scratch
from tfmigrate.verify.run.launch import Command, fresh
from tfmigrate.verify.run.sandbox import Level
from tfmigrate.verify.run.scratch import MARK
from tfmigrate.verify.run.together import Together
from tfmigrate.verify.run.world import Limits

from .processes import alive, running, wait_for

pytestmark = [
    pytest.mark.starts_processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems confine nothing"),
]

NOBODY = 65534
LEVELS: tuple[Level, ...] = ("namespaces", "bubblewrap", "landlock", "none")
APART: frozenset[Level] = frozenset(["namespaces", "bubblewrap"])
CONFINED: frozenset[Level] = APART | {"landlock"}

PROGRAM = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
import run
confined = importlib.import_module(run.load() + ".confine").begin(json.loads(sys.argv[2]))
exec(compile(open(sys.argv[3]).read(), "attack", "exec"))
"""

ATTACKS = """
import ctypes, os, signal, subprocess

def write(path, text="written"):
    with open(path, "w") as file:
        file.write(text)

def set_kernel():
    path = "/proc/sys/vm/overcommit_ratio"
    with open(path) as file:
        value = file.read()
    write(path, value)

def read_environments():
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/environ" % name) as file:
                    if "SECRET=known" in file.read():
                        return
            except OSError:
                continue
    raise LookupError("no process with it")

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            os.execve("/bin/sleep", [host["daemon"], "600"], {})
        os._exit(0)
    os.wait()

def undo():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.unshare(0x10000000 | 0x00020000)  # users and mounts
    libc.mount(None, b"/", None, ctypes.c_ulong(1 << 18 | 16384), None)
    libc.mount(None, b"/", None, ctypes.c_ulong(32 | 4096), None)  # / again, to be written to
    libc.umount2(host["folder"].encode(), 2)
    write(host["folder"] + "/undone")

def shared_memory():
    import multiprocessing
    lock = multiprocessing.Lock()
    with lock, multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]

host = json.loads(sys.argv[4])
folder = host["folder"]
attempts = {
    "write": lambda: write(folder + "/new"),
    "append": lambda: open(folder + "/old", "a").write("er"),
    "remove": lambda: os.remove(folder + "/removed"),
    "chmod": lambda: os.chmod(folder + "/old", 0o777),
    "chown": lambda: os.chown(folder + "/old", os.getuid(), os.getgid()),
    "utime": lambda: os.utime(folder + "/old", (1, 1)),
    "shared memory": lambda: write(host["shm"]),
    "kernel settings": set_kernel,
    "environments": read_environments,
    "kill": lambda: os.kill(host["victim"], signal.SIGKILL),
    "disks": lambda: os.close(os.open(host["disk"], os.O_WRONLY)),
    "daemon": daemon,
    "own files": lambda: (write("own"), os.chmod("own", 0o600), os.utime("own", (1, 1))),
    "own shared memory": shared_memory,
    "own /tmp": lambda: write("/tmp/" + os.path.basename(folder) + "-too"),
    "devices": lambda: (write("/dev/null"), open("/dev/urandom", "rb").read(1)),
    "own /proc": lambda: open("/proc/self/status").read(),
    "undo": undo,
}
found = {}
for name, attempt in attempts.items():
    try:
        attempt()
        found[name] = "done"
    except Exception as error:
        found[name] = "%s: %s" % (type(error).__name__, error)
print(json.dumps({"found": found, "holds": confined.holds, "left": confined.left}))
"""


@dataclass(frozen=True)
class Place:
    """Where a user's runs take place: folders that the user may enter, an interpreter that the user may start."""

    folder: Path
    python: Path
    probe: Path
    user: int

    def words(self) -> tuple[str, ...]:
        number = str(self.user)
        return () if self.user == os.getuid() else ("setpriv", "--reuid", number, "--regid", number, "--clear-groups")

    def give(self, path: Path) -> Path:
        if self.user != os.getuid():
            os.chown(path, self.user, self.user)
        return path


def place_of(user: int) -> Iterator[Place]:
    for parent in ("/var/tmp", "/tmp"):  # the first is not the run's own /tmp
        if os.access(parent, os.W_OK):
            break
    folder = Path(tempfile.mkdtemp(prefix="tfmigrate-test-", dir=parent))
    folder.chmod(0o755)
    try:
        shutil.copytree(experiment.PROBE.parent, folder / "probe", ignore=shutil.ignore_patterns("__pycache__"))
        python = sys.executable if user == os.getuid() else "/usr/bin/python3"  # ours may lie in our home folder
        place = Place(folder, Path(python), folder / "probe", user)
        place.give(folder)
        try:
            done = subprocess.run([*place.words(), python, "-c", "0"], capture_output=True, text=True)
        except FileNotFoundError as error:
            pytest.skip(f"{error.filename} is not installed")
        if done.returncode:
            pytest.skip(f"user {user} can start no Python: {done.stderr}")
        yield place
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", params=["the user", "an ordinary user"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "the user":
        yield from place_of(os.getuid())
    elif os.getuid():
        pytest.skip("only root can become another user; the tests were run by an ordinary one already")
    else:
        yield from place_of(NOBODY)


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> Level:
    try:
        return sandbox.choose(request.param).level
    except UserError as error:
        pytest.skip(str(error))


def limits_of(**values: Any) -> Limits:
    return Limits(**{"seconds": 60, "memory_bytes": 1 << 30, "disk_bytes": 1 << 30, **values})


def attack(
    place: Place, level: Level, script: str, limits: Limits, together: Together, host: object = None
) -> tuple[Ended, str, str]:
    """Runs a script as a run of verify is run; answers how it ended, and what it printed."""
    scratch = place.give(Path(tempfile.mkdtemp(dir=place.folder)))
    output = place.give(Path(tempfile.mkdtemp(dir=place.folder)))
    for name in ("tmp", "program"):
        (scratch / name).mkdir()
        place.give(scratch / name)
    (scratch / "attack.py").write_text(script)
    (scratch / "begin.py").write_text(PROGRAM)
    config = {
        "sandbox": level, "scratch": str(scratch), "output": str(output), "initial_weights": None,
        "largest_file": limits.disk_bytes, "shared_memory": limits.memory_bytes, "tasks": limits.tasks,
    }  # fmt: skip
    args = (str(place.probe), json.dumps(config), str(scratch / "attack.py"), json.dumps(host))
    wrapper = place.words() + (sandbox.bubblewrap(scratch, output) if level == "bubblewrap" else ())
    env = {"PATH": os.environ["PATH"], MARK: os.urandom(16).hex(), "TMPDIR": str(scratch / "tmp")}
    command = Command(place.python, scratch / "begin.py", args, scratch / "program", env, wrapper)
    printed = [place.folder / f"{scratch.name}.{name}" for name in ("out", "err")]
    try:
        ended = Child(command, fresh, scratch, *printed, together).wait(limits, [], lambda: None)
    finally:
        remove_scratch(scratch)
    return ended, printed[0].read_text(), printed[1].read_text()


def ended_by(place: Place, level: Level, script: str, **limited: int) -> tuple[Ended, str]:
    """How such a run ended under these limits, and its errors."""
    limits = limits_of(**limited)
    with Together(limits) as together:
        ended, _, errors = attack(place, level, script, limits, together)
    return ended, errors


@dataclass(frozen=True)
class Siege:
    """What became of the attacks: in the words of the script, and as the host saw it."""

    found: dict[str, str]
    holds: list[str]
    left: list[str]
    changed: dict[str, bool]


@pytest.fixture(scope="module")
def siege(place: Place, level: Level) -> Siege:
    folder = place.give(Path(tempfile.mkdtemp(dir=place.folder)))
    for name in ("old", "removed"):
        (folder / name).write_text("old")
        (folder / name).chmod(0o644)
        place.give(folder / name)
    before = (folder / "old").stat()
    most = Path("/proc/sys/kernel/pid_max").read_text()
    shared = Path("/dev/shm") / folder.name
    disk = next((str(path) for path in Path("/dev").iterdir() if path.is_block_device()), "/dev/none")
    name = f"sleep-{folder.name}"
    victim = subprocess.Popen([*place.words(), "/bin/sleep", "600"], env={**os.environ, "SECRET": "known"})
    host = {"folder": str(folder), "shm": str(shared), "victim": victim.pid, "disk": disk, "daemon": name}
    try:
        time.sleep(0.2)  # setpriv has become sleep
        limits = limits_of()
        with Together(limits) as together:
            ended, printed, errors = attack(place, level, ATTACKS, limits, together, host)
        assert (ended.reason, ended.exit_code) == ("by itself", 0), (printed, errors)
        assert Path("/proc/sys/kernel/pid_max").read_text() == most, "the limit is that of the namespace"
        after = (folder / "old").stat()
        found = json.loads(printed)
        return Siege(
            **found,
            changed={
                "write": (folder / "new").exists(),
                "append": after.st_size != before.st_size,
                "remove": not (folder / "removed").exists(),
                "chmod": after.st_mode != before.st_mode,
                "chown": found["found"]["chown"] == "done",
                "utime": after.st_mtime != before.st_mtime and after.st_mtime == 1,
                "shared memory": shared.exists(),
                "kernel settings": found["found"]["kernel settings"] == "done",
                "environments": found["found"]["environments"] == "done",
                "kill": victim.poll() is not None,
                "disks": found["found"]["disks"] == "done",
                "daemon": bool(running(name)),
                "undo": (folder / "undone").exists(),
            },
        )
    finally:
        victim.kill()
        victim.wait()
        for pid in running(name):
            os.kill(pid, 9)
        for path in (shared, Path("/tmp") / f"{folder.name}-too"):
            path.unlink(missing_ok=True)


KEPT: dict[str, frozenset[Level]] = {
    "write": CONFINED,
    "append": CONFINED,
    "remove": CONFINED,
    "chmod": APART,
    "chown": APART,
    "utime": APART,
    "shared memory": APART,
    "kernel settings": CONFINED,
    "environments": CONFINED,
    "kill": CONFINED,
    "daemon": frozenset(LEVELS),
    "undo": CONFINED,
    "disks": CONFINED,
}
"""What each level keeps a script from."""


@pytest.mark.parametrize("name", KEPT)
def test_an_attack_is_kept_off_by_the_levels_that_promise_it(
    siege: Siege, name: str, level: Level, place: Place
) -> None:
    if name == "kill" and level == "landlock" and "end them" in " ".join(siege.left):
        pytest.skip("Landlock refuses signals from Linux 6.12 on")
    if level in KEPT[name]:
        assert not siege.changed[name], siege.found[name]
    elif name in ("kernel settings", "disks") and place.user:
        assert "PermissionError" in siege.found[name], "these are root's"
    elif name == "undo" and level == "none":
        assert siege.changed[name]
    elif not (name == "disks" and siege.found[name].startswith("FileNotFoundError")):
        assert siege.changed[name], f"the promise is too small: {siege.found[name]}"


@pytest.mark.parametrize("name", ["own files", "own shared memory", "own /tmp", "devices", "own /proc"])
def test_what_a_script_needs_is_there(siege: Siege, name: str) -> None:
    assert siege.found[name] == "done"


def test_a_level_says_what_it_holds_and_what_not(siege: Siege, level: Level) -> None:
    assert siege.holds == ([level] if level in APART else []) + (["Landlock"] if level in CONFINED else [])
    assert bool(siege.left) == (level not in APART)


EATER = "held = b'1' * (300 << 20)\nimport time\ntime.sleep(%s)\nprint('done', flush=True)\n"


def test_memory_that_two_runs_take_together(place: Place, level: Level) -> None:
    limits = limits_of(memory_bytes=500 << 20)
    with Together(limits) as together, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(attack, place, level, EATER % 8, limits, together) for _ in range(2)]
        ended = [run.result() for run in runs]
    assert sorted((end.reason, end.beside) for end, _, _ in ended) == [("by itself", 0), ("memory", 1)]
    assert sorted(printed for _, printed, _ in ended) == ["", "done\n"]


def test_memory_that_lies_in_dev_shm(place: Place, level: Level) -> None:
    if level not in APART:
        pytest.skip("/dev/shm is that of all programs")
    script = (
        "import time\nwith open('/dev/shm/big', 'wb') as file:\n    for _ in range(150):\n"
        "        file.write(b'1' * (1 << 20))\ntime.sleep(20)\n"
    )
    most = 152 << 20  # the interpreter takes more than what is left
    ended, errors = ended_by(place, level, script, memory_bytes=most)
    assert ended.reason == "memory", errors


BOMB = """
import os, time
until = time.time() + 30
while time.time() < until:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""
SLOW_BOMB = """
import os, time
for _ in range(600):
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
    time.sleep(0.05)
"""


def test_a_fork_bomb(place: Place, level: Level) -> None:
    """One that takes its time where processes have to be looked at and the kernel counts none: of root in bubblewrap, a
    fast one was seen to outrun the looks on a busy machine."""
    counted = level == "namespaces" or (level in APART and place.user != 0)
    ended, errors = ended_by(place, level, BOMB if counted else SLOW_BOMB, processes=30)
    assert ended.reason == "processes", errors
    assert wait_for(lambda: not running_in(place.folder))


def running_in(folder: Path) -> list[str]:
    """Processes whose command line names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() + b"/" in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return [pid for pid in found if alive(int(pid))]


@pytest.mark.parametrize("where", ["", "/tmp/"])
def test_a_disk_that_is_filled(place: Place, level: Level, where: str) -> None:
    if where and level == "none":
        pytest.skip("/tmp is that of all programs")
    script = (
        "import time\nfor number in range(300):\n"
        f"    with open({where!r} + 'file-%d' % number, 'wb') as file:\n        file.write(b'1' * (1 << 20))\n"
        "    time.sleep(0.05)\n"
    )
    ended, errors = ended_by(place, level, script, disk_bytes=20 << 20)
    assert ended.reason == "disk", errors


def test_a_run_that_was_ended_takes_its_daemons_along(place: Place, level: Level) -> None:
    """Those too that do not end politely."""
    name = f"sleep-{os.urandom(8).hex()}"
    script = (
        "import os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"        os.execve('/bin/sleep', [{name!r}, '600'], {{}})\n    os._exit(0)\nos.wait()\ntime.sleep(600)\n"
    )
    ended, errors = ended_by(place, level, script, seconds=2)
    assert ended.reason == "time", errors
    assert wait_for(lambda: not running(name))


Choose = Callable[[str], sandbox.Sandbox]


@pytest.fixture
def choose() -> Iterator[Choose]:
    sandbox.choose.cache_clear()
    yield sandbox.choose
    sandbox.choose.cache_clear()


def test_without_namespaces_bubblewrap_is_taken(choose: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_missing", lambda level: "forbidden" if level == "namespaces" else "")
    assert choose("auto") == sandbox.Sandbox("bubblewrap", "no namespaces: forbidden")


def test_with_nothing_at_all_it_is_landlocks_level_that_says_so(
    choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_missing", lambda level: f"{level} is missing")
    chosen = choose("auto")
    assert chosen.level == "landlock"
    assert "no bubblewrap: bubblewrap is missing; no landlock: landlock is missing" in chosen.weaker


def test_a_level_that_is_not_to_be_had_is_an_error(choose: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_missing", lambda level: "forbidden by the administrator")
    with pytest.raises(UserError, match="--sandbox namespaces: forbidden by the administrator; --sandbox auto uses"):
        choose("namespaces")


def test_bubblewrap_and_the_probe_let_the_same_devices_in() -> None:
    """They cannot import one another."""
    tree = ast.parse((experiment.PROBE.parent / "mounts.py").read_text())
    values = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    for name in ("ACCELERATORS", "MANY", "TEMPORARY"):
        assert ast.literal_eval(values[name]) == getattr(sandbox, name)


def test_gpus_are_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"nvidia*": ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"], "dri": ["/dev/dri"]}
    monkeypatch.setattr(Path, "glob", lambda path, pattern: map(Path, found.get(pattern, [])))
    words = sandbox.bubblewrap(Path("/scratch"), Path("/output"))
    for device in (name for names in found.values() for name in names):
        at = words.index(device)
        assert words[at - 1 : at + 2] == ("--dev-bind-try", device, device)
