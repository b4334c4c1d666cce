"""The files of weights and models that a program writes and loads, and the endings that they need."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch

import libcst as cst

from tfmigrate.file_names import HDF5, MODEL, TELLING, WEIGHTS, longest_part, old_ending, shape_of_last, with_ending
from tfmigrate.plan.change.calls import keywords, passed_as, text_of
from tfmigrate.plan.change.path_shapes import PathShapes
from tfmigrate.plan.change.paths import Ending, Paths, name_shape
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.keras.file_calls import is_load_model, is_of_keras, reads, saves
from tfmigrate.plan.keras.forwarding import Given
from tfmigrate.plan.keras.handed_on import Construction, Objects
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module

EITHER = ""
"""The ending where weights may be written, and whole models too."""


@dataclass(frozen=True)
class Written:
    """A path that Keras writes to."""

    path: cst.BaseExpression
    module: Module
    ending: str
    """What Keras 3 wants it to end in: of weights, of a whole model, or of EITHER."""
    literals: frozenset[Ending]
    known: bool
    """Whether it ends in one of the literals, which all may change."""
    by_save: bool = False
    """Whether save() or save_model() writes there, which take `.hdf5` too; TFM216 tells of these."""

    def ends_well(self, renamed: Mapping[str, str]) -> bool:
        """Whether Keras 3 takes each name that the path may be, once those that must change have."""
        if self.ending == EITHER:
            ends = (renamed.get(literal.text, literal.text) for literal in self.literals)
            return self.known and all(end.endswith(WEIGHTS) for end in ends)
        return self.known and all(
            literal.text.endswith(self.ending) or literal.text in renamed or self._may_stay(literal.text)
            for literal in self.literals
        )

    def must_change(self, loaded: Container[str]) -> Iterator[Ending]:
        """The literals that Keras 3 does not take; `loaded`: the names that the program loads whole models from."""
        for literal in self.literals if self.ending != EITHER else ():
            stays = self._may_stay(literal.text) and (self.by_save or literal.text not in loaded)
            if not stays and not literal.text.endswith((WEIGHTS, self.ending)) and old_ending(literal.text) is not None:
                yield literal

    def _may_stay(self, name: str) -> bool:
        """Whether Keras 3 takes this name of an HDF5 file."""
        return self.ending == MODEL and name.endswith(HDF5 if self.by_save else ".h5")


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
    named: Mapping[str, str]
    """The same of the files by their whole paths, with `*` in the gaps."""
    shapes: PathShapes
    read: Set[str]
    """The names that the program loads weights or models from."""
    loaded: Set[str]
    """Those that it loads whole models from."""

    def become_weights(self, call: cst.Call) -> bool:
        """Whether all the names that a call writes to get the ending of weights."""
        paths = [saved for saved in self.written if any(arg.value is saved.path for arg in call.args)]
        endings = {self.endings.get(literal.node) for saved in paths for literal in saved.literals}
        return endings == {WEIGHTS} and all(saved.known for saved in paths)

    def ending_for(self, call: cst.Call, literal: Ending, facts: Facts) -> str | None:
        """The ending that the name of a file needs, for which a call takes it."""
        ending = self._renamed_for(call, literal, facts)
        if ending is None and old_ending(literal.text) is not None:
            ending = self._ending_in_full(literal.text, call.args[0].value, facts.module)
        # save() writes a whole model, which the weights have nothing to do with.
        is_other = self.is_of_another(call, literal, facts) or (ending == WEIGHTS and saves(call))
        return None if is_other else ending

    def is_of_another(self, call: cst.Call, literal: Ending, facts: Facts) -> bool:
        """Whether a literal that must change elsewhere only ends the name of another file here."""
        renamed = self._renamed_for(call, literal, facts) is not None and literal.text == old_ending(literal.text)
        return renamed and self._is_another(call.args[0].value, facts.module)

    def _renamed_for(self, call: cst.Call, literal: Ending, facts: Facts) -> str | None:
        renamed = {**self.renamed, **self.whole} if is_load_model(call, facts) else self.renamed
        return new_ending(literal.text, renamed)

    def _ending_in_full(self, literal: str, path: cst.BaseExpression, module: Module) -> str | None:
        """The ending of a file whose name is written in other pieces here than where it is saved.

        `literal`: the piece that ends it, or the name of one file of several that the path may be.
        """
        called, last = self.shapes.names(path, module), shape_of_last(literal)
        for name, ending in self.named.items():
            if name in called and _tells(name) and (name.endswith(last) or fnmatch(last, shape_of_last(name))):
                return ending
        return None

    def _is_another(self, path: cst.BaseExpression, module: Module) -> bool:
        """Whether a path is surely none of those that must change, though it may end as they do: `vgg + '.h5'`."""
        called = {shape_of_last(name) for name in self.shapes.names(path, module)}
        changed = {shape_of_last(name) for name in self.named}
        pairs = ((name, other) for name in called for other in changed)
        return all(map(_tells, called)) and not any(fnmatch(*pair) or fnmatch(*pair[::-1]) for pair in pairs)


def _tells(name: str) -> bool:
    """Whether a path with gaps tells a file from others."""
    return len(longest_part(shape_of_last(name).rpartition(".")[0].replace("*", "{}"))) >= TELLING


def files_of(migration: Migration) -> Files:
    drafts = {module: draft for module, draft in migration.drafts.items() if module in migration.leaving}
    paths = Paths.of(
        {module: draft.facts for module, draft in drafts.items()},
        {module: draft.scopes for module, draft in drafts.items()},
    )
    written = list(_written(migration.once(checkpoints), paths))
    read, loaded = _names_read(paths)
    whole: dict[str, str] = {}
    weights: dict[str, str] = {}
    endings: dict[cst.CSTNode, str] = {}
    named: dict[str, str] = {}
    shapes = PathShapes(paths)
    full = {saved: shapes.names(saved.path, saved.module) for saved in written if saved.module in paths.facts}
    taken = {name: name for names in full.values() for name in names}
    for saved in sorted(written, key=lambda saved: saved.ending == WEIGHTS):
        for literal in saved.must_change(loaded):
            called = [name for name in full.get(saved, ()) if name.endswith(shape_of_last(literal.text))]
            new = _free_ending(_new_ending_of(literal.text, saved.ending, loaded), called, taken)
            if new is not None:
                endings[literal.node] = new
                (weights if saved.ending == WEIGHTS else whole)[literal.text] = new
                named.update(dict.fromkeys(called, new))
    return Files(paths, written, {**whole, **weights}, whole, endings, named, shapes, read, loaded)


def _names_read(paths: Paths) -> tuple[Set[str], Set[str]]:
    """The names that the program loads weights or models from, and those that it loads whole models from."""
    loaded: set[str] = set()
    read: set[str] = set()
    for module, facts in paths.facts.items():
        for call in module.calls:
            if call.args and reads(call, facts):
                names = {known.text for known in paths.endings(call.args[0].value, module)[0]}
                read |= names
                if is_load_model(call, facts):
                    loaded |= names
    return read, loaded


def _free_ending(ending: str, called: Sequence[str], taken: dict[str, str]) -> str | None:
    """The ending that files of these names get; `.keras` where the program writes another file of the name with `.h5`
    already, None where it writes one of each name that Keras 3 takes. `taken`: the names, and what they are today."""
    for new in (ending, MODEL) if ending != WEIGHTS else (WEIGHTS,):
        names = {with_ending(name, new): name for name in called}
        if all(taken.get(after, before) == before for after, before in names.items()):
            taken.update(names)
            return new
    return None


def _written(known: Objects, paths: Paths) -> Iterator[Written]:
    """All that the modules of a program write."""
    for module, facts in paths.facts.items():
        for path, unit in _weights_saved(facts):
            yield Written(path, module, WEIGHTS, *paths.at(unit, module).endings(path, module))
        for path in _wholes_saved(facts):
            yield Written(path, module, MODEL, *paths.endings(path, module), by_save=True)
        for made in known.made_in(module):
            yield from _written_by(made, paths)
    for said in known.never_made:
        yield from (one for one in _written_by(said, paths) if one.literals)


def _new_ending_of(name: str, ending: str, loaded: Container[str]) -> str:
    """A whole model keeps its format, HDF5, but where it is loaded again; `net.weights.hdf5` says what it is."""
    if ending == WEIGHTS and name.rpartition(".")[0].endswith(WEIGHTS.removesuffix(".h5")):
        return ".h5"
    return ".h5" if ending == MODEL and name not in loaded else ending


def _weights_saved(facts: Facts) -> Iterator[tuple[cst.BaseExpression, Unit]]:
    """Each path that save_weights() writes to, and where."""
    for use in facts.uses:
        path = passed_as("filepath", 0, use.call) if use.method == "save_weights" else None
        if path is not None:
            yield path.value, use.site.unit


def _wholes_saved(facts: Facts) -> Iterator[cst.BaseExpression]:
    """Each path that a whole model is saved to, but for folders of TensorFlow's own format."""
    saved = [(use.call, 0) for use in facts.uses if is_of_keras(use, "save")]
    functions = (call for call in facts.module.calls if facts.canonical(call.func) == "keras.models.save_model")
    saved += [(call, 1) for call in functions]
    for call, place in dict.fromkeys(saved):
        path, format_ = passed_as("filepath", place, call), keywords(call).get("save_format")
        if path is not None and (format_ is None or text_of(format_.value) != "tf"):
            yield path.value


def _written_by(made: Construction, paths: Paths) -> Iterator[Written]:
    """What a ModelCheckpoint writes to: the path where it is written, or the call that makes it, which hides it."""
    path, only = made.given("filepath"), made.given("save_weights_only")
    if path is None:
        return
    along = paths.along(made.through)
    for weights, there in _by_truth(only, along):
        ending = EITHER if weights is None else WEIGHTS if weights else MODEL
        if path.node is None or path.facts.module not in paths.facts:
            yield Written(made.call, made.facts.module, ending, frozenset(), known=False)
        else:
            module = path.facts.module
            yield Written(path.node, module, ending, *there.endings(path.node, module))


def _by_truth(flag: Given | None, paths: Paths) -> Iterable[tuple[bool | None, Paths]]:
    """Whether a flag that is False by default is set; None where that is not known."""
    if flag is None or flag.node is None or flag.facts.module not in paths.facts:
        return [(False if flag is None else None, paths)]
    return paths.by_truth(flag.node, flag.facts.module)


def new_ending(text: str, renamed: Mapping[str, str]) -> str | None:
    """The ending of the file that a name means; with gaps to fill in, `{0}` here may be `{epoch:02d}` there."""
    if text in renamed:
        return renamed[text]
    shape = name_shape(text)
    return next((ending for old, ending in renamed.items() if name_shape(old) == shape), None) if shape else None
