"""Batches that the replicas do not divide, as far as their sizes are written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import EVALUATE, FIT, FIT_GENERATOR, has_stars, keywords, named_arguments, passed_as
from tfmigrate.plan.data.pipeline import takes_arrays
from tfmigrate.plan.data.sequences import flow_of
from tfmigrate.plan.data.sizes import number_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.gpus import replicas
from tfmigrate.plan.strategy.model_group import concerns
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.values import FunctionValue, Instance, Made, Value


def say_uneven(owners: Iterable[Owner], drafts: Mapping[Module, Draft]) -> None:
    """Batches that cannot be shared evenly among the replicas; Keras 3 fails on the first."""
    reported: set[cst.BaseExpression] = set()
    for owner in owners:
        for group in owner.groups:
            counts = {replicas(wrap) for wrap in group.wraps}
            count = next(iter(counts)) if len(counts) == 1 else None
            if count is None or count < 2 or any(wrap.guards for wrap in group.wraps):
                continue
            for draft in drafts.values():
                for use in draft.facts.uses:
                    for node, batch, validates in _batches_of(use, draft, drafts):
                        if batch % count == 0 or node in reported or not concerns(use, group.models, group.wraps):
                            continue
                        reported.add(node)
                        message = (
                            f"{count} replicas do not divide a batch of {batch} evenly, and Keras 3 fails on the "
                            f"first such batch (InvalidArgumentError in AddN): use a multiple of {count}"
                        )
                        if validates:
                            message += ", which changes no result of evaluate()"
                        draft.say(codes.UNEVEN_BATCHES, node, message, "warn")


def _batches_of(
    use: Use, draft: Draft, drafts: Mapping[Module, Draft]
) -> Iterator[tuple[cst.BaseExpression, int, bool]]:
    """The sizes of the batches that a call trains or evaluates with, as far as they are written out: each with what to
    report it for, and whether no weights change by it."""
    batch = _batch_of(use, draft)
    if batch is not None:
        yield use.call, batch, use.method == "evaluate"
    named = named_arguments(use.call, _GIVEN[use.method]) if use.method in _GIVEN else None
    for parameter in ("x", "generator", "validation_data"):
        if named is None or parameter not in named:
            continue
        data = named[parameter].value
        sizes = {_batch_of_data(option, data, draft, drafts) for option in draft.facts.options(data)}
        size = next(iter(sizes)) if len(sizes) == 1 else None
        if size is not None:
            yield data, size, parameter == "validation_data" or use.method.startswith("evaluate")


_GIVEN: Mapping[str, tuple[str, ...]] = {
    "fit": FIT,
    "fit_generator": FIT_GENERATOR[:7],
    "evaluate": EVALUATE,
    "evaluate_generator": ("generator",),
}
_DEFAULT = 32
"""The size of the batches of `fit`, `evaluate` and ImageDataGenerator where none is asked for."""
_PLACES: Mapping[str, int] = {"flow": 2, "flow_from_directory": 5}
"""Of `batch_size` among the arguments of methods of ImageDataGenerator."""


def _batch_of_data(value: Value, node: cst.BaseExpression, draft: Draft, drafts: Mapping[Module, Draft]) -> int | None:
    """The number that batch_given() finds; None where it is not written out."""
    given, facts = batch_given(value, node, draft, drafts) or (None, draft.facts)
    return given if given is None or isinstance(given, int) else number_of(given, facts)


def batch_given(
    value: Value, node: cst.BaseExpression, draft: Draft, drafts: Mapping[Module, Draft]
) -> tuple[cst.BaseExpression | int, Facts] | None:
    """The size of the batches of an ImageDataGenerator, or of a class or a generator of the program with a parameter
    `batch_size`, and where that is written: the argument, or the number that is its default; None where neither is
    known. `node`: what `draft` has it as."""
    flow = flow_of(value)
    if flow is not None and isinstance(flow.func, cst.Attribute):
        place = _PLACES.get(flow.func.attr.value)
        passed = keywords(flow).get("batch_size") if place is None else passed_as("batch_size", place, flow)
        if passed is not None:
            return passed.value, draft.facts
        return None if place is None or has_stars(flow) else (_DEFAULT, draft.facts)
    if isinstance(value, Instance) and value.call is not None and value.site is not None:
        made = value.cls.lookup("__init__")
        if isinstance(made, FunctionValue):
            return _passed(value.call, positional(made.node.params)[1:], drafts[value.site.frame.module].facts)
    if isinstance(value, Made) and isinstance(value.source, cst.FunctionDef):
        call = _call_of(node, draft)
        if call is not None:
            return _passed(call, positional(value.source.params), draft.facts)
    return None


def _call_of(node: cst.BaseExpression, draft: Draft) -> cst.Call | None:
    """The call that an expression is, or the only one that the variable is bound to which it names."""
    value = bound_once(node, draft.scopes) if isinstance(node, cst.Name) else node
    return value if isinstance(value, cst.Call) else None


def _passed(
    call: cst.Call, parameters: Sequence[cst.Param], facts: Facts
) -> tuple[cst.BaseExpression | int, Facts] | None:
    """What a call passes for `batch_size`, or the number that is its default; None where it is not known."""
    names = [param.name.value for param in parameters]
    named = named_arguments(call, names)
    if named is None or "batch_size" not in names:
        return None
    if "batch_size" in named:
        return named["batch_size"].value, facts
    default = parameters[names.index("batch_size")].default
    return (default.evaluated_value, facts) if isinstance(default, cst.Integer) else None


def _batch_of(use: Use, draft: Draft) -> int | None:
    """The size of the batches that a call on arrays trains or evaluates with; None where it is not written out."""
    if use.method == "fit":
        arrays = takes_arrays(use, draft.facts)
    else:
        arrays = use.method == "evaluate" and "y" in (named_arguments(use.call, EVALUATE) or {})
    named = (named_arguments(use.call, FIT if use.method == "fit" else EVALUATE) or {}) if arrays else {}
    batch_size = named.get("batch_size")
    if not named:
        return None
    return _DEFAULT if batch_size is None else number_of(batch_size.value, draft.facts)
