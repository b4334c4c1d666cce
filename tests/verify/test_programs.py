"""What the command line names, as programs on disk; and what a run's scratch folder is made of."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tfmigrate.cli import programs
from tfmigrate.cli.programs import Named, Program
from tfmigrate.errors import UserError
from tfmigrate.settings import Settings
from tfmigrate.verify.judge.plan import Plan, VerifyOptions, module_name
from tfmigrate.verify.probe import setup
from tfmigrate.verify.run.child import Ended
from tfmigrate.verify.run.outcome import outcome_of
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.scratch import PROGRAM, SETUP, STUBS, lay_out
from tfmigrate.verify.run.trace import End, Epoch, Trace
from tfmigrate.verify.run.world import Limits, World

from .laboratory import MODERN, OLD_SCRIPT, Laboratory

LIBRARY = """import keras
from keras.utils import multi_gpu_model


def parallel(model):
    return multi_gpu_model(model, gpus=2)


def compiled(model):
    model = parallel(model)
    model.compile(optimizer=keras.optimizers.Adam(lr=0.1), loss="mse")
    return model
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "repository" / "src" / "package"
    package.mkdir(parents=True)
    for name, text in {"__init__.py": "", "train.py": OLD_SCRIPT, "__main__.py": "import package.train\n"}.items():
        (package / name).write_text(text)
    monkeypatch.chdir(tmp_path / "repository")
    return tmp_path / "repository"


def resolved(tmp_path: Path, **names: Any) -> tuple[Program, Program, Path | None]:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return programs.resolve(Named(**names), Settings(), scratch)


def test_names_of_today_are_written_where_the_program_goes_and_the_wrap_stays(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from keras.utils import multi_gpu_model\nfrom nets import build\n"
        "model = multi_gpu_model(build(), gpus=2)\nmodel.compile('sgd', 'mse')\nmodel.fit_generator(batches)\n"
    )
    (tmp_path / "nets.py").write_text("import numpy as np\nfrom keras.layers import Dense\nkind = np.int\n")
    (tmp_path / "beside.py").write_text("import numpy as np\nimport keras\nkind = np.int\n")
    files = programs.with_todays_names(Program(tmp_path, tmp_path / "train.py"), Settings())
    assert set(files) == {"train.py", "nets.py"}
    assert "multi_gpu_model(build(), gpus=2)" in files["train.py"]
    assert "model.fit(" in files["train.py"]
    assert "kind = int" in files["nets.py"]
    assert "MirroredStrategy" not in "".join(files.values())


def test_a_module_by_its_name_or_in_its_folder(repository: Path, tmp_path: Path) -> None:
    named, new, start = resolved(tmp_path, old=Path("src.package.train"), new=Path("src.package"))
    assert named == Program(repository, repository / "src/package/train.py", True)
    assert new.script == repository / "src/package/__main__.py"
    assert start is None
    inside, _, start = resolved(tmp_path, old=Path("src"), new=Path("src"), module="package.train")
    assert inside == Program(repository / "src", repository / "src/package/train.py", True)
    rooted, _, start = resolved(tmp_path, old=Path("package.train"), new=Path("package.train"), start=Path("src"))
    assert (rooted.root, start) == (repository / "src", Path("src"))


def test_a_script_in_a_program(repository: Path, tmp_path: Path) -> None:
    script = Path("src/package/train.py")
    old, _, start = resolved(tmp_path, old=script, new=script, program=Path(), start=Path("src"))
    assert (old.root, old.as_module, start) == (repository, False, Path("src"))
    alone, _, start = resolved(tmp_path, old=script, new=script)
    assert (alone.root, start) == (repository / "src/package", None)


def test_the_new_tree_is_copied_whole_as_the_old_one_is(repository: Path, tmp_path: Path) -> None:
    new_tree = shutil.copytree(repository, tmp_path / "new")
    script = Path("src/package/train.py")
    old, new, start = resolved(tmp_path, old=script, new=new_tree / script, program=Path(), start=Path("src"))
    assert (old.root, new.root, start) == (repository, new_tree, Path("src"))
    beside = shutil.copy(repository / script, tmp_path / "other.py")
    _, new, _ = resolved(tmp_path, old=script, new=Path(beside), program=Path())
    assert new.root == tmp_path, "a file of another name is alone"


def test_without_new_the_whole_program_is_copied_and_migrated(repository: Path, tmp_path: Path) -> None:
    (repository / "src/package/library.py").write_text(LIBRARY)
    (repository / "src/package/train.py").write_text("from package import library\nlibrary.compiled(build())\n")
    old, new, _ = resolved(tmp_path, old=Path("src"), module="package.train")
    assert (new.root, new.as_module) == (tmp_path / "scratch" / "migrated", True)
    assert "multi_gpu_model" not in (new.root / "package" / "library.py").read_text()
    assert "MirroredStrategy" in new.script.read_text(), "where the model is built"
    assert "multi_gpu_model" in (old.root / "package" / "library.py").read_text()
    with pytest.raises(UserError, match="nothing to migrate"):
        resolved(tmp_path / "scratch", old=Path("src"), module="package.__init__")


def test_a_driver_is_put_into_both_and_migrated_with_the_tree(repository: Path, tmp_path: Path) -> None:
    (repository / "library.py").write_text(LIBRARY)
    driver = tmp_path / "drive.py"
    driver.write_text(
        "import keras\nfrom library import compiled\nmodel = compiled(build(keras.optimizers.Adam(lr=1)))\n"
    )
    old, new, _ = resolved(tmp_path, old=Path(), driver=driver)
    assert old.root != repository
    assert old.script.read_text() == driver.read_text()
    assert "multi_gpu_model" in (old.root / "library.py").read_text()
    assert "multi_gpu_model" not in (new.root / "library.py").read_text()
    assert "MirroredStrategy" in new.script.read_text(), "the driver builds the model"
    assert "learning_rate" in new.script.read_text()
    assert not (repository / "drive.py").exists()
    (repository / "drive.py").touch()
    with pytest.raises(UserError, match="has a file of this name"):
        resolved(tmp_path / "scratch", old=Path(), driver=driver)


def test_where_worlds_start(repository: Path, tmp_path: Path, lab: Laboratory) -> None:
    script = repository / "src/package/train.py"
    options = VerifyOptions(script, script, program=repository, start=repository / "src", as_modules=True)
    world = Plan.of(options).world("migrated", 3)
    assert (world.source, world.start, world.module, world.script) == (
        repository, "src", "package.train", "src/package/train.py",
    )  # fmt: skip
    assert world.home == repository / "src"
    assert Plan.of(VerifyOptions(lab.old, lab.new)).world("migrated", 3).start == ""
    assert Plan.of(VerifyOptions(script, script, program=repository)).world("genuine").start == ""
    with pytest.raises(UserError, match="is not in"):
        Plan.of(VerifyOptions(script, script, program=repository / "src", start=tmp_path))
    with pytest.raises(UserError, match=r"--setup gone\.py: no such file"):
        Plan.of(VerifyOptions(script, script, setup=Path("gone.py")))
    with pytest.raises(UserError, match=r"--stub cv2=gone\.py: no such file"):
        Plan.of(VerifyOptions(script, script, stubs={"cv2": Path("gone.py")}))


def test_names_of_modules(tmp_path: Path) -> None:
    assert module_name(tmp_path / "a" / "b.py", tmp_path) == "a.b"
    assert module_name(tmp_path / "a" / "__main__.py", tmp_path) == "a"
    with pytest.raises(UserError, match="see --cwd"):
        module_name(tmp_path / "a.py", tmp_path / "b")


def test_absolute_imports_begin_where_a_module_is_started(repository: Path) -> None:
    (repository / "src/package/library.py").touch()
    (repository / "src/package/train.py").write_text("import package.library\n")
    read = program_of(repository, "src/package/train.py", repository / "src")
    assert set(read) == {f"src/package/{name}.py" for name in ("__init__", "train", "library")}


@pytest.mark.parametrize(
    ("stubs", "files"),
    [
        ({"cv2": "m.py"}, {"cv2.py"}),
        ({"a.b.c": "m.py"}, {"a/__init__.py", "a/b/__init__.py", "a/b/c.py"}),
        ({"a": "m.py", "a.b": "m.py"}, {"a/__init__.py", "a/b.py"}),
        ({"a.b": "m.py", "a": "m.py"}, {"a/__init__.py", "a/b.py"}),
        ({"a": "folder"}, {"a/x.py"}),
    ],
)
def test_stubs_are_modules_or_packages(
    program: Path, tmp_path: Path, stubs: Mapping[str, str], files: set[str]
) -> None:
    (tmp_path / "m.py").write_text("x = 1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.py").touch()
    given = {module: tmp_path / file for module, file in stubs.items()}
    world = World("old", "genuine", MODERN, program, "train.py", stubs=given, setup=tmp_path / "m.py")
    lay_out(world, tmp_path / "run", 1 << 20)
    there = tmp_path / "run" / STUBS
    assert {str(path.relative_to(there)) for path in there.rglob("*.py")} == files
    if "a" in stubs and stubs["a"] == "m.py":
        assert (there / "a" / "__init__.py").read_text() == "x = 1\n"
    assert (tmp_path / "run" / PROGRAM / "train.py").exists()
    assert (tmp_path / "run" / SETUP / "m.py").exists()


def test_stubs_on_the_command_line() -> None:
    assert programs.stubs(("cv2=a.py", "x.y=b")) == {"cv2": Path("a.py"), "x.y": Path("b")}
    for wrong in ("cv2", "cv2=", "=a.py", "c-v=a.py"):
        with pytest.raises(UserError, match="is not MODULE=FILE"):
            programs.stubs((wrong,))


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("open('data', 'w').write('x')", None),
        ("import sys; sys.exit(0)", None),
        ("import sys; sys.exit('no')", "ended with exit code 1"),
        ("1 / 0", "ended with exit code 1"),
        ("import os; os.kill(os.getpid(), 9)", "ended with signal 9"),
    ],
)
def test_the_setup_file_runs_in_a_process_of_its_own(tmp_path: Path, text: str, trouble: str | None) -> None:
    file = tmp_path / "make.py"
    file.write_text(f"import json\nleft_behind = 1\n{text}\n")
    before = Path.cwd(), list(sys.path), dict(os.environ)
    found = setup.run({"setup": str(file), "cwd": str(tmp_path), "seed": 1})
    assert (Path.cwd(), list(sys.path), dict(os.environ)) == before
    if trouble is None:
        assert found is None
    else:
        assert found is not None
        assert f"--setup make.py {trouble}" in found
    assert (tmp_path / "data").exists() == (text[:4] == "open")


def test_what_is_drawn_without_a_seed_is_the_same_in_every_run(tmp_path: Path) -> None:
    file = tmp_path / "make.py"
    file.write_text(
        "import random, numpy\nopen('data', 'a').write('%r %r\\n' % (random.random(), numpy.random.rand()))\n"
    )
    for _ in range(2):
        assert setup.run({"setup": str(file), "cwd": str(tmp_path), "seed": 7}) is None
    first, second = (tmp_path / "data").read_text().splitlines()
    assert first == second


def test_a_script_that_counts_on_all_its_epochs_is_told_of_the_budget(tmp_path: Path) -> None:
    world = World("old", "genuine", MODERN, tmp_path, "train.py")
    end = End(False, "IndexError: list index out of range (train.py:9)", 1.0, 0.0, None, None)
    trace = Trace(tmp_path, epochs=(Epoch(0, 0, {}),), end=end)
    (tmp_path / "stderr").touch()
    ended = Ended(1, "by itself")
    assert "--budget ends it" in outcome_of(world, trace, ended, Limits(epochs=1), tmp_path / "stderr")[1]
    assert "--budget" not in outcome_of(world, trace, ended, Limits(), tmp_path / "stderr")[1]
