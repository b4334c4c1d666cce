"""The files of weights and models that a program writes and loads, and the endings that they need."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.file_names import MODEL, OLD_ENDINGS, WEIGHTS
from tfmigrate.plan.change.calls import passed_as, truth_of
from tfmigrate.plan.change.paths import Ending, Paths, name_shape
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.keras.file_calls import is_load_model, reads
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module, Unit
from tfmigrate.walk import nodes_in


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

    def ends_well(self, renamed: Container[str]) -> bool:
        """Whether Keras 3 takes each name that the path may be, once those that must change have."""
        return self.known and all(
            literal.text.endswith(self.ending) or literal.text in renamed or _may_stay(literal.text, self.ending)
            for literal in self.literals
        )


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
        for path, ending, unit in writers(draft.facts):
            there = paths.at(unit, module) if unit is not None else paths
            written.append(Written(path, module, ending, *there.endings(path, module)))
        for call in draft.facts.module.calls:
            if call.args and reads(call, draft.facts):
                names_read = {known.text for known in paths.endings(call.args[0].value, module)[0]}
                read |= names_read
                if is_load_model(call, draft.facts):
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


def _new_ending_of(name: str, ending: str, loaded: Container[str]) -> str:
    """A whole model in `.hdf5` keeps its format, but where it is loaded again."""
    return ".h5" if ending == MODEL and name.endswith(".hdf5") and name not in loaded else ending


def _may_stay(path: str, ending: str) -> bool:
    return ending == MODEL and path.endswith(".h5")


def _is_old(path: str) -> bool:
    return path.endswith(OLD_ENDINGS) and not path.endswith(WEIGHTS)


def writers(facts: Facts) -> Iterator[tuple[cst.BaseExpression, str, Unit | None]]:
    """Each path that is written, the ending Keras 3 wants, of weights or of a whole model, and where that is done."""
    for use in facts.uses:
        path = passed_as("filepath", 0, use.call) if use.method == "save_weights" else None
        if path is not None:
            yield path.value, WEIGHTS, use.site.unit
    for checkpoint in checkpoints(facts):
        only = checkpoint.named.get("save_weights_only")
        weights = False if only is None else truth_of(only)
        # What the class says itself is changed where that stands, in the same module alone.
        here = "filepath" in checkpoint.named and _stands_in(checkpoint.named["filepath"], facts.module)
        if here and weights is not None:
            yield checkpoint.named["filepath"], WEIGHTS if weights else MODEL, None


def _stands_in(node: cst.BaseExpression, module: Module) -> bool:
    return any(part is node for part in nodes_in(module.tree, type(node)))


def new_ending(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of the file that a name means; with gaps to fill in, `{0}` here may be `{epoch:02d}` there."""
    if text in renamed:
        return renamed[text]
    shape = name_shape(text)
    return next((ending for old, ending in renamed.items() if name_shape(old) == shape), None) if shape else None
