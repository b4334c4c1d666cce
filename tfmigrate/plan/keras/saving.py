"""Names of checkpoint files: Keras 3 writes weights only to `.weights.h5`, and whole models to `.keras` or `.h5`."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import libcst as cst

from tfmigrate.file_names import MODEL, OLD_ENDINGS, WEIGHTS
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_false, is_flag, is_true, keywords
from tfmigrate.plan.change.paths import ending_of, name_shape
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.callbacks import changed_keys, renamed_keys
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes

_ENDINGS = {WEIGHTS: WEIGHTS, MODEL: f"{MODEL} or .h5"}
"""What Keras 3 takes where one of these is written."""


AFTER = ("tfmigrate.plan.keras.callbacks",)
"""New names of metrics in a file's name are written together with its new ending."""


def check(context: Context) -> Iterator[CallChange]:
    # Several machines train on Keras 2, which takes the old endings, and loads no .weights.h5 after training.
    if not context.settings.over_workers:
        renamed = context.migration.once(renamed_in_program)
        yield from checkpoint_files(context.facts, context.scopes, changed_keys(context), renamed)
    yield from model_folders(context.facts, context.scopes)


def renamed_in_program(migration: Migration) -> Mapping[str, str]:
    """The renamed_files() of all modules that leave the old Keras."""
    drafts = [draft for module, draft in migration.drafts.items() if module in migration.leaving]
    loaded = frozenset().union(*(loaded_files(draft.facts, draft.scopes) for draft in drafts))
    found: dict[str, str] = {}
    for draft in drafts:
        found.update(renamed_files(draft.facts, draft.scopes, loaded))
    return found


def saves_hdf5(migration: Migration) -> bool:
    """Whether some module saves a whole model to an HDF5 file, or may."""
    renamed = migration.once(renamed_in_program)
    drafts = (draft for module, draft in migration.drafts.items() if module in migration.leaving)
    return any(writes_hdf5(draft.facts, draft.scopes, renamed) for draft in drafts)


def loaded_files(facts: Facts, scopes: Scopes) -> frozenset[str]:
    """The files that a module loads whole models from, as far as their names are written out."""
    paths = (call.args[0].value for call in facts.module.calls if call.args and _is_load_model(call, facts))
    found = (ending_of(path, facts, scopes) for path in paths)
    return frozenset(text for one in found if one is not None and (text := _text(one)) is not None)


def renamed_files(facts: Facts, scopes: Scopes, loaded: Container[str]) -> dict[str, str]:
    """The files that a module writes under a name that must change, as far as that is written out, and the ending that
    each needs.

    A whole model in `.h5` keeps its name, which Keras 3 takes, unless the program loads it again (`loaded`): then
    it may be trained further, which Keras 3 cannot do with the optimizer of an HDF5 file.
    """
    literals = [(ending_of(path, facts, scopes), ending) for path, ending in _writers(facts)]
    texts = [(_text(literal), ending) for literal, ending in literals if literal is not None]
    return {
        text: ending
        for text, ending in texts
        if text is not None and _is_old(text) and (not _may_stay(text, ending) or text in loaded)
    }


def _may_stay(path: str, ending: str) -> bool:
    return ending == MODEL and path.endswith(".h5")


def checkpoint_files(
    facts: Facts, scopes: Scopes, keys: Mapping[str, str], renamed: Mapping[str, str]
) -> Iterator[CallChange]:
    """The file names of save_weights() and ModelCheckpoint(), and of loads of the same name.

    `keys`: metrics that have another name now, which a checkpoint's file name may hold in braces; `renamed`: the
    renamed_files() of all modules of the program.
    """
    seen: set[cst.BaseExpression] = set()
    for path, new_ending in _writers(facts):
        literal = ending_of(path, facts, scopes)
        text = _text(literal) if literal is not None else None
        if literal is not None and text is not None and text in renamed:
            if literal not in seen:
                seen.add(literal)
                yield _change(literal, text, new_ending, keys)
        elif not (text or "").endswith(new_ending) and not _may_stay(text or "", new_ending) and path not in seen:
            seen.add(path)
            message = (
                f"Keras 3 writes {_kind(new_ending)} only to files that end in {_ENDINGS[new_ending]}: make sure that "
                "this path does"
            )
            yield CallChange(codes.WEIGHT_FILES, path, message, action="warn")
    for call in facts.module.calls:
        if not call.args or not _loads(call, facts):
            continue
        literal = ending_of(call.args[0].value, facts, scopes)
        text = _text(literal) if literal is not None else None
        if literal is None or text is None or (ending := _new_ending(text, renamed)) is None:
            continue
        if literal not in seen:
            seen.add(literal)
            yield _change(literal, text, ending, keys)
        by_name = keywords(call).get("by_name")
        if by_name is not None and not is_false(by_name.value):
            message = (
                "Keras 3 takes `by_name` for old .h5 files only: it is removed with the ending, and the layers are "
                "matched as they were saved; a model with other layers than the one that was saved no longer loads"
            )
            yield CallChange(codes.WEIGHT_FILES, by_name, message, Revision(call, dropped=("by_name",)))
    opened = {
        ending_of(call.args[0].value, facts, scopes)
        for call in facts.module.calls
        if call.args and facts.symbols.get(call.func) == "h5py.File"
    }
    for node in facts.module.nodes:
        text = _text(node) if isinstance(node, cst.SimpleString) and node not in seen else None
        ending = _new_ending(text, renamed) if text is not None else None
        if ending is not None:
            message = f"the file of this name that Keras writes ends in {ending} now: change it here if it is meant"
            if node in opened:
                message += "; Keras 3 lays the weights out in another way than Keras 2, which h5py shows"
            yield CallChange(codes.WEIGHT_FILES, node, message, action="warn")


def _new_ending(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of the file that a name means; with gaps to fill in, `{0}` here may be `{epoch:02d}` there."""
    if text in renamed:
        return renamed[text]
    shape = name_shape(text)
    return next((ending for old, ending in renamed.items() if name_shape(old) == shape), None) if shape else None


def _is_old(path: str) -> bool:
    return path.endswith(OLD_ENDINGS) and not path.endswith(WEIGHTS)


_ASKS = frozenset(
    {
        "os.path.exists", "os.path.isfile", "os.path.getsize", "os.path.getmtime", "os.remove", "os.unlink",
        "os.access", "glob.glob", "pathlib.Path",
    }
)  # fmt: skip
"""What is done with a file by its name alone."""


def _loads(call: cst.Call, facts: Facts) -> bool:
    if facts.symbols.get(call.func) in _ASKS:
        return True
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_weights":
        return True
    return _is_load_model(call, facts)


def _is_load_model(call: cst.Call, facts: Facts) -> bool:
    return names.canonical(facts.symbols.get(call.func, "")) == "keras.models.load_model"


def _writers(facts: Facts) -> Iterator[tuple[cst.BaseExpression, str]]:
    """Each path that is written, and the ending Keras 3 wants: of weights, or of a whole model."""
    for use in facts.uses:
        if use.method == "save_weights" and use.call.args and not use.call.args[0].star:
            yield use.call.args[0].value, WEIGHTS
    for checkpoint in checkpoints(facts):
        only = checkpoint.named.get("save_weights_only")
        if "filepath" in checkpoint.named and (only is None or is_flag(only)):
            yield checkpoint.named["filepath"], WEIGHTS if only is not None and is_true(only) else MODEL


def _change(literal: cst.SimpleString, old: str, new_ending: str, keys: Mapping[str, str]) -> CallChange:
    ending = next(end for end in OLD_ENDINGS if old.endswith(end))
    message = (
        f"Keras 3 writes {_kind(new_ending)} only to files that end in {_ENDINGS[new_ending]}: the ending {ending} "
        "changes"
    )
    if _may_stay(old, new_ending):
        message = (
            "Keras 3 cannot train a model further with the optimizer of an HDF5 file, and the program loads this one: "
            f"the ending {ending} changes"
        )
    head, _, quote = renamed_keys(literal.value, keys).rpartition(ending)
    return CallChange(codes.WEIGHT_FILES, literal, message, Replace(literal, f"{head}{new_ending}{quote}"))


def _kind(new_ending: str) -> str:
    return "weights" if new_ending == WEIGHTS else "checkpoints of whole models"


def _text(literal: cst.SimpleString) -> str | None:
    value = literal.evaluated_value
    return value if isinstance(value, str) else None


def writes_hdf5(facts: Facts, scopes: Scopes, renamed: Container[str]) -> bool:
    """Whether a module saves a whole model to an HDF5 file, or to one whose ending is not known."""
    paths = [path for path, ending in _writers(facts) if ending == MODEL]
    for use in facts.uses:
        if use.method == "save" and use.is_of_model and use.call.args:
            paths.append(keywords(use.call).get("filepath", use.call.args[0]).value)
    for call in facts.module.calls:
        if names.canonical(facts.symbols.get(call.func, "")) == "keras.models.save_model" and len(call.args) > 1:
            paths.append(keywords(call).get("filepath", call.args[1]).value)
    endings = (ending_of(path, facts, scopes) for path in paths)
    texts = [_text(literal) if literal is not None else None for literal in endings]
    return any(text is None or (text.endswith(OLD_ENDINGS) and text not in renamed) for text in texts)


_WHOLE = (*OLD_ENDINGS, MODEL)
_SAVE = 'save to a file that ends in .keras, or `model.export("...")` to serve it'
_LOAD = "save it with Keras 2 to a file that ends in .h5 first, and load that"


def model_folders(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """`model.save('folder')` and `load_model('folder')`: Keras 3 has whole models in .keras and .h5 files only."""
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        own = any(model.instance is not None for model in use.models)
        if use.method == "save" and use.is_of_model and not own and use.call not in seen:
            seen.add(use.call)
            text = _path_text(use.call, 0, "filepath", facts, scopes)
            if text is not None and not text.endswith(_WHOLE):
                yield _folder(
                    use.call, f"save({text!r})", 'save("....keras")` for Keras, `model.export("...")` to serve it'
                )
    for call in facts.module.calls:
        known = names.canonical(facts.symbols.get(call.func, ""))
        if known in ("keras.models.load_model", "keras.models.save_model"):
            text = _path_text(call, 0 if known.endswith("load_model") else 1, "filepath", facts, scopes)
            if text is not None and not text.endswith(_WHOLE):
                by_hand = (
                    'load_model("....keras")` of one saved so' if known.endswith("load_model") else 'save("....keras")`'
                )
                yield _folder(call, f"{known.rpartition('.')[2]}({text!r})", by_hand)


def _path_text(call: cst.Call, position: int, name: str, facts: Facts, scopes: Scopes) -> str | None:
    """What a path argument ends with; None where that is unknown."""
    positional = [arg for arg in call.args if arg.keyword is None and not arg.star]
    arg = keywords(call).get(name) or (positional[position] if position < len(positional) else None)
    literal = ending_of(arg.value, facts, scopes) if arg is not None else None
    return _text(literal) if literal is not None else None


def _folder(call: cst.Call, what: str, by_hand: str) -> CallChange:
    return CallChange(
        codes.MODEL_FOLDERS,
        call,
        f"Keras 3 fails on {what}: it keeps whole models in files that end in .keras or .h5; {by_hand}",
        action="warn",
    )
