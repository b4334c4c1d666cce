"""Measure tfmigrate against what the machine can do: `python benchmarks/run.py` (or `make bench`).

Every figure is a ratio of wall times taken in turns in one run, the best of several, so that it holds on any machine.
A tool that is not installed is left out: ripgrep, git, ruff, ast-grep (`pip install ast-grep-cli`), LibCST's codemod.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
TFMIGRATE = (PYTHON, "-m", "tfmigrate")
NEEDLE = "multi_gpu_model"


@dataclass(frozen=True)
class Entry:
    """A command to time in a folder; `prepare` puts the folder in order before each time."""

    name: str
    command: Sequence[str]
    folder: Path
    prepare: Callable[[], object] = lambda: None
    times: int = 5


def measured(entries: Sequence[Entry]) -> dict[str, float]:
    """The best wall time of each entry in seconds, in turns; the first turn warms the caches and does not count."""
    best = {entry.name: float("inf") for entry in entries}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    for turn in range(1 + max(entry.times for entry in entries)):
        for entry in entries:
            if turn > entry.times or (turn == 0 and entry.times == 1):
                continue
            entry.prepare()
            start = time.perf_counter()
            subprocess.run(
                entry.command, cwd=entry.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            if turn or entry.times == 1:
                best[entry.name] = min(best[entry.name], time.perf_counter() - start)
    return best


def show(title: str, times: dict[str, float], base: str) -> None:
    """A Markdown table of times and their ratio to `base`."""
    print(f"\n### {title}\n\n| | seconds | x {base} |\n|---|---|---|")
    for name, seconds in sorted(times.items(), key=lambda one: one[1]):
        print(f"| {name} | {seconds:.3f} | {seconds / times[base]:.2f} |")
    sys.stdout.flush()


def clean_files(folder: Path, count: int) -> int:
    """Fill `folder` with `count` real Python files without the needle; their size in bytes."""
    sources = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    size = made = 0
    while made < count:
        for path in (path for source in sources for path in sorted(source.rglob("*.py"))):
            if made == count:
                break
            data = path.read_bytes()
            if NEEDLE.encode() not in data:
                target = folder / f"package{made // 200}" / f"module{made}.py"
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
                size, made = size + len(data), made + 1
    return size


def script(name: str = "guarded_generator") -> str:
    """A real training script, made 7.5 KB long by plain functions as such scripts have them."""
    text = (ROOT / "fixtures" / name / "before" / "train.py").read_text(encoding="utf-8")
    number = 0
    while len(text) < 7500:
        number += 1
        text += f"\n\ndef report_{number}(history, path=None):\n    values = [float(v) for v in history if v]\n"
        text += "    if path:\n        with open(path, 'w') as file:\n            file.write(repr(values))\n"
        text += "    return sum(values) / max(1, len(values))\n"
    return text


def scan(scratch: Path, count: int) -> None:
    """No file has a hit: the everyday case."""
    folder = scratch / "clean"
    folder.mkdir()
    size = clean_files(folder, count)
    subprocess.run(["git", "init", "-q"], cwd=folder)
    subprocess.run(["git", "add", "."], cwd=folder)
    entries = [
        Entry("tfmigrate check", [*TFMIGRATE, "check", "."], folder),
        Entry("python, read and search", [PYTHON, "-c", READ], folder),
    ]
    others = {
        "ripgrep": ["rg", "-l", NEEDLE, "-g", "*.py"],
        "git grep": ["git", "grep", "-l", NEEDLE],
        "ruff": ["ruff", "check", "--isolated", "--no-cache", "--select", "F401", "--silent", "."],
        "ast-grep": ["ast-grep", "run", "-l", "python", "-p", "multi_gpu_model($$$)", "."],
    }
    for name, (tool, *arguments) in others.items():
        beside = Path(PYTHON).with_name(tool)
        found = shutil.which(tool) or (str(beside) if beside.exists() else None)
        if found:
            entries.append(Entry(name, [found, *arguments], folder, times=5 if name in ("ripgrep", "git grep") else 2))
    times = measured(entries)
    title = f"{count:,} files ({size / 1e6:.0f} MB) without a hit"
    show(title, times, "ripgrep" if "ripgrep" in times else "python, read and search")


READ = f"""
import os
for folder, folders, names in os.walk("."):
    for name in names:
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as file:
                b"{NEEDLE}" in file.read()
"""


def hook(scratch: Path) -> None:
    """What pre-commit runs on most commits."""
    folder = scratch / "hook"
    folder.mkdir()
    names = [f"f{number}.py" for number in range(20)]
    for name in names:
        (folder / name).write_text(script().replace(NEEDLE, "other_model"))
    entries = [
        Entry("tfmigrate check, 20 clean files", [*TFMIGRATE, "check", *names], folder, times=15),
        Entry("import click", [PYTHON, "-c", "import click"], folder, times=15),
        Entry("python, nothing", [PYTHON, "-c", ""], folder, times=15),
    ]
    show("A hook on 20 clean files", measured(entries), "import click")


def one_script(scratch: Path) -> None:
    """One script with a hit, from the command to the written file."""
    folder = scratch / "one"
    folder.mkdir()
    path = folder / "train.py"
    entries = [
        Entry("tfmigrate fix", [*TFMIGRATE, "fix", "train.py"], folder, lambda: path.write_text(script()), times=7),
        Entry("import libcst", [PYTHON, "-c", "import libcst"], folder, times=7),
    ]
    show(f"One script of {len(script())} bytes", measured(entries), "import libcst")


def hits(scratch: Path, counts: Sequence[int]) -> None:
    """Many scripts with a hit: does the cost of each stay the same, and do two processes help?"""
    text = script()
    entries = []
    for count in counts:
        folder = scratch / f"hits{count}"
        folder.mkdir()
        for number in range(count):
            (folder / f"script{number}.py").write_text(text)
        command = [*TFMIGRATE, "check", "."]
        entries.append(Entry(f"{count} scripts, 1 process", [*command, "--jobs", "1"], folder, times=1))
    folder = scratch / f"hits{counts[-1]}"
    entries.append(Entry(f"{counts[-1]} scripts, 2 processes", [*command, "--jobs", "2"], folder, times=1))
    times = measured(entries)
    print("\n### Many scripts with a hit\n\n| | seconds | milliseconds each |\n|---|---|---|")
    for count, (name, seconds) in zip((*counts, counts[-1]), times.items(), strict=True):
        print(f"| {name} | {seconds:.2f} | {1000 * seconds / count:.0f} |")
    one, two = list(times.values())[-2:]
    print(f"\nTwo processes are {one / two:.2f} times as fast as one.")


def codemod(scratch: Path, count: int) -> None:
    """LibCST's own command line, on a part of the files because it takes minutes on all."""
    folder = scratch / "codemod"
    folder.mkdir()
    clean_files(folder, count)
    (folder / ".libcst.codemod.yaml").write_text("modules: ['libcst.codemod.commands']\n")
    command = [PYTHON, "-m", "libcst.tool", "codemod", "noop.NOOPCommand", "--hide-progress", "."]
    entries = [
        Entry(f"LibCST codemod (noop), {count} files", command, folder, times=1),
        Entry(f"tfmigrate check, {count} files", [*TFMIGRATE, "check", "."], folder, times=3),
    ]
    show(f"LibCST's codemod, {count} files without a hit", measured(entries), f"tfmigrate check, {count} files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000, help="how many files the scan walks over")
    parser.add_argument("--hits", type=int, nargs="+", default=[10, 100, 1000], help="how many scripts to migrate")
    parser.add_argument("--only", choices=["scan", "hook", "one", "hits", "codemod"], nargs="+", default=None)
    options = parser.parse_args()
    runs: dict[str, Callable[[Path], None]] = {
        "scan": lambda scratch: scan(scratch, options.files),
        "hook": hook,
        "one": one_script,
        "hits": lambda scratch: hits(scratch, options.hits),
        "codemod": lambda scratch: codemod(scratch, min(300, options.files)),
    }
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for name in options.only or runs:
        with tempfile.TemporaryDirectory(prefix="tfmigrate-bench-") as scratch:
            runs[name](Path(scratch))


if __name__ == "__main__":
    main()
