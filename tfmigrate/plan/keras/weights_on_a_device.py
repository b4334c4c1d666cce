"""Models built in a `with tf.device(...)` and run outside it: on a GPU Keras compiles them with XLA, which finds no
weights on another device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Unwrap
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.strategy.guards import device_of
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import INFERENCE, TRAINING, Facts, Use
from tfmigrate.understand.values import Literal, ModelObject, Parallel, Site, options

RUNNING = TRAINING | INFERENCE


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    unwrapped = {edit.unit for edit in context.draft.edits if isinstance(edit, Unwrap)}
    for block in facts.module.all_of(cst.With):
        device = _device(block, facts)
        if device is None or block in unwrapped:
            continue
        inside = frozenset(facts.module.inside(block))
        built = context.migration.once(_built)
        held = {model for model, units in built.items() if not inside.isdisjoint(units)}
        uses = [use for use in context.migration.facts.uses if not held.isdisjoint(use.models)]
        run = [use for use in uses if use.method in RUNNING and inside.isdisjoint(_units(use.site))]
        if not run:
            continue
        of_models = {unit for model in held for unit in built[model]}.union(*(_units(use.site) for use in uses))
        yield _change(block, device, run[0], facts, all(unit in of_models for unit in units_of(block.body)))


def _change(block: cst.With, device: str, use: Use, facts: Facts, alone: bool) -> CallChange:
    said = (
        f"the weights of a model built here are on {device}, and {use.method}() at {use.place(facts.module)} runs on "
        "the first GPU, if there is one: Keras 3 compiles it with XLA there, which fails for weights on another "
        "device (Keras 2 fails in training)"
    )
    node = block.items[0].item
    if alone and "cpu" in device.lower():
        message = (
            f"{said}: the model is now built outside the block; to stay on the CPU, put that call into one as well"
        )
        return CallChange(codes.WEIGHTS_ON_A_DEVICE, node, message, Unwrap(block, block.body))
    message = f"{said}: put that call into a block for the same device, or build the model outside it"
    return CallChange(codes.WEIGHTS_ON_A_DEVICE, node, message, action="warn")


def _device(block: cst.With, facts: Facts) -> str | None:
    """The device of a block, where that is surely another one than the first GPU."""
    device = device_of(block, facts)
    call = block.items[0].item
    if device is None or not isinstance(call, cst.Call) or facts.canonical(call.func) != "tensorflow.device":
        return None
    named = {option.value if isinstance(option, Literal) else None for option in facts.options(device)}
    name = text_of(device) or (named.pop() if len(named) == 1 else None)
    return name if isinstance(name, str) and name and not name.lower().endswith("gpu:0") else None


def _built(migration: Migration) -> Mapping[ModelObject, Set[cst.CSTNode]]:
    """The models of the program, each with the statements that make it. A strategy puts its model's weights on its own
    devices, whatever block they are made in."""
    receivers = (option for use in migration.facts.uses for option in options(use.receiver))
    used = {option.wrap for option in receivers if isinstance(option, Parallel)}
    wraps = [wrap for wrap in migration.facts.wraps if wrap in used and not wrap.guards]
    spread = {part for wrap in wraps for model in models_of(wrap.template) for part in model.base_models()}
    models = [model for model in migration.facts.models if model not in spread]
    return {model: {unit for site in model.sites for unit in _units(site)} for model in models}


def _units(site: Site) -> Iterator[cst.CSTNode]:
    """The statements of a place, and of the calls that lead to it."""
    return (outer.unit for outer in site.chain())
