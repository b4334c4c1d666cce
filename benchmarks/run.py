"""Measure tfmigrate against what the machine can do: `python benchmarks/run.py > docs/speed.md` (or `make bench`).

Every figure is a ratio of wall times taken in turns in one run, the best of several, so that it holds on any machine;
the processor time beside it tells a slow program from a busy machine. Last come the limits that we set ourselves.
A tool that is not installed is left out: ripgrep, git, ruff, ast-grep (`pip install ast-grep-cli`), LibCST's codemod.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfmigrate.needles import needles
from tfmigrate.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
_SCRIPT = Path(PYTHON).with_name("tfmigrate")
TFMIGRATE = (str(_SCRIPT),) if _SCRIPT.exists() else (PYTHON, "-m", "tfmigrate")
"""What hooks and people start."""
NEEDLE = "multi_gpu_model"
DISTINCT = 10_000
"""Files with contents of their own in the largest scan."""


@dataclass(frozen=True)
class Entry:
    """A command to time in a folder; `prepare` puts the folder in order before each time."""

    name: str
    command: Sequence[str]
    folder: Path
    prepare: Callable[[], object] = lambda: None
    times: int = 5


@dataclass(frozen=True)
class Time:
    """The best of several runs, in seconds; `processor` is user and system time of all its processes."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Goal:
    """A ratio that was measured, and what it should be: at most `limit`, or at least where `at_least`."""

    what: str
    ratio: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def measured(entries: Sequence[Entry]) -> dict[str, Time]:
    """The best times of each entry, in turns; the first turn warms the caches and does not count."""
    best = {entry.name: Time(float("inf"), float("inf")) for entry in entries}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    for turn in range(1 + max(entry.times for entry in entries)):
        for entry in entries:
            if turn > entry.times or (turn == 0 and entry.times == 1):
                continue
            entry.prepare()
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                entry.command, cwd=entry.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if turn or entry.times == 1:
                old = best[entry.name]
                best[entry.name] = Time(min(old.wall, wall), min(old.processor, processor))
    return best


def show(title: str, times: dict[str, Time], base: str) -> None:
    """A Markdown table of times and their ratio to `base`."""
    print(f"\n## {title}\n\n| | seconds | x {base} | processor | x {base} |\n|---|---|---|---|---|")
    unit = times[base]
    for name, one in sorted(times.items(), key=lambda item: item[1].wall):
        processor = f"{one.processor:.3f} | {one.processor / unit.processor:.2f}"
        print(f"| {name} | {one.wall:.3f} | {one.wall / unit.wall:.2f} | {processor} |")
    sys.stdout.flush()


def clean_files(folder: Path, count: int) -> int:
    """Fill `folder` with `count` real Python files without a needle of any rule; their size in bytes.

    From the 10,000th on they are hard links to the first ones, which take no more room on the disk or in its cache.
    """
    unwanted = needles()
    sources = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    size = made = 0
    while made < min(count, DISTINCT):
        for path in (path for source in sources for path in sorted(source.rglob("*.py"))):
            if made == min(count, DISTINCT):
                break
            data = path.read_bytes()
            if not any(needle in data for needle in unwanted):
                target = folder / f"package{made // 200}" / f"module{made}.py"
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(data)
                size, made = size + len(data), made + 1
    targets = sorted(folder.rglob("*.py"))
    while made < count:
        source = targets[made % len(targets)]
        target = folder / f"package{made // 200}" / f"module{made}.py"
        target.parent.mkdir(exist_ok=True)
        target.hardlink_to(source)
        size, made = size + source.stat().st_size, made + 1
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


def scan(scratch: Path, count: int) -> list[Goal]:
    """No file has a hit: the everyday case."""
    scratch = scratch / f"{count}"
    folder = scratch / "clean"
    folder.mkdir(parents=True)
    size = clean_files(folder, count)
    subprocess.run(["git", "init", "-q"], cwd=folder)
    subprocess.run(["git", "add", "."], cwd=folder)
    empty = scratch / "empty"
    empty.mkdir()
    entries = [
        Entry("tfmigrate check", [*TFMIGRATE, "check", "."], folder, times=10),
        Entry("tfmigrate check, empty folder", [*TFMIGRATE, "check", "."], empty, times=10),
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
        if tool in ("ruff", "ast-grep") and count > DISTINCT:
            continue  # They take minutes.
        found = shutil.which(tool) or (str(beside) if beside.exists() else None)
        if found:
            entries.append(Entry(name, [found, *arguments], folder, times=10 if name in ("ripgrep", "git grep") else 2))
    times = measured(entries)
    title = f"{count:,} files ({size / 1e6:.0f} MB) without a hit"
    show(title, times, "ripgrep" if "ripgrep" in times else "python, read and search")
    whole, start = times["tfmigrate check"].wall, times["tfmigrate check, empty folder"].wall
    print(
        f"\nOf the scan {start / whole:.0%} is the start: Python, click and the tool's own modules. In the rest files\n"
        "are found, read, and searched for all needles in one pass, shared by the processors. ripgrep looks for one."
    )
    if "ripgrep" not in times:
        return []
    ratio = whole / times["ripgrep"].wall
    return [Goal(f"scan of {count:,} files, times ripgrep", ratio, 2.0)]


READ = f"""
import os
for folder, folders, names in os.walk("."):
    for name in names:
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as file:
                b"{NEEDLE}" in file.read()
"""


def hook(scratch: Path) -> list[Goal]:
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
    times = measured(entries)
    show("A hook on 20 clean files", times, "import click")
    ratio = times["tfmigrate check, 20 clean files"].wall / times["import click"].wall
    return [Goal("hook on 20 clean files, times `import click`", ratio, 1.4)]


def typed(scratch: Path) -> list[Goal]:
    """What is typed while somebody waits."""
    folder = scratch / "typed"
    folder.mkdir()
    (folder / "clean.py").write_text(script().replace(NEEDLE, "other_model"))
    (folder / "train.py").write_text(script())
    commands = ("--help", "explain", "explain TFM001", "check clean.py", "check train.py", "fix --diff train.py")
    entries = [Entry(f"tfmigrate {one}", [*TFMIGRATE, *one.split()], folder) for one in commands]
    show(
        "What is typed",
        measured([*entries, Entry("import click", [PYTHON, "-c", "import click"], folder)]),
        "import click",
    )
    return []


def one_script(scratch: Path) -> list[Goal]:
    """One script with a hit, from the command to the written file."""
    folder = scratch / "one"
    folder.mkdir()
    path = folder / "train.py"
    entries = [
        Entry("tfmigrate fix", [*TFMIGRATE, "fix", "train.py"], folder, lambda: path.write_text(script()), times=7),
        Entry("import libcst", [PYTHON, "-c", "import libcst"], folder, times=7),
    ]
    times = measured(entries)
    show(f"One script of {len(script())} bytes", times, "import libcst")
    ratio = times["tfmigrate fix"].wall / times["import libcst"].wall
    return [Goal("one script with a hit, times `import libcst`", ratio, 2.0)]


def hits(scratch: Path, counts: Sequence[int]) -> list[Goal]:
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
    print("\n## Many scripts with a hit\n\n| | seconds | milliseconds each |\n|---|---|---|")
    for count, (name, one) in zip((*counts, counts[-1]), times.items(), strict=True):
        print(f"| {name} | {one.wall:.2f} | {1000 * one.wall / count:.0f} |")
    walls = [one.wall for one in times.values()]
    goals = [
        Goal(f"{counts[-1]:,} hits, two processes times as fast as one", walls[-2] / walls[-1], 1.7, at_least=True)
    ]
    if len(counts) > 2:
        # What a process needs to begin is no cost of a hit: the first count is taken off both.
        each = [(walls[n] - walls[0]) / (counts[n] - counts[0]) for n in (1, len(counts) - 1)]
        goals.append(Goal(f"cost of a hit at {counts[-1]:,}, times that at {counts[1]:,}", each[1] / each[0], 1.1))
    return goals


def grown(size: int) -> str:
    """A script of about so many characters with one hit: functions, classes, branches and tables, as generated code."""
    text = (
        "from keras.layers import Dense\nfrom keras.models import Sequential\n"
        "from keras.utils import multi_gpu_model\n\n"
        "model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)\nmodel.compile('sgd', 'mse')\n"
    )
    parts = []
    for number in range((size - len(text)) // 375):
        parts.append(
            f"\n\nTABLE_{number} = {{'key': [{number}, {number + 1}], 'other': 'text {number}'}}\n"
            f"\n\ndef step_{number}(rows, scale={number}):\n    total = 0\n    for row in rows:\n"
            f"        total += row * scale + len(TABLE_{number})\n    if total > {number}:\n        return total\n"
            f"    return report(total, name='step {number}')\n"
            f"\n\nclass Part{number}(Base):\n    limit = {number}\n\n    def run(self, value):\n"
            f"        self.value = step_{number}([value, self.limit])\n        return self.value\n"
        )
    return text + "".join(parts)


def linked(folder: Path, count: int) -> None:
    """One program of so many files, each of which imports two others and calls what they define."""
    for number in range(count):
        others = sorted({max(0, number - 1), number // 2} - {number})
        imports = "".join(f"from part_{other} import build as build_{other}\n" for other in others)
        calls = "".join(f"        build_{other}(units - 1)\n" for other in others) or "        pass\n"
        text = (
            f"{imports}from keras.layers import Dense\nfrom keras.models import Sequential\n\n\n"
            f"class Part{number}:\n    def __init__(self, size):\n        self.size = size\n\n"
            "    def grow(self, by):\n        if by > self.size:\n            self.size = by\n"
            "        return self.size\n"
            f"\n\ndef build(units=8):\n    part = Part{number}(units)\n    if part.grow({number}) > units:\n{calls}"
            "    return Sequential([Dense(units, input_shape=(4,))])\n\n\nbuild()\n"
        )
        (folder / f"part_{number}.py").write_text(text)
    wrapped = "model = multi_gpu_model(build(), gpus=2)\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y)\n"
    imports = f"from keras.utils import multi_gpu_model\nfrom part_{count - 1} import build\n"
    (folder / "train.py").write_text(imports + wrapped)


def sizes(scratch: Path, characters: Sequence[int], counts: Sequence[int]) -> list[Goal]:
    """What one program costs, against its size: one file that grows, and more and more files."""
    goals = []
    for title, unit, wanted in (
        ("One file that grows", "characters", characters),
        ("One program of more and more files", "files", counts),
    ):
        entries, measures = [], []
        for number in wanted:
            folder = scratch / f"{unit}{number}"
            folder.mkdir()
            if unit == "characters":
                (folder / "train.py").write_text(grown(number))
                measures.append(len(grown(number)))
            else:
                linked(folder, number)
                measures.append(number)
            command = [*TFMIGRATE, "check", "--jobs", "1", "--program-timeout", "3600", "."]
            entries.append(Entry(f"{measures[-1]:,} {unit}", command, folder, times=1))
        times = measured(entries)
        start = min(one.processor for one in times.values())
        print(f"\n## {title}\n\n| | seconds | processor | milliseconds of processor for {EACH[unit][1]} |")
        print("|---|---|---|---|")
        each = []
        for entry, measure in zip(entries, measures, strict=True):
            one = times[entry.name]
            each.append(1000 * (one.processor - start) / (measure / EACH[unit][0]))
            print(f"| {entry.name} | {one.wall:.2f} | {one.processor:.2f} | {each[-1]:.0f} |")
        if unit == "characters":
            limit = Settings().largest_file
            print(f"\nMore than {limit:,} characters in one file are refused at once (`largest-file`).")
            read = [cost for cost, measure in zip(each, measures, strict=True) if 50_000 < measure <= limit]
        else:
            read = each[1:]
        if len(read) > 1:
            what = f"{title.lower()}: cost of each part in the largest, times that in a small one"
            goals.append(Goal(what, read[-1] / read[0], 1.5))
    return goals


EACH = {"characters": (1000, "1,000 characters"), "files": (1, "a file")}


def codemod(scratch: Path, count: int) -> list[Goal]:
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
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000], help="files of the scans")
    parser.add_argument("--hits", type=int, nargs="+", default=[10, 100, 1000], help="how many scripts to migrate")
    parser.add_argument("--characters", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000, 5_000_000])
    parser.add_argument("--program", type=int, nargs="+", default=[10, 40, 160, 600], help="files of one program")
    names = ["scan", "hook", "typed", "one", "hits", "sizes", "codemod"]
    parser.add_argument("--only", choices=names, nargs="+", default=None)
    options = parser.parse_args()
    runs: dict[str, Callable[[Path], list[Goal]]] = {
        "scan": lambda scratch: [goal for count in options.files for goal in scan(scratch, count)],
        "hook": hook,
        "typed": typed,
        "one": one_script,
        "hits": lambda scratch: hits(scratch, options.hits),
        "sizes": lambda scratch: sizes(scratch, options.characters, options.program),
        "codemod": lambda scratch: codemod(scratch, min(300, *options.files)),
    }
    print("# Speed of the tool\n")
    print(
        "Made by `python benchmarks/run.py`, which runs everything in turns on one machine, the best of several times:"
    )
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; Python {sys.version.split()[0]}.")
    goals: list[Goal] = []
    for name in options.only or runs:
        with tempfile.TemporaryDirectory(prefix="tfmigrate-bench-") as scratch:
            goals += runs[name](Path(scratch))
    print("\n## The limits that we set ourselves\n\n| | measured | limit | |\n|---|---|---|---|")
    for goal in goals:
        bound = f"at {'least' if goal.at_least else 'most'} {goal.limit}"
        print(f"| {goal.what} | {goal.ratio:.2f} | {bound} | {'met' if goal.met else 'missed'} |")


if __name__ == "__main__":
    main()
