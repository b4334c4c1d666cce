"""The hooks, run by the real pre-commit in a scratch repository, which installs this project for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, git
from tfmigrate.files import scan
from tfmigrate.plan.packages.files import names_packages

pytestmark = pytest.mark.starts_processes

TRAIN = (ROOT / "fixtures" / "base_parallel" / "before" / "train.py").read_text()


@dataclass(frozen=True)
class Scratch:
    """A user's repository with the hooks in its configuration."""

    folder: Path
    home: Path

    def stage(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        git("add", name, cwd=self.folder)

    def run(self, hook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PRE_COMMIT_HOME": str(self.home), "GIT_CONFIG_GLOBAL": os.devnull}
        command = [sys.executable, "-m", "pre_commit", "run", hook, *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    @property
    def installed(self) -> Path:
        """The environment that pre-commit made for the hooks."""
        (environment,) = self.home.glob("repo*/py_env-*")
        return environment


@pytest.fixture(scope="module")
def scratch(published: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    pytest.importorskip("pre_commit")
    folder = tmp_path_factory.mktemp("user")
    git("init", "-q", "-b", "main", cwd=folder)
    repository, revision = published
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {repository.as_uri()}\n  rev: {revision}\n"
        "  hooks:\n  - id: tfmigrate-check\n  - id: tfmigrate-fix\n"
    )
    git("add", ".", cwd=folder)
    git("commit", "-q", "-m", "start", cwd=folder)
    scratch = Scratch(folder, tmp_path_factory.mktemp("pre-commit"))
    scratch.stage("clean.py", "x = 1\n")
    done = scratch.run("tfmigrate-check")
    assert done.returncode == 0, done.stdout + done.stderr
    return scratch


@pytest.fixture
def user(scratch: Scratch) -> Scratch:
    git("reset", "-q", "--hard", cwd=scratch.folder)
    git("clean", "-q", "-f", "-d", cwd=scratch.folder)
    return scratch


def test_check_fails_and_changes_nothing(user: Scratch) -> None:
    user.stage("train.py", TRAIN)
    done = user.run("tfmigrate-check")
    assert done.returncode == 1
    line = TRAIN[: TRAIN.index("= multi_gpu_model(")].count("\n") + 1
    assert f"train.py:{line}:18: TFM001" in done.stdout
    assert (user.folder / "train.py").read_text() == TRAIN


def test_fix_migrates_and_then_the_check_passes(user: Scratch) -> None:
    user.stage("train.py", TRAIN)
    assert "files were modified by this hook" in user.run("tfmigrate-fix").stdout
    assert "strategy.scope()" in (user.folder / "train.py").read_text()
    git("add", "train.py", cwd=user.folder)
    assert user.run("tfmigrate-check").returncode == 0


def test_requirements_that_are_staged_change_with_the_program(user: Scratch) -> None:
    user.stage("requirements.txt", "# multi_gpu_model needs these\ntensorflow-gpu==1.15\nkeras==2.2.4\n")
    assert user.run("tfmigrate-check").returncode == 0
    user.stage("train.py", TRAIN)
    assert "files were modified by this hook" in user.run("tfmigrate-fix").stdout
    assert "strategy.scope()" in (user.folder / "train.py").read_text()
    assert "keras==" not in (user.folder / "requirements.txt").read_text()


@pytest.mark.parametrize(
    "name",
    [
        "a.py", "a/b.ipynb", "requirements.txt", "requirements/dev.in", "dev-requirements.txt", "setup.py", "setup.cfg",
        "pyproject.toml", "Pipfile", "environment.yml", "docker/gpu.Dockerfile", "Dockerfile.gpu", "constraints.txt",
        "notes.txt", "a.pyc", "package.json", "data/requirements.json", "my_pyproject.toml", "data.yaml",
    ],
)  # fmt: skip
def test_the_hooks_take_what_the_tool_reads(name: str) -> None:
    read = scan.is_source(name) or names_packages(Path(name).name)
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        assert bool(re.search(hook["files"], name)) == read


def test_a_notebook_is_looked_at(user: Scratch) -> None:
    user.stage("a.ipynb", '{"cells": [{"cell_type": "code", "source": "from keras.utils import multi_gpu_model"}]}')
    done = user.run("tfmigrate-check")
    assert done.returncode == 1
    assert "a.ipynb:cell 1:1:1: TFM003" in done.stdout


def test_twenty_clean_files_take_a_fraction_of_a_second(user: Scratch) -> None:
    for number in range(20):
        (user.folder / f"f{number}.py").write_text(TRAIN.replace("multi_gpu_model", "other"))
    command = [str(next(user.installed.glob("*/tfmigrate*"))), "check", *(f"f{number}.py" for number in range(20))]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert subprocess.run(command, cwd=user.folder, capture_output=True).returncode == 0
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5


def test_tensorflow_is_not_installed(user: Scratch) -> None:
    names = {path.name.split("-")[0].lower() for path in user.installed.glob("**/*.dist-info")}
    assert {"libcst", "click", "tfmigrate"} <= names
    assert not names & {"tensorflow", "keras", "numpy", "matplotlib"}
