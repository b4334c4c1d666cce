"""Scripts that import nothing of a migrated program, and read files that it writes otherwise now."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tfmigrate.file_names import MODEL, OLD_ENDINGS, WEIGHTS, longest_part, needed_by, shape_of_last
from tfmigrate.outside import Question
from tfmigrate.plan import codes
from tfmigrate.quiet import reading_code
from tfmigrate.result import FileResult, Finding

_READS = re.compile(r"load_weights|load_model|h5py|os\.path\.(exists|isfile)|glob")
_LOADS_MODELS = re.compile(r"\b(load_model|model_from_json)\(")
_WRITES = re.compile(r"save_weights|ModelCheckpoint|\.save\(")
_SAVES_MODELS = re.compile(r"\.save\(|\b(save_model|to_json|ModelCheckpoint)\(")
_REGISTERED = re.compile(r"register_keras_serializable\(package=[\"'](keras_2|frozen)[\"']\)\s+(def|class) (\w+)")
"""The definitions that are written into programs and that files of whole models name."""
_OF_MODELS = (MODEL, *OLD_ENDINGS, ".json")


@dataclass(frozen=True)
class _Mention:
    """What is said of other scripts that mention a file by its name."""

    name: str
    reads: re.Pattern[str]
    """What a script does with it, as its text shows."""
    code: str
    message: str


def of_written_files(files: Sequence[FileResult]) -> Question | None:
    """What is asked of other Python files, after these have been migrated: whether they mention a file which has
    another name now, or which they cannot load any more. A script that writes files of that name itself reads its
    own."""
    mentions: dict[str, list[_Mention]] = {}
    for mention in (*_renamed(files), *_with_helpers(files)):
        mentions.setdefault(shape_of_last(mention.name), []).append(mention)
    if not mentions:
        return None
    needles = {longest_part(_base(named[0].name)).encode() for named in mentions.values()}

    def findings_of(_: str, text: str) -> Iterator[Finding]:
        return iter(()) if _WRITES.search(text) else _findings(text, mentions)

    return Question(needles, findings_of)


def _renamed(files: Sequence[FileResult]) -> Iterator[_Mention]:
    """The files that the program wrote under these names before."""
    for file in files:
        if not file.changed or not any(finding.code == codes.WEIGHT_FILES for finding in file.findings):
            continue
        after = {text for text, _, _ in _strings(file.after)}
        for old in {text for text, _, _ in _strings(file.before)} - after:
            for ending in OLD_ENDINGS:
                names = [old.removesuffix(ending) + new for new in (WEIGHTS, MODEL, ".h5") if old.endswith(ending)]
                new = next((name for name in names if name in after), None)
                if new is not None and _is_telling(old):
                    message = (
                        f"{file.path} writes {_base(old)!r} as {_base(new)!r} now, and this would go on reading the "
                        "old file: change the name here too, once this script runs on the same Keras"
                    )
                    yield _Mention(old, _READS, codes.WEIGHT_FILES, message)


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
                    message = (
                        f"if this is a model that {file.path} saves, its {what} is needed here: copy its definition, "
                        "or import it"
                    )
                    yield _Mention(name, _LOADS_MODELS, code, message)


def _is_telling(name: str) -> bool:
    """Whether a file's name has more than an ending and gaps."""
    return bool(shape_of_last(name).rpartition(".")[0].strip("*"))


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _findings(text: str, mentions: Mapping[str, Sequence[_Mention]]) -> Iterator[Finding]:
    for name, line, column in _strings(text):
        for mention in mentions.get(shape_of_last(name), ()):
            if mention.reads.search(text):
                yield Finding(line, column, mention.code, mention.message, "warn")


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
