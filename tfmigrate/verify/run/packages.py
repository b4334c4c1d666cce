"""Packages that a script imports and an old runtime lacks, in a folder that is put on the path of its runs.

The runtime itself, which other programs share, is never changed. A package comes in the version that the project's
requirements pin, else in the newest that there was half a year after the runtime's TensorFlow was released and that
fits its Python and all that is installed in it; where that one was made for older packages than the runtime has
(jinja2 2.11 beside MarkupSafe 2.1), in the newest that fits. Only wheels are taken, for building one would run code
outside a run's sandbox; and only of packages that the requirements name or that are well known (KNOWN), for a stranger
may have given any other module's name to a package.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tfmigrate.files import pins
from tfmigrate.files.requirements import requirements_in
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.outcome import PACKAGES
from tfmigrate.verify.run.program import program_of, tree_of
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import World

RELEASED = {
    (1, 4): date(2017, 11, 2), (1, 5): date(2018, 1, 26), (1, 6): date(2018, 2, 28), (1, 7): date(2018, 3, 29),
    (1, 8): date(2018, 4, 27), (1, 9): date(2018, 7, 10), (1, 10): date(2018, 8, 8), (1, 11): date(2018, 9, 27),
    (1, 12): date(2018, 11, 5), (1, 13): date(2019, 2, 26), (1, 14): date(2019, 6, 19), (1, 15): date(2019, 10, 16),
    (2, 0): date(2019, 9, 30), (2, 1): date(2020, 1, 8), (2, 2): date(2020, 5, 7), (2, 3): date(2020, 7, 27),
    (2, 4): date(2020, 12, 14), (2, 5): date(2021, 5, 13), (2, 6): date(2021, 8, 11), (2, 7): date(2021, 11, 4),
    (2, 8): date(2022, 2, 2), (2, 9): date(2022, 5, 16), (2, 10): date(2022, 9, 6), (2, 11): date(2022, 11, 18),
    (2, 12): date(2023, 3, 23), (2, 13): date(2023, 7, 5), (2, 14): date(2023, 9, 26), (2, 15): date(2023, 11, 14),
}  # fmt: skip
"""By (major, minor) of TensorFlow, on PyPI."""
IN_USE = timedelta(days=183)
"""A TensorFlow was used with packages of the months after its release."""

KNOWN = frozenset([
    "albumentations", "attr", "bs4", "cachetools", "click", "cloudpickle", "colorama", "cv2", "cycler", "cython",
    "dateutil", "decorator", "dill", "docopt", "easydict", "fire", "gensim", "gym", "hdf5storage", "imageio",
    "imblearn", "imgaug", "imutils", "jieba", "jinja2", "joblib", "jsonschema", "librosa", "lightgbm", "lmdb",
    "lxml", "matplotlib", "mpl_toolkits", "natsort", "networkx", "nibabel", "nltk", "numba", "numexpr", "openpyxl",
    "pandas", "patsy", "PIL", "plotly", "prettytable", "progressbar", "pyarrow", "pycocotools", "pydicom", "pydot",
    "pydotplus", "pytz", "pywt", "requests", "sacred", "scikitplot", "scipy", "seaborn", "sentencepiece", "shapely",
    "SimpleITK", "simplejson", "skimage", "sklearn", "skopt", "soundfile", "spacy", "statsmodels", "sympy",
    "tables", "tabulate", "tensorboardX", "termcolor", "tifffile", "toml", "tqdm", "ujson", "unidecode", "wandb",
    "xgboost", "xlrd", "yaml",
])  # fmt: skip
"""Modules that training scripts often import; of packages of the same name, but for those in PACKAGES."""
NOT_WANTED = frozenset({"tensorflow", "keras", "tf_keras", "numpy", "tensorflow_core", "tensorboard"})
"""What makes the runtime what it is."""

SECONDS = 600.0
OFFLINE = re.compile(r"error sending request|failed to fetch|dns error|connection|timed? ?out|network", re.I)
FIND = "import importlib.util as u, json, sys; print(json.dumps([n for n in sys.argv[1:] if u.find_spec(n) is None]))"


@dataclass(frozen=True)
class Provided:
    """What was found for one world."""

    folder: Path | None = None
    """To be put on the path; None where nothing is needed or nothing could be had."""
    notes: tuple[str, ...] = ()


def imports_of(program: Mapping[str, bytes], own: Sequence[Path], stubs: Iterable[str] = ()) -> tuple[str, ...]:
    """First names of the absolute imports in a program (path to source of each module), sorted; without the standard
    library, what lies in the folders `own`, and stubs."""
    names: set[str] = set()
    for source in program.values():
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.split(".")[0])
    names -= set(sys.stdlib_module_names) | {stub.split(".")[0] for stub in stubs}
    return tuple(sorted(name for name in names if not any(_lies_in(name, folder) for folder in own)))


def _lies_in(name: str, folder: Path) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def imported_by(world: World) -> tuple[str, ...]:
    """What the program of a world imports from elsewhere (see `imports_of`); nothing where it cannot be read."""
    own = (world.home, world.source, world.source / world.start)
    with suppress(OSError):
        return imports_of(program_of(world.source, world.script, world.home), own, world.stubs)
    return ()


def provide(world: World, tell: Callable[[str], None] = lambda line: None) -> Provided:
    """Finds or makes the folder with all that the world's program imports and its runtime lacks.

    What cannot be had is in the notes, with the reason; nothing is raised.
    """
    wanted = [name for name in imported_by(world) if name not in NOT_WANTED]
    lacking = lacking_in(world.runtime, wanted)
    if not lacking:
        return Provided()
    required = _required(world)
    names = {module: canonicalize_name(PACKAGES.get(module, module)) for module in lacking}
    packages = sorted({name for module, name in names.items() if name in required or module in KNOWN})
    if not packages:  # the script may yet find the others in a folder of its own
        return Provided()
    provided = _made([(required.get(name, name), name) for name in packages], world.runtime, tell)
    if isinstance(provided, str):
        failed = f"{', '.join(packages)}, which the script imports, could not be added: {provided}"
        return Provided(None, (f"{world.role}: {failed}",))
    folder, installed = provided
    said = _said_of(packages, required, installed, world.runtime)
    return Provided(folder, tuple(f"{world.role}: {words}" for words in said))


def _required(world: World) -> dict[str, str]:
    """By package, what the requirements of the world's program ask for; the nearest file has the say."""
    required: dict[str, str] = {}
    for folder in pins.folders_up((world.source / world.start).resolve()):
        for package, requirement in requirements_in(folder).items():
            required.setdefault(package, requirement)
    return required


def _said_of(
    packages: Sequence[str], required: Mapping[str, str], installed: Sequence[str], runtime: Runtime
) -> Iterator[str]:
    """What was installed ("name==version") of the packages that were wanted, and what was not."""
    if installed:
        yield (
            f"{runtime.label} lacks packages that the script imports; {', '.join(installed)} were put on the path of "
            f"its runs (as pinned by the requirements, else as of {_until(runtime)} if that fits the runtime), and "
            "the runtime itself is unchanged (--no-packages leaves them out)"
        )
    there = {str(canonicalize_name(name)): version for name, _, version in (pin.partition("==") for pin in installed)}
    asked = {name: Requirement(required[name]) for name in packages if name in required and name in there}
    if unmet := [required[name] for name, asks in asked.items() if not asks.specifier.contains(there[name])]:
        yield f"{', '.join(unmet)}, as required, could not be installed for this runtime"
    if absent := sorted(set(packages) - there.keys()):
        yield f"no wheel of {', '.join(absent)} fits {runtime.label}"


def _until(runtime: Runtime) -> date:
    known = RELEASED.get(runtime.tensorflow_version, max(RELEASED.values()))
    return known + IN_USE


def lacking_in(runtime: Runtime, modules: Sequence[str]) -> list[str]:
    """The modules that an interpreter does not find; empty if it does not answer, for its run will say why."""
    if not modules:
        return []
    try:
        answer = subprocess.run(
            [str(runtime.python), "-I", "-c", FIND, *modules],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=runtimes.ASK_SECONDS, check=True,
        )  # fmt: skip
        missing: list[str] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return missing


def _made(
    wanted: Sequence[tuple[str, str]], runtime: Runtime, tell: Callable[[str], None]
) -> tuple[Path, tuple[str, ...]] | str:
    """(the folder, what is in it as "name==version"), or why there is none. `wanted`: a requirement, and the bare name
    of the package in case that the requirement cannot be met."""
    uv = runtimes.find_uv()
    if uv is None:
        return "that needs uv (`pip install uv`)"
    try:
        installed = _uv(uv, "freeze", "--python", str(runtime.python)).stdout.split()
        asked = [2, str(runtime.python), installed, sorted(wanted), _until(runtime).isoformat()]
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:20]
        target = runtimes.home().parent / "packages" / key
        if not target.is_dir():
            tell(f"adding {', '.join(name for _, name in wanted)} to the runs in {runtime.label}")
            _install(uv, runtime, wanted, installed, target)
    except _Failed as failed:
        return str(failed)
    except OSError as error:
        return str(error)
    return target, tuple(json.loads((target / "tfmigrate.json").read_text(encoding="utf-8")))


class _Failed(Exception):
    """uv could not do it; the message says why, in its words."""


def _install(
    uv: str, runtime: Runtime, wanted: Sequence[tuple[str, str]], installed: Sequence[str], target: Path
) -> None:
    """Makes `target`, or raises _Failed; what another process puts there meanwhile is as good."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as scratch:
        constraints = Path(scratch) / "installed.txt"
        constraints.write_text("\n".join(line for line in installed if "==" in line), encoding="utf-8")
        chosen = _resolve(uv, runtime, wanted, constraints)
        folder = Path(scratch) / "made"
        folder.mkdir()
        if chosen:
            _uv(uv, "install", "--python", str(runtime.python), "--target", str(folder), "--no-deps", *WHEELS, *chosen)
        (folder / "tfmigrate.json").write_text(json.dumps(chosen), encoding="utf-8")
        with suppress(OSError):
            folder.rename(target)
        if not target.is_dir():
            shutil.move(folder, target)


WHEELS = ("--only-binary", ":all:")


def _resolve(uv: str, runtime: Runtime, wanted: Sequence[tuple[str, str]], constraints: Path) -> list[str]:
    """All that would be added to the runtime, as "name==version": what nobody can have is left out."""

    dated = ("--exclude-newer", _until(runtime).isoformat())

    def attempt(requirements: Sequence[str], until: Sequence[str] = dated) -> list[str] | None:
        try:
            answer = _uv(
                uv, "install", "--dry-run", "--python", str(runtime.python), "--constraint", str(constraints),
                *until, *WHEELS, *requirements,
            )  # fmt: skip
        except _Failed as failed:
            if OFFLINE.search(str(failed)):
                raise
            return None
        return re.findall(r"^ \+ (\S+==\S+)", answer.stderr, re.M)

    have = dict(line.split("==") for line in constraints.read_text(encoding="utf-8").split())
    late = [name for requirement, name in wanted if requirement == name and _made_for_older(uv, runtime, name, have)]
    if late:
        rest = [either for either in wanted if either[1] not in late]
        first = _resolve(uv, runtime, rest, constraints) if rest else []
        both = attempt([*first, *late], until=())
        if both is not None:
            return both
    together = attempt([requirement for requirement, _ in wanted])
    if together is not None:
        return together
    good: list[str] = []
    chosen: list[str] = []
    for either in wanted:
        for requirement in dict.fromkeys(either):
            more = attempt([*good, requirement])
            if more is not None:
                good.append(requirement)
                chosen = more
                break
    return chosen


def _made_for_older(uv: str, runtime: Runtime, name: str, have: Mapping[str, str]) -> bool:
    """Whether the package as of then was made for other major versions of what it needs than the runtime has. It may
    well allow them: nobody knew what they would remove."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        try:
            answer = _uv(
                uv, "compile", "--quiet", "--no-header", "--no-annotate", "--python", str(runtime.python),
                "--exclude-newer", _until(runtime).isoformat(), *WHEELS, file.name,
            )  # fmt: skip
        except _Failed:
            return False
    there = {canonicalize_name(one): Version(version) for one, version in have.items()}
    then = re.findall(r"^([\w.-]+)==([\w.!+-]+)", answer.stdout, re.M)
    return any(
        one in there and there[one].major > Version(version).major
        for one, version in ((canonicalize_name(found), version) for found, version in then)
    )


def _uv(uv: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`uv pip ...`. Raises _Failed."""
    try:
        return subprocess.run(
            [uv, "pip", *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=True,
            cwd=tempfile.gettempdir(), env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _Failed(f"uv did not end within {SECONDS:g} s (is there a network?)") from None
    except subprocess.CalledProcessError as error:
        raise _Failed("uv said: " + " ".join(error.stderr.split())[-400:]) from None
    except OSError as error:
        raise _Failed(str(error)) from None
