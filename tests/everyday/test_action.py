"""The steps of action.yml, run one by one with bash as a runner would; only steps of others (`uses:`) are left out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
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


def run(folder: Path, source: Path, *, python: Path | None = None, base: str = "", **inputs: str) -> Job:
    """All steps in `folder`, a job's working copy; with `python`, which has tfmigrate, the installing is left out."""
    temp = folder.parent / "temp of the runner"
    temp.mkdir(exist_ok=True)
    job = Job()
    job.values = {"runner.temp": str(temp), "runner.os": "Linux", "github.action_path": str(source)}
    job.values |= {"github.base_ref": base, "github.job": "lint", "strategy.job-index": "2"}
    job.values |= {"steps.python.outputs.python-path": sys.executable, "steps.install.outputs.python": str(python)}
    for name, told in ACTION["inputs"].items():
        job.values[f"inputs.{name}"] = inputs.pop(name.replace("-", "_"), told["default"])
    assert not inputs
    for step in ACTION["runs"]["steps"]:
        name = step.get("name", step.get("uses"))
        if not job.wants(step):
            job.skipped.append(name)
        elif "uses" in step:
            job.used.append(job.filled(json.dumps(step)))
        elif not (python and name == "Install"):
            output, summary = temp / "output", temp / "summary"
            output.write_text("")
            summary.write_text("")
            environment = {**os.environ, **{key: job.filled(text) for key, text in step.get("env", {}).items()}}
            environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
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


def test_steps_of_others_are_pinned_by_commit() -> None:
    others = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert len(others) == 3
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) for one in others)


def test_the_python_of_the_job_stays_as_it_is() -> None:
    (setup,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "python")
    assert setup["with"]["update-environment"] is False
    assert not any("GITHUB_PATH" in step.get("run", "") for step in ACTION["runs"]["steps"])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src/clean.py").write_text("x = 1\n")
    git("init", "-q", "-b", "main", cwd=folder)
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "start", cwd=folder)
    return folder


def test_the_whole_job(repository: Path, published: tuple[Path, str]) -> None:
    job = run(repository, published[0])
    assert job.code == 0, job.log
    assert job.values["steps.check.outputs.exit-code"] == "0"
    assert job.skipped == ["Send the findings to code scanning", "Verify", "Keep the report"]
    (repository / "src/train.py").write_text(TRAIN)
    installed = Path(job.values["steps.install.outputs.python"])
    assert installed.is_relative_to(job.values["runner.temp"])
    job = run(repository, published[0], python=installed, sarif="true")
    assert job.code == 1
    assert "::warning file=src/train.py,line=" in job.log
    assert "src/train.py" in job.summary
    assert all(line.startswith(("    ", "### ")) for line in job.summary.splitlines() if line)
    sarif = json.loads(Path(job.values["steps.check.outputs.sarif-file"]).read_text())
    assert {one["ruleId"] for one in sarif["runs"][0]["results"]} >= {"TFM001"}
    assert any("upload-sarif" in step and "tfmigrate.sarif" in step for step in job.used)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """An interpreter whose `-m tfmigrate` is this checkout; each start is a line in `started`."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\necho "$*" >> "{tmp_path}/started"\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return path


def test_annotating_alone_hides_findings_and_no_failure(repository: Path, ours: Path) -> None:
    (repository / "src/train.py").write_text(TRAIN)
    job = run(repository, ROOT, python=ours, fail="false")
    assert (job.code, job.values["steps.check.outputs.exit-code"]) == (0, "1")
    assert run(repository, ROOT, python=ours, fail="false", paths="src\ngone").code == 2
    job = run(repository, ROOT, python=ours, fail="false", arguments="--no-such-option")
    assert (job.code, "steps.check.outputs.sarif-file" in job.values) == (2, False)


def test_only_what_a_pull_request_changed(repository: Path, ours: Path) -> None:
    (repository / "old.py").write_text(TRAIN)
    git("add", ".", cwd=repository)
    git("commit", "-q", "-m", "old", cwd=repository)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=repository)
    git("checkout", "-q", "-b", "work", cwd=repository)
    assert run(repository, ROOT, python=ours, changed="true", base="main").code == 0
    (repository / "new.py").write_text(TRAIN)
    job = run(repository, ROOT, python=ours, changed="true", base="main")
    assert job.code == 1
    assert "new.py" in job.log
    assert "old.py" not in job.log


def test_arguments_and_paths_with_spaces(repository: Path, ours: Path) -> None:
    (repository / "my models").mkdir()
    (repository / "my models/train it.py").write_text(TRAIN)
    (repository / "other").mkdir()
    assert run(repository, ROOT, python=ours, paths="other").code == 0
    job = run(repository, ROOT, python=ours, paths="other\nmy models\n")
    assert job.code == 1
    assert "train it.py" in job.summary
    assert run(repository, ROOT, python=ours, arguments="--ignore TFM0 --ignore TFM2").code == 0
    assert run(repository, ROOT, python=ours, arguments="--exclude 'my models/'").code == 0
    # What stands in an input is never run.
    run(repository, ROOT, python=ours, paths="$(touch ran)", arguments='--exclude "`touch ran`"')
    assert not (repository / "ran").exists()


def test_the_check_runs_once(repository: Path, ours: Path) -> None:
    run(repository, ROOT, python=ours, sarif="true")
    (started,) = (ours.parent / "started").read_text().splitlines()
    assert started.startswith("-m tfmigrate check ")


@pytest.fixture
def judging(ours: Path, tmp_path: Path) -> Callable[[str, int], Path]:
    """An interpreter whose `tfmigrate verify` is a stand-in with a verdict; check is the real one."""

    def make(verdict: str, code: int) -> Path:
        path = tmp_path / "judging"
        path.write_text(
            f'#!/bin/sh\n[ "$3" = verify ] || exec "{ours}" "$@"\necho "said $4, $5"\n'
            f'mkdir -p "$7"; echo \'{{"verdict": "{verdict}"}}\' > "$7/report.json"; exit {code}\n'
        )
        path.chmod(0o755)
        return path

    return make


@pytest.mark.parametrize(
    ("verdict", "code"), [("EQUIVALENT", 0), ("DIFFERENT", 1), ("DOES NOT RUN", 1), ("INCONCLUSIVE", 3)]
)
def test_verify(repository: Path, judging: Callable[[str, int], Path], verdict: str, code: int) -> None:
    python = judging(verdict, code)
    job = run(repository, ROOT, python=python, verify="old.py 'the new.py'")
    assert (job.code, job.values["steps.verify.outputs.verdict"]) == (code, verdict)
    assert "said old.py, the new.py" in job.summary
    assert any("upload-artifact" in step and "tfmigrate-report" in step for step in job.used)
    assert run(repository, ROOT, python=python, verify="old.py 'the new.py'", fail="false").code == 0


def test_a_verification_that_could_not_run_fails(repository: Path, judging: Callable[[str, int], Path]) -> None:
    assert run(repository, ROOT, python=judging("", 2), verify="old.py new.py", fail="false").code == 2


def test_each_artifact_has_a_name_of_its_own(repository: Path, judging: Callable[[str, int], Path]) -> None:
    python = judging("EQUIVALENT", 0)

    def name(**inputs: str) -> str:
        return run(repository, ROOT, python=python, **inputs).values["steps.verify.outputs.artifact"]

    first, second = name(verify="old.py new.py"), name(verify="old2.py new2.py")
    assert first.startswith("tfmigrate-report-lint-2-")
    assert first != second
    assert name(verify="old.py new.py", artifact="mine") == "mine"


def test_every_output_is_made_by_a_step() -> None:
    made = {f"steps.{step['id']}.outputs" for step in ACTION["runs"]["steps"] if "id" in step}
    for output in ACTION["outputs"].values():
        (name,) = EXPRESSION.findall(output["value"])
        assert name.rpartition(".")[0] in made
