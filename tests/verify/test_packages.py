"""What a script imports and its old runtime lacks; uv is a stand-in here, so that no network is needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from tfmigrate.files.requirements import requirements_in
from tfmigrate.verify.run import packages, runtimes
from tfmigrate.verify.run.packages import imports_of, provide
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import World

from .laboratory import OLD_SCRIPT, Laboratory, broken
from .processes import executable

UV = """
# A stand-in: knows jinja2 and pandas 1.0.3, notes what it is asked.
echo "$@" >> "$0.log"
case "$*" in
  "pip freeze"*) printf 'numpy==1.19.5\\nsix==1.17.0\\nMarkupSafe==2.1.5\\n' ;;
  "pip compile"*) for file; do :; done; case "$(cat "$file")" in
      LATE*) echo markupsafe==1.1.1 ;;
      *) echo numpy==1.18.2 ;;
    esac ;;
  *"--dry-run"*)
    case "$*" in
      *OFFLINE*) echo "error: Failed to fetch: dns error" >&2; exit 2 ;;
      *imutils*|*pandas==9*) echo "error: no solution found" >&2; exit 1 ;;
    esac
    for word in "$@"; do
      case "$word" in
        jinja2*) echo " + jinja2==2.11.2" >&2 ;;
        pandas*) echo " + pandas==1.0.3" >&2; echo " + pytz==2019.3" >&2 ;;
      esac
    done ;;
  *"--target"*)
    while [ "$1" != "--target" ]; do shift; done
    mkdir -p "$2/jinja2"; echo '__version__ = "2.11.2"' > "$2/jinja2/__init__.py" ;;
esac
"""
Made = Callable[..., World]


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in's log."""
    tool = executable(tmp_path / "uv", UV)
    monkeypatch.setattr(runtimes, "find_uv", lambda: str(tool))
    monkeypatch.setenv("TFMIGRATE_HOME", str(tmp_path / "cache"))
    return tmp_path / "uv.log"


@pytest.fixture
def world(tmp_path: Path) -> Made:
    """A genuine world whose interpreter finds nothing but what the standard library has."""
    interpreter = executable(
        tmp_path / "python",
        "shift 3\nprintf '['\nfirst=1\nfor name; do [ $first ] || printf ', '; first=; "
        "printf '\"%s\"' $name; done\necho ']'\n",
    )

    def make(source: str, **files: str) -> World:
        folder = tmp_path / "program"
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(source)
        for name, text in files.items():
            (folder / name.replace("_txt", ".txt").replace("_py", ".py")).write_text(text)
        return World("genuine", "genuine", Runtime(interpreter, (3, 7, 16), "1.15.0", "2.3.1"), folder, "train.py")

    return make


def test_what_is_imported_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "helper.py").touch()
    (tmp_path / "models").mkdir()
    source = b"import os, numpy as np, helper\nfrom sklearn.svm import SVC\nfrom . import x\nimport models.net, stub.a"
    late = b"def f():\n    try:\n        import cv2\n    except ImportError:\n        pass\n"
    program = {"a.py": source, "b.py": late, "broken.py": b"print 'x'\n"}
    assert imports_of(program, [tmp_path], ["stub.a"]) == ("cv2", "numpy", "sklearn")


def test_requirements_are_read_as_pip_reads_them(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(
        "pandas==0.25.3  # tables\n-r other.txt\n-e .\nSciPy>=1.2,<2\n./wheel.whl\nx @ https://example.org/x.whl\ntqdm\n"
    )
    (tmp_path / "requirements-dev.txt").write_text("Pandas==1.0\nscikit_learn[all]==0.22\n")
    found = requirements_in(tmp_path)
    assert found["pandas"] in ("pandas==0.25.3", "Pandas==1.0")
    assert (found["tqdm"], found["scikit-learn"]) == ("tqdm", "scikit_learn==0.22")
    assert set(found) == {"pandas", "scipy", "tqdm", "scikit-learn"}


def test_what_the_runtime_lacks_is_put_beside_it(world: Made, uv: Path) -> None:
    one = world("import jinja2, os\nimport keras, numpy\n")
    found = provide(one)
    assert found.folder is not None
    assert (found.folder / "jinja2" / "__init__.py").exists()
    assert "jinja2==2.11.2 were put on the path" in found.notes[0]
    assert "as of 2020-04-16" in found.notes[0]
    asked = uv.read_text().splitlines()
    assert asked[1].startswith("pip compile ")
    assert "--exclude-newer 2020-04-16" in asked[2]
    assert "--only-binary :all:" in asked[2]
    assert "--constraint" in asked[2]
    assert "--no-deps" in asked[3]
    assert all("--dry-run" in line or "--target" in line for line in asked if "install" in line), "the runtime stays"


def test_one_that_was_made_for_older_packages_than_the_runtime_has_is_newer(world: Made, uv: Path) -> None:
    """jinja2 2.11 allows any MarkupSafe, and dies of 2.1."""
    executable(uv.parent / "uv", UV.replace("LATE", "jinja2"))
    provide(world("import jinja2, pandas\n"))
    asked = [line for line in uv.read_text().splitlines() if "--dry-run" in line]
    assert ["jinja2" in line for line in asked] == [False, True]
    assert ["--exclude-newer" in line for line in asked] == [True, False]
    assert "pandas==1.0.3 pytz==2019.3 jinja2" in asked[1], "the others stay as of then"
    uv.unlink()
    provide(world("import jinja2, pandas\n", requirements_txt="jinja2==2.11.2\n"))
    asked = [line for line in uv.read_text().splitlines() if "--dry-run" in line]
    assert ["--exclude-newer" in line for line in asked] == [True], "a pin stays"


def test_it_is_made_once(world: Made, uv: Path) -> None:
    one = world("import jinja2\n")
    first, told = provide(one), len(uv.read_text().splitlines())
    assert provide(one) == first
    assert uv.read_text().splitlines()[told:] == [f"pip freeze --python {one.runtime.python}"]
    assert provide(world("import jinja2, pandas\n")).folder != first.folder


def test_the_projects_pin_comes_first_and_gives_way_where_it_cannot_be_met(world: Made, uv: Path) -> None:
    provide(world("import jinja2\n", requirements_txt="jinja2==2.10\n"))
    assert "jinja2==2.10" in uv.read_text()
    found = provide(world("import jinja2, pandas\n", requirements_txt="pandas==9\n"))
    assert "pandas==1.0.3" in found.notes[0]
    assert "pandas==9, as required, could not be installed" in found.notes[1]


def test_what_has_no_wheel_is_named_and_the_others_are_there(world: Made, uv: Path) -> None:
    found = provide(world("import imutils, jinja2\n"))
    assert found.folder is not None
    assert any("no wheel of imutils fits" in note for note in found.notes)


def test_a_module_that_nobody_names_a_package_for_is_never_asked_for(world: Made, uv: Path) -> None:
    """A stranger may have given its name to a package."""
    assert provide(world("import my_own_utils\n")) == packages.Provided()
    assert not uv.exists()
    provide(world("import my_own_utils\n", requirements_txt="my-own-utils==1.0\n"))
    assert "my-own-utils==1.0" in uv.read_text()


def test_without_a_network_the_message_names_what_is_missing(world: Made, uv: Path) -> None:
    executable(uv.parent / "uv", UV.replace("*OFFLINE*", "*jinja2*"))
    found = provide(world("import jinja2, pandas\n"))
    assert found.folder is None
    assert "jinja2, pandas, which the script imports, could not be added: uv said: error: Failed" in found.notes[0]


def test_without_uv(world: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "find_uv", lambda: None)
    assert "that needs uv" in provide(world("import jinja2\n")).notes[0]


def test_nothing_is_asked_where_nothing_is_lacking(world: Made, uv: Path) -> None:
    found = provide(world(OLD_SCRIPT))
    assert (found.folder, found.notes) == (None, ())
    assert not uv.exists()


def test_the_date_follows_the_tensorflow() -> None:
    def until(version: str) -> date:
        return packages._until(Runtime(Path("p"), (3, 8, 1), version, None))

    assert until("1.13.1") < until("1.15.0") < until("2.3.4") < until("2.15.1")
    assert until("2.3.4").year == 2021


def test_the_genuine_runs_have_it_and_no_other(
    tmp_path: Path, lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def there(world: World, tell: object) -> packages.Provided:
        asked.append(world.role)
        return packages.Provided(tmp_path, ("genuine: pandas was put on the path",))

    monkeypatch.setattr(packages, "provide", there)
    report = lab.verify()
    assert asked == ["genuine"]
    assert "genuine: pandas was put on the path" in report.notes
    assert {world.kind for world, _, _ in lab.seen if world.packages} == {"genuine"}
    assert all(world.packages for world, _, _ in lab.seen if world.kind == "genuine")
    lab.seen.clear()
    lab.behaviour = broken()
    lab.verify(packages=False)
    assert asked == ["genuine"]
