"""The walls of the house: what each room may import, read off the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "tfmigrate"
DIVIDED = ("plan", "verify")
"""Folders whose own folders and modules are rooms in turn."""
RULES = ("plan/change", "plan/codes", "plan/draft", "plan/edits", "plan/selection", "written", "understand", "walk")
"""What every decision stands on."""
MAY_IMPORT: dict[str, Sequence[str]] = {
    # The outside.
    "__init__": (),
    "__main__": ("cli",),
    "cli": (
        "__init__", "checkpoint", "errors", "files", "migrate", "printable", "quiet", "report", "result", "rules",
        "settings", "toml", "verify/judge", "verify/on", "verify/report", "verify/run",
    ),
    "migrate": ("decoded", "errors", "files", "late", "result", "settings", "skips", "survey", "tasks"),
    "survey": (
        "decoded", "files", "importers", "incomplete", "late", "needles", "outside", "pinned", "programs", "project",
        "readers", "result", "settings", "tasks",
    ),
    "tasks": ("budget", "decoded", "files", "limits", "numbering", "result", "rewrite", "settings"),
    "programs": ("decoded", "files", "needles", "settings"),
    "pinned": ("files", "result", "settings"),
    "decoded": ("files", "numbering", "result"),
    "readers": ("file_names", "outside", "plan/codes", "quiet", "result"),
    "outside": ("files", "plan/selection", "result", "settings", "understand"),
    "importers": ("consistency", "outside", "plan/codes", "result"),
    "project": ("files", "plan/packages", "result", "rules", "settings"),
    "rewrite": (
        "edit", "files", "guard", "limits", "numbering", "plan/codes", "plan/draft", "plan/edits", "plan/planner",
        "plan/selection", "quiet", "result", "rules", "settings", "understand",
    ),
    "files": ("errors", "importing", "numbering", "patterns", "quiet", "result"),
    "report": ("__init__", "junit", "printable", "result", "rules", "settings"),
    "checkpoint": ("errors", "files"),
    # Facts, decisions, edits.
    "understand": ("importing", "numbering", "old_keras", "old_names", "quiet", "walk", "written"),
    "plan/planner": (
        *RULES, "plan/comments", "plan/data", "plan/estimator", "plan/keras", "plan/names", "plan/on_strategy",
        "plan/strategy", "plan/workers", "rules",
    ),
    "plan/estimator": (*RULES, "plan/names", "plan/on_strategy", "plan/strategy", "plan/workers", "result"),
    "plan/on_strategy": (*RULES, "plan/data", "plan/keras", "plan/names", "plan/strategy", "rules"),
    "plan/keras": (
        *RULES, "file_names", "old_keras", "plan/data", "plan/names", "plan/strategy", "rules", "settings",
    ),
    "plan/comments": (*RULES, "plan/strategy"),
    "plan/workers": (*RULES, "plan/data", "plan/strategy"),
    "plan/data": (*RULES, "plan/names", "plan/strategy", "settings"),
    "plan/strategy": (*RULES, "importing", "plan/names"),
    "plan/names": (*RULES, "importing", "rules", "settings"),
    "plan/change": (
        "file_names", "plan/draft", "plan/edits", "plan/helpers", "written", "result", "understand", "walk",
    ),
    "plan/draft": ("plan/codes", "plan/edits", "plan/selection", "written", "result", "settings", "understand", "walk"),
    "plan/helpers": (),
    "plan/packages": ("plan/codes", "plan/selection", "result", "rules", "settings", "toml", "understand"),
    "plan/selection": ("result", "settings", "understand"),
    "plan/codes": ("needles",),
    "plan/edits": ("written", "result"),
    "written": ("brackets", "walk"),
    "edit": ("brackets", "plan/edits", "written", "walk"),
    "guard": ("consistency", "quiet", "result", "walk"),
    # Verification.
    "verify/report": ("junit", "printable", "verify/judge"),
    "verify/judge": ("errors", "files", "old_keras", "old_names", "printable", "rules", "verify/run", "walk"),
    "verify/on": ("__init__", "errors", "verify/run"),
    "verify/run": ("errors", "files", "old_keras", "printable", "rules"),
    "verify/probe": (),
    # What everybody may know.
    "brackets": (),
    "budget": (),
    "consistency": ("importing",),
    "errors": (),
    "file_names": (),
    "importing": (),
    "late": (),
    "incomplete": ("result",),
    "junit": ("printable",),
    "limits": ("numbering", "quiet"),
    "needles": ("errors",),
    "numbering": (),
    "old_keras": (),
    "old_names": (),
    "patterns": (),
    "printable": (),
    "quiet": (),
    "result": (),
    "skips": ("result", "understand"),
    "rules": ("errors", "needles", "settings", "toml"),
    "settings": ("errors", "files", "patterns", "toml"),
    "toml": (),
    "walk": (),
}  # fmt: skip
"""Every room with all that it may import besides itself: data flows one way, and no room knows one that comes after it.
"""


def room_of(parts: Sequence[str]) -> str:
    """The room that a module lies in, by its path below the package, without a suffix."""
    if parts[0] in DIVIDED and len(parts) > 1 and parts[1] != "__init__":
        return "/".join(parts[:2])
    return parts[0]


def imported(path: Path) -> Iterator[str]:
    """Absolute names of all modules that a file imports, wherever in it."""
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" if is_module(module, alias.name) else module for alias in node.names)


def is_module(package: str, name: str) -> bool:
    place = ROOT.joinpath(*package.split("."), name)
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


FILES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted({room_of(path.relative_to(PACKAGE).with_suffix("").parts) for path in FILES} - set(DIVIDED))


def known_to(room: str) -> set[str]:
    """The rooms that the modules of a room import from, its own left out."""
    mine = [path for path in FILES if room_of(path.relative_to(PACKAGE).with_suffix("").parts) == room]
    names = {name for path in mine for name in imported(path) if name.split(".")[0] == "tfmigrate"}
    return {room_of(name.split(".")[1:] or ["__init__"]) for name in names} - {room}


def test_reads_imports_of_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    folder = tmp_path / "tfmigrate" / "plan"
    folder.mkdir(parents=True)
    for name in ("../edit.py", "y.py", "x.py"):
        (folder / name).touch()
    path = folder / "x.py"
    path.write_text(
        "import os.path\ndef f():\n    from .. import edit\n    from ..edit import apply\n    from . import y\n"
    )
    assert set(imported(path)) == {"os.path", "tfmigrate.edit", "tfmigrate.plan.y"}


def test_every_room_is_listed() -> None:
    assert sorted(MAY_IMPORT) == ROOMS


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    assert known_to(room) <= set(MAY_IMPORT[room])


def test_no_import_runs_back_up() -> None:
    above: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for _ in MAY_IMPORT:
        for room, others in MAY_IMPORT.items():
            for other in others:
                above[other] |= {room, *above[room]}
    assert not {room for room, rooms in above.items() if room in rooms}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_probe_and_code_for_users_import_tensorflow(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    if "probe" not in path.parts and path.parent.name != "helpers":
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
