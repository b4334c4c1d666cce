"""Conditions of a model function: those that ask for the mode go, others stay."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.edits import Branch
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.staying import is_emptied, nothing_stays, unwrap
from tfmigrate.plan.estimator.things import (
    PLAIN,
    TRAIN,
    Features,
    IsDict,
    Loss,
    Metric,
    Optimizer,
    Plain,
    Rate,
    Several,
    Tensor,
    Thing,
    Training,
    within,
)
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.purity import is_pure


def read_if(reader: ModelReader, unit: cst.If, modes: frozenset[str]) -> frozenset[str]:
    """Read a condition that is asked in `modes`; returns those whose run goes on behind it."""
    test = reader.read(unit.test)
    if not isinstance(test, Training):
        _plain(reader, unit, test, modes)
        return modes
    arms: list[tuple[cst.BaseSuite, frozenset[str]]] = []
    left = _modal(reader, unit, test, modes, arms)
    staying = [
        suite for suite, own in arms if TRAIN in own and not all(nothing_stays(reader, u) for u in units_of(suite))
    ]
    unwrap(reader, unit, staying[0] if staying else None)
    return left


def _plain(reader: ModelReader, unit: cst.If, test: Thing, modes: frozenset[str]) -> None:
    """Read a condition that does not ask for the mode: what it builds is built under it in Keras too."""
    if not isinstance(test, Plain | IsDict):
        raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this condition depends on the data")
    reader.features_may_be_dict = reader.features_may_be_dict or isinstance(test, IsDict)
    before = dict(reader.names)
    left = reader.block(unit.body, modes)
    left_names, reader.names = reader.names, before
    if isinstance(unit.orelse, cst.If):
        left |= read_if(reader, unit.orelse, modes)
    elif unit.orelse is not None:
        left |= reader.block(unit.orelse.body, modes)
    _join(reader, left_names, unit)
    if left != modes:
        raise reader.refuse(
            codes.ESTIMATOR_NOT_FOLLOWED,
            unit,
            "model_fn returns under a condition that depends on more than the mode",
        )
    _drop_emptied(reader, unit)


def _modal(
    reader: ModelReader,
    unit: cst.If,
    test: Training,
    modes: frozenset[str],
    arms: list[tuple[cst.BaseSuite, frozenset[str]]],
) -> frozenset[str]:
    """Read the arms of a test of the mode, each in its own modes, and collect them."""
    body, orelse = modes & test.modes, modes - test.modes
    before = dict(reader.names)
    left = reader.block(unit.body, body) if body else frozenset()
    arms.append((unit.body, body))
    left_names, reader.names = reader.names, before
    other = orelse
    if isinstance(unit.orelse, cst.Else):
        other = reader.block(unit.orelse.body, orelse) if orelse else frozenset()
        arms.append((unit.orelse.body, orelse))
    elif unit.orelse is not None:
        inner = reader.read(unit.orelse.test)
        if not isinstance(inner, Training):
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this condition combines the mode with other tests")
        other = _modal(reader, unit.orelse, inner, orelse, arms)
    reader.names = _by_mode(left_names, left, reader.names, other)
    for name, choice in reader.arms.choices(left | other, reader.within):
        if isinstance(reader.names.get(name, PLAIN), Plain):
            reader.names[name] = choice
    return left | other


def _join(reader: ModelReader, then_names: Mapping[str, Thing], unit: cst.CSTNode) -> None:
    """Note what the names stand for behind a condition, of which one arm left `then_names` and the other the rest."""
    for name, thing in then_names.items():
        other = reader.names.setdefault(name, thing)
        if {type(other), type(thing)} == {Features, Tensor}:
            reader.names[name] = thing if isinstance(thing, Tensor) else other
            reader.whole_features = True
            continue
        if type(other) is not type(thing):
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, f"{name} has different values after this condition")
        if isinstance(thing, Loss | Rate | Optimizer | Metric) and other != thing:
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, f"{name} depends on this condition")


def _drop_emptied(reader: ModelReader, unit: cst.If) -> None:
    """Take out what would be `pass` alone."""
    other = unit.orelse
    if not isinstance(other, cst.Else | None):
        return
    if is_emptied(reader, unit.body) and (other is None or is_emptied(reader, other.body)) and is_pure(unit.test):
        unwrap(reader, unit, None)
    elif other is not None and is_emptied(reader, other.body):
        reader.edit(Branch(unit, (unit.test,), unit.body, None))


def _by_mode(
    then_names: Mapping[str, Thing], modes: frozenset[str], other: Mapping[str, Thing], others: frozenset[str]
) -> dict[str, Thing]:
    """The names where two ways meet that are gone in different modes."""
    if not modes or not others:
        return dict(then_names if modes else other)
    joined = {**then_names, **other}
    for name in then_names.keys() & other.keys():
        if then_names[name] is not other[name]:
            ways = [(mode, within(then_names[name], frozenset({mode}))) for mode in sorted(modes)]
            ways += [(mode, within(other[name], frozenset({mode}))) for mode in sorted(others)]
            same = all(isinstance(thing, Plain) for _, thing in ways)
            joined[name] = PLAIN if same else Several(tuple(ways))
    return joined
