"""Files that belong to no migrated program, and take a name from one of its modules that is gone there."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath

from tfmigrate.consistency import bound, unresolved
from tfmigrate.outside import Question
from tfmigrate.plan import codes
from tfmigrate.result import FileResult, Finding

_READ = frozenset({"multi_gpu_model"})
"""What nearly every file loses. One that mentions it belongs to a program."""


def of_removed_names(files: Sequence[FileResult]) -> Question | None:
    """What is asked of other Python files, after these have been migrated."""
    changed = [file for file in files if file.changed and file.path.endswith(".py")]
    removed = {file.path: names for file in changed if (names := bound(file.before) - bound(file.after) - _READ)}
    if not removed:
        return None
    modules = {os.fsencode(_module(path)) for path in removed}

    def findings_of(path: str, text: str) -> list[Finding]:
        taken = any(_mentions(text, {_module(module)}) and _mentions(text, names) for module, names in removed.items())
        return _findings(path, text, changed) if taken else []

    return Question(modules, findings_of)


def _findings(path: str, text: str, changed: Sequence[FileResult]) -> list[Finding]:
    before: Mapping[str, str] = {path: text, **{file.path: file.before for file in changed}}
    after: Mapping[str, str] = {path: text, **{file.path: file.after for file in changed}}
    lost = sorted(name for importer, name in unresolved(after) - unresolved(before) if importer == path)
    return [_finding(name, text) for name in lost]


def _finding(name: str, text: str) -> Finding:
    module, _, last = name.rpartition(".")
    at = re.search(rf"\b{re.escape(last)}\b", text)
    start = text.rfind("\n", 0, at.start()) + 1 if at is not None else 0
    line, column = (text.count("\n", 0, at.start()) + 1, at.start() - start + 1) if at is not None else (1, 1)
    message = (
        f"this imports `{last}` from {module}, where nothing uses it after the migration, so it is removed: keep it "
        "there, or define it here"
    )
    return Finding(line, column, codes.REMOVED_NAME, message, "warn")


def _module(path: str) -> str:
    """The last name by which a file is imported."""
    parts = PurePath(path)
    return parts.parent.name if parts.stem == "__init__" and parts.parent.name else parts.stem


def _mentions(text: str, names: Collection[str]) -> bool:
    return re.search(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b", text) is not None
