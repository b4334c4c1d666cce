"""Sequences whose epochs are shorter than the whole: Keras 3 does not continue where the last epoch ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT, FIT_GENERATOR, Revision, is_false, keywords, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.batches import Data, data_of
from tfmigrate.plan.data.lengths import is_length, is_length_of_flow, is_own_length
from tfmigrate.plan.data.steps import is_count
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import ClassValue, Instance, Opaque, Symbol, Value
from tfmigrate.walk import walk

_HELPER = "Epochs"
_CUT_SHORT = (
    "Keras 3 ends an epoch where a Sequence ends, and starts the next with the batches left over: 3 steps of 4 "
    "batches are 3, 1, 3, 1, ..."
)


AFTER = ("tfmigrate.plan.data.streams",)
"""A Sequence that is given in epochs of its own is not made a dataset as well."""


def check(context: Context) -> Iterator[CallChange]:
    """`fit(sequence, steps_per_epoch=samples // batch_size)`: Keras 3 cuts epochs short where that is not len()."""
    facts, scopes = context.facts, context.scopes
    helper = Helper.of(context.draft, _HELPER, "epochs")
    batches_of: dict[cst.Call, list[Data]] = {}
    for use in facts.uses:
        for batches in data_of(use) if use.method in _TRAIN else ():
            if batches.parameter != "validation_data" and batches.steps is not None:
                batches_of.setdefault(use.call, []).append(batches)
    wrapped: dict[cst.Call, CallChange] = {}
    for call, paths in batches_of.items():
        sequences = [is_sequence(value) for path in paths for value in path.values]
        data, steps = paths[0].node, paths[0].steps
        if steps is None or not any(sequences) or _asks_for_all(steps.value, paths, facts, scopes):
            continue
        if _is_one_epoch(call, facts):
            yield CallChange(codes.SEQUENCE_STEPS, steps, _ONE_EPOCH, action="warn")
            continue
        if all(sequences):
            taken = (data, (f"{helper}(", data, ", ", steps.value, ")"))
            edit = Revision(call, dropped=("steps_per_epoch",), wrapped=(taken,))
            message = (
                f"{_CUT_SHORT}: {helper} is a Sequence with epochs of that length, each continuing where the last one "
                "stopped, as in old Keras"
            )
            wrapped[call] = CallChange(codes.SEQUENCE_STEPS, steps, message, edit)
        else:
            message = f"{_CUT_SHORT}. Leave out `steps_per_epoch` unless it is the number of batches"
            yield CallChange(codes.SEQUENCE_STEPS, steps, message, action="warn")
    # What another call asks for is set on its own Sequence.
    kept = {
        name
        for name, places in (context.migration.once(set_in) if wrapped else {}).items()
        if any(place in wrapped or not isinstance(place, cst.Call) for place in places)
    }

    are_counts = bool(wrapped) and context.migration.once(_all_counted)

    def is_needless(unit: cst.BaseStatement) -> bool:
        """Whether a line copies a setting that has its default in every Sequence here, or rounds integers."""
        rounds = _rounding(unit) if isinstance(unit, cst.SimpleStatementLine) else None
        if rounds is not None:
            return rounds is are_counts
        set_here = {node.attr.value for node in walk(unit) if isinstance(node, cst.Attribute)}
        return isinstance(unit, cst.SimpleStatementLine) and not set_here.isdisjoint(LOADING.keys() - kept)

    yield from helper.brought_by(wrapped, wrapped.values(), leave_out=is_needless)


def _rounding(unit: cst.SimpleStatementLine) -> bool | None:
    """Whether a line of the class rounds the steps that it is given; None where it does not set them."""
    assign = only_statement(unit)
    if not isinstance(assign, cst.Assign) or dotted(assign.targets[0].target) != "self.steps":
        return None
    return not isinstance(assign.value, cst.Name)


def _all_counted(migration: Migration) -> bool:
    """Whether every number of steps in the program that may be given to the class is surely an integer."""
    modules = tuple(migration.facts.modules)
    for module, facts in migration.facts.modules.items():
        scopes = migration.scopes_of(module)

        def counts_pictures(node: cst.BaseExpression, facts: Facts = facts) -> bool:
            if not isinstance(node, cst.Attribute) or node.attr.value not in ("samples", "n", "batch_size"):
                return False
            owners = facts.options(node.value)
            return bool(owners) and all(flow_of(owner) is not None for owner in owners)

        steps = (
            batches.steps
            for use in facts.uses
            if use.method in _TRAIN
            for batches in data_of(use)
            if batches.parameter != "validation_data" and not _is_one_epoch(use.call, facts)
        )
        if not all(step is None or is_count(step.value, facts, scopes, modules, counts_pictures) for step in steps):
            return False
    return True


_ONE_EPOCH = (
    "Keras 3 ends the epoch where the Sequence ends, while old Keras started over: make sure that `steps_per_epoch` "
    "does not exceed its length"
)


def _asks_for_all(steps: cst.BaseExpression, paths: list[Data], facts: Facts, scopes: Scopes) -> bool:
    """Whether an epoch is the whole Sequence, of whatever length."""
    data = paths[0].node
    values = [value for path in paths for value in path.values]

    def is_length_of(value: Value) -> bool:
        if isinstance(value, Instance):
            return is_own_length(steps, data, value, facts, scopes)
        flow = flow_of(value)
        return flow is not None and is_length_of_flow(steps, data, flow, facts, scopes)

    return is_length(steps, data, scopes) or all(map(is_length_of, values))


def _is_one_epoch(call: cst.Call, facts: Facts) -> bool:
    """Whether fit() trains for one epoch, and so none goes on where another ended."""
    (method,) = {use.method for use in facts.uses if use.call is call}
    named = named_arguments(call, FIT if method == "fit" else FIT_GENERATOR)
    if named is None or "initial_epoch" in named:
        return False
    epochs = named["epochs"].value if "epochs" in named else None
    return epochs is None or (isinstance(epochs, cst.Integer) and epochs.evaluated_value == 1)


LOADING = {"workers": "1", "use_multiprocessing": "False", "max_queue_size": "10"}
"""Arguments of fit() in Keras 2, attributes of a Sequence in Keras 3, each with what Keras 2 began with."""


def is_default(name: str, value: cst.BaseExpression) -> bool:
    """Whether an argument of `LOADING` asks for what Keras 2 did without it."""
    if isinstance(value, cst.Integer):
        return value.value in (LOADING[name], "0" if name == "workers" else "")
    return name == "use_multiprocessing" and is_false(value)


def set_in(migration: Migration) -> Mapping[str, Set[cst.CSTNode]]:
    """For each setting the places of the program after which a Sequence may have another one than Keras 3 begins with:
    calls that ask for it, and assignments to what is called so."""
    places: dict[str, set[cst.CSTNode]] = {name: set() for name in LOADING}
    for facts in migration.facts.modules.values():
        for call in facts.module.calls:
            for name, argument in keywords(call).items():
                if name in LOADING and not is_default(name, argument.value):
                    places[name].add(call)
        for target in _attributes(facts):
            name = dotted(target).rpartition(".")[2]
            if name in LOADING:
                places[name].add(target)
    return places


def _attributes(facts: Facts) -> Iterator[cst.BaseExpression]:
    """What a module assigns to: attributes, and names in the body of a class."""
    for node in facts.module.all_of(cst.AssignTarget, cst.AnnAssign, cst.AugAssign):
        if isinstance(node.target, cst.Attribute):
            yield node.target
    for cls in facts.module.all_of(cst.ClassDef):
        for line in cls.body.body:
            for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Assign):
                    yield from (target.target for target in small.targets)
                elif isinstance(small, cst.AnnAssign):
                    yield small.target


_TRAIN = frozenset({"fit", "fit_generator"})
_FLOWS = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
"""Methods of ImageDataGenerator."""


def is_sequence(value: Value) -> bool:
    """Whether a value is a Sequence of Keras: an object of a class of the program, or what ImageDataGenerator makes."""
    if isinstance(value, Instance):
        return _extends_sequence(value.cls)
    return flow_of(value) is not None


def flow_of(value: Value) -> cst.Call | None:
    """The call of an ImageDataGenerator that made a value."""
    call = value.node if isinstance(value, Opaque) else None
    is_flow = isinstance(call, cst.Call) and last_attribute(call.func) in _FLOWS
    return call if is_flow and isinstance(call, cst.Call) else None


def _extends_sequence(cls: Value) -> bool:
    if isinstance(cls, ClassValue):
        return any(map(_extends_sequence, cls.bases))
    return isinstance(cls, Symbol) and names.canonical(cls.name) in _SEQUENCES


_SEQUENCES = frozenset(
    {
        "keras.utils.Sequence",
        "keras.utils.data_utils.Sequence",
        "keras.utils.PyDataset",
        *(f"keras.preprocessing.image.{kind}Iterator" for kind in ("", "Directory", "DataFrame", "NumpyArray")),
    }
)
