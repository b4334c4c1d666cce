"""Names of weight files: Keras 3 writes weights only to files that end in `.weights.h5`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.callbacks import renamed_keys
from tfmigrate.plan.calls import named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.interfaces import CallChange, calls_in
from tfmigrate.plan.paths import ending_of
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes

_OLD_ENDINGS = (".hdf5", ".h5")
_CHECKPOINT = (
    "filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period",
)  # fmt: skip


def weight_files(facts: Facts, scopes: Scopes, keys: Mapping[str, str]) -> Iterator[CallChange]:
    """The file names of save_weights() and ModelCheckpoint(save_weights_only=True), and of loads of the same name.

    `keys`: metrics that have another name now, which a checkpoint's file name may hold in braces.
    """
    written: dict[str, str] = {}
    literals: dict[cst.BaseExpression, str] = {}
    for path in _writers(facts):
        literal = ending_of(path, facts, scopes)
        text = _text(literal) if literal is not None else None
        ending = next((end for end in _OLD_ENDINGS if text is not None and text.endswith(end)), None)
        if literal is None or text is None or ending is None or text.endswith(".weights.h5") or literal in literals:
            continue
        new = text[: -len(ending)] + ".weights.h5"
        literals[literal] = new
        written[text] = new
        yield _change(literal, text, new, keys)
    for call in calls_in(facts.module.tree):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_weights" and call.args:
            literal = ending_of(call.args[0].value, facts, scopes)
            text = _text(literal) if literal is not None else None
            if literal is not None and text in written and literal not in literals:
                literals[literal] = written[text]
                yield _change(literal, text, written[text], keys)


def _writers(facts: Facts) -> Iterator[cst.BaseExpression]:
    for use in facts.uses:
        if use.method == "save_weights" and use.call.args and not use.call.args[0].star:
            yield use.call.args[0].value
    for call in calls_in(facts.module.tree):
        if names.canonical(facts.symbols.get(call.func, "")) != "keras.callbacks.ModelCheckpoint":
            continue
        named = named_arguments(call, _CHECKPOINT)
        if named is None or "filepath" not in named or "save_weights_only" not in named:
            continue
        only = named["save_weights_only"].value
        if isinstance(only, cst.Name) and only.value == "True":
            yield named["filepath"].value


def _change(literal: cst.SimpleString, old: str, new: str, keys: Mapping[str, str]) -> CallChange:
    message = f"Keras 3 writes weights only to files that end in .weights.h5: {old!r} is {new!r} now"
    ending = next(end for end in _OLD_ENDINGS if old.endswith(end))
    head, _, quote = renamed_keys(literal.value, keys).rpartition(ending)
    return CallChange(codes.WEIGHT_FILES, literal, message, Replace(literal, f"{head}.weights.h5{quote}"))


def _text(literal: cst.SimpleString) -> str | None:
    value = literal.evaluated_value
    return value if isinstance(value, str) else None
