"""Small mistakes, drawn at random, in the modules that decide: the tests that need no TensorFlow must notice each.

    python tools/mutants.py                      # the draws that are written down: twenty of each of SEEDS
    python tools/mutants.py --seed 7 --draws 50
    python tools/mutants.py --seed 7 --draw 12   # one of them again
    python tools/mutants.py --module plan/keras/monitors.py

A draw takes a module of plan/, or the carrier (the longer, the likelier), one place in it and one mistake, writes that
into a copy of the repository and runs the related tests there: those named after the module, its room or one of the few
that import it, those that import it or mention a code that it or one of these few reports, and the examples of these
rules. What survives is printed with the tests that ran. The same seed draws the same mistakes as long as these modules
are the same. Exit code 1 where a mutant survived.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tfmigrate.plan import codes

ROOT = Path(__file__).resolve().parent.parent
PLAN = ROOT / "tfmigrate" / "plan"
CARRIER = tuple(ROOT / "tfmigrate" / "understand" / name for name in ("carrier.py", "substitution.py"))
"""They decide too: whether an expression may be written at another place."""
SEEDS = (1, 41, 42, 43, 51, 52, 61, 73, 74)
DRAWS = 20
SECONDS = 900
"""What one mutant's tests may take: many loop forever."""
FEW = 3
"""Modules that ask another: where there are more, no code says what that one does."""
_IMPORTED = re.compile(r"^from (tfmigrate\.plan\.[\w.]+) import", re.MULTILINE)
_NO_SUCH_TEST = 4
_CODES = re.compile(r"\bcodes\.([A-Z]\w+)")

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """One mistake in one module."""

    path: Path
    line: int
    old: str
    new: str
    text: str
    """The module with the mistake."""

    def __str__(self) -> str:
        place = f"{self.path.relative_to(ROOT)}:{self.line}"
        return f"{place}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"


def mutants(path: Path) -> list[Mutant]:
    """Every mistake that can be made in a module, in order of place."""
    source = path.read_text(encoding="utf-8")
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    data = source.encode()

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    mistakes: list[Mutant] = []
    tree = ast.parse(source)
    # `@dataclass(frozen=False)` is no mistake that a test could see.
    decorators = (item for node in ast.walk(tree) for item in getattr(node, "decorator_list", ()))
    left_alone = {part for item in decorators for part in ast.walk(item)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt) and node not in left_alone:
            begin, end = span(node)
            old = data[begin:end].decode()
            for new in _mistakes(node):
                text = (data[:begin] + new.encode() + data[end:]).decode()
                mistakes.append(Mutant(path, node.lineno, old, new, text))
    return sorted(mistakes, key=lambda mutant: (mutant.line, mutant.old, mutant.new))


def _mistakes(node: ast.expr | ast.stmt) -> Iterator[str]:
    """What may stand in the place of a node by mistake."""
    make = _MISTAKES.get(type(node))
    return make(node) if make is not None else iter(())


def _other_comparison(node: ast.Compare) -> Iterator[str]:
    if len(node.ops) == 1:
        other = _COMPARED[type(node.ops[0])]
        yield f"({ast.unparse(node.left)} {other} {ast.unparse(node.comparators[0])})"


def _other_conditions(node: ast.BoolOp) -> Iterator[str]:
    is_and = isinstance(node.op, ast.And)
    yield _joined(node.values, " or " if is_and else " and ")
    for left_out in node.values:
        yield _joined([value for value in node.values if value is not left_out], " and " if is_and else " or ")


def _joined(values: Sequence[ast.expr], word: str) -> str:
    return f"({word.join(f'({ast.unparse(value)})' for value in values)})"


def _without_not(node: ast.UnaryOp) -> Iterator[str]:
    if isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"


def _other_value(node: ast.Constant) -> Iterator[str]:
    if isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node.value, int):
        yield str(node.value + 1)


def _other_function(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED:
        yield f"{_SWAPPED[node.func.id]}{ast.unparse(node).removeprefix(node.func.id)}"


def _one_side(node: ast.IfExp) -> Iterator[str]:
    yield f"({ast.unparse(node.orelse)})"
    yield f"({ast.unparse(node.body)})"


def _left_out(node: ast.Continue | ast.Break | ast.AugAssign) -> Iterator[str]:
    yield "pass"


def _not_called(node: ast.Expr) -> Iterator[str]:
    if isinstance(node.value, ast.Call):
        yield "pass"
    elif isinstance(node.value, ast.Yield | ast.YieldFrom):
        yield "yield from ()"


_MISTAKES: dict[type[ast.AST], Callable[[Any], Iterator[str]]] = {
    ast.Compare: _other_comparison,
    ast.BoolOp: _other_conditions,
    ast.UnaryOp: _without_not,
    ast.Constant: _other_value,
    ast.Call: _other_function,
    ast.IfExp: _one_side,
    ast.Continue: _left_out,
    ast.Break: _left_out,
    ast.AugAssign: _left_out,
    ast.Expr: _not_called,
}


def drawn(seed: int, draw: int, paths: Sequence[Path]) -> Mutant:
    """The mistake of one draw."""
    chance = random.Random(f"{seed}:{draw}")
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    while True:
        (path,) = chance.choices(paths, lengths)
        possible = mutants(path)
        if possible:
            return chance.choice(possible)


def related(path: Path) -> tuple[list[str], list[str]]:
    """The test modules that belong to a module of plan/, and the codes whose examples are run."""
    reported = _codes_of(path)
    imported = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    words = re.compile("|".join([rf"\b{re.escape(imported)}\b", *reported]))
    names = [module.stem for module in (path, *_few_asking(path))]
    chosen = [
        test
        for test in sorted((ROOT / "tests" / "plan").rglob("test_*.py"))
        if any(name in test.stem for name in names)
        or test.stem.startswith(f"test_{path.parent.name}")
        or words.search(test.read_text(encoding="utf-8"))
    ]
    chosen.append(ROOT / "tests" / "rewrite")
    # What reports nothing itself is seen in what every migration writes, and in what is refused.
    return [str(test.relative_to(ROOT)) for test in chosen], sorted(reported) or ["TFM0", "TFM1"]


def _codes_of(path: Path) -> set[str]:
    """The codes that a module reports, what it alone asks and the few that ask it; or what is reported above these."""
    few = _few_asking(path)
    near = (path, *few, *(part for part, asking in _importers().items() if asking == {path}))
    found = {getattr(codes, name) for module in near for name in _CODES.findall(_text(module))} | _pages_with(path)
    return found or set().union(*map(_codes_of, few))


def _few_asking(path: Path) -> set[Path]:
    """The modules of plan/ that import one, where they are few."""
    asking = _importers().get(path, set())
    return asking if len(asking) <= FEW else set()


@cache
def _importers() -> dict[Path, set[Path]]:
    """The modules of plan/ that import each of them."""
    found: dict[Path, set[Path]] = {}
    for path in PLAN.rglob("*.py"):
        for name in _IMPORTED.findall(_text(path)):
            found.setdefault(ROOT.joinpath(*name.split(".")).with_suffix(".py"), set()).add(path)
    return found


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _pages_with(helper: Path) -> set[str]:
    """The codes of the pages whose examples hold what a module of helpers/ defines, as it is written into programs."""
    if helper.parent.name != "helpers":
        return set()
    defined = re.findall(r"^(?:def|class) \w+", helper.read_text(encoding="utf-8"), flags=re.M)
    pages = {page.name[:6]: page.read_text(encoding="utf-8") for page in (ROOT / "rules").glob("TFM*.md")}
    return {code for code, text in pages.items() if any(f"\n{start}" in text for start in defined)}


def noticed_by(mutant: Mutant, folder: Path, seconds: float) -> str | None:
    """The first related test that fails in a copy of the repository with the mistake; None where all pass.

    Raises SystemExit where that test fails without the mistake, too.
    """
    place = folder / mutant.path.relative_to(ROOT)
    original = place.read_text(encoding="utf-8")
    place.write_text(mutant.text, encoding="utf-8")
    tests, reported = related(mutant.path)
    try:
        for arguments in (["tests/test_rules.py", "-k", " or ".join(reported)], tests):
            code, said = run(arguments, folder, seconds)
            if code not in (0, 5):  # 5: no test of that name
                failed = re.search(r"^(?:FAILED|ERROR) (.+)$", said, flags=re.M)
                words = failed[1].split(" - ") if failed else []
                break
        else:
            return None
    except subprocess.TimeoutExpired:
        return f"more than {seconds:g} s"
    finally:
        place.write_text(original, encoding="utf-8")
    # What a test is called may hold a dash, as what it raised does behind one.
    for end in range(1, len(words) + 1):
        test = " - ".join(words[:end])
        code, _ = run([test], folder, seconds)
        if code == 0:
            return test
        if code != _NO_SUCH_TEST:
            raise SystemExit(f"{test} fails without the mistake, too")
    return "pytest cannot start"


def run(arguments: Sequence[str], folder: Path, seconds: float) -> tuple[int, str]:
    """The exit code of pytest and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--override-ini", "addopts=-rfE", "-m", "not runs_tensorflow and not starts_processes", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="draws of one seed alone")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--draw", type=int, help="one draw alone")
    parser.add_argument("--module", help="draw from one module, by its path below tfmigrate/")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    chosen = parser.parse_args()
    paths = [ROOT / "tfmigrate" / chosen.module] if chosen.module else sorted((*PLAN.rglob("*.py"), *CARRIER))
    seeds = SEEDS if chosen.seed is None else (chosen.seed,)
    numbers = range(1, chosen.draws + 1) if chosen.draw is None else (chosen.draw,)
    draws = [(seed, number) for seed in seeds for number in numbers]
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("tfmigrate", "rules", "tests", "fixtures", "tools", "pyproject.toml"):
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder)
        code, said = run(["tests/test_rules.py", "-k", "every_code"], folder, chosen.seconds)
        if code != 0:
            raise SystemExit(f"the tests fail without any mistake:\n{said}")
        for seed, number in draws:
            mutant = drawn(seed, number, paths)
            began = time.monotonic()
            test = noticed_by(mutant, folder, chosen.seconds)
            survivors += test is None
            what = "SURVIVED" if test is None else "noticed "
            told = f"tests: {' '.join(related(mutant.path)[0])}" if test is None else test
            print(f"{seed}:{number:<3} {what} {time.monotonic() - began:4.0f} s  {mutant}\n    {told}", flush=True)
    print(f"{survivors} of {len(draws)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
