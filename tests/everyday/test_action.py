"""The steps of action.yml, run one by one with bash as a runner would; only steps of others (`uses:`) are left out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, git

pytestmark = pytest.mark.starts_processes

yaml = pytest.importorskip("yaml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TRAIN = (ROOT / "fixtures" / "base_parallel" / "before" / "train.py").read_text()
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@dataclass
class Job:
    """What a job left behind."""

    code: int = 0
    log: str = ""
    summary: str = ""
    skipped: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    """`inputs.x`, `github.x`, `runner.x` and `steps.x.outputs.y`."""

    def filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda match: self.values.get(match[1], ""), text)

    def wants(self, step: Mapping[str, Any]) -> bool:
        match = re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", step.get("if", "runner.os != ''"))
        assert match is not None, step["if"]
        return (self.values.get(match[1], "") == match[3]) == (match[2] == "==")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a Python of its own, as setup-python gives one."""
    folder = tmp_path_factory.mktemp("runner") / "python"
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin"


def run(folder: Path, path: Path, source: Path, *, installed: bool = False, base: str = "", **inputs: str) -> Job:
    """All steps in `folder`; `installed` leaves the first one out."""
    temp = folder.parent / "temp"
    temp.mkdir(exist_ok=True)
    job = Job()
    job.values = {"runner.temp": str(temp), "runner.os": "Linux", "github.action_path": str(source)}
    job.values["github.base_ref"] = base
    for name, told in ACTION["inputs"].items():
        job.values[f"inputs.{name}"] = inputs.pop(name.replace("-", "_"), told["default"])
    assert not inputs
    for step in ACTION["runs"]["steps"]:
        name = step.get("name", step.get("uses"))
        if not job.wants(step):
            job.skipped.append(name)
        elif "uses" in step:
            job.used.append(job.filled(json.dumps(step)))
        elif not (installed and name == "Install"):
            output, summary = temp / "output", temp / "summary"
            output.write_text("")
            summary.write_text("")
            environment = {**os.environ, **{key: job.filled(text) for key, text in step.get("env", {}).items()}}
            environment |= {"PATH": f"{path}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(output)}
            environment |= {"GITHUB_STEP_SUMMARY": str(summary)}
            environment.pop("PYTHONPATH", None)
            assert step["shell"] == "bash"
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            job.log += done.stdout + done.stderr
            job.summary += summary.read_text()
            for line in output.read_text().splitlines():
                key, _, value = line.partition("=")
                job.values[f"steps.{step['id']}.outputs.{key}"] = value
            if done.returncode:
                job.code = done.returncode
                return job
    return job


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src/clean.py").write_text("x = 1\n")
    git("init", "-q", "-b", "main", cwd=folder)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "start", cwd=folder)
    return folder


def test_the_whole_job(repository: Path, python: Path, published: tuple[Path, str]) -> None:
    job = run(repository, python, published[0])
    assert job.code == 0, job.log
    assert job.values["steps.check.outputs.exit-code"] == "0"
    assert job.skipped == ["Send the findings to code scanning", "Verify", "Keep the report"]
    (repository / "src/train.py").write_text(TRAIN)
    job = run(repository, python, published[0], installed=True, sarif="true")
    assert job.code == 1
    assert "::warning file=src/train.py,line=" in job.log
    assert "src/train.py" in job.summary
    assert all(line.startswith(("    ", "### ")) for line in job.summary.splitlines() if line)
    sarif = json.loads(Path(job.values["steps.check.outputs.sarif-file"]).read_text())
    assert {one["ruleId"] for one in sarif["runs"][0]["results"]} >= {"TFM001"}
    assert any("upload-sarif" in step and "tfmigrate.sarif" in step for step in job.used)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bin folder whose tfmigrate is this checkout."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "tfmigrate").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tfmigrate "$@"\n')
    (folder / "tfmigrate").chmod(0o755)
    (folder / "python").symlink_to(sys.executable)
    return folder


def test_only_annotating(repository: Path, ours: Path) -> None:
    (repository / "src/train.py").write_text(TRAIN)
    job = run(repository, ours, ROOT, installed=True, fail="false")
    assert (job.code, job.values["steps.check.outputs.exit-code"]) == (0, "1")


def test_only_what_a_pull_request_changed(repository: Path, ours: Path) -> None:
    (repository / "old.py").write_text(TRAIN)
    git("add", ".", cwd=repository)
    git("commit", "-q", "-m", "old", cwd=repository)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=repository)
    git("checkout", "-q", "-b", "work", cwd=repository)
    assert run(repository, ours, ROOT, installed=True, changed="true", base="main").code == 0
    (repository / "new.py").write_text(TRAIN)
    job = run(repository, ours, ROOT, installed=True, changed="true", base="main")
    assert job.code == 1
    assert "new.py" in job.log
    assert "old.py" not in job.log


def test_arguments_and_paths(repository: Path, ours: Path) -> None:
    (repository / "src/train.py").write_text(TRAIN)
    (repository / "other").mkdir()
    assert run(repository, ours, ROOT, installed=True, paths="other").code == 0
    assert run(repository, ours, ROOT, installed=True, arguments="--ignore TFM0 --ignore TFM2").code == 0
    assert run(repository, ours, ROOT, installed=True, paths="src other gone").code == 2


@pytest.mark.parametrize(
    ("verdict", "code"), [("EQUIVALENT", 0), ("DIFFERENT", 1), ("DOES NOT RUN", 1), ("INCONCLUSIVE", 3)]
)
def test_verify(repository: Path, ours: Path, tmp_path: Path, verdict: str, code: int) -> None:
    """The verdict of a stand-in for `tfmigrate verify`; check is the real one."""
    path = tmp_path / "bin"
    path.mkdir()
    (path / "python").symlink_to(sys.executable)
    (path / "tfmigrate").write_text(
        f'#!/bin/sh\n[ "$1" = verify ] || exec "{ours}/tfmigrate" "$@"\n'
        f'echo "said $2 $3"; mkdir -p "$5"; echo \'{{"verdict": "{verdict}"}}\' > "$5/report.json"; exit {code}\n'
    )
    (path / "tfmigrate").chmod(0o755)
    job = run(repository, path, ROOT, installed=True, verify="old.py new.py")
    assert (job.code, job.values["steps.verify.outputs.verdict"]) == (code, verdict)
    assert "said old.py new.py" in job.summary
    assert any("upload-artifact" in step and "tfmigrate-report" in step for step in job.used)


def test_every_output_is_made_by_a_step() -> None:
    made = {f"steps.{step['id']}.outputs" for step in ACTION["runs"]["steps"] if "id" in step}
    for output in ACTION["outputs"].values():
        (name,) = EXPRESSION.findall(output["value"])
        assert name.rpartition(".")[0] in made
