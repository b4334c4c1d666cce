"""The baseline: known findings are left out, wherever they moved to in their file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate

pytestmark = pytest.mark.usefixtures("fake_rewrite")


@pytest.fixture
def adopted(project: Path, tfmigrate: Tfmigrate) -> Path:
    """Two files with findings, all of them in known.json."""
    (project / "sub").mkdir()
    (project / "a.py").write_text("p = multi_gpu_model(m)\nq = multi_gpu_model(m)  # refuse\n")
    (project / "sub/b.py").write_text("p = multi_gpu_model(m)\n")
    done = tfmigrate("check", "--write-baseline", "known.json")
    assert (done.code, done.out, done.err) == (0, b"", "known.json: 3 findings recorded as known.\n")
    return project


def test_what_is_known_is_no_finding(adopted: Path, tfmigrate: Tfmigrate) -> None:
    assert tfmigrate("check").code == 1
    done = tfmigrate("check", "--baseline", "known.json")
    assert (done.code, done.text) == (0, "2 files checked, nothing to migrate.\n")
    assert done.err == "3 known from known.json, not shown.\n"


def test_the_line_may_move(adopted: Path, tfmigrate: Tfmigrate) -> None:
    path = adopted / "a.py"
    path.write_text("# new\n\nif x:\n    " + path.read_text().replace("\nq", "\n    q"))
    assert tfmigrate("check", "--baseline", "known.json").code == 0


def test_what_is_new_is_a_finding(adopted: Path, tfmigrate: Tfmigrate) -> None:
    (adopted / "a.py").write_text((adopted / "a.py").read_text() + "r = multi_gpu_model(m)\n")
    done = tfmigrate.exits(1, "check", "--baseline", "known.json", "--format", "json")
    (file,) = json.loads(done.out)["files"]
    assert [(file["status"], finding["line"]) for finding in file["findings"]] == [("migrated", 3)]


def test_a_second_copy_of_a_known_line_is_new(adopted: Path, tfmigrate: Tfmigrate) -> None:
    (adopted / "sub/b.py").write_text("p = multi_gpu_model(m)\n" * 2)
    assert tfmigrate("check", "--baseline", "known.json").code == 1


def test_what_is_gone_is_told_of_the_paths_given(adopted: Path, tfmigrate: Tfmigrate) -> None:
    (adopted / "sub/b.py").write_text("x = 1\n")
    assert "known.json: 1 finding is no longer found" in tfmigrate("check", "--baseline", "known.json").err
    assert "known.json: 1 finding is no longer found" in tfmigrate("check", "sub", "--baseline", "known.json").err
    assert "gone" not in tfmigrate("check", "a.py", "--baseline", "known.json").err


def test_from_the_configuration_and_another_folder(
    adopted: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (adopted / "pyproject.toml").write_text('[tool.tfmigrate]\nbaseline = "known.json"\n')
    monkeypatch.chdir(adopted / "sub")
    assert tfmigrate("check").code == 0
    (adopted / "sub/c.py").write_text("z = multi_gpu_model(m)\n")
    assert tfmigrate("check").code == 1


def test_fix_mends_what_is_known_too(adopted: Path, tfmigrate: Tfmigrate) -> None:
    (adopted / "pyproject.toml").write_text('[tool.tfmigrate]\nbaseline = "known.json"\n')
    tfmigrate("fix")
    assert (adopted / "sub/b.py").read_text() == "p = scope(m)\n"


def test_the_same_findings_give_the_same_bytes(adopted: Path, tfmigrate: Tfmigrate) -> None:
    first = (adopted / "known.json").read_bytes()
    tfmigrate("check", "sub", ".", "--write-baseline", "known.json")
    assert (adopted / "known.json").read_bytes() == first


def test_a_file_that_does_not_parse_is_told_when_the_baseline_is_made(project: Path, tfmigrate: Tfmigrate) -> None:
    (project / "a.py").write_text("syntax! multi_gpu_model\n")
    done = tfmigrate.exits(2, "check", "--write-baseline", "known.json")
    assert "a.py: line 1: syntax error" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such baseline; create it with: tfmigrate check --write-baseline known.json"),
        ("{", "cannot be read as a baseline"),
        ("[]", "is not a baseline; write it again"),
        ('{"version": 2}', "version 2 is not 1; write it again"),
        ('{"version": 1, "findings": [{}]}', "is not a baseline; write it again"),
    ],
)
def test_a_broken_baseline(project: Path, tfmigrate: Tfmigrate, text: str | None, message: str) -> None:
    if text is not None:
        (project / "known.json").write_text(text)
    done = tfmigrate("check", "--baseline", "known.json")
    assert (done.code, done.out) == (2, b"")
    assert f"tfmigrate: known.json: {message}" in done.err
