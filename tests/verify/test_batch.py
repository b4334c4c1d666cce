"""`verify --batch`: the file, one table of many verdicts, and what is not done twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import Tfmigrate, needs_submitit
from tfmigrate.cli import batch as batches
from tfmigrate.cli.batch import read
from tfmigrate.errors import UserError
from tfmigrate.verify.judge.report import Report

Tool = Tfmigrate


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Verdicts by the old script's text; (old script, options) of each verification that was made."""
    made: list[tuple[str, dict[str, Any]]] = []

    def verified(old: Path, new: Path | None, options: dict[str, Any], folder: Path | None, where: object) -> Report:
        made.append((old.name, options))
        verdict, _, state = old.read_text().strip().partition("; ")
        if verdict == "missing":
            raise UserError(f"{old}: no such file")
        return Report(verdict, "why <it> is so", str(old), state=state or "complete")  # type: ignore[arg-type]

    monkeypatch.setattr(batches, "verified", verified)
    return made


def batch_of(folder: Path, **programs: str) -> Path:
    file = folder / "pairs.toml"
    tables = []
    for name, verdict in programs.items():
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(verdict + "\n")
        tables.append(f'[[program]]\nname = "{name}"\nold = "{name}/train.py"\n')
    file.write_text("\n".join(tables))
    return file


def test_one_table_of_many_verdicts(tfmigrate: Tool, project: Path, judged: list[object]) -> None:
    file = batch_of(project, good="EQUIVALENT", bad="DIFFERENT", gone="missing")
    done = tfmigrate.exits(1, "verify", "--batch", file, "--report", "out")
    assert "1 EQUIVALENT, 1 COULD NOT RUN, 1 DIFFERENT" in done.text
    assert "[2/3] bad: DIFFERENT" in done.err
    page = (project / "out" / "index.html").read_text()
    assert 'href="good/report.html"' in page
    assert "why &lt;it&gt; is so" in page
    assert (project / "out" / "bad" / "report.html").exists()
    cases = ElementTree.parse(project / "out" / "batch.xml").getroot()[0]
    assert [(case.get("name"), [child.tag for child in case]) for case in cases] == [
        ("bad", ["failure"]), ("gone", ["error"]), ("good", ["system-out"])
    ]  # fmt: skip
    printed = json.loads(tfmigrate("verify", "--batch", file, "--report", "out", "--format", "json").text)
    assert [row["name"] for row in printed["programs"]] == ["bad", "gone", "good"]


def test_what_has_not_changed_is_not_verified_again(tfmigrate: Tool, project: Path, judged: list[Any]) -> None:
    file = batch_of(project, one="EQUIVALENT", two="EQUIVALENT")
    assert tfmigrate("verify", "--batch", file).code == 0
    again = tfmigrate("verify", "--batch", file)
    assert "one: EQUIVALENT (as before)" in again.err
    assert len(judged) == 2
    (project / "two" / "data.csv").write_text("1")
    tfmigrate("verify", "--batch", file)
    assert len(judged) == 3
    tfmigrate("verify", "--batch", file, "--budget", "5")
    assert len(judged) == 5


def test_a_changed_file_from_outside_the_program_is_a_change(tfmigrate: Tool, project: Path, judged: list[Any]) -> None:
    file = batch_of(project, one="EQUIVALENT")
    file.write_text(file.read_text() + 'setup = "make.py"\nstub = ["cv2=fake.py"]\n')
    for number, name in enumerate(("make.py", "make.py", "fake.py"), 1):
        (project / name).write_text(f"x = {number}\n")
        assert "as before" not in tfmigrate("verify", "--batch", file).err
        assert len(judged) == number
    assert "as before" in tfmigrate("verify", "--batch", file).err


@needs_submitit
def test_on_an_engine_several_are_verified_at_a_time(
    tfmigrate: Tool, project: Path, judged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TFMIGRATE_HOME", str(project / "home"))
    file = batch_of(project, one="EQUIVALENT", two="DIFFERENT", three="missing")
    done = tfmigrate("verify", "--batch", file, "--on", "local")
    assert (done.code, len(judged)) == (1, 3)
    assert "1 EQUIVALENT, 1 COULD NOT RUN, 1 DIFFERENT" in done.text


def test_it_goes_on_where_it_was_interrupted(tfmigrate: Tool, project: Path, judged: list[Any]) -> None:
    file = batch_of(project, one="EQUIVALENT", two="INCONCLUSIVE; interrupted", three="EQUIVALENT")
    done = tfmigrate("verify", "--batch", file)
    assert (done.code, len(judged)) == (130, 2)
    assert "1 of 3 not verified" in done.text
    assert "1 of 3 not verified yet" in (project / "verified" / "index.html").read_text()
    (project / "two" / "train.py").write_text("EQUIVALENT\n")
    assert tfmigrate("verify", "--batch", file).code == 0
    assert [name for name, _ in judged].count("train.py") == 4


def test_options_of_a_program_of_the_file_and_of_the_command(tfmigrate: Tool, project: Path, judged: list[Any]) -> None:
    (project / "sub").mkdir()
    file = batch_of(project, one="EQUIVALENT", two="EQUIVALENT")
    text = file.read_text().replace('"one"', '"one"\nbudget = 7\nenv = ["A=1", "B=2"]\nsetup = "make.py"', 1)
    file.write_text("[defaults]\nreplicas = 2\nsmoke = false\n" + text)
    tfmigrate("verify", "--batch", file, "--budget", "9", "--replicas", "4")
    one, two = (options for _, options in judged)
    assert (one["budget"], one["replicas"], one["env"], one["setup"]) == (7, 2, ("A=1", "B=2"), file.parent / "make.py")
    assert (two["budget"], two["replicas"], two["env"], two["setup"]) == (9, 2, (), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[program]", "not a TOML file"),
        ("", "contains no [[program]]"),
        ("[[pair]]\nold = 'x'", "unknown 'pair'; a batch has [defaults] and [[program]]"),
        ("[[program]]\nnew = 'x'", "program 1 has no `old`"),
        ("[[program]]\nold = 'x'\nspeed = 3", "program 1: verify has no option 'speed' for a single program"),
        ("[[program]]\nold = 'x'\nreport = 'y'", "verify has no option 'report' for a single program"),
        ("[[program]]\nold = 'x'\nreplicas = 1", "program 1: Invalid value for '--replicas'"),
        ("[[program]]\nold = 'x'\n[[program]]\nold = 'x'", "2 programs are called 'x'; give each its own `name`"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(tfmigrate: Tool, project: Path, text: str, words: str) -> None:
    (project / "pairs.toml").write_text(text)
    done = tfmigrate.exits(2, "verify", "--batch", "pairs.toml")
    assert words in done.err
    assert done.err.startswith("tfmigrate: pairs.toml: ")
    assert not (project / "verified").exists()


def test_a_folder_stands_for_the_files_in_it(project: Path) -> None:
    for name in ("a", "b"):
        batch_of_one = project / name
        batch_of_one.mkdir()
        (batch_of_one / "verify.toml").write_text("[[program]]\nname = 'x'\nold = 'old.py'\nnew = 'new.py'\n")
    items = read(project)
    assert [(item.name, item.old, item.new) for item in items] == [
        (f"{name}/x", project / name / "old.py", project / name / "new.py") for name in ("a", "b")
    ]
    with pytest.raises(UserError, match=r"contains no verify\.toml"):
        read(project / ".git")


@pytest.mark.parametrize("on", ["ray2", "ray://", "here"])
def test_an_engine_that_is_not_known_is_said(tfmigrate: Tool, project: Path, on: str) -> None:
    done = tfmigrate.exits(2, "verify", "old.py", "--on", on)
    assert f"--on {on!r}: give ray, ray://HOST:PORT, slurm or local" in done.err


@pytest.mark.parametrize(("on", "module"), [("ray", "ray"), ("slurm", "submitit"), ("local", "submitit")])
def test_an_engine_that_is_not_installed_is_said(
    tfmigrate: Tool, project: Path, monkeypatch: pytest.MonkeyPatch, on: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    done = tfmigrate.exits(2, "verify", "old.py", "--on", on)
    assert f"--on {on} needs {module}: pip install 'tfmigrate[cluster]" in done.err


def test_old_is_asked_for_where_there_is_no_batch(tfmigrate: Tool, project: Path) -> None:
    done = tfmigrate.exits(2, "verify")
    assert "Missing argument 'OLD'" in done.err
    both = tfmigrate.exits(2, "verify", "old.py", "--batch", "pairs.toml")
    assert "leave out OLD" in both.err
