"""The check of public programs, on two small repositories made here; nothing is run but `fix`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("constants", "outcome", "page", "run", "sources", "table")

TRAIN = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from settings import GPUS, rate

model = Sequential([Dense(1, input_shape=(4,))])
if GPUS > 1:
    model = multi_gpu_model(model, gpus=GPUS)
model.compile("sgd", "mse")
model.fit(np.ones((32, 4)), np.ones((32, 1)), batch_size=8, epochs=2)
"""
SETTINGS = "GPUS = 1\n\n\ndef rate(start=0.1, *, decay=0.5):\n    return start * decay\n"
DYNAMIC = """\
from keras.utils import multi_gpu_model
from models import all_models

for model in map(multi_gpu_model, all_models()):
    model.compile("sgd", "mse")
"""


@pytest.fixture
def field(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """benchmarks/field/run.py, imported as it imports its neighbours; gone afterwards."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "field"))
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    import run  # type: ignore[import-not-found]

    yield run
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def committed(folder: Path, files: dict[str, str]) -> str:
    """A git repository with these files; its commit."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A", "-f"), (*identity, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return told.stdout.strip()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two programs in two repositories of a mirror."""
    mirror = tmp_path / "mirror"
    first = committed(
        mirror / "some+one", {"code/train.py": TRAIN, "code/settings.py": SETTINGS, "big.txt": "x" * 2**20}
    )
    other = committed(mirror / "other" / "two.x", {"train.py": DYNAMIC})
    monkeypatch.setenv("FIELD_MIRROR", str(mirror))
    path = tmp_path / "table.toml"
    path.write_text(f"""\
[[program]]
name = "first"
repository = "some/one"
commit = "{first}"
folder = "code"
script = "train.py"
shape = "guarded, arrays"
constants = {{ "settings.py" = {{ GPUS = "2", decay = "0.25" }} }}

[[program]]
name = "second"
repository = "other/two.x"
commit = "{other}"
script = "train.py"
shape = "passed on"
cause = "the wrapper is passed on as a value"
""")
    return path


def check(field: ModuleType, table: Path, *more: str) -> str:
    page = table.parent / "field.md"
    chosen = ["--table", str(table), "--build", str(table.parent / "build"), "--page", str(page), "--steps", "fix"]
    assert field.main([*chosen, *more]) == 0
    return page.read_text()


def test_each_program_is_laid_out_and_migrated(field: ModuleType, table: Path, tmp_path: Path) -> None:
    text = check(field, table)
    assert "- migrated by `fix` (with or without something left): 1 of 2" in text
    assert "[first](https://github.com/some/one/tree/" in text
    assert "- **second** (not known): TFM" in text
    old, new = (tmp_path / "build" / "first" / name for name in ("old", "new"))
    assert "multi_gpu_model" in (old / "train.py").read_text()
    assert "MirroredStrategy" in (new / "train.py").read_text()
    assert (old / "settings.py").read_text() == SETTINGS.replace("= 1", "= 2").replace("0.5", "0.25")


def test_a_library_is_laid_out_beside_the_program(field: ModuleType, table: Path, tmp_path: Path) -> None:
    commit = committed(
        tmp_path / "mirror" / "a+library", {"src/layers/__init__.py": "from keras.layers import Dense\n"}
    )
    more = f"""
[[program.libraries]]
repository = "a/library"
commit = "{commit}"
folder = "src/layers"
at = "layers"
"""
    second = '[[program]]\nname = "second"'
    table.write_text(table.read_text().replace(second, f"{more}\n{second}"))
    check(field, table)
    assert (tmp_path / "build" / "first" / "old" / "layers" / "__init__.py").exists()
    table.write_text(table.read_text().replace('at = "layers"', 'to = "layers"'))
    with pytest.raises(SystemExit):
        check(field, table)


def test_what_lies_round_a_program_is_no_part_of_its_project(field: ModuleType, table: Path, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    around = tmp_path / "requirements.txt"
    around.write_text("keras==2.2.4\n")
    check(field, table)
    assert around.read_text() == "keras==2.2.4\n"
    assert str(around) not in (tmp_path / "build" / "first" / "findings.json").read_text()


def test_what_was_found_is_kept(
    field: ModuleType, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check(field, table, "--only", "first")
    kept = (tmp_path / "build" / "first" / "fix.json").stat().st_mtime_ns
    assert "second" not in capsys.readouterr().out
    text = check(field, table)
    assert "first ..." not in capsys.readouterr().out, "it is not run again"
    assert "second" in text
    table.write_text(table.read_text().replace('decay = "0.25"', 'decay = "0.125"'))
    check(field, table)
    assert "first ..." in capsys.readouterr().out, "its entry is another"
    assert "second ..." not in capsys.readouterr().out
    check(field, table, "--again")
    assert (tmp_path / "build" / "first" / "fix.json").stat().st_mtime_ns > kept


def test_a_run_that_came_to_no_verdict_in_time_does_not_hide_one_that_did(field: ModuleType, tmp_path: Path) -> None:
    outcome, late = field.outcome, "stopped by the time limit of 300 seconds"
    for depth, verdict, reason in (("default", "INCONCLUSIVE", late), ("smoke", "SMOKE PASSED", "")):
        outcome.Outcome("a", "mark", "migrated", (), 1.0, verdict, reason, (), 3.0).write(tmp_path / f"{depth}.json")
    assert outcome.kept(tmp_path, "mark", ("default", "smoke")).verdict == "SMOKE PASSED"
    (tmp_path / "smoke.json").unlink()
    assert outcome.kept(tmp_path, "mark", ("default", "smoke")).verdict == "INCONCLUSIVE"
    assert outcome.kept(tmp_path, "another", ("default",)) is None


def test_large_files_and_links_are_left_out(field: ModuleType, tmp_path: Path) -> None:
    from sources import LARGEST, SourceError, lay_out  # type: ignore[import-not-found]

    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "link").symlink_to("/etc/passwd")
    commit = committed(repository, {"small": "a", "large": "x" * (LARGEST + 1), "a name": "b\n", "equal": "a"})
    lay_out(repository / ".git", commit, ".", tmp_path / "out")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "small": "a", "a name": "b\n", "equal": "a",
    }  # fmt: skip
    with pytest.raises(SourceError, match="git ls-tree"):
        lay_out(repository / ".git", commit, "nowhere", tmp_path / "gone")


def test_a_repository_that_is_not_there(field: ModuleType, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text(table.read_text().replace("some/one", "no/body"))
    assert "second" in check(field, table), "the others go on"
    assert "first: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "A b"', "a program's name 'A b'"),
        ('name = "a"\nsetup = "gone.py"', "program a: "),
        ('name = "a"\nrepository = "x/y"\ncommit = "abc"\nscript = "t"\nshape = "s"', "its 40 digits"),
        ('name = "a"\nrepositry = "x/y"', "program a: got an unexpected keyword argument 'repositry'"),
    ],
)
def test_a_wrong_entry_is_named(field: ModuleType, tmp_path: Path, text: str, said: str) -> None:
    import table as reader  # type: ignore[import-not-found]

    path = tmp_path / "table.toml"
    path.write_text(f"[[program]]\n{text}\n")
    with pytest.raises(reader.TableError, match=said):
        reader.read(path)


def test_the_table_of_this_repository_can_be_read(field: ModuleType) -> None:
    import table as reader

    programs = reader.read()
    assert len({one.name for one in programs}) == len(programs)


def test_a_constant_that_is_not_there(field: ModuleType, tmp_path: Path) -> None:
    from constants import give  # type: ignore[import-not-found]

    path = tmp_path / "a.py"
    path.write_bytes("größe = 1; GPUS = 2  # \xe4\r\n".encode())
    give(path, {"GPUS": "4"})
    assert path.read_bytes() == "größe = 1; GPUS = 4  # \xe4\r\n".encode()
    with pytest.raises(ValueError, match="nothing is named EPOCHS"):
        give(path, {"EPOCHS": "1"})


def test_constants_that_are_set_together(field: ModuleType, tmp_path: Path) -> None:
    from constants import give  # type: ignore[import-not-found]

    path = tmp_path / "a.py"
    path.write_text("rows, columns = 320, 240\nrows, columns = size()\n")
    give(path, {"rows": "32", "columns": "24"})
    assert path.read_text() == "rows, columns = 32, 24\nrows, columns = size()\n"


def test_a_cause_is_short_and_names_no_folder_of_this_machine(field: ModuleType, table: Path) -> None:
    import page  # type: ignore[import-not-found]
    import table as reader
    from outcome import Outcome, Run

    told = f"genuine: train.py crashed: ValueError: {Path.home()}/x {'and ' * 100}so on (net.py:7)"
    died = Outcome(
        "first", "", "left", ("TFM501 a.py:1",), 1.0, "COULD NOT RUN", "", (Run("genuine", told, 0, 1.0),), 2.0
    )
    (first, _) = reader.read(table)
    text = page.render([first], {"first": died})
    assert str(Path.home()) not in text
    (line,) = (line for line in text.splitlines() if line.startswith("- **first**"))
    assert line.startswith("- **first** (the stand-in): genuine: train.py crashed: ValueError: ~/x and and")
    assert line.endswith("... (net.py:7)")
    assert "left (TFM501) | dies | - | - | COULD NOT RUN" in text


def test_an_old_side_that_the_time_limit_stopped_has_not_died(field: ModuleType, table: Path) -> None:
    import page
    import table as reader
    from outcome import Outcome, Run

    new = Run("migrated on Keras 3", "ValueError", 0, 1.0)
    stopped = Outcome("first", "", "migrated", (), 1.0, "INCONCLUSIVE", "", (new,), 2.0)
    (first, _) = reader.read(table)
    assert "| migrated | - | dies | - | INCONCLUSIVE |" in page.render([first], {"first": stopped})


def test_whose_fault_it_is(field: ModuleType) -> None:
    from outcome import Outcome, Run, of_verify  # type: ignore[import-not-found]

    runs = [
        {"role": role, "outcome": told, "steps": 1, "seconds": 2.04}
        for role, told in (
            ("genuine", "ok"), ("restored on Keras 3", "NameError"), ("migrated on Keras 3", "NameError"),
            ("control: x", "ok"),
        )
    ]  # fmt: skip
    verdict, reason, found = of_verify({"verdict": "DOES NOT RUN", "reason": "died", "runs": runs})
    outcome = Outcome("a", "", "migrated", (), 1.0, verdict, reason, found, 3.0)
    assert [one.role for one in found] == ["genuine", "restored on Keras 3", "migrated on Keras 3"]
    assert found[0] == Run("genuine", "ok", 1, 2.0)
    assert (outcome.old_side_runs, outcome.died("migrated on Keras 3"), outcome.died("genuine")) == (
        True,
        "NameError",
        "",
    )
    assert outcome.died("migrated on Keras 2") is None
    assert outcome.fault == "tfmigrate"
    told = Outcome("a", "", "left", ("TFM445 a.py:3",), 1.0, "DIFFERENT", "it is frozen (TFM445)", found, 3.0)
    assert told.fault == "reported by fix"
