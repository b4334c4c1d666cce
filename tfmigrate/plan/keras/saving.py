"""Names of checkpoint files: Keras 3 writes weights only to `.weights.h5`, and whole models to `.keras` or `.h5`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain

import libcst as cst

from tfmigrate.file_names import MODEL, OLD_ENDINGS, WEIGHTS, example_of, longest_part, shape_of, shape_of_last
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_false, keywords, passed_as, text_of, truth_of
from tfmigrate.plan.change.paths import Ending, Paths, ending_of, name_shape
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras import name_patterns
from tfmigrate.plan.keras.callbacks import changed_keys, renamed_keys
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.keras.file_arguments import by_name_of, names_of
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.contents import all_models
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import Module, Unit
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Method, ModelObject

_ENDINGS = {WEIGHTS: WEIGHTS, MODEL: f"{MODEL} or .h5"}
"""What Keras 3 takes where one of these is written."""


AFTER = ("tfmigrate.plan.keras.callbacks",)
"""New names of metrics in a file's name are written together with its new ending."""


def check(context: Context) -> Iterator[CallChange]:
    # Several machines train on Keras 2, which takes the old endings, and loads no .weights.h5 after training.
    if not context.settings.over_workers:
        yield from checkpoint_files(context)
        yield from weights_to_load(context)


@dataclass(frozen=True)
class Written:
    """A path that Keras writes to."""

    path: cst.BaseExpression
    module: Module
    ending: str
    """What Keras 3 wants it to end in: of weights, or of a whole model."""
    literals: frozenset[Ending]
    known: bool
    """Whether it ends in one of the literals, which all may change."""


@dataclass(frozen=True, eq=False)
class Files:
    """The files of a program."""

    paths: Paths
    written: Sequence[Written]
    renamed: Mapping[str, str]
    """The names that must change, as far as they are written out, and the ending that each needs.

    A whole model in `.h5` keeps its name, which Keras 3 takes, unless the program loads it again: then it may be
    trained further, which Keras 3 cannot do with the optimizer of an HDF5 file. A name of weights in one place and of a
    whole model in another has the ending of weights here.
    """
    whole: Mapping[str, str]
    """The same of whole models alone."""
    endings: Mapping[cst.CSTNode, str]
    """Of each literal that must change the ending that it needs where it stands."""
    read: Set[str]
    """The names that the program loads weights or models from."""
    loaded: Set[str]
    """Those that it loads whole models from."""


def files_of(migration: Migration) -> Files:
    drafts = {module: draft for module, draft in migration.drafts.items() if module in migration.leaving}
    paths = Paths.of(
        {module: draft.facts for module, draft in drafts.items()},
        {module: draft.scopes for module, draft in drafts.items()},
    )
    written: list[Written] = []
    loaded: set[str] = set()
    read: set[str] = set()
    for module, draft in drafts.items():
        for path, ending, unit in _writers(draft.facts):
            there = paths.at(unit, module) if unit is not None else paths
            written.append(Written(path, module, ending, *there.endings(path, module)))
        for call in draft.facts.module.calls:
            if call.args and _reads(call, draft.facts):
                names_read = {known.text for known in paths.endings(call.args[0].value, module)[0]}
                read |= names_read
                if _is_load_model(call, draft.facts):
                    loaded |= names_read
    whole: dict[str, str] = {}
    weights: dict[str, str] = {}
    endings: dict[cst.CSTNode, str] = {}
    for saved in sorted(written, key=lambda saved: saved.ending == WEIGHTS):
        for literal in saved.literals:
            if _is_old(literal.text) and (not _may_stay(literal.text, saved.ending) or literal.text in loaded):
                endings[literal.node] = _new_ending_of(literal.text, saved.ending, loaded)
                (weights if saved.ending == WEIGHTS else whole)[literal.text] = endings[literal.node]
    return Files(paths, written, {**whole, **weights}, whole, endings, read, loaded)


@dataclass(frozen=True)
class Saved:
    """Models of a program that are saved whole."""

    made_at: frozenset[cst.CSTNode]
    """The nodes that make them."""
    any_model: bool
    """Whether what is saved somewhere may be any model."""

    def __bool__(self) -> bool:
        return self.any_model or bool(self.made_at)

    def may_be(self, models: Set[ModelObject]) -> bool:
        """Whether one of these is saved; `models`: none where they are not known."""
        return self.any_model or not models or any(model.node in self.made_at for model in models)


def saved_to_hdf5(migration: Migration) -> Saved:
    """What some module saves as a whole model to an HDF5 file, or may."""
    renamed = migration.once(files_of).whole
    drafts = (draft for module, draft in migration.drafts.items() if module in migration.leaving)
    saved = [models for draft in drafts for models in _in_hdf5(draft.facts, draft.scopes, renamed)]
    made_at = frozenset(model.node for models in saved for model in models)
    return Saved(made_at, any_model=any(not models for models in saved))


def _new_ending_of(name: str, ending: str, loaded: Container[str]) -> str:
    """A whole model in `.hdf5` keeps its format, but where it is loaded again."""
    return ".h5" if ending == MODEL and name.endswith(".hdf5") and name not in loaded else ending


def _may_stay(path: str, ending: str) -> bool:
    return ending == MODEL and path.endswith(".h5")


def checkpoint_files(context: Context) -> Iterator[CallChange]:
    """The file names of save_weights() and ModelCheckpoint(), and of loads of the same name."""
    facts, scopes, files, keys = context.facts, context.scopes, context.migration.once(files_of), changed_keys(context)
    module, renamed = facts.module, files.renamed
    seen: set[cst.BaseExpression] = set()
    for saved in files.written:
        for literal in sorted(saved.literals, key=lambda literal: literal.text):
            if literal.module is module and literal.text in renamed and literal.node not in seen:
                seen.add(literal.node)
                if literal.node in files.endings:
                    yield _change(literal, module, files.endings[literal.node], keys, files.read)
        if saved.module is module and saved.path not in seen and not _ends_well(saved, renamed):
            seen.add(saved.path)
            ends = sorted(repr(literal.text) for literal in saved.literals)
            told = f"this path ends in {' or '.join(ends)}" if ends else "make sure that this path does"
            message = f"Keras 3 writes {_kind(saved.ending)} only to files that end in {_ENDINGS[saved.ending]}: {told}"
            yield CallChange(codes.WEIGHT_FILES, saved.path, message, action="warn")
    for other in files.paths.facts.values():
        for call in other.module.calls:
            if not call.args or not (_loads(call, other) or _saves(call)):
                continue
            for literal in files.paths.endings(call.args[0].value, other.module)[0]:
                ending = _new_ending(
                    literal.text, {**renamed, **files.whole} if _is_load_model(call, other) else renamed
                )
                if ending == WEIGHTS and _saves(call):
                    continue  # A whole model, which the weights have nothing to do with.
                if ending is not None and literal.module is module and literal.node not in seen:
                    seen.add(literal.node)
                    yield _change(literal, module, ending, keys, files.read)
                if ending is not None and other is facts:
                    yield from _without_by_name(call, facts)
    yield from _by_name_of_any(facts, files)
    yield from _mentioned(facts, scopes, renamed, seen)


_READABLE = (*OLD_ENDINGS, MODEL, ".weights.json")
"""What Keras 3 loads weights from."""


def weights_to_load(context: Context) -> Iterator[CallChange]:
    """`load_weights('net.model')`: old Keras took a file of any name for HDF5 or for a checkpoint of TensorFlow."""
    facts, scopes, paths = context.facts, context.scopes, context.migration.once(files_of).paths
    seen: set[cst.Call] = set()
    for use in facts.uses:
        path = passed_as("filepath", 0, use.call) if is_of_keras(use, "load_weights") else None
        if path is None or facts.module not in paths.facts or use.call in seen:
            continue
        seen.add(use.call)
        maker = settled(path.value, scopes)
        if isinstance(maker, cst.Call) and names.plain(facts.symbols.get(maker.func, "")) == _LATEST:
            told = "this is a checkpoint of TensorFlow"
        else:
            # A single word that is one of several may be no file: `weights="imagenet"`.
            ends = {end.text for end in paths.endings(path.value, facts.module)[0] if re.search("[./]", end.text)}
            ends |= {text_of(ending_of(path.value, facts, scopes)) or ""}
            wrong = sorted(end for end in ends if end and not _ends_in_gap(end) and not end.endswith(_READABLE))
            if not wrong:
                continue
            told = f"this path ends in {' or '.join(map(repr, wrong))}"
        message = (
            f"Keras 3 loads weights only from files that end in .weights.h5, .h5, .hdf5 or .keras: {told}; rename an "
            "HDF5 file, and save a checkpoint of TensorFlow to one with Keras 2 first"
        )
        yield CallChange(codes.WEIGHT_FILES, path.value, message, action="warn")


_LATEST = "tensorflow.train.latest_checkpoint"


def _ends_in_gap(path: str) -> bool:
    return shape_of(path).endswith("*")


def is_of_keras(use: Use, method: str) -> bool:
    """Whether a method is called on a model of Keras, and not one that a class of the program defines."""
    return use.method == method and use.is_of_model and all(model.instance is None for model in use.models)


def _ends_well(written: Written, renamed: Container[str]) -> bool:
    """Whether Keras 3 takes each name that a path may be, once those that must change have."""
    return written.known and all(
        literal.text.endswith(written.ending) or literal.text in renamed or _may_stay(literal.text, written.ending)
        for literal in written.literals
    )


def _without_by_name(call: cst.Call, facts: Facts) -> Iterator[CallChange]:
    by_name = by_name_of(call, facts) if _loads_weights(call) else None
    if by_name is None:
        return
    if is_false(by_name.value):
        yield _without_false(call, by_name, facts)
        return
    message = (
        "Keras 3 takes `by_name` for old .h5 files only: it is removed with the ending, and the layers are "
        "matched as they were saved; a model with other layers than the one that was saved no longer loads"
    )
    yield CallChange(codes.WEIGHT_FILES, by_name, message, _dropping(call, facts))


def _without_false(call: cst.Call, by_name: cst.Arg, facts: Facts) -> CallChange:
    message = "Keras 3 takes `by_name` for old .h5 files only, False too, which is the default: it is removed"
    return CallChange(codes.WEIGHT_FILES, by_name, message, _dropping(call, facts))


def _dropping(call: cst.Call, facts: Facts) -> Revision:
    return Revision(call, named=names_of(call, facts), dropped=("by_name",))


def _by_name_of_any(facts: Facts, files: Files) -> Iterator[CallChange]:
    """`load_weights(args.weights, by_name=True)`, which may be given a file that the program saves."""
    if all(saved.ending != WEIGHTS for saved in files.written):
        return
    for call in facts.module.calls:
        by_name = by_name_of(call, facts) if _loads_weights(call) else None
        path = passed_as("filepath", 0, call)
        if by_name is None or path is None:
            continue
        literals, known = files.paths.endings(path.value, facts.module)
        if known or any(_new_ending(literal.text, files.renamed) for literal in literals):
            continue
        if is_false(by_name.value):
            yield _without_false(call, by_name, facts)
        else:
            message = (
                "Keras 3 takes `by_name` for old .h5 files only, and fails on it (ValueError) where this path is one "
                "of the .weights.h5 files that the program saves: leave it out for these"
            )
            yield CallChange(codes.WEIGHT_FILES, by_name, message, action="warn")


def _mentioned(
    facts: Facts, scopes: Scopes, renamed: Mapping[str, str], seen: set[cst.BaseExpression]
) -> Iterator[CallChange]:
    """The texts that name a file that has another name now. `seen`: those that are changed already."""
    shown = (text for call in facts.module.calls if _talks(call) for arg in call.args for text in _parts_of(arg.value))
    for mention in shown:
        new = _with_new_names(mention.value, renamed)
        if new != mention.value and mention not in seen:
            seen.add(mention)
            message = "the text names a file that Keras writes under another name now"
            yield CallChange(codes.WEIGHT_FILES, mention, message, Replace(mention, new))
    texts: Iterator[cst.SimpleString | cst.FormattedString] = chain(
        facts.module.all_of(cst.SimpleString), facts.module.all_of(cst.FormattedString)
    )
    for pattern in texts if renamed else ():
        ending = next((renamed[name] for name in renamed if name_patterns.reads(pattern, name)), None)
        if ending is not None and pattern not in seen:
            seen.add(pattern)
            message = (
                f"the regular expression reads the name of a file that Keras writes with the ending {ending} now: "
                "it finds both names"
            )
            new = name_patterns.with_ending(facts.module.code(pattern), ending)
            yield CallChange(codes.WEIGHT_FILES, pattern, message, Replace(pattern, new))
    for node in facts.module.all_of(cst.SimpleString):
        if node not in seen and (text := text_of(node)) is not None:
            ending = next((renamed[name] for name in renamed if _is_pattern_of(text, name)), None)
            if ending is not None:
                seen.add(node)
                head, old, rest = node.value.rpartition(next(end for end in OLD_ENDINGS if text.endswith(end)))
                message = f"the pattern finds files that Keras writes under another name now: the ending {old} changes"
                yield CallChange(codes.WEIGHT_FILES, node, message, Replace(node, f"{head}{ending}{rest}"))
    opened = {
        ending_of(call.args[0].value, facts, scopes)
        for call in facts.module.calls
        if call.args and facts.symbols.get(call.func) == "h5py.File"
    }
    for node in facts.module.all_of(cst.SimpleString):
        text = text_of(node) if node not in seen else None
        ending = _new_ending(text, renamed) or _of_last_word(text, renamed) if text is not None else None
        if ending is not None:
            message = (
                f"the file of this name that Keras writes ends in {ending} now: change it here if that file is meant"
            )
            if node in opened:
                message += "; Keras 3 lays the weights out differently, so code that reads them with h5py must change"
            yield CallChange(codes.WEIGHT_FILES, node, message, action="warn")


_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "exception", "log"})


def _talks(call: cst.Call) -> bool:
    """`print(...)`, `logger.info(...)`: what people read, and no program."""
    func = call.func
    if isinstance(func, cst.Attribute):
        return func.attr.value in _LOGS
    return isinstance(func, cst.Name) and func.value == "print"


def _parts_of(text: cst.BaseExpression) -> Iterator[cst.SimpleString]:
    """The literals of a text that is put together: `"saved " + "a.h5"`, `"%s" % "a.h5"`, `"...".format("a.h5")`."""
    if isinstance(text, cst.SimpleString):
        yield text
    elif isinstance(text, cst.BinaryOperation | cst.ConcatenatedString):
        yield from (*_parts_of(text.left), *_parts_of(text.right))
    elif isinstance(text, cst.Call) and isinstance(text.func, cst.Attribute) and text.func.attr.value == "format":
        for part in (text.func.value, *(arg.value for arg in text.args)):
            yield from _parts_of(part)


def _with_new_names(text: str, renamed: Mapping[str, str]) -> str:
    """A text with the new names of the files that it mentions."""
    for name in sorted(renamed, key=len, reverse=True):
        ending = next((end for end in OLD_ENDINGS if name.endswith(end)), None)
        if ending is not None and name != ending:
            new = f"{name.removesuffix(ending)}{renamed[name]}".replace("\\", r"\\")
            text = re.sub(rf"(?<![\w./\\-]){re.escape(name)}(?![\w/-])", new, text)
    return text


def _new_ending(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of the file that a name means; with gaps to fill in, `{0}` here may be `{epoch:02d}` there."""
    if text in renamed:
        return renamed[text]
    shape = name_shape(text)
    return next((ending for old, ending in renamed.items() if name_shape(old) == shape), None) if shape else None


def _of_last_word(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of a file of the same name in another folder, or in a folder that the path takes from elsewhere."""
    word = shape_of_last(text)
    if not word.endswith(OLD_ENDINGS) or len(longest_part(word.rpartition(".")[0])) < _TELLING:
        return None
    return next((ending for old, ending in renamed.items() if shape_of_last(old) == word), None)


_TELLING = 3
"""Letters between the gaps of a name that tell it from others."""


def _is_pattern_of(text: str, name: str) -> bool:
    """Whether a text finds the files of a name: by `*`, as the shell does, or as a regular expression."""
    ending = next(end for end in OLD_ENDINGS if name.endswith(end))
    if not text.endswith(ending) or not re.search(r"[*?\[\\]", text):
        return False
    example, pattern = example_of(name).rpartition("/")[2], text.rpartition("/")[2]
    if fnmatch(example, pattern):
        return True
    try:
        return re.match(text, example) is not None
    except re.error:
        return False


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
    return facts.symbols.get(call.func) in _ASKS or _reads(call, facts)


def _reads(call: cst.Call, facts: Facts) -> bool:
    return _loads_weights(call) or _is_load_model(call, facts)


def _loads_weights(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_weights"


def _saves(call: cst.Call) -> bool:
    """Whether a whole model may be saved."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "save"


def _is_load_model(call: cst.Call, facts: Facts) -> bool:
    return facts.canonical(call.func) == "keras.models.load_model"


def _writers(facts: Facts) -> Iterator[tuple[cst.BaseExpression, str, Unit | None]]:
    """Each path that is written, the ending Keras 3 wants, of weights or of a whole model, and where that is done."""
    for use in facts.uses:
        path = passed_as("filepath", 0, use.call) if use.method == "save_weights" else None
        if path is not None:
            yield path.value, WEIGHTS, use.site.unit
    for checkpoint in checkpoints(facts):
        only = checkpoint.named.get("save_weights_only")
        weights = False if only is None else truth_of(only)
        if "filepath" in checkpoint.named and weights is not None:
            yield checkpoint.named["filepath"], WEIGHTS if weights else MODEL, None


def _change(
    literal: Ending, module: Module, new_ending: str, keys: Mapping[str, str], read: Container[str]
) -> CallChange:
    ending = next(end for end in OLD_ENDINGS if literal.text.endswith(end))
    wanted = _ENDINGS[WEIGHTS if new_ending == WEIGHTS else MODEL]
    message = f"Keras 3 writes {_kind(new_ending)} only to files that end in {wanted}: the ending {ending} changes"
    if new_ending == MODEL:
        message = (
            "Keras 3 cannot resume training with the optimizer of an HDF5 file, and the program loads this one: "
            f"the ending {ending} changes"
        )
    if literal.text in read:
        message += "; a file of an earlier run loads only under its old name"
    head, _, quote = renamed_keys(module.code(literal.node), keys).rpartition(ending)
    return CallChange(codes.WEIGHT_FILES, literal.node, message, Replace(literal.node, f"{head}{new_ending}{quote}"))


def _kind(new_ending: str) -> str:
    return "weights" if new_ending == WEIGHTS else "checkpoints of whole models"


def _in_hdf5(facts: Facts, scopes: Scopes, renamed: Container[str]) -> Iterator[frozenset[ModelObject]]:
    """The models of each place that saves one to an HDF5 file, or to one whose ending is not known; none where they are
    not known, as of a checkpoint."""
    unknown = frozenset[ModelObject]()
    paths = [(path, unknown) for path, ending, _ in _writers(facts) if ending == MODEL]
    for use in facts.uses:
        if use.method == "save" and use.is_of_model and use.call.args:
            paths.append((keywords(use.call).get("filepath", use.call.args[0]).value, use.models))
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.models.save_model" and len(call.args) > 1:
            models = all_models(facts.options(keywords(call).get("model", call.args[0]).value))
            paths.append((keywords(call).get("filepath", call.args[1]).value, models))
    told = {path for path, _ in paths}
    unsure = [(call.args[0].value, unknown) for call in facts.module.calls if call.args and _may_save(call, facts)]
    for path, models in (*paths, *(one for one in unsure if one[0] not in told)):
        text = text_of(ending_of(path, facts, scopes))
        if (text is None and path in told) or (text is not None and text.endswith(OLD_ENDINGS) and text not in renamed):
            yield models


def _may_save(call: cst.Call, facts: Facts) -> bool:
    """Whether a whole model may be saved by a method that the program does not define."""
    own = any(isinstance(option, Method) and option.function is not None for option in facts.options(call.func))
    return _saves(call) and not own
