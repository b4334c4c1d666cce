"""Names of checkpoint files: Keras 3 writes weights only to `.weights.h5`, and whole models to `.keras` or `.h5`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from tfmigrate.file_names import HDF5, MODEL, WEIGHTS, in_code, old_ending, shape_of
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_false, keywords, passed_as, text_of
from tfmigrate.plan.change.paths import Ending, ending_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.callbacks import changed_keys
from tfmigrate.plan.keras.file_arguments import by_name_of, names_of
from tfmigrate.plan.keras.file_calls import is_of_keras, loads_weights, saves, takes_name
from tfmigrate.plan.keras.file_mentions import Mentions
from tfmigrate.plan.keras.open_fields import OpenFields
from tfmigrate.plan.keras.saved_files import EITHER, Files, Written, files_of, new_ending
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import SAVING, TRAINING, Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import ModelObject, function_of

_ENDINGS = {WEIGHTS: WEIGHTS, MODEL: f"{MODEL} or .h5"}
"""What Keras 3 takes where one of these is written."""


AFTER = ("tfmigrate.plan.keras.callbacks",)
"""New names of metrics in a file's name are written together with its new ending."""


def check(context: Context) -> Iterator[CallChange]:
    # Several machines train on Keras 2, which takes the old endings, and loads no .weights.h5 after training.
    if not context.settings.over_workers:
        yield from checkpoint_files(context)
        yield from weights_to_load(context)


@dataclass(frozen=True, eq=False)
class _Names:
    """The names of files in one module, each of which changes once."""

    context: Context
    files: Files
    seen: set[cst.BaseExpression] = field(default_factory=set)

    @property
    def _module(self) -> Module:
        return self.context.facts.module

    @cached_property
    def _fields(self) -> OpenFields:
        """The keys of metrics that names hold."""
        return OpenFields(self.context.facts, self.context.scopes, changed_keys(self.context))

    def written(self) -> Iterator[CallChange]:
        """Names that save_weights() and ModelCheckpoint() are given, and paths that do not show theirs."""
        renamed, endings = self.files.renamed, self.files.endings
        for saved in self.files.written:
            for literal in sorted(saved.literals, key=lambda literal: literal.text):
                if literal.text in renamed and self._is_first(literal) and literal.node in endings:
                    yield self._change(literal, endings[literal.node])
            here = saved.module is self._module and not saved.by_save and saved.path not in self.seen
            if here and not saved.ends_well(renamed):
                self.seen.add(saved.path)
                yield CallChange(codes.WEIGHT_FILES, saved.path, _told(saved), action="warn")

    def used(self) -> Iterator[CallChange]:
        """The same names where the program loads such a file, or asks for it."""
        for facts in self.files.paths.facts.values():
            for call in facts.module.calls:
                if not call.args or not (takes_name(call, facts) or saves(call)):
                    continue
                for literal in self.files.paths.endings(call.args[0].value, facts.module)[0]:
                    ending = self.files.ending_for(call, literal, facts)
                    if ending is None and self.files.is_of_another(call, literal, facts):
                        self.seen.add(literal.node)
                    if ending is not None and self._is_first(literal):
                        yield self._change(literal, ending)
                    if ending is not None and facts is self.context.facts:
                        yield from _without_by_name(call, self.context)

    def _is_first(self, literal: Ending) -> bool:
        """Whether a literal stands in this module and is met for the first time."""
        if literal.module is not self._module or literal.node in self.seen:
            return False
        self.seen.add(literal.node)
        return True

    def _change(self, literal: Ending, new: str) -> CallChange:
        old = old_ending(literal.text) or ""
        changes = f"the ending {old} changes" if old else f"{new} is added"
        wanted = _ENDINGS[WEIGHTS if new == WEIGHTS else MODEL]
        message = f"Keras 3 writes {_kind(new)} only to files that end in {wanted}: {changes}"
        if new == MODEL and old in HDF5:
            message = (
                "Keras 3 cannot resume training with the optimizer of an HDF5 file, and the program loads this one: "
                f"{changes}"
            )
        if literal.text in self.files.read:
            message += "; a file of an earlier run loads only under its old name"
        edit = Replace(literal.node, in_code(self._fields.today(literal.node), old, new))
        return CallChange(codes.WEIGHT_FILES, literal.node, message, edit)


def _told(saved: Written) -> str:
    """About a path that Keras 3 does not take, or may not."""
    ends = sorted(repr(literal.text) for literal in saved.literals)
    told = f"this path ends in {' or '.join(ends)}" if ends else "make sure that this path does"
    if saved.ending == EITHER:
        return (
            f"Keras 3 writes weights only to files that end in {_ENDINGS[WEIGHTS]}, and whole models only to "
            f"{_ENDINGS[MODEL]}: {told}, and the value of `save_weights_only` is unknown"
        )
    return f"Keras 3 writes {_kind(saved.ending)} only to files that end in {_ENDINGS[saved.ending]}: {told}"


def _kind(new_ending: str) -> str:
    return "weights" if new_ending == WEIGHTS else "whole models"


def checkpoint_files(context: Context) -> Iterator[CallChange]:
    """The file names of save_weights() and ModelCheckpoint(), and of loads of the same name."""
    files = context.migration.once(files_of)
    names_of_files = _Names(context, files)
    yield from names_of_files.written()
    yield from names_of_files.used()
    yield from _by_name_of_any(context.facts, files)
    yield from Mentions(context.facts, context.scopes, files.renamed, files.named, names_of_files.seen).changes()
    yield from _taken_off(context, files)
    yield from _formats(context)


def _taken_off(context: Context, files: Files) -> Iterator[CallChange]:
    """`int(name.split("_")[-1].replace(".h5", ""))`, of a file that may be called `model_3.weights.h5` now."""
    weights = [name for name, new in files.renamed.items() if new == WEIGHTS]
    olds = {old_ending(name) for name in weights} - {""}
    for call in context.facts.module.calls if olds else ():
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "replace" or len(call.args) != 2:
            continue
        old, new = (arg.value for arg in call.args)
        if isinstance(old, cst.SimpleString) and isinstance(new, cst.SimpleString) and text_of(old) in olds:
            message = f"files that ended in {text_of(old)} end in {WEIGHTS} now, which is stripped as a whole first"
            first = f".replace({context.quote}{WEIGHTS}{context.quote}, {new.value})"
            edit = Replace(call.func.value, (call.func.value, first))
            yield CallChange(codes.WEIGHT_FILES, call, message, edit)


_FORMATS = ("h5", "hdf5", "keras", "tf")
"""What `save_format` may say: HDF5, or a checkpoint of TensorFlow. Source: tf.keras 1.15 to 2.15."""


def _formats(context: Context) -> Iterator[CallChange]:
    """`save_weights("last.h5", save_format="h5")`: the ending says it today."""
    files, seen = context.migration.once(files_of), set[cst.Call]()
    for use in context.facts.uses:
        given = keywords(use.call).get("save_format") if is_of_keras(use, "save_weights") else None
        format_ = text_of(given.value) if given is not None else None
        says = format_ in _FORMATS and (format_ != "tf" or files.become_weights(use.call))
        if given is not None and says and use.call not in seen:
            seen.add(use.call)
            message = "Keras 3 takes no `save_format` for weights: the ending .weights.h5 decides"
            yield CallChange(codes.WEIGHT_FILES, given, message, Revision(use.call, dropped=("save_format",)))


_READABLE = (*HDF5, MODEL, ".weights.json")
"""What Keras 3 loads weights from."""


def weights_to_load(context: Context) -> Iterator[CallChange]:
    """`load_weights('net.model')`: old Keras took a file of any name for HDF5 or for a checkpoint of TensorFlow."""
    facts, scopes, files = context.facts, context.scopes, context.migration.once(files_of)
    seen: set[cst.Call] = set()
    for use in facts.uses:
        path = passed_as("filepath", 0, use.call) if is_of_keras(use, "load_weights") else None
        if path is None or facts.module not in files.paths.facts or use.call in seen:
            continue
        seen.add(use.call)
        maker = settled(path.value, scopes)
        if isinstance(maker, cst.Call) and names.plain(facts.called(maker)) == _LATEST:
            told = "this is a TensorFlow checkpoint"
        else:
            # A single word that is one of several may be no file: `weights="imagenet"`.
            literals = files.paths.endings(path.value, facts.module)[0]
            ends = {end.text for end in literals if re.search("[./]", end.text)}
            ends |= {text_of(ending_of(path.value, facts, scopes)) or ""}
            ends -= {end.text for end in literals if files.ending_for(use.call, end, facts) is not None}
            wrong = sorted(end for end in ends if end and not _ends_in_gap(end) and not end.endswith(_READABLE))
            if not wrong:
                continue
            told = f"this path ends in {' or '.join(map(repr, wrong))}"
        message = (
            f"Keras 3 loads weights only from files that end in .weights.h5, .h5, .hdf5 or .keras: {told}; rename an "
            "HDF5 file, or first convert a TensorFlow checkpoint to one with Keras 2"
        )
        yield CallChange(codes.WEIGHT_FILES, path.value, message, action="warn")


_LATEST = "tensorflow.train.latest_checkpoint"


def _ends_in_gap(path: str) -> bool:
    return shape_of(path).endswith("*")


def _without_by_name(call: cst.Call, context: Context) -> Iterator[CallChange]:
    facts = context.facts
    by_name = by_name_of(call, facts) if loads_weights(call) else None
    if by_name is None:
        return
    if is_false(by_name.value):
        yield _without_false(call, by_name, facts)
        return
    message = (
        "Keras 3 only takes `by_name` for old .h5 files: it is removed with the ending, and the layers are matched "
        "as they were saved; a model with other layers than the saved one no longer loads"
    )
    yield CallChange(codes.WEIGHT_FILES, by_name, message, _dropping(call, facts))
    made = context.models_of(call)
    written = context.migration.once(_written_models)
    if made and not any(_made_alike(model, other, context) for model in made for other in written):
        message = (
            "this model is none of those whose weights are saved: `by_name` only loaded layers of the same names, "
            "but today's files are matched by the order of the layers of each class, whatever their names, so a new "
            "head is loaded too if it fits: load the file into a model like the saved one, and copy layer by layer "
            "with set_weights()"
        )
        yield CallChange(codes.WEIGHT_FILES, call, message, action="warn")


def _written_models(migration: Migration) -> frozenset[ModelObject]:
    """The models whose weights a program may save: those that it saves, or trains with callbacks."""
    uses = (use for use in migration.facts.uses if use.method in SAVING | TRAINING)
    return frozenset(model for use in uses for model in use.models)


def _made_alike(model: ModelObject, other: ModelObject, context: Context) -> bool:
    """Whether two models are made by the same code: by one expression, or by calls of one function."""
    return (
        model.node is other.node
        or any(
            maker in _functions_round(second)
            for first, second in ((model, other), (other, model))
            for maker in _makers(first, context)
        )
        or not _makers(model, context).isdisjoint(_makers(other, context))
    )


def _makers(model: ModelObject, context: Context) -> frozenset[cst.CSTNode]:
    """The functions of the program that the expression calls which gives a model."""
    facts = context.modules.get(model.site.frame.module)
    called = facts.options(model.node.func) if facts is not None and isinstance(model.node, cst.Call) else ()
    functions = (function_of(option) for option in called)
    return frozenset(function.node for function in functions if function is not None)


def _functions_round(model: ModelObject) -> frozenset[cst.CSTNode]:
    """The functions in which the expression stands that makes a model, callers included."""
    return frozenset(frame.function for frame in model.site.frame.chain() if frame.function is not None)


def _without_false(call: cst.Call, by_name: cst.Arg, facts: Facts) -> CallChange:
    message = "Keras 3 only takes `by_name` for old .h5 files, even False, which is the default: it is removed"
    return CallChange(codes.WEIGHT_FILES, by_name, message, _dropping(call, facts))


def _dropping(call: cst.Call, facts: Facts) -> Revision:
    return Revision(call, named=names_of(call, facts), dropped=("by_name",))


def _by_name_of_any(facts: Facts, files: Files) -> Iterator[CallChange]:
    """`load_weights(args.weights, by_name=True)`, which may be given a file that the program saves."""
    if all(saved.ending != WEIGHTS for saved in files.written):
        return
    for call in facts.module.calls:
        by_name = by_name_of(call, facts) if loads_weights(call) else None
        path = passed_as("filepath", 0, call)
        if by_name is None or path is None:
            continue
        literals, known = files.paths.endings(path.value, facts.module)
        if known or any(new_ending(literal.text, files.renamed) for literal in literals):
            continue
        if is_false(by_name.value):
            yield _without_false(call, by_name, facts)
        else:
            message = (
                "Keras 3 only takes `by_name` for old .h5 files, and raises ValueError if this path is one of the "
                ".weights.h5 files that the program saves: leave it out for these"
            )
            yield CallChange(codes.WEIGHT_FILES, by_name, message, action="warn")
