"""`load_weights(path, by_name=True)`: layers without names of their own are found by those that Keras gave them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import is_false, passed_as, text_of
from tfmigrate.plan.keras.file_arguments import by_name_of
from tfmigrate.plan.keras.saved_files import files_of
from tfmigrate.plan.keras.unnamed_layers import unnamed_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.walk import calls_in, nodes_in

_WITHOUT_WEIGHTS = frozenset(
    {
        "ActivityRegularization", "Activation", "Add", "AlphaDropout", "Average", "Concatenate", "Dot", "Dropout",
        "ELU", "Flatten", "GaussianDropout", "GaussianNoise", "Input", "InputLayer", "Lambda", "LeakyReLU", "Masking",
        "Maximum", "Minimum", "Multiply", "Permute", "ReLU", "RepeatVector", "Reshape", "Softmax", "Subtract",
        "ThresholdedReLU",
    }
)  # fmt: skip
_OF_SPACE = ("AveragePooling", "Cropping", "GlobalAveragePooling", "GlobalMaxPooling", "MaxPooling", "SpatialDropout",
             "UpSampling", "ZeroPadding")  # fmt: skip
_WRAPPERS = frozenset({"keras.layers.TimeDistributed", "keras.layers.Bidirectional"})
_WRITING = frozenset({"save", "save_weights", "ModelCheckpoint"})


@dataclass(frozen=True, eq=False)
class NamesRead:
    """Code that depends on the names of layers, whichever they are: it loads a file by them, or reads them itself."""

    module: Module
    node: cst.BaseExpression
    layers: Mapping[str, Collection[cst.Call]]
    """By their kind, the layers without a name that the program makes, as far as they are concerned."""
    by_file: bool


def loads_by_name(migration: Migration) -> tuple[NamesRead, ...]:
    """The calls that load files by the names of layers. Files that the program writes itself are left out, since the
    same Keras names the layers of both."""
    loads = migration.once(files_by_name)
    layers = _layers_with_weights(migration) if loads else {}
    return tuple(NamesRead(module, call, layers, by_file=True) for module, call in loads) if layers else ()


def files_by_name(migration: Migration) -> tuple[tuple[Module, cst.Call], ...]:
    """The calls that load such files, each with its module."""
    modules = migration.facts.modules.values()
    loads = [(facts, call) for facts in modules for call in (*_loads(facts), *_copies(facts))]
    written = {path for facts in modules for path in _paths_written(facts, migration)} - {None} if loads else set()
    return tuple(
        (facts.module, call)
        for facts, call in loads
        if _path(call, facts, migration) not in written and not _goes_by_order(call, facts, migration)
    )


def _copies(facts: Facts) -> Iterator[cst.Call]:
    """`h5py.File(path)` in a function that gives layers the weights of that file by their names."""
    calls, unreached = facts.module.calls, facts.module.unreached
    files = {call for call in calls if facts.called(call) == "h5py.File" and call not in unreached}
    for function in facts.module.all_of(cst.FunctionDef) if files else ():
        attributes = {node.attr.value for node in nodes_in(function.body, cst.Attribute)}
        if {"name", "set_weights"} <= attributes:
            yield from (call for call in calls_in(function.body) if call in files)


def _loads(facts: Facts) -> Iterator[cst.Call]:
    for call in facts.module.calls:
        if last_attribute(call.func) == "load_weights" and call not in facts.module.unreached:
            by_name = by_name_of(call, facts)
            if by_name is not None and not is_false(by_name.value):
                yield call


def _goes_by_order(call: cst.Call, facts: Facts, migration: Migration) -> bool:
    """Whether a load loses its `by_name` since its file changes its name: then layers are matched by their order."""
    files = migration.once(files_of)
    if not call.args or facts.module not in files.paths.facts or migration.drafts[facts.module].settings.over_workers:
        return False
    ends = files.paths.endings(call.args[0].value, facts.module)[0]
    return any(files.ending_for(call, end, facts) is not None for end in ends)


def _layers_with_weights(migration: Migration) -> dict[str, list[cst.Call]]:
    """The layers with weights that may have no name, by their kind; those inside a wrapper are found by its name."""
    inner = {
        arg.value
        for facts in migration.facts.modules.values()
        for call in facts.module.calls
        if facts.canonical(call.func) in _WRAPPERS
        for arg in call.args
    }
    found: dict[str, list[cst.Call]] = {}
    for kind, calls in migration.once(unnamed_layers).items():
        outer = [call for call in calls if call not in inner]
        if outer and kind not in _WITHOUT_WEIGHTS and not kind.startswith(_OF_SPACE):
            found[kind] = outer
    return found


def _paths_written(facts: Facts, migration: Migration) -> Iterator[str | None]:
    for call in facts.module.calls:
        last = last_attribute(call.func)
        if last in _WRITING or names.canonical(facts.called(call)).endswith(".ModelCheckpoint"):
            yield _path(call, facts, migration)


def _path(call: cst.Call, facts: Facts, migration: Migration) -> str | None:
    given = passed_as("filepath", 0, call)
    return text_of(settled(given.value, migration.scopes_of(facts.module))) if given is not None else None
