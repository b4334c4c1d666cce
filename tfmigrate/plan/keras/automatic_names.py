"""`Conv2D(8, 3, name="conv2d")`, a name that Keras 3 gives the first layer without one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, keywords, text_of
from tfmigrate.plan.keras.layer_places import models_by_call
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts

_LAYERS = "keras.layers."


def check(context: Context) -> Iterator[CallChange]:
    """Standalone Keras counted from `conv2d_1`; where all layers of a kind in a model have names, nothing is said."""
    for call, kind in _layers(context.facts):
        name = keywords(call).get("name")
        if name is None or text_of(name.value) != _automatic(kind):
            continue
        others = context.migration.once(_without_names).get(kind, ())
        if any(_may_meet(call, other, context.migration) for other in others):
            message = (
                f"Keras 3 calls the first {kind} without a name {text_of(name.value)!r} too, and refuses two layers of "
                "one name in a model: give this one another name"
            )
            yield CallChange(codes.AUTOMATIC_NAMES, name.value, message, action="warn")


def _may_meet(call: cst.Call, other: cst.Call, migration: Migration) -> bool:
    """Whether two layers may be in one model: those of which it does not show into which models they go may."""
    models = migration.once(models_by_call)
    here, there = models.get(call), models.get(other)
    return here is None or there is None or not here.isdisjoint(there)


def _layers(facts: Facts) -> Iterator[tuple[cst.Call, str]]:
    """The calls that make a layer of standalone Keras, with its class."""
    for call in facts.module.calls:
        real = facts.symbols.get(call.func, "")
        known = names.canonical(real)
        if known.startswith(_LAYERS) and names.flavour(real) == "keras" and not has_stars(call):
            yield call, known.removeprefix(_LAYERS)


def _without_names(migration: Migration) -> dict[str, list[cst.Call]]:
    """The layers without names that the program makes, by their classes."""
    found: dict[str, list[cst.Call]] = {}
    for facts in migration.facts.modules.values():
        for call, kind in _layers(facts):
            if "name" not in keywords(call):
                found.setdefault(kind, []).append(call)
    return found


def _automatic(kind: str) -> str:
    """As keras/src/utils/naming.py of Keras 3.15 makes it: conv2d, batch_normalization."""
    parted = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", kind)
    return re.sub("([a-z])([A-Z])", r"\1_\2", parted).lower()
