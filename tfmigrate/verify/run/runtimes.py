"""Which interpreters can run the old and the new script, and how to make the ones that are missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

KERAS_2 = "TF_USE_LEGACY_KERAS"
"""The environment variable by which TensorFlow >= 2.16 takes tf_keras for `tf.keras`."""

ASK_SECONDS = 20.0
MAKE_SECONDS = 1200.0

ASK = """
import json, sys
wanted = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "tensorflow-macos", "intel-tensorflow",
          "keras", "tf-keras", "numpy")
found = {}
try:
    from importlib.metadata import version
except ImportError:
    try:
        import pkg_resources
        version = lambda name: pkg_resources.get_distribution(name).version
    except ImportError:
        version = None
for name in wanted:
    try:
        found[name] = version(name)
    except Exception:
        pass
print(json.dumps({"python": list(sys.version_info[:3]), "prefix": sys.prefix, "found": found}))
"""
"""Asked of each interpreter: metadata alone, because importing TensorFlow takes seconds. Python 3.5 syntax."""


class CannotMake(RuntimeError):
    """A runtime could not be built; the message says what is missing and what to do."""


@dataclass(frozen=True)
class Runtime:
    """An interpreter with a TensorFlow in it. Versions are None where the package is not there."""

    python: Path
    version: tuple[int, int, int]
    tensorflow: str | None
    keras: str | None
    tf_keras: str | None = None
    numpy: str | None = None
    origin: str = ""
    """Where it was found: "this", "PATH", "pyenv", "conda", "uv" or "made"."""

    @property
    def tensorflow_version(self) -> tuple[int, int]:
        return _numbers(self.tensorflow)

    @property
    def keras_version(self) -> tuple[int, int]:
        return _numbers(self.keras)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it can serve as: "genuine keras" (standalone), "genuine tf.keras", "genuine estimator", "keras 3",
        "keras 2"."""
        kinds = []
        tensorflow, keras = self.tensorflow_version, self.keras_version
        if (1, 4) <= tensorflow < (2, 1) and (2, 1) <= keras < (2, 4):
            kinds.append("genuine keras")
        if (1, 13) <= tensorflow < (2, 0) or (2, 2) <= tensorflow < (2, 4):
            kinds.append("genuine tf.keras")
        if (1, 14) <= tensorflow < (2, 16):
            kinds.append("genuine estimator")
        if tensorflow >= (2, 16) and keras >= (3, 0):
            kinds.append("keras 3")
        if tensorflow >= (2, 16) and self.tf_keras:
            kinds.append("keras 2")
        return tuple(kinds)

    @property
    def label(self) -> str:
        keras = f", keras {self.keras}" if self.keras else ""
        return f"Python {'.'.join(map(str, self.version))}, TensorFlow {self.tensorflow}{keras}"


@dataclass(frozen=True)
class Recipe:
    """How a legacy runtime is built: wheels that are on PyPI, pinned where a newer one breaks the old TensorFlow."""

    name: str
    python: str
    packages: tuple[str, ...]


RECIPES = {
    "tf1.15": Recipe(
        "tf1.15",
        "3.7",
        ("tensorflow-cpu==1.15.0", "keras==2.3.1", "numpy<1.20", "protobuf<3.21", "h5py<3", "scipy<1.8", "pillow"),
    ),
    "tf2.3": Recipe("tf2.3", "3.8", ("tensorflow-cpu==2.3.4", "protobuf<3.21", "scipy<1.8", "pillow")),
    "tf2.9": Recipe("tf2.9", "3.10", ("tensorflow-cpu==2.9.3", "protobuf<3.20", "numpy<2")),
    "tf1.15-keras2.2": Recipe(
        "tf1.15-keras2.2",
        "3.7",
        ("tensorflow-cpu==1.15.0", "keras==2.2.4", "numpy<1.20", "protobuf<3.21", "h5py<3", "scipy<1.8", "pillow"),
    ),
    "tf1.15-keras2.1": Recipe(
        "tf1.15-keras2.1",
        "3.7",
        ("tensorflow-cpu==1.15.0", "keras==2.1.6", "numpy<1.20", "protobuf<3.21", "h5py<3", "scipy<1.8", "pillow"),
    ),
}
MAKES = {"genuine keras": "tf1.15", "genuine tf.keras": "tf2.3", "genuine estimator": "tf1.15"}


def home() -> Path:
    """Where runtimes made here are kept: $TFMIGRATE_HOME/runtimes, else ~/.cache/tfmigrate/runtimes."""
    chosen = os.environ.get("TFMIGRATE_HOME")
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(chosen) if chosen else (Path(cache) if cache else Path.home() / ".cache") / "tfmigrate"
    return base / "runtimes"


def discover() -> tuple[Runtime, ...]:
    """Every interpreter found that has a TensorFlow, this one first; each environment once."""
    seen: dict[Path, str] = {}
    for origin, path in _candidates():
        # The link's own place, not its target: a virtual environment's python is a link to its base.
        key = Path(os.path.realpath(path.parent)) / path.name
        if os.path.exists(path) and not any(key.parent == other.parent for other in seen):
            seen[key] = origin
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = pool.map(lambda item: inspect(item[0], item[1]), seen.items())
        return tuple(answer for answer in answers if answer is not None and answer.tensorflow)


def inspect(python: Path, origin: str = "") -> Runtime | None:
    """Asks an interpreter what it has; None when it is not a Python 3 that answers."""
    try:
        answer = subprocess.run(
            [str(python), "-c", ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_SECONDS,
            check=True,
            env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        )
        facts = json.loads(answer.stdout.decode().strip().splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    major, minor, micro = facts["python"]
    if major < 3:
        return None
    versions: dict[str, str] = facts["found"]
    tensorflow = next((versions[name] for name in versions if "tensorflow" in name or name == "tf-nightly"), None)
    return Runtime(
        python=python,
        version=(major, minor, micro),
        tensorflow=tensorflow,
        keras=versions.get("keras"),
        tf_keras=versions.get("tf-keras"),
        numpy=versions.get("numpy"),
        origin=origin,
    )


ONLY_IN_TENSORFLOW_1 = re.compile(
    r"\btf\.(ConfigProto|Session|InteractiveSession|GPUOptions|placeholder|set_random_seed|get_default_graph|contrib)\b"
    r"|\btensorflow\.contrib\b|\bK\.(set_session|get_session)\b|\.fit\(.*\bnb_epoch="
)


KERAS_RECIPES = {(2, 1): "tf1.15-keras2.1", (2, 2): "tf1.15-keras2.2"}
"""Of scripts for a standalone Keras older than 2.3."""


def recipe_for(flavour: str, written_for: str | None = None) -> str:
    """Which recipe makes a genuine runtime for an old script of this flavour; `written_for`: see genuine_for."""
    keras = pinned("keras", written_for)
    older = KERAS_RECIPES.get(max(keras, (2, 1))) if keras and flavour == "keras" else None
    return older or MAKES[f"genuine {flavour}"]


def pinned(package: str, written_for: str | None) -> tuple[int, int] | None:
    """(2, 2) for "keras" of "keras==2.2.4, tensorflow==1.13.1"."""
    names = {"keras": "keras", "tensorflow": "(?:tf|tensorflow(?:-cpu|-gpu)?)"}
    match = re.search(rf"(?<![\w-]){names[package]}\s*(?:==|\s)\s*(\d+(?:\.\d+)*)", written_for or "")
    return _numbers(match[1]) if match else None


def genuine_for(
    flavour: str, available: Iterable[Runtime], source: str = "", written_for: str | None = None
) -> Runtime | None:
    """The runtime in which an old script of this flavour ("keras", "tf.keras" or "estimator") runs as it is.

    Standalone Keras needs a TensorFlow of its time. tf.keras: TensorFlow 2 first, else 1.15; the other way round where
    the script's `source` uses names that TensorFlow 2 moved. Of several standalone Kerases the newest, or, where
    `written_for` ("keras==2.2.4, tensorflow==1.13.1") names one, the nearest that is no older, else the newest of the
    older ones. None when there is none; `recipe_for` says which recipe would make one.
    """
    kind = f"genuine {flavour}"
    fitting = sorted(
        (runtime for runtime in available if kind in runtime.kinds), key=lambda runtime: runtime.tensorflow_version
    )
    if not fitting:
        return None
    if flavour == "keras":
        wanted = pinned("keras", written_for) or (2, 3)
        return min(fitting, key=lambda runtime: (*_apart(runtime.keras_version, wanted), runtime.tensorflow_version))
    oldest = flavour == "estimator" or ONLY_IN_TENSORFLOW_1.search(source)
    return fitting[0] if oldest else fitting[-1]


def _apart(keras: tuple[int, int], wanted: tuple[int, int]) -> tuple[bool, int]:
    """Sorts the nearest version that is no older first."""
    distance = 100 * (keras[0] - wanted[0]) + keras[1] - wanted[1]
    return distance < 0, abs(distance)


def modern(available: Iterable[Runtime], keras: int = 3) -> Runtime | None:
    """The newest runtime that has Keras 3 (or, with keras=2, tf_keras)."""
    fitting = [runtime for runtime in available if f"keras {keras}" in runtime.kinds]
    return max(fitting, key=lambda runtime: (runtime.tensorflow_version, runtime.origin == "this"), default=None)


def make(name: str) -> Runtime:
    """Builds the legacy runtime `name` ("tf1.15" or "tf2.3") with uv, or gives the one built before.

    Raises CannotMake with what is missing: no such recipe, no uv, no such Python, or a package that does not install.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise CannotMake(f"no runtime is called {name!r}; there are {', '.join(RECIPES)}")
    target = home() / name
    python = target / "bin" / "python"
    existing = inspect(python, "made") if python.exists() else None
    if existing is not None and existing.kinds:
        return existing
    uv = find_uv()
    if uv is None:
        raise CannotMake(f"making {name} needs uv: `pip install uv` (or https://docs.astral.sh/uv), then try again")
    base = python_of(recipe.python)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    _uv(
        [uv, "venv", "--python", str(base or recipe.python), str(target)],
        f"{name} needs Python {recipe.python}, which was not found; install it (`uv python install {recipe.python}`, "
        f"`pyenv install {recipe.python}` or `conda create -n py{recipe.python} python={recipe.python}`) and try again",
    )
    _uv(
        # uv leaves packages uncompiled, and runs may not write beside them: each would compile all of TensorFlow.
        [uv, "pip", "install", "--compile-bytecode", "--python", str(python), *recipe.packages, "setuptools<69"],
        f"the packages of {name} ({', '.join(recipe.packages)}) could not be installed",
    )
    runtime = inspect(python, "made")
    if runtime is None or not runtime.kinds:
        raise CannotMake(f"{target} was built but has no usable TensorFlow; delete it and try again")
    return runtime


def find_uv() -> str | None:
    """uv on PATH, or beside this interpreter."""
    beside = Path(sys.executable).parent / "uv"
    return shutil.which("uv") or (str(beside) if beside.exists() else None)


def python_of(version: str) -> Path | None:
    """A bare interpreter of this minor version, from PATH or pyenv; None lets uv look for one itself."""
    on_path = shutil.which(f"python{version}")
    places = [Path(on_path)] if on_path else []
    places += sorted(_pyenv_root().glob(f"versions/{version}.*/bin/python"), reverse=True)
    for place in places:
        answer = inspect(place)
        if answer is not None and answer.version[:2] == tuple(map(int, version.split("."))):
            return place
    return None


def _uv(command: list[str], trouble: str) -> None:
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=MAKE_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        raise CannotMake(f"{trouble}: no answer within {MAKE_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise CannotMake(f"{trouble}. uv said: {' '.join(lines[-4:])}") from None


def _candidates() -> Iterator[tuple[str, Path]]:
    yield "this", Path(sys.executable)
    for recipe in RECIPES:
        yield "made", home() / recipe / "bin" / "python"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for name in ("python3", "python", *(f"python3.{minor}" for minor in range(5, 15))):
            if folder and os.path.exists(Path(folder) / name):
                yield "PATH", Path(folder) / name
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            yield "PATH", Path(os.environ[variable]) / "bin" / "python"
    for place in sorted(_pyenv_root().glob("versions/*/bin/python")):
        yield "pyenv", place
    for root in _conda_roots():
        yield "conda", root / "bin" / "python"
        for place in sorted(root.glob("envs/*/bin/python")):
            yield "conda", place
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    for place in sorted((data / "uv" / "python").glob("*/bin/python3")):
        yield "uv", place


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def _conda_roots() -> Iterator[Path]:
    executable = os.environ.get("CONDA_EXE") or shutil.which("conda")
    if executable:
        yield Path(executable).resolve().parent.parent
    for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge"):
        if (Path.home() / name).is_dir():
            yield Path.home() / name


def _numbers(version: str | None) -> tuple[int, int]:
    """(major, minor); (0, 0) for what is not there."""
    if not version:
        return (0, 0)
    parts = [*version.split("."), "0"]
    return (int(parts[0]), int("".join(digit for digit in parts[1] if digit.isdigit()) or 0))
