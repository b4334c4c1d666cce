"""Everything that must hold before a version is tagged: `make release`.

Checks the metadata, builds the source distribution and from it the wheel, and tries the wheel in a fresh environment of
each supported Python that is on this machine. Uploads and tags nothing; the last lines say how.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import SpecifierSet

from tfmigrate import __version__, rules
from tfmigrate.toml import tomllib
from tfmigrate.verify.run import runtimes

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.10", "3.11", "3.12", "3.13", "3.14")
URLS = ("Repository", "Documentation", "Changelog")
"""What [project.urls] must name. The documentation's address is also where SARIF reports link the rules to."""
PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""


def metadata_problems(pyproject: str, changelog: str, ci: str, version: str) -> Iterator[str]:
    """What pyproject.toml, CHANGELOG.md and docs/ci.md lack for a release of `version`."""
    project = tomllib.loads(pyproject)["project"]
    for name in URLS:
        if name not in project.get("urls", {}):
            yield f"pyproject.toml: [project.urls] has no {name}: the address at which readers find it"
    python = SpecifierSet(project["requires-python"])
    for minor in SUPPORTED:
        said = f"Programming Language :: Python :: {minor}" in project["classifiers"]
        if said != (minor in python):
            yield f"pyproject.toml: classifiers and requires-python disagree about Python {minor}"
    newest = re.search(r"^## (\S+)(.*)$", changelog, flags=re.M)
    if newest is None or newest[1] != version:
        yield f"CHANGELOG.md: the newest section is not that of {version}"
    elif not re.fullmatch(r" \(\d{4}-\d{2}-\d{2}\)", newest[2]):
        yield f"CHANGELOG.md: write `## {version} (YYYY-MM-DD)` instead of `{newest[0]}`"
    for tag in re.findall(r"\brev: v(\S+)", ci):
        if tag != version:
            yield f"docs/ci.md: names the tag v{tag}"


def git_problems(version: str) -> Iterator[str]:
    if _output("git", "status", "--porcelain"):
        yield "git: there are changes that are not committed"
    if _output("git", "tag", "--list", f"v{version}"):
        yield f"git: the tag v{version} exists already; raise __version__ in tfmigrate/__init__.py"


def wheel_problems(wheel: Path) -> Iterator[str]:
    """Files that the wheel lacks, or should not hold."""
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        metadata = next((opened.read(name).decode() for name in names if name.endswith("dist-info/METADATA")), "")
    for rule in rules.all_rules():
        if f"tfmigrate/_rules/{rule.path.name}" not in names:
            yield f"{wheel.name}: lacks the rule {rule.path.name}"
    if "tfmigrate/py.typed" not in names:
        yield f"{wheel.name}: lacks tfmigrate/py.typed"
    for link in re.findall(r"\]\((?![a-z]+:|#)([^)]+)\)", metadata):
        yield f"{wheel.name}: the page for a package index links to {link}, which only the repository has"
    foreign = {name.split("/")[0] for name in names} - {"tfmigrate", f"tfmigrate-{__version__}.dist-info"}
    if foreign:
        yield f"{wheel.name}: holds {', '.join(sorted(foreign))} beside the package"


def trial_problems(wheel: Path, python: str, interpreter: str, folder: Path) -> Iterator[str]:
    """What goes wrong when the wheel is installed into a fresh environment of an interpreter and used there."""
    environment = folder / f"python-{python}"
    _uv("venv", "--quiet", "--python", interpreter, str(environment))
    bin_ = environment / ("Scripts" if sys.platform == "win32" else "bin")
    _uv("pip", "install", "--quiet", "--python", str(bin_ / "python"), str(wheel))
    work = folder / f"work-{python}"
    work.mkdir()
    (work / "train.py").write_text(PROGRAM)
    for arguments, code, expected in (
        (("--version",), 0, __version__),
        (("check", "train.py"), 1, "TFM001"),
        (("explain", "TFM001"), 0, "multi_gpu_model becomes"),
        (("fix", "train.py"), 0, "1 file migrated"),
        (("check", "train.py"), 0, "nothing to migrate"),
    ):
        done = subprocess.run([bin_ / "tfmigrate", *arguments], cwd=work, capture_output=True, text=True)
        if done.returncode != code or expected not in done.stdout:
            told = (done.stderr or done.stdout).strip()
            yield f"Python {python}: tfmigrate {' '.join(arguments)} exits {done.returncode}: {told}"


def pythons() -> dict[str, str]:
    """The supported versions that are installed here, each with its interpreter."""
    found = ((version, runtimes.python_of(version)) for version in SUPPORTED)
    return {version: str(place) for version, place in found if place is not None}


def main() -> int:
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "CHANGELOG.md", "docs/ci.md")]
    problems = [*metadata_problems(*texts, __version__), *git_problems(__version__)]
    _uv("build", "--quiet", "--out-dir", str(dist), str(ROOT))
    (wheel,) = dist.glob("*.whl")
    problems += wheel_problems(wheel)
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.glob("tfmigrate-*")))],
        capture_output=True,
        text=True,
    )
    if checked.returncode:
        problems.append(f"twine check: {checked.stdout.strip()}")
    here = pythons()
    with tempfile.TemporaryDirectory() as scratch:
        for python, interpreter in here.items():
            found = [*trial_problems(wheel, python, interpreter, Path(scratch))]
            problems += found
            print(f"Python {python}: {'the wheel works' if not found else 'see below'}")
    missing = [one for one in SUPPORTED if one not in here]
    if missing:
        print(f"Not tried, because it is not installed here: Python {', '.join(missing)}")
    for problem in problems:
        print(f"- {problem}")
    if problems:
        print(f"{__version__} cannot be released yet: see the list above.")
        return 1
    print(f"{__version__} can be released: git tag v{__version__}, push the tag, and `twine upload dist/*`.")
    return 0


_UV = (sys.executable, "-m", "uv")


def _uv(*arguments: str) -> None:
    done = subprocess.run([*_UV, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"uv {arguments[0]}: {done.stderr.strip()}")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
