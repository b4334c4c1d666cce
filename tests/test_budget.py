"""A program that does not end, or that ends its process, is an error; the others go on, and so does the run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmigrate import budget, migrate
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

pytestmark = pytest.mark.starts_processes

HIT = "from keras.utils import multi_gpu_model\nmodel = multi_gpu_model(model, 2)\n"
SECONDS = 3.0
"""More processor time than a small program needs."""


def work(task: str) -> str:
    if task == "hang":
        while True:
            pass
    if task == "swallow":
        while True:
            with suppress(Exception):
                sum(range(100))
    if task == "sleep":
        time.sleep(60)
    if task == "wait":  # Far longer by the clock than the seconds of a task, and hardly any work.
        time.sleep(SECONDS_OF_WORK * 3)
    if task == "lose":
        try:
            while True:
                pass
        except BaseException:  # The first alarm is lost here; it rings again.
            while True:
                pass
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "big":
        return "x" * 10_000_000
    return task.upper()


def failed(task: str, why: budget.Late | budget.Died) -> str:
    return f"{task}: {why}"


SECONDS_OF_WORK = 0.4


def run(tasks: list[str], processes: int) -> list[str]:
    return budget.run(work, tasks, failed, seconds=SECONDS_OF_WORK, processes=processes)


LATE = budget.Late(SECONDS_OF_WORK)
ASLEEP = budget.Late(SECONDS_OF_WORK * 10, waited=True)


@pytest.mark.parametrize("processes", [1, 2, 5])
@pytest.mark.parametrize("hanging", ["hang", "swallow", "lose"])
def test_what_hangs_is_given_up_and_the_rest_goes_on(processes: int, hanging: str) -> None:
    begin = time.monotonic()
    found = run(["a", hanging, "b", hanging, "c"], processes)
    assert found == ["A", f"{hanging}: {LATE}", "B", f"{hanging}: {LATE}", "C"]
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("processes", [1, 2])
def test_what_waits_for_the_processor_or_a_disk_has_more_time_but_not_endless(processes: int) -> None:
    begin = time.monotonic()
    assert run(["wait", "sleep", "a"], processes) == ["WAIT", f"sleep: {ASLEEP}", "A"]
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in reaches other processes by fork only")
@pytest.mark.parametrize("processes", [1, 2])
def test_where_the_system_has_no_timers_a_worker_ends_itself(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    monkeypatch.setattr(multiprocessing, "Process", multiprocessing.get_context("fork").Process)
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.delattr(signal, "SIGPROF")
    assert run(["wait", "hang", "a", "lose"], processes) == ["WAIT", f"hang: {LATE}", "A", f"lose: {LATE}"]


def test_a_process_that_dies_takes_only_its_own_task_with_it() -> None:
    found = run(["a", "die", "b", "die", "die", "big", "c"], 2)
    died = f"die: {budget.Died(-signal.SIGKILL)}"
    assert found == ["A", died, "B", died, died, "x" * 10_000_000, "C"]


def test_no_process_and_no_alarm_is_left() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)]
    run(["a", "hang"], 1)
    run(["hang", "a", "die"], 2)
    assert [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    import multiprocessing

    assert not multiprocessing.active_children()


def test_where_no_alarm_can_be_set_a_process_does_the_work() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(run(["a", "hang", "b"], 1)))
    thread.start()
    thread.join(30)
    assert found == ["A", f"hang: {LATE}", "B"]


def test_no_tasks_need_no_process() -> None:
    assert run([], 1) == run([], 4) == []


def _hanging_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the migration of any program with that file in it endless."""
    from tfmigrate import rewrite

    original = rewrite.migrate_program

    def endless(sources):  # type: ignore[no-untyped-def]
        while any(Path(source.path).name == name for source in sources):
            pass
        return original(sources)

    monkeypatch.setattr(rewrite, "migrate_program", endless)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in reaches other processes by fork only")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("command", ["check", "fix"])
def test_one_program_that_hangs_is_an_error_with_its_files(
    project: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, command: str
) -> None:
    import multiprocessing

    if multiprocessing.get_start_method() != "fork":
        monkeypatch.setattr(multiprocessing, "Process", multiprocessing.get_context("fork").Process)
    _hanging_on("b.py", monkeypatch)
    for name in ("a.py", "b.py", "c.py", "d.py", "e.py"):
        Path(name).write_text(HIT)
    Path("b.py").write_text(f"import b_builds\n{HIT}")
    Path("b_builds.py").write_text(HIT)
    settings = Settings(jobs=jobs, program_timeout=SECONDS)
    result = (migrate.check if command == "check" else migrate.fix)(["."], settings)
    by_path = {file.path: file for file in result.files}
    assert {path for path, file in by_path.items() if file.status == "error"} == {"b.py", "b_builds.py"}
    assert by_path["b.py"].error == (
        "not finished within 3 s of processor time, the limit for one program, and left as it is "
        "(the program is b.py, b_builds.py); "
        "give it more time (--program-timeout), or leave its largest files out (--exclude)"
    )
    assert all(file.findings for path, file in by_path.items() if file.status != "error")
    assert {"a.py", "c.py", "d.py", "e.py"} <= by_path.keys()
    assert Path("b.py").read_text() == f"import b_builds\n{HIT}"


def test_the_command_line_and_the_configuration_set_it(project: Path, tfmigrate, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    _hanging_on("a.py", monkeypatch)
    Path("a.py").write_text(HIT)
    done = tfmigrate("check", "--program-timeout", "0.2", "a.py")
    assert done.code == 2
    assert "not finished within 0.2 s" in done.text
    Path("pyproject.toml").write_text("[tool.tfmigrate]\nprogram-timeout = 0.1\n")
    assert "not finished within 0.1 s" in tfmigrate("check", "a.py").text
    done = tfmigrate("fix", "-", "--stdin-filename", "a.py", stdin=HIT.encode())
    assert (done.code, done.out) == (2, b"") or done.out == HIT.encode()
    assert "not finished within 0.1 s" in done.err


def test_a_file_that_is_too_large_is_refused_at_once_and_the_limit_is_named(project: Path, tfmigrate) -> None:  # type: ignore[no-untyped-def]
    Path("a.py").write_text(HIT + "x = 1\n" * 1000)
    done = tfmigrate("check", "--largest-file", "5000", "a.py")
    assert done.code == 2
    assert "its 6,074 characters of Python exceed the limit of 5,000" in done.text
    assert tfmigrate("check", "a.py").code == 1  # not an error


N = 4000
DEEP = {
    "sum": "x = " + " + ".join(["a"] * N),
    "calls": "x = a" + ".b()" * N,
    "attributes": "x = a" + ".b" * N,
    "subscripts": "x = a" + "[0]" * N,
    "not": "x = " + "not " * N + "a",
    "and": "x = " + " and ".join(["a"] * N),
    "conditional": "x = " + "a if b else " * N + "c",
    "lambdas": "x = " + "lambda: " * N + "a",
    "elif": "if a:\n    pass\n" + "elif a:\n    pass\n" * N,
    "strings": "x = (" + "\n".join(["'a'"] * N) + ")",
    "loops": "x = [a " + "for a in b " * N + "]",
    "dotted import": "import a" + ".b" * N,
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("times", [1, 5])
def test_code_that_nests_too_deep_is_an_error_about_its_file_alone(project: Path, kind: str, times: int) -> None:
    text = DEEP[kind] if times == 1 else DEEP[kind].replace(".b()", ".b()" * 5)
    Path("deep.py").write_text(f"{HIT}{text}\n")
    Path("train.py").write_text(f"import deep\n{HIT}")
    result = {file.path: file for file in migrate.check(["."], Settings(jobs=1)).files}
    assert "nests" in (result["deep.py"].error or "")
    assert result["train.py"].error is None


SHALLOW = {
    "sum": "x = " + " + ".join(["a"] * 400),
    "calls": "x = a" + ".b()" * 200,
    "elif": "if a:\n    pass\n" + "elif a:\n    pass\n" * 400,
    "comparisons": "x = " + " < ".join(["a"] * N),
    "strings side by side": "x = [" + ", ".join(["'a' \"b'c\""] * N) + "]",
    "docstrings": "".join(f'def f{i}():\n    """It isn\'t "one"."""\n' for i in range(N // 10)),
    "brackets": "x = " + "[" * 90 + "]" * 90,
    "blocks": "".join(" " * i + "if a:\n" for i in range(90)) + " " * 90 + "pass",
}


@pytest.mark.parametrize("kind", SHALLOW)
def test_code_that_only_looks_deep_is_read(kind: str) -> None:
    file = migrate_bytes(f"{HIT}{SHALLOW[kind]}\n".encode(), "train.py", Settings())
    assert file.error is None
    assert file.findings


def test_the_command_survives_what_would_crash_the_parser(project: Path) -> None:
    import subprocess

    Path("deep.py").write_text(f"{HIT}{DEEP['calls'] * 1}{'.b()' * 20_000}\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "tfmigrate", "check", "."], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "nests deeper" in done.stdout
    assert not done.stderr
