"""What `check` and `fix` print, where, and with which exit code: the options that mean the same as ruff's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate
from tfmigrate import migrate, survey
from tfmigrate.cli import progress as progress_line
from tfmigrate.cli.progress import Progress
from tfmigrate.settings import Settings

HIT = "p = multi_gpu_model(m)\n"
REFUSED = "multi_gpu_model # refuse\n"
SUPPRESSED = "multi_gpu_model # suppressed\n"
pytestmark = pytest.mark.usefixtures("fake_rewrite")


@pytest.fixture
def two_files(project: Path) -> Path:
    Path("a.py").write_text(HIT + SUPPRESSED + HIT)
    Path("b.py").write_text(REFUSED)
    return project


def test_statistics_count_by_code_and_outcome(two_files: Path, tfmigrate: Tfmigrate) -> None:
    done = tfmigrate.exits(1, "check", "--statistics")
    lines = done.text.splitlines()
    assert lines[:3] == [
        "2  TFM001  wrap      [can be rewritten]",
        "1  TFM001  wrap      [suppressed]",
        "1  TFM101  far-away  [refused]",
    ]
    assert lines[3].startswith("2 files checked: ")


def test_statistics_as_json(two_files: Path, tfmigrate: Tfmigrate) -> None:
    rows = json.loads(tfmigrate("check", "--statistics", "--format", "json").out)
    assert rows[0] == {"code": "TFM001", "name": "wrap", "outcome": "can be rewritten", "count": 2}
    assert sum(row["count"] for row in rows) == 4


def test_statistics_name_the_files_that_could_not_be_handled(two_files: Path, tfmigrate: Tfmigrate) -> None:
    Path("c.py").write_text("syntax! multi_gpu_model\n")
    done = tfmigrate.exits(2, "check", "--statistics", "--quiet")
    assert done.text.splitlines()[0].startswith("c.py: error: ")
    assert " checked" not in done.text


@pytest.mark.parametrize("command", [["check"], ["fix"], ["fix", "--diff"]])
@pytest.mark.parametrize(("text", "code"), [(REFUSED, 0), ("x = 1\n", 0), ("syntax! multi_gpu_model\n", 2)])
def test_exit_zero_hides_findings_and_no_failure(
    project: Path, tfmigrate: Tfmigrate, command: list[str], text: str, code: int
) -> None:
    Path("a.py").write_text(text)
    assert tfmigrate(*command, "--exit-zero").code == code
    assert tfmigrate(*command, "-e").code == code
    assert tfmigrate(*command).code == (1 if text == REFUSED else code)


def test_quiet_prints_findings_alone(two_files: Path, tfmigrate: Tfmigrate) -> None:
    done = tfmigrate("check", "--quiet")
    assert [line.split(":")[0] for line in done.text.splitlines()] == ["a.py", "b.py"]
    tfmigrate("check", "--write-baseline", "known.json")
    done = tfmigrate("check", "-q", "--baseline", "known.json", "--ignore", "TFM")
    assert (done.out, done.err) == (b"", "")


@pytest.mark.parametrize("form", ["text", "grouped"])
def test_quiet_prints_nothing_where_nothing_is(project: Path, tfmigrate: Tfmigrate, form: str) -> None:
    Path("a.py").write_text("import tensorflow as tf\n")
    assert tfmigrate("check", "-q", "--format", form).out == b""


@pytest.mark.parametrize("form", ["text", "json", "sarif", "gitlab", "rdjson", "grouped", "junit", "github"])
def test_the_report_goes_into_a_file(two_files: Path, tfmigrate: Tfmigrate, form: str) -> None:
    printed = tfmigrate("check", "--format", form).out
    done = tfmigrate("check", "--format", form, "-o", "report")
    assert (done.code, done.out) == (1, b"")
    assert Path("report").read_bytes() == printed


def test_a_patch_goes_into_a_file_and_its_report_to_stderr(two_files: Path, tfmigrate: Tfmigrate) -> None:
    patch = tfmigrate("fix", "--diff").out
    done = tfmigrate("fix", "--diff", "--output-file", "the.patch")
    assert (Path("the.patch").read_bytes(), done.out) == (patch, b"")
    assert "2 files checked" in done.err


def test_a_configuration_that_is_named(two_files: Path, tfmigrate: Tfmigrate) -> None:
    Path("pyproject.toml").write_text("[tool.tfmigrate]\nignore = ['TFM1']\n")
    Path("other.toml").write_text("[tool.tfmigrate]\nignore = ['TFM0']\n")
    Path("none.toml").write_text("[tool.another]\n")

    def codes(*options: str) -> set[str]:
        files = json.loads(tfmigrate("check", "--format", "json", *options).out)["files"]
        return {finding["code"] for file in files for finding in file["findings"]}

    assert codes() == {"TFM001"}
    assert codes("--config", "other.toml") == {"TFM101"}
    assert codes("--isolated") == {"TFM001", "TFM101"}
    done = tfmigrate("check", "--config", "none.toml")
    assert (done.code, done.err) == (2, "tfmigrate: none.toml: has no table [tool.tfmigrate]; check --config\n")


def test_show_files_lists_what_would_be_looked_at(two_files: Path, tfmigrate: Tfmigrate) -> None:
    Path("c.py").write_text("x = 1\n")
    Path("notes.txt").write_text("multi_gpu_model\n")
    Path("ignored.py").write_text("x = 1\n")
    Path(".gitignore").write_text("ignored.py\n")
    done = tfmigrate("check", "--show-files", "--exclude", "b.py")
    assert (done.code, done.text) == (0, "a.py\nc.py\n")


def test_grouped_is_what_a_terminal_shows(two_files: Path, tfmigrate: Tfmigrate) -> None:
    plain = tfmigrate("check", "--format", "grouped")
    assert plain.text.splitlines()[:3] == [
        "a.py",
        "  TFM001 say, rewrite: 5% [can be rewritten]",
        "    1:5  p = multi_gpu_model(m)",
    ]
    assert "\x1b" not in plain.text
    assert "\x1b[" in tfmigrate("check", "--color", "always").text
    assert "\x1b" not in tfmigrate("check", "--color", "never").text


def test_color_always_overrules_no_color(
    two_files: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;32m" in tfmigrate("check", "--color", "always").text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("import tensorflow as tf\ntf.Session()\n", "\n1 file uses TensorFlow or Keras: --select TFM5 lists"),
        ("import tensorflow as tf\ntf.distribute.MirroredStrategy()\n", "\n"),
        ("x = 1\n", "\n"),
    ],
)
def test_a_script_without_a_strategy_gets_a_hint(project: Path, tfmigrate: Tfmigrate, text: str, hint: str) -> None:
    Path("a.py").write_text(text)
    assert tfmigrate("check").text.startswith("1 file checked, nothing to migrate." + hint)


def test_no_hint_where_the_names_were_looked_for(project: Path) -> None:
    Path("a.py").write_text("import tensorflow as tf\n")
    assert migrate.check(["."], Settings(select=("TFM5",))).users() == 0


@pytest.mark.parametrize("form", [("--format", "json"), ("--format", "sarif"), ("--quiet",)])
def test_no_file_is_read_again_for_a_report_without_the_hint(
    project: Path, tfmigrate: Tfmigrate, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    Path("a.py").write_text("import tensorflow as tf\n")
    monkeypatch.setattr(survey, "grep", None)
    assert tfmigrate("check", *form).code == 0
    assert tfmigrate("check").code == 2


class Terminal:
    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(("quiet", "patience", "shown"), [(False, 0.0, True), (True, 0.0, False), (False, 60.0, False)])
def test_long_work_shows_how_far_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch, quiet: bool, patience: float, shown: bool
) -> None:
    for name in "abc":
        Path(f"{name}.py").write_text(HIT)
    stream = Terminal()
    monkeypatch.setattr(progress_line, "PATIENCE", patience)
    monkeypatch.setattr(progress_line, "AGAIN", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(quiet) as progress:
        migrate.check(["."], Settings(jobs=1), progress)
    if shown:
        assert "3 of 3 programs" in stream.text
        assert stream.text.endswith("\r\x1b[K"), "the line goes when the run is over"
    else:
        assert stream.text == ""


def test_progress_of_several_processes(project: Path) -> None:
    told: list[tuple[int, int]] = []
    for number in range(5):
        Path(f"x{number}.py").write_text("from keras.utils import multi_gpu_model\n")
    migrate.check(["."], Settings(jobs=2), lambda done, of: told.append((done, of)))
    assert told[-1] == (5, 5)
    assert told == sorted(told)


class TestCounts:
    """With the real rules: what is looked at is never fewer than what can be migrated."""

    @pytest.fixture(autouse=True)
    def fake_rewrite(self) -> None:
        """In the place of the stand-in."""

    def test_a_requirements_file_is_looked_at_too(self, project: Path, tfmigrate: Tfmigrate) -> None:
        Path("train.py").write_text(
            "from keras.models import Sequential\nfrom keras.layers import Dense\n"
            "from keras.utils import multi_gpu_model\n"
            "model = Sequential([Dense(1, input_shape=(2,))])\n"
            "parallel = multi_gpu_model(model, gpus=2)\nparallel.compile('sgd', 'mse')\n"
        )
        Path("requirements.txt").write_text("tensorflow-gpu==1.15\nkeras==2.3.1\n")
        summary = json.loads(tfmigrate("check", "--format", "json").out)["summary"]
        assert summary["migrated"] == 2
        assert summary["scanned"] == 2
        assert tfmigrate("check").text.splitlines()[-1].startswith("2 files checked: 2 files can be migrated")

    def test_a_module_outside_the_given_paths_is_looked_at_too(self, project: Path, tfmigrate: Tfmigrate) -> None:
        Path("model.py").write_text(
            "from keras.models import Sequential\nfrom keras.layers import Dense\n"
            "def build():\n    return Sequential([Dense(1, input_shape=(2,))])\n"
        )
        Path("train.py").write_text(
            "from keras.utils import multi_gpu_model\nfrom model import build\n"
            "parallel = multi_gpu_model(build(), gpus=2)\nparallel.compile('sgd', 'mse')\n"
        )
        summary = json.loads(tfmigrate("check", "--format", "json", "train.py").out)["summary"]
        told = {file["path"] for file in json.loads(tfmigrate("check", "--format", "json", "train.py").out)["files"]}
        assert summary["scanned"] >= len(told) >= 1


def test_further_forms_of_one_report_go_into_files(two_files: Path, tfmigrate: Tfmigrate) -> None:
    text, machine = (tfmigrate("check", "--format", form).out for form in ("text", "json"))
    done = tfmigrate("check", "--format", "github", "--also", "text=a b.txt", "--also", "json=report.json")
    assert done.text.startswith("::warning file=a.py")
    assert (Path("a b.txt").read_bytes(), Path("report.json").read_bytes()) == (text, machine)


@pytest.mark.parametrize("value", ["xml=report.xml", "sarif", "sarif="])
def test_a_further_form_that_is_none(two_files: Path, tfmigrate: Tfmigrate, value: str) -> None:
    done = tfmigrate.exits(2, "check", "--also", value)
    assert f"{value!r} is not FORMAT=FILE" in done.err


def test_a_further_form_that_cannot_be_written(two_files: Path, tfmigrate: Tfmigrate) -> None:
    done = tfmigrate("check", "--also", "sarif=no/such/folder.sarif")
    assert (done.code, "--also no/such/folder.sarif: cannot be written" in done.err) == (2, True)
