"""Shared by all tests: the command line in-process, and a stand-in for the codemod where only the house is tested."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import forks
from tfmigrate import cli, needles, rules
from tfmigrate.errors import UserError
from tfmigrate.files.source import explain_syntax_error
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.servers import Servers

ROOT = Path(__file__).resolve().parent.parent

RuntimeFor = Callable[[str], Runtime]

needs_submitit = pytest.mark.skipif(
    importlib.util.find_spec("submitit") is None, reason="submitit is not installed (the extra `cluster`)"
)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


@pytest.fixture(scope="session")
def found_runtimes() -> tuple[Runtime, ...]:
    return runtimes.discover()


@pytest.fixture(scope="session")
def runtime_for(found_runtimes: tuple[Runtime, ...]) -> RuntimeFor:
    """`runtime_for("genuine keras")`: the oldest TensorFlow of that kind; the test is skipped where there is none."""

    def choose(kind: str) -> Runtime:
        fitting = [runtime for runtime in found_runtimes if kind in runtime.kinds]
        if not fitting:
            pytest.skip(f"no interpreter here is {kind}; `tfmigrate runtimes --make all` builds the old ones")
        newest = kind == "genuine tf.keras" or kind.startswith("keras")
        return (max if newest else min)(fitting, key=lambda runtime: runtime.tensorflow_version)

    return choose


@pytest.fixture(scope="session")
def launch() -> Iterator[Launch]:
    """Starts runs in forks of interpreters that import TensorFlow once for all tests of this process."""
    with Servers() as servers:
        yield servers.launch


@pytest.fixture(scope="session")
def python(launch: Launch, runtime_for: RuntimeFor, tmp_path_factory: pytest.TempPathFactory) -> forks.Python:
    """`python(2, "print('hello')")`: what became of a program (a text or a path) on the newest TensorFlow with Keras 2
    or 3; more arguments are its command line, `variables` its environment's."""

    def run(keras: int, program: str | Path, *args: str, variables: Mapping[str, str] | None = None) -> forks.Done:
        runtime = runtime_for(f"keras {keras}")
        return forks.run(launch, runtime, program, args, tmp_path_factory.mktemp("python"), keras, variables)

    return run


@dataclass(frozen=True)
class Tfmigrate:
    """`tfmigrate("check", "x.py", stdin=b"...")` runs the command line in this process."""

    printed: pytest.CaptureFixture[bytes]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Outcome:
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = cli.run([str(argument) for argument in arguments])
        out, err = self.printed.readouterr()
        return Outcome(code, out, err.decode())

    def exits(self, code: int, *arguments: object, stdin: bytes = b"") -> Outcome:
        """What the command leaves that ends with this exit code."""
        done = self(*arguments, stdin=stdin)
        assert done.code == code, done.err
        return done


@pytest.fixture
def tfmigrate(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Tfmigrate:
    return Tfmigrate(capsysbinary, monkeypatch)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, inside a repository's boundary so that nothing above it counts."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a report says: to draw its pictures takes longer than all the rest of it."""
    from tfmigrate.verify.report import figures

    monkeypatch.setattr(figures, "draw", lambda report, folder: ())


@dataclass(frozen=True)
class FakeSource:
    """As tfmigrate.rewrite.Source."""

    path: str
    text: str
    settings: Settings
    numbering: object = None


def fake_migrate_program(sources: Sequence[FakeSource]) -> tuple[FileResult, ...]:
    """A toy codemod with the contract of tfmigrate.rewrite: each line that holds the needle becomes `scope()`.

    A line with `euro` gets a character that latin-1 lacks. One with `refuse` is refused, one with `suppressed` left;
    `syntax!` does not parse, `crash!` raises.
    """
    results = []
    for path, text, settings in ((source.path, source.text, source.settings) for source in sources):
        if "syntax!" in text:
            error = explain_syntax_error(text, 1, "invalid syntax")
            results.append(FileResult(path, "error", error=error, before=text, after=text))
            continue
        if "crash!" in text:
            raise KeyError("lost" + "\n and more" * 1000)
        lines, findings = text.splitlines(keepends=True), []
        for number, line in enumerate(lines):
            if "multi_gpu_model" not in line:
                continue
            code, action = "TFM001", "rewrite"
            if "refuse" in line:
                code, action = "TFM101", "refuse"
            elif "suppressed" in line:
                action = "suppressed"
            else:
                lines[number] = line.replace("multi_gpu_model", "scope").replace("euro", "\u20ac")
            if settings.wants(code):
                findings.append(
                    Finding(number + 1, line.index("multi_gpu_model") + 1, code, f"say, {action}: 5%", action)
                )
        actions = {finding.action for finding in findings}
        status = "refused" if "refuse" in actions else "migrated" if "rewrite" in actions else "unchanged"
        results.append(FileResult(path, status, tuple(findings), before=text, after="".join(lines)))
    return tuple(results)


@pytest.fixture
def fake_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put `fake_migrate_program` in the place of the codemod, with two rules of its own."""
    module = types.ModuleType("tfmigrate.rewrite")
    module.migrate_program = fake_migrate_program  # type: ignore[attr-defined]
    module.Source = FakeSource  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tfmigrate.rewrite", module)
    monkeypatch.setattr(needles, "needles", lambda: (b"multi_gpu_model",))
    known = {
        "TFM001": rules.Rule("TFM001", "wrap", "safe", (), Path("x.md"), "Wrap", "# Wrap\n\nIt wraps.\n\nWhy.\n", 1),
        "TFM101": rules.Rule("TFM101", "far-away", "refuse", (), Path("y.md"), "Far", "# Far\n\nToo far.\n", 1),
    }
    monkeypatch.setattr(rules, "by_code", lambda: known)


def put(name: str, data: bytes) -> Path:
    """A file with this content, in folders that are made for it."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def git(*arguments: str, cwd: Path | None = None) -> str:
    """Run git without the machine's own configuration."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(done.stderr)
    return done.stdout


def pytest_configure(config: pytest.Config) -> None:
    """The deepest of the folders that are named come first: pytest 9.1 makes the folders in one anew for each file of
    it that is named, and forgets the fixtures of their conftest.py."""

    def depth(argument: str) -> int:
        path = Path(argument.partition("::")[0]).resolve()
        return len((path if path.is_dir() else path.parent).parts)

    config.args.sort(key=depth, reverse=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For xdist: what takes long comes first, so that no worker is left alone with it at the end; and the tests of a
    module that share something (a fixture of the module's, which may be a dozen trainings) run in one worker. First,
    since xdist reads the groups in this hook too."""
    assert "tensorflow" not in sys.modules, "a test module imports TensorFlow, which each worker then waits for"
    items.sort(key=lambda item: item.get_closest_marker("runs_tensorflow") is None)
    for item in items:
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        if any(found[-1].scope == "module" for found in fixtures):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_runtest_setup() -> None:
    """A TensorFlow 2 that a test imported here would make an old one behave like it in every process started after."""
    os.environ.pop("TF2_BEHAVIOR", None)
