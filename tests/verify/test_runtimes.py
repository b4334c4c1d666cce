"""Finding interpreters and making old ones, with small shell scripts in the place of Pythons."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.runtimes import CannotMake, Runtime

from .processes import executable

FakePython = Callable[..., Path]


@pytest.fixture
def fake_python(tmp_path: Path) -> FakePython:
    """An executable that answers the question as an interpreter with these packages would."""

    def make(folder: str, python: tuple[int, int, int] = (3, 8, 1), /, **packages: str) -> Path:
        path = tmp_path / folder / "bin" / "python"
        path.parent.mkdir(parents=True)
        found = {name.replace("_", "-"): version for name, version in packages.items()}
        answer = json.dumps({"python": python, "prefix": "", "found": found})
        return executable(path, f"echo warnings come first\necho '{answer}'\n")

    return make


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No interpreter anywhere but this one; returns the home folder."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_EXE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TFMIGRATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYENV_ROOT", str(home / ".pyenv"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return home


def test_this_interpreter_tells_its_version() -> None:
    runtime = runtimes.inspect(Path(sys.executable), "this")
    assert runtime is not None
    assert runtime.version == sys.version_info[:3]


def test_each_tensorflow_package_counts(fake_python: FakePython) -> None:
    for name in ("tensorflow", "tensorflow_cpu", "tensorflow_gpu", "tf_nightly"):
        runtime = runtimes.inspect(fake_python(name, **{name: "2.3.4"}))
        assert runtime is not None
        assert runtime.tensorflow == "2.3.4"


def test_python_2_and_what_does_not_answer_are_no_runtimes(fake_python: FakePython, tmp_path: Path) -> None:
    assert runtimes.inspect(fake_python("two", (2, 7, 18), tensorflow="1.15.0")) is None
    assert runtimes.inspect(executable(tmp_path / "silent", "exit 1\n")) is None
    assert runtimes.inspect(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("tensorflow", "keras", "tf_keras", "kinds"),
    [
        ("1.15.0", "2.3.1", None, ("genuine keras", "genuine tf.keras", "genuine estimator")),
        ("1.15.0", None, None, ("genuine tf.keras", "genuine estimator")),
        ("2.3.4", None, None, ("genuine tf.keras", "genuine estimator")),
        ("2.1.0", None, None, ("genuine estimator",)),  # its training loop is neither the old one nor that of 2.2
        ("2.9.3", "2.9.0", None, ("genuine estimator",)),  # multi_gpu_model is gone, and Keras 2 is not tf_keras yet
        ("2.21.0", "3.15.1", None, ("keras 3",)),
        ("2.21.0", "3.15.1", "2.21.0", ("keras 3", "keras 2")),
        ("2.15.1", "2.15.0", None, ("genuine estimator",)),
        ("1.13.1", "2.2.4", None, ("genuine keras", "genuine tf.keras")),
        (None, "2.3.1", None, ()),
    ],
)
def test_what_a_runtime_can_serve(
    tensorflow: str | None, keras: str | None, tf_keras: str | None, kinds: tuple[str, ...]
) -> None:
    assert Runtime(Path("python"), (3, 8, 1), tensorflow, keras, tf_keras).kinds == kinds


TF_1 = Runtime(Path("one"), (3, 7, 1), "1.15.0", "2.3.1")
TF_2_3 = Runtime(Path("two"), (3, 8, 1), "2.3.4", None)
TODAY = Runtime(Path("new"), (3, 12, 1), "2.21.0", "3.15.1", "2.21.0")


@pytest.mark.parametrize(
    ("flavour", "available", "source", "chosen"),
    [
        ("keras", (TF_2_3, TODAY, TF_1), "", TF_1),
        ("keras", (TF_2_3, TODAY), "", None),
        ("tf.keras", (TF_1, TF_2_3, TODAY), "", TF_2_3),
        ("tf.keras", (TF_1, TODAY), "", TF_1),
        ("tf.keras", (TF_2_3, TF_1), "config = tf.ConfigProto()", TF_1),
        ("tf.keras", (TF_1, TF_2_3), "model.fit(x, y, epochs=3, nb_epoch=3)", TF_1),
        ("tf.keras", (TF_1, TF_2_3), "nb_epoch = 3\nmodel.fit(x, y, epochs=nb_epoch)", TF_2_3),
        ("estimator", (TF_2_3, TF_1, TODAY), "", TF_1),
        ("estimator", (TODAY,), "", None),
        ("tf.keras", (TF_2_3, TF_1), "config = tf.compat.v1.ConfigProto()", TF_2_3),
    ],
)
def test_the_genuine_runtime_for_a_script(
    flavour: str, available: tuple[Runtime, ...], source: str, chosen: Runtime | None
) -> None:
    assert runtimes.genuine_for(flavour, available, source) == chosen


@pytest.mark.parametrize(
    ("written_for", "keras", "recipe"),
    [
        (None, "2.3.1", "tf1.15"),
        ("keras==2.3.1", "2.3.1", "tf1.15"),
        ("keras==2.2.4, tensorflow==1.13.1", "2.2.4", "tf1.15-keras2.2"),
        ("keras 2.1.5", "2.1.6", "tf1.15-keras2.1"),
        ("keras==2.0.9", "2.1.6", "tf1.15-keras2.1"),
        ("keras==2.4.3", "2.3.1", "tf1.15"),
        ("tensorflow==1.13.1", "2.3.1", "tf1.15"),
    ],
)
def test_the_keras_that_a_script_was_written_for(written_for: str | None, keras: str, recipe: str) -> None:
    available = [Runtime(Path(f"/{one}"), (3, 7, 16), "1.15.0", one) for one in ("2.1.6", "2.2.4", "2.3.1")]
    chosen = runtimes.genuine_for("keras", available, written_for=written_for)
    assert chosen is not None
    assert chosen.keras == keras
    assert runtimes.recipe_for("keras", written_for) == recipe


@pytest.mark.parametrize(
    ("text", "keras", "tensorflow"),
    [
        ("keras==2.2.4, tensorflow-gpu==1.13.1", (2, 2), (1, 13)),
        ("tf 1.15", None, (1, 15)),
        ("tf-keras==2.16", None, None),
        (None, None, None),
    ],
)
def test_what_is_pinned(text: str | None, keras: tuple[int, int] | None, tensorflow: tuple[int, int] | None) -> None:
    assert runtimes.pinned("keras", text) == keras
    assert runtimes.pinned("tensorflow", text) == tensorflow


def test_without_the_right_keras_a_newer_one_is_nearer_than_an_older_one() -> None:
    old, new = (Runtime(Path(f"/{one}"), (3, 7, 16), "1.15.0", one) for one in ("2.1.6", "2.3.1"))
    assert runtimes.genuine_for("keras", [old, new], written_for="keras==2.2.4") is new
    assert runtimes.genuine_for("keras", [old], written_for="keras==2.2.4") is old
    assert runtimes.recipe_for("tf.keras", "keras==2.2.4") == "tf2.3"


def test_the_modern_runtime() -> None:
    assert runtimes.modern((TF_1, TODAY), 3) == TODAY
    assert runtimes.modern((TF_1, TF_2_3), 3) is None
    assert runtimes.modern((Runtime(Path("x"), (3, 12, 1), "2.18.0", "3.15.1"),), 2) is None


def test_pyenv_conda_uv_path_and_our_own_are_found(
    bare_machine: Path, fake_python: FakePython, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {
        "pyenv": ".pyenv/versions/3.7.16",
        "conda": "miniconda3/envs/old",
        "made": ".cache/tfmigrate/runtimes/tf1.15",
        "PATH": "elsewhere",
    }
    for folder in places.values():
        fake_python(f"home/{folder}", (3, 7, 16), tensorflow_cpu="1.15.0", keras="2.3.1")
    monkeypatch.setenv("PATH", str(bare_machine / "elsewhere" / "bin"))
    found = {runtime.origin: runtime.python for runtime in runtimes.discover() if runtime.origin != "this"}
    assert found == {origin: bare_machine / folder / "bin" / "python" for origin, folder in places.items()}


def test_an_environment_without_tensorflow_is_not_listed(bare_machine: Path, fake_python: FakePython) -> None:
    fake_python("home/.pyenv/versions/3.7.16", numpy="1.19.5")
    assert [runtime for runtime in runtimes.discover() if runtime.origin == "pyenv"] == []


def test_making_says_what_is_missing(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotMake, match=r"there are tf1\.15, tf2\.3"):
        runtimes.make("tf0.9")
    monkeypatch.setattr(runtimes, "find_uv", lambda: None)
    with pytest.raises(CannotMake, match="pip install uv"):
        runtimes.make("tf1.15")


def test_making_without_the_old_python_says_which(
    bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = executable(tmp_path / "uv", "echo 'No interpreter found for Python 3.7' >&2\nexit 2\n")
    monkeypatch.setattr(runtimes, "find_uv", lambda: str(uv))
    with pytest.raises(CannotMake, match=r"pyenv install 3\.7.*No interpreter found"):
        runtimes.make("tf1.15")


def test_making_installs_the_pins_once(bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for uv notes its calls, and makes an interpreter that answers as the real one would."""
    log = tmp_path / "calls"
    answer = json.dumps({"python": [3, 7, 16], "prefix": "", "found": {"tensorflow-cpu": "1.15.0", "keras": "2.3.1"}})
    uv = executable(
        tmp_path / "uv",
        "PATH=/usr/bin:/bin\n"
        f'echo "$@" >> {log}\n'
        'if [ "$1" = venv ]; then for target; do :; done; mkdir -p "$target/bin"\n'
        f"printf '#!/bin/sh\\necho '\\''%s'\\'' \\n' '{answer}' > \"$target/bin/python\"\n"
        'chmod 755 "$target/bin/python"; fi\n',
    )
    monkeypatch.setattr(runtimes, "find_uv", lambda: str(uv))
    made = runtimes.make("tf1.15")
    assert made.kinds == ("genuine keras", "genuine tf.keras", "genuine estimator")
    assert made.python == bare_machine / ".cache" / "tfmigrate" / "runtimes" / "tf1.15" / "bin" / "python"
    calls = log.read_text().splitlines()
    assert "--python 3.7" in calls[0]
    assert "tensorflow-cpu==1.15.0" in calls[1]
    assert "--compile-bytecode" in calls[1]
    assert "numpy<1.20" in calls[1]
    assert runtimes.make("tf1.15") == made
    assert log.read_text().splitlines() == calls
