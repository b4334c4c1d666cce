"""Only some files of a program are given, as a hook does: all of it is migrated, or none, and the others are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate, git
from tfmigrate import migrate
from tfmigrate.files import scan
from tfmigrate.result import Result
from tfmigrate.settings import Settings

ONE = Settings(jobs=1)
LAYERS = "from keras.layers import Dense\nfrom keras.models import Sequential\n"
MODEL = f"{LAYERS}\n\ndef build():\n    return Sequential([Dense(1, input_shape=(4,))])\n"
TRAIN = """\
from keras.utils import multi_gpu_model
from model import build

model = multi_gpu_model(build(), 2)
model.compile("sgd", "mse")
"""
ALONE = f"""\
{LAYERS}from keras.utils import multi_gpu_model

model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), 2)
model.compile("sgd", "mse")
"""


@pytest.fixture
def program(project: Path) -> Path:
    """A repository with a program of two files, one of a single file, and one that has nothing to do with either."""
    put({"trainer.py": TRAIN, "model.py": MODEL, "tools/alone.py": ALONE, "tools/other.py": "print(1)\n"})
    return project


def put(files: dict[str, str]) -> None:
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")


def texts() -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in Path().rglob("*.*") if path.is_file()}


def claims(result: Result) -> list[tuple[str, int, str, str, str]]:
    return [(file.path, f.line, f.code, f.action, f.message) for file, f in result.findings]


def test_nothing_is_written_where_a_file_that_was_not_given_must_change_too(program: Path) -> None:
    before = texts()
    result = migrate.fix(["trainer.py"], ONE)
    assert texts() == before
    (file,) = result.files
    assert (file.path, file.status) == ("trainer.py", "refused")
    (refusal,) = [finding for finding in file.findings if finding.action == "refuse"]
    assert (refusal.code, refusal.line) == ("TFM001", 4)
    assert "model.py must change with this file but was not given" in refusal.message


def test_check_says_the_same_and_the_next_check_finds_all_of_it(program: Path) -> None:
    checked = migrate.check(["trainer.py"], ONE)
    assert claims(checked) == claims(migrate.fix(["trainer.py"], ONE))
    assert {file.path for file in migrate.check(["."], ONE).files} == {"trainer.py", "model.py", "tools/alone.py"}


@pytest.mark.parametrize("given", [["trainer.py", "model.py"], ["model.py", "trainer.py", "tools"], ["."]])
def test_all_files_given_are_migrated(program: Path, given: list[str]) -> None:
    result = migrate.fix(given, ONE)
    assert {file.status for file in result.files} == {"migrated"}
    assert "strategy.scope()" in Path("trainer.py").read_text()
    assert "from keras" not in Path("model.py").read_text()


def test_a_program_of_one_file_is_migrated_whatever_else_the_repository_holds(program: Path) -> None:
    (file,) = migrate.fix(["tools/alone.py"], ONE).files
    assert file.status == "migrated"
    assert "strategy.scope()" in Path("tools/alone.py").read_text()
    assert Path("trainer.py").read_text() == TRAIN


def test_a_file_that_need_not_change_need_not_be_given(program: Path) -> None:
    put(
        {
            "model.py": MODEL.replace("keras", "tensorflow.keras"),
            "trainer.py": TRAIN.replace("keras", "tensorflow.keras"),
        }
    )
    (file,) = migrate.fix(["trainer.py"], ONE).files
    assert (file.path, file.status) == ("trainer.py", "migrated")


def test_an_importer_that_was_not_given_is_read_too(program: Path) -> None:
    put({"gpu.py": "from keras.utils import multi_gpu_model\n"})
    put({"trainer.py": TRAIN.replace("keras.utils", "gpu")})
    (file,) = migrate.fix(["gpu.py"], ONE).files
    assert file.status == "refused"
    assert Path("gpu.py").read_text() == "from keras.utils import multi_gpu_model\n"
    assert "model.py, trainer.py must change" in "".join(finding.message for finding in file.findings)


def test_a_folder_is_given_and_its_program_goes_on_outside(program: Path) -> None:
    put({"tools/run.py": TRAIN.replace("from model", "from lib.model"), "lib/model.py": MODEL})
    result = migrate.fix(["tools"], ONE)
    assert {file.path: file.status for file in result.files} == {
        "tools/run.py": "refused",
        "tools/alone.py": "migrated",
    }
    assert Path("lib/model.py").read_text() == MODEL


def test_the_packages_that_the_project_asks_for_count(program: Path) -> None:
    put({"requirements.txt": "tensorflow==1.15\n"})
    before = texts()
    result = migrate.fix(["tools/alone.py"], ONE)
    assert texts() == before
    assert {file.path: file.status for file in result.files} == {
        "tools/alone.py": "refused",
        "requirements.txt": "unchanged",
    }
    given = ["tools/alone.py", "requirements.txt"]
    assert {file.status for file in migrate.fix(given, ONE).files} == {"migrated"}
    assert Path("requirements.txt").read_text() == "tensorflow>=2.4\n"


def test_packages_that_may_stay_are_no_reason_to_wait(program: Path) -> None:
    put({"requirements.txt": "tensorflow==2.9.3\nnumpy\n"})
    (file,) = migrate.fix(["tools/alone.py"], ONE).files
    assert file.status == "migrated"


def test_outside_a_repository_the_folder_of_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    monkeypatch.chdir(folder)
    put(
        {
            "pkg/__init__.py": "",
            "pkg/sub/__init__.py": "",
            "pkg/sub/train.py": TRAIN.replace("from model", "from pkg.model"),
        }
    )
    put({"pkg/model.py": MODEL})
    (file,) = migrate.fix(["pkg/sub/train.py"], ONE).files
    assert file.status == "refused"
    assert "pkg/model.py must change" in "".join(finding.message for finding in file.findings)


def test_a_folder_for_all_things_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "train.py").write_text(ALONE)
    assert scan.program_root(str(tmp_path / "train.py")) is None
    (tmp_path / "work").mkdir()
    assert scan.program_root(str(tmp_path / "work" / "train.py")) == str((tmp_path / "work").resolve())
    assert scan.program_root(str(tmp_path / "work")) is None
    (tmp_path / "work" / ".git").mkdir()
    assert scan.program_root(str(tmp_path / "work")) == str((tmp_path / "work").resolve())


def test_a_file_that_was_not_given_and_cannot_be_read_stops_nothing(program: Path) -> None:
    put({"tools/broken.py": "from alone import model\nprint 'multi_gpu_model'\n"})
    Path("tools/bytes.py").write_bytes(b"from alone import model  # \xe9 multi_gpu_model\n")
    (file,) = migrate.fix(["tools/alone.py"], ONE).files
    assert (file.path, file.status) == ("tools/alone.py", "migrated")


def test_what_a_hook_passes(program: Path, tfmigrate: Tfmigrate) -> None:
    assert tfmigrate("fix", "trainer.py").code == 1
    assert tfmigrate("fix", "--diff", "trainer.py").code == 1
    outcome = tfmigrate.exits(1, "check", "--format", "json", "trainer.py")
    (file,) = json.loads(outcome.out)["files"]
    assert file["status"] == "refused"
    assert tfmigrate("fix", "trainer.py", "model.py").code == 0
    assert tfmigrate("check", "trainer.py", "model.py").code == 0


def test_changed_files_of_a_branch(project: Path, tfmigrate: Tfmigrate) -> None:
    git("init", "-q", "-b", "main")
    put({"model.py": MODEL})
    git("add", "-A")
    git("commit", "-qm", "model")
    put({"trainer.py": TRAIN})
    assert tfmigrate("fix", "--changed=HEAD").code == 1
    assert Path("trainer.py").read_text() == TRAIN


def test_programs_that_share_a_file_which_stays_are_migrated_one_by_one(program: Path) -> None:
    put(
        {
            "model.py": MODEL.replace("keras", "tensorflow.keras"),
            "trainer.py": TRAIN.replace("keras", "tensorflow.keras"),
        }
    )
    put({"trainer_old.py": TRAIN.replace("keras", "tensorflow.keras")})
    (file,) = migrate.fix(["trainer.py"], ONE).files
    assert (file.path, file.status) == ("trainer.py", "migrated")
    (left,) = (file for file in migrate.check(["."], ONE).files if file.path == "trainer_old.py")
    assert left.status == "migrated"


def test_programs_that_share_a_file_which_changes_are_migrated_together(program: Path) -> None:
    put({"middle.py": "from model import build\n", "trainer_old.py": TRAIN.replace("from model", "from middle")})
    result = migrate.fix(["trainer.py", "model.py"], ONE)
    assert {file.status for file in result.files} == {"refused"}
    assert "trainer_old.py must change" in "".join(finding.message for _, finding in result.findings)
