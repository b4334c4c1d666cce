"""The walls of the house: which room may know which, read off the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "tfmigrate"
FORBIDDEN = {
    "understand": {"plan", "edit", "guard", "report", "verify", "cli", "files", "migrate"},
    "plan": {"edit", "guard", "report", "verify", "cli", "files", "migrate"},
    "edit": {"understand", "guard", "report", "verify", "cli", "files", "migrate"},
    "files": {"understand", "plan", "edit", "guard", "report", "verify", "cli", "migrate"},
    "report": {"understand", "plan", "edit", "guard", "verify", "cli", "files", "migrate"},
    "verify": {"understand", "plan", "edit", "guard", "report", "cli", "migrate"},
}
"""Data flows one way: each room knows only those before it."""


def imported(path: Path) -> Iterator[str]:
    """Absolute names of all modules that a file imports, wherever in it."""
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


FILES = sorted(PACKAGE.rglob("*.py"))


def test_reads_imports_of_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "tfmigrate" / "plan" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import os.path\ndef f():\n    from .. import edit\n    from ..edit import apply\n    from . import y\n"
    )
    assert {"os.path", "tfmigrate.edit", "tfmigrate.edit.apply", "tfmigrate.plan.y"} <= set(imported(path))


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_knows_only_those_before_it(room: str) -> None:
    forbidden = {f"tfmigrate.{name}" for name in FORBIDDEN[room]}
    known = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (PACKAGE / room).rglob("*.py")
        for name in imported(path)
        if ".".join(name.split(".")[:2]) in forbidden
    }
    assert not known


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_probe_imports_tensorflow(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    if "probe" not in path.parts:
        assert not roots & {"tensorflow", "keras", "tf_keras"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "verify" / "probe").rglob("*.py")), ids=lambda path: path.name)
def test_the_probe_runs_on_old_interpreters(path: Path) -> None:
    # feature_version does not reject f-strings and variable annotations everywhere, so they are looked for by name.
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 5))
    new = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr)
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, new)]
    outside = {
        name for name in imported(path) if name.split(".")[0] in {"tfmigrate", "libcst", "click", "rich", "psutil"}
    }
    assert not {name for name in outside if not name.startswith("tfmigrate.verify.probe")}
