"""How a run can end, and that nothing of it stays behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.run import child, experiment
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.scratch import copy_program
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Kind, Limits, Run, World

from .processes import Fake, alive, wait_for

Start = Callable[..., Run]


@pytest.fixture
def start(program: Path, fake: Fake, tmp_path: Path) -> Start:
    """Runs the program with a shell script in the interpreter's place, or with the runtime given."""

    def run(interpreter: str | Runtime, seconds: float = 60, **limited: int) -> Run:
        runtime = fake(interpreter) if isinstance(interpreter, str) else interpreter
        world = World("old", "genuine", runtime, program, "train.py")
        return experiment.run(world, Limits(seconds, **limited), folder=tmp_path / "results")

    return run


def test_a_hanging_script_and_its_children_are_ended(start: Start, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    result = start(f"sleep 600 &\necho $! > {pids}\necho $$ >> {pids}\nwait\n", seconds=1)
    assert result.outcome == "timed out"
    assert result.exit_code is None
    assert "after 1 seconds, before its first training step" in result.message
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


def test_a_script_that_stands_still_is_begun_again(start: Start, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    result = start(f"echo x >> {tries}\nsleep 600\n", still_seconds=1)
    assert result.outcome == "stood still"
    assert result.message == "old: train.py used no processor time for 1 seconds, before its first training step"
    assert result.notes[-1] == f"this is a second attempt: {result.message}"
    assert tries.read_text() == "x\nx\n"
    assert not list((tmp_path / "results" / "trace").iterdir())


def test_a_second_attempt_counts_alone(start: Start, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    trace = tmp_path / "results" / "trace" / "trace.jsonl"
    step = '{"event": "step", "fit": 0, "epoch": 0, "step": 0, "loss": 0.5}'
    script = f"echo x >> {tries}\n[ $(wc -l < {tries}) = 2 ] && exit 3\necho '{step}' > {trace}\nsleep 600\n"
    result = start(script, still_seconds=1)
    assert (result.outcome, result.exit_code, len(result.trace.steps)) == ("crashed", 3, 0)


def test_a_busy_script_does_not_stand_still(start: Start) -> None:
    assert start("while true; do :; done\n", seconds=2, still_seconds=1).outcome == "timed out"


def test_who_may_be_waiting_for_another_run_does_not_stand_still(program: Path, fake: Fake, tmp_path: Path) -> None:
    world = World("new", "migrated", fake("sleep 600\n"), program, "train.py")
    limits = Limits(seconds=2, still_seconds=1)
    result = experiment.run(world, limits, tmp_path / "results", initial_weights=Trace(tmp_path))
    assert result.outcome == "timed out"


def test_what_outlives_the_script_is_ended_too(start: Start, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    start(f"sleep 600 > /dev/null 2>&1 &\necho $! > {pids}\n")
    assert wait_for(lambda: not alive(int(pids.read_text())))


def test_a_child_that_ignores_a_polite_end_is_killed(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "GRACE_SECONDS", 0.5)
    pids = tmp_path / "pids"
    result = start(f"trap '' TERM\necho $$ > {pids}\nwhile true; do sleep 0.1; done\n", seconds=1)
    assert result.outcome == "timed out"
    assert not alive(int(pids.read_text()))


def test_a_killed_child_is_named_by_its_signal(start: Start) -> None:
    result = start("echo out of memory >&2\nkill -9 $$\n")
    assert result.outcome == "crashed"
    assert result.exit_code == -9
    assert "was killed by SIGKILL; its last line on stderr: out of memory" in result.message


def test_an_end_without_a_word_is_a_crash(start: Start) -> None:
    result = start("exit 3\n")
    assert (result.outcome, result.exit_code) == ("crashed", 3)
    assert "exit code 3" in result.message


def test_a_runtime_that_is_gone(start: Start, tmp_path: Path) -> None:
    result = start(Runtime(tmp_path / "gone", (3, 8, 1), "2.3.4", None))
    assert result.outcome == "missing runtime"
    assert str(tmp_path / "gone") in result.message


def test_too_much_on_the_disk_ends_the_run(start: Start) -> None:
    result = start("head -c 3000000 /dev/zero > big\nsleep 600\n", disk_bytes=1 << 20)
    assert result.outcome == "over a limit"
    assert "1 MiB" in result.message


def test_of_much_output_the_start_and_the_end_are_kept(start: Start) -> None:
    script = "echo first\nhead -c 200000000 /dev/zero | tr '\\0' x\necho last\necho done >&2\n"
    result = start(script, output_bytes=1000)
    kept = result.stdout_path.read_bytes()
    told = b"\n[... 199,999,011 bytes left out ...]\n"
    assert kept == b"first\n" + b"x" * 494 + told + b"x" * 495 + b"last\n"
    assert result.stderr_path.read_text() == "done\n"


def test_a_script_that_prints_little_loses_nothing(start: Start) -> None:
    for size in (0, 1, 499, 500, 501, 999, 1000):
        result = start(f"head -c {size} /dev/zero | tr '\\0' x\n", output_bytes=1000)
        assert result.stdout_path.read_bytes() == b"x" * size


def test_the_last_line_of_a_chatty_crash_is_told(start: Start) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2\necho what was the matter >&2\nexit 3\n"
    result = start(script, output_bytes=1000)
    assert "its last line on stderr: what was the matter" in result.message


def test_the_users_files_are_not_written(start: Start, program: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in program.iterdir()}
    scratch = tmp_path / "scratch"
    start(f"pwd > {scratch}\necho more >> train.py\necho model > model.h5\necho $HOME $TMPDIR >> {scratch}\n")
    assert {path: path.read_bytes() for path in program.iterdir()} == before
    where, homes = scratch.read_text().splitlines()
    assert not Path(where).exists()
    assert all(path.startswith(str(Path(where).parent)) for path in homes.split())


@pytest.mark.parametrize(
    ("kind", "visible", "seen"),
    [("migrated", None, "0,1"), ("migrated", "3,5,7", "3,5"), ("restored", "", ""), ("genuine", "3,5,7", "-1")],
)
def test_a_run_sees_as_many_gpus_as_it_has_replicas(
    program: Path,
    fake: Fake,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    visible: str | None,
    seen: str,
) -> None:
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    runtime = fake('echo "$CUDA_VISIBLE_DEVICES/$TF_USE_LEGACY_KERAS"\n')
    world = World("new", kind, runtime, program, "train.py", replicas=2)
    result = experiment.run(world, Limits(seconds=60), folder=tmp_path / "results")
    assert result.stdout_path.read_text() == f"{seen}/\n"


def test_nothing_waits_for_standard_input(start: Start) -> None:
    result = start("read answer && exit 5\nexit 4\n")
    assert result.exit_code == 4


def test_the_copy_leaves_out_what_no_program_needs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for name in (".git/config", "node_modules/x.js", "venv/pyvenv.cfg", "venv/lib.py", "data/digits.npz", "train.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
    (source / "huge.bin").write_bytes(b"0" * 2000)
    (source / "loop").symlink_to(source / "absent")
    os.mkfifo(source / "pipe")
    notes = copy_program(source, tmp_path / "copy", largest=1000)
    copied = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert copied == ["data", "data/digits.npz", "train.py"]
    assert sorted(note.split(" ")[0] for note in notes) == ["huge.bin", "pipe"]
    assert "it is a pipe, not a regular file" in next(note for note in notes if note.startswith("pipe"))


def test_each_step_is_told_while_the_run_goes_on(program: Path, fake: Fake, tmp_path: Path) -> None:
    line = '{"event": "step", "fit": 0, "epoch": 0, "step": %d, "loss": %s}'
    trace, go = tmp_path / "results" / "trace" / "trace.jsonl", tmp_path / "go"
    first, second = line % (0, 0.5), line % (1, 0.25)
    runtime = fake(
        f"printf '%s\\n%s' '{first}' '{second[:20]}' > {trace}\n"
        f"while [ ! -e {go} ]; do sleep 0.1; done\nprintf '%s\\n' '{second[20:]}' >> {trace}\n"
    )
    told: list[tuple[str, float]] = []

    def watch(role: str, loss: float) -> None:
        told.append((role, loss))
        go.touch()

    world = World("old", "genuine", runtime, program, "train.py")
    experiment.run(world, Limits(seconds=60), folder=tmp_path / "results", watch=watch)
    assert told == [("old", 0.5), ("old", 0.25)]


# With TensorFlow


ENDINGS = {
    "raises": "import tensorflow\n\ndef build():\n    raise ValueError('no such layer')\n\nbuild()\n",
    "leaves": "import sys\nsys.exit(3)\n",
    "idle": "print('trained nothing')\n",
    "broken": "x = 1\nmodel = (\n",
}


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("endings")
    for name, text in ENDINGS.items():
        (folder / f"{name}.py").write_text(text)
    runtime = runtime_for("keras 3")
    worlds: Sequence[World] = [World("new", "migrated", runtime, folder, f"{name}.py") for name in ENDINGS]
    results = [tmp_path_factory.mktemp(name) for name in ENDINGS]
    done = run_all([(world, None) for world in worlds], Limits(seconds=300), results, jobs=2, launch=launch)
    return dict(zip(ENDINGS, done, strict=True))


@pytest.mark.runs_tensorflow
def test_a_crash_names_the_scripts_own_line(endings: dict[str, Run]) -> None:
    crashed = endings["raises"]
    assert (crashed.outcome, crashed.exit_code) == ("crashed", 1)
    assert crashed.message == "new: raises.py crashed: ValueError: no such layer (raises.py:4)"
    assert crashed.trace.end is not None
    assert crashed.trace.end.error == "ValueError: no such layer (raises.py:4)"
    shown = crashed.stderr_path.read_text()
    assert "in build" in shown
    assert "session.py" not in shown


@pytest.mark.runs_tensorflow
def test_the_scripts_exit_code_is_kept(endings: dict[str, Run]) -> None:
    assert (endings["leaves"].outcome, endings["leaves"].exit_code) == ("crashed", 3)


@pytest.mark.runs_tensorflow
def test_a_script_that_trains_nothing_is_told_apart(endings: dict[str, Run]) -> None:
    idle = endings["idle"]
    assert (idle.outcome, idle.exit_code) == ("trained nothing", 0)
    assert "never trained a model" in idle.message
    assert idle.stdout_path.read_text() == "trained nothing\n"


@pytest.mark.runs_tensorflow
def test_a_syntax_error_has_its_line(endings: dict[str, Run]) -> None:
    assert endings["broken"].outcome == "crashed"
    assert "SyntaxError" in endings["broken"].message
    assert "(broken.py:2)" in endings["broken"].message
