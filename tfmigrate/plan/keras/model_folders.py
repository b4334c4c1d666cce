"""Whole models in a folder, or a file of any other name: Keras 3 has them in .keras and .h5 files only."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.file_names import HDF5, MODEL
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import passed_as, text_of
from tfmigrate.plan.change.paths import ending_of
from tfmigrate.plan.keras.file_calls import is_of_keras
from tfmigrate.plan.keras.saved_files import files_of, new_ending
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes

_WHOLE = (*HDF5, MODEL)
_SAVE = 'save to a file that ends in .keras, or `model.export("...")` to serve it'
_LOAD = "save it with Keras 2 to a file that ends in .h5 first, and load that"


def check(context: Context) -> Iterator[CallChange]:
    """`model.save('folder')` and `load_model('folder')`: Keras 3 has whole models in .keras and .h5 files only."""
    facts, scopes, files = context.facts, context.scopes, context.migration.once(files_of)
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        if is_of_keras(use, "save") and use.call not in seen:
            seen.add(use.call)
            yield from _saved(use.call, passed_as("filepath", 0, use.call), "save", context)
    for call in facts.module.calls:
        known = facts.canonical(call.func)
        if known == "keras.models.save_model":
            yield from _saved(call, passed_as("filepath", 1, call), "save_model", context)
        elif known == "keras.models.load_model":
            text = _last_text(passed_as("filepath", 0, call), facts, scopes)
            if text is not None and not text.endswith(_WHOLE) and new_ending(text, files.renamed) is None:
                yield _folder(call, f"load_model({text!r})", _LOAD)


def _saved(call: cst.Call, path: cst.Arg | None, function: str, context: Context) -> Iterator[CallChange]:
    """What Keras 3 says of the path that a whole model is saved to, or may say once the model is trained."""
    text, files = _last_text(path, context.facts, context.scopes), context.migration.once(files_of)
    paths = files.paths
    if text is not None:
        if not text.endswith(_WHOLE) and text not in files.renamed:
            yield _folder(call, f"{function}({text!r})", _SAVE)
    elif path is not None and context.facts.module in paths.facts:
        endings, known = paths.endings(path.value, context.facts.module)
        wrong = sorted(end.text for end in endings if not end.text.endswith(_WHOLE) and end.text not in files.renamed)
        if wrong or not known:
            told = (
                f"this path may end in {' or '.join(map(repr, wrong))}"
                if wrong
                else ("make sure that this path ends in one of them")
            )
            message = f"Keras 3 saves whole models only to files that end in .keras or .h5: {told}"
            yield CallChange(codes.MODEL_FOLDERS, path.value, message, action="warn")


def _last_text(path: cst.Arg | None, facts: Facts, scopes: Scopes) -> str | None:
    """What a path argument ends with; None where that is unknown."""
    return text_of(ending_of(path.value, facts, scopes)) if path is not None else None


def _folder(call: cst.Call, what: str, by_hand: str) -> CallChange:
    return CallChange(
        codes.MODEL_FOLDERS,
        call,
        f"Keras 3 fails on {what}: it keeps whole models in files that end in .keras or .h5; {by_hand}",
        action="warn",
    )
