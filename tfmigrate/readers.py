"""Scripts that import nothing of a migrated program, and read files that it writes under another name now."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence

from tfmigrate.file_names import MODEL, OLD_ENDINGS, WEIGHTS, longest_part, shape_of
from tfmigrate.files import scan, source
from tfmigrate.plan import codes
from tfmigrate.plan.selection import Selection
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings
from tfmigrate.understand.suppressions import read_suppressions

_READS = re.compile(r"load_weights|load_model|h5py|os\.path\.(exists|isfile)|glob")
_WRITES = re.compile(r"save_weights|ModelCheckpoint|\.save\(")


def of_renamed_files(
    files: Sequence[FileResult], known: Collection[str], paths: Sequence[str], settings: Settings
) -> list[FileResult]:
    """What is reported of other Python files below `paths` that mention a file under its old name.

    `known`: the paths of all files that belong to a program with something to migrate. A script that writes files of
    that name itself reads its own.
    """
    renamed = dict(_renamed(files))
    if not renamed:
        return []
    needles = {longest_part(name).encode() for name, _, _ in renamed.values()}
    reported = []
    for file in scan.search(paths, tuple(needles), settings.exclude, settings.root).files:
        own = settings.for_file(file.path)
        if file.path in known or not file.path.endswith(".py") or not own.wants(codes.WEIGHT_FILES):
            continue
        try:
            text = source.decode(file.data)
        except source.SourceError:
            continue
        if _READS.search(text.text) and not _WRITES.search(text.text):
            selection = Selection(own, read_suppressions(text.text))
            findings = tuple(
                finding for finding in _findings(text.text, renamed) if selection.allows(finding.code, finding.line)
            )
            if findings:
                reported.append(FileResult(file.path, "unchanged", findings, before=text.text, after=text.text))
    return reported


def _renamed(files: Sequence[FileResult]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """(shape of the old name, (old name, new name, file that writes it))"""
    for file in files:
        if not file.changed or not any(finding.code == codes.WEIGHT_FILES for finding in file.findings):
            continue
        after = {text for text, _, _ in _strings(file.after)}
        for old in {text for text, _, _ in _strings(file.before)} - after:
            for ending in OLD_ENDINGS:
                names = [old.removesuffix(ending) + new for new in (WEIGHTS, MODEL, ".h5") if old.endswith(ending)]
                new = next((name for name in names if name in after), None)
                if new is not None and _shape(old).rpartition(".")[0].strip("*"):
                    yield _shape(old), (old.rpartition("/")[2], new.rpartition("/")[2], file.path)


def _shape(name: str) -> str:
    """A file's name without its folder, with one mark in each gap that is filled in later."""
    return shape_of(name).rpartition("/")[2]


def _findings(text: str, renamed: Mapping[str, tuple[str, str, str]]) -> Iterator[Finding]:
    for name, line, column in _strings(text):
        if _shape(name) in renamed:
            old, new, writer = renamed[_shape(name)]
            message = (
                f"{writer} writes {old!r} as {new!r} now, and this would go on reading the old file: change the name "
                "here too, once this script runs on the same Keras"
            )
            yield Finding(line, column, codes.WEIGHT_FILES, message, "warn")


def _strings(text: str) -> Iterator[tuple[str, int, int]]:
    """Every plain string literal, with its line and column, counted from 1."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                value = ast.literal_eval(token.string) if "f" not in token.string.split(token.string[-1])[0] else None
                if isinstance(value, str):
                    yield value, token.start[0], token.start[1] + 1
    except (tokenize.TokenError, SyntaxError, ValueError):
        return
