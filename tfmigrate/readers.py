"""Scripts that import nothing of a migrated program, and read files that it writes otherwise now."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tfmigrate.file_names import HDF5, MODEL, WEIGHTS, longest_part, needed_by, old_ending, shape_of_last, with_ending
from tfmigrate.outside import Question
from tfmigrate.plan import codes
from tfmigrate.quiet import reading_code
from tfmigrate.result import FileResult, Finding

_READS = re.compile(r"load_weights|load_model|h5py|os\.path\.(exists|isfile)|glob")
_LOADS_MODELS = re.compile(r"\b(load_model|model_from_json)\(")
_WRITES = re.compile(r"save_weights|ModelCheckpoint|\.save\(")
_READERS = frozenset({"load_weights", "load_model", "File", "exists", "isfile", "glob"})
_SAVES_MODELS = re.compile(r"\.save\(|\b(save_model|to_json|ModelCheckpoint)\(")
_REGISTERED = re.compile(r"register_keras_serializable\(package=[\"'](keras_2|frozen)[\"']\)\s+(def|class) (\w+)")
"""The definitions that are written into programs and that files of whole models name."""
_LATER = ", once this script runs on the same Keras"
_OF_MODELS = (MODEL, *HDF5, ".json")


@dataclass(frozen=True)
class _Mention:
    """What is said of other scripts that mention a file by its name."""

    name: str
    reads: re.Pattern[str]
    """What a script does with it, as its text shows."""
    code: str
    says: tuple[str, str]
    """What stands before and behind the files that the mention is of, so that one sentence can name several."""
    by: str


def of_written_files(files: Sequence[FileResult]) -> Question | None:
    """What is asked of other Python files, after these have been migrated: whether they mention a file which has
    another name now, or which they cannot load any more. A script that writes files of that name itself reads its
    own."""
    mentions = _by_shape([*_renamed(files, _LATER), *_with_helpers(files)])
    if not mentions:
        return None
    needles = {longest_part(_base(named[0].name)).encode() for named in mentions.values()}

    def findings_of(_: str, text: str) -> Iterator[Finding]:
        return _findings(text, mentions)

    return Question(needles, findings_of)


def _by_shape(mentions: Iterable[_Mention]) -> dict[str, list[_Mention]]:
    found: dict[str, list[_Mention]] = {}
    for mention in mentions:
        found.setdefault(shape_of_last(mention.name), []).append(mention)
    return found


def in_other_programs(files: Sequence[FileResult], groups: Sequence[Sequence[str]]) -> Iterator[tuple[str, Finding]]:
    """What is reported of a migrated program that reads what another one of the run writes under another name now, by
    the path of the file."""
    renamed = []
    for group in map(frozenset, groups):
        mentions = list(_renamed([file for file in files if file.path in group]))
        if mentions:
            renamed.append((group, mentions))
    for file in files:
        if file.changed and file.path.endswith(".py"):
            mentions = [each for own, found in renamed if file.path not in own for each in found]
            kept = {shape_of_last(text) for text, _, _ in _strings(file.after)} if mentions else ()
            still = [mention for mention in mentions if shape_of_last(mention.name) in kept]
            for finding in _findings(file.before, _by_shape(still)) if still else ():
                yield file.path, finding


def _renamed(files: Sequence[FileResult], when: str = "") -> Iterator[_Mention]:
    """The files that the program wrote under these names before. `when`: when others can follow it."""
    for file in files:
        if not file.changed or not any(finding.code == codes.WEIGHT_FILES for finding in file.findings):
            continue
        after = {text for text, _, _ in _strings(file.after)}
        for old in {text for text, _, _ in _strings(file.before)} - after:
            names = [with_ending(old, new) for new in (WEIGHTS, MODEL, ".h5") if old_ending(old) is not None]
            new = next((name for name in names if name in after), None)
            if new is not None and _is_telling(old):
                says = (
                    f"{_base(old)!r} is written as {_base(new)!r} now, by ",
                    f": this would keep reading the old file; change the name here too{when}",
                )
                yield _Mention(old, _READS, codes.WEIGHT_FILES, says, file.path)


def _with_helpers(files: Sequence[FileResult]) -> Iterator[_Mention]:
    """The files of a module that saves whole models with a class or a function which was written into its program."""
    for file in files:
        needed = {finding.code: what for finding in file.findings if (what := needed_by(finding.message)) is not None}
        if file.changed and _SAVES_MODELS.search(file.after):
            # Nothing is said of a model that the file itself loads again, and others may load it too.
            for package, kind, name in _REGISTERED.findall(file.after):
                code = codes.FROZEN_BATCH_NORM if package == "frozen" else codes.RECURRENT_DEFAULTS
                needed[code] = f"{'class' if kind == 'class' else 'function'} {name}"
        names = {text for text, _, _ in _strings(file.after) if text.endswith(_OF_MODELS)} if needed else ()
        for name in sorted(names):
            if not name.endswith(WEIGHTS) and _is_telling(name):
                for code, what in needed.items():
                    says = (
                        "if this is a model that is saved by ",
                        f", its {what} is needed here: copy its definition, or import it",
                    )
                    yield _Mention(name, _LOADS_MODELS, code, says, file.path)


def _is_telling(name: str) -> bool:
    """Whether a file's name has more than an ending and gaps."""
    return bool(shape_of_last(name).rpartition(".")[0].strip("*"))


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _findings(text: str, mentions: Mapping[str, Sequence[_Mention]]) -> Iterator[Finding]:
    only_read = _only_read(text) if _WRITES.search(text) else None
    for name, line, column in _strings(text):
        shape = shape_of_last(name)
        if only_read is not None and shape not in only_read:
            continue
        told: dict[tuple[str, tuple[str, str]], dict[str, None]] = {}
        for mention in mentions.get(shape, ()):
            if mention.reads.search(text):
                told.setdefault((mention.code, mention.says), {})[mention.by] = None
        for (code, (before, behind)), by in told.items():
            yield Finding(line, column, code, f"{before}{' and '.join(by)}{behind}", "warn")


def _only_read(text: str) -> frozenset[str]:
    """The shapes of the file names that a script loads and does not write itself."""
    try:
        with reading_code():
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    names, loaded = Counter(_named_in(tree)), Counter[str]()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _last_name(call.func) in _READERS:
            loaded.update(_named_in(call))
    return frozenset(shape for shape, count in names.items() if loaded[shape] >= count)


def _named_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield shape_of_last(node.value)


def _last_name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _strings(text: str) -> Iterator[tuple[str, int, int]]:
    """Every plain string literal, with its line and column, counted from 1."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                with reading_code():
                    value = _value_of(token.string)
                if isinstance(value, str):
                    yield value, token.start[0], token.start[1] + 1
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _value_of(literal: str) -> object:
    """What a string literal is; None for an f-string."""
    if "f" in literal.split(literal[-1])[0]:
        return None
    value: object = ast.literal_eval(literal)
    return value
