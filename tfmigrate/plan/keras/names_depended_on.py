"""The layers that a program's own text tells by names that Keras gave them, and those that get these for good."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import libcst as cst

from tfmigrate.plan.keras.creation_order import numbers_of_layers
from tfmigrate.plan.keras.loads_by_name import NamesRead, loads_by_name
from tfmigrate.plan.keras.parts_of_names import parts_of_names
from tfmigrate.plan.keras.texts_of_names import Mention, mentions_in
from tfmigrate.plan.keras.unnamed_layers import unnamed_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.module import Module


@dataclass(frozen=True)
class DependedOn:
    """What a program's own text says about layers by names that Keras gave them."""

    named: Mapping[cst.Call, str]
    """The layers that get their old names."""
    because: Mapping[cst.Call, tuple[Module, cst.CSTNode]]
    """Where those are mentioned; the others among them would get such a name instead."""
    uncounted: Mapping[Module, Collection[Mention]]
    """Mentions of which it cannot be said which layer is meant."""
    read: Collection[NamesRead]
    """What reads names of layers that cannot be counted."""


def depended_on(migration: Migration) -> DependedOn:
    kinds = {snake(kind): kind for kind in migration.once(unnamed_layers)}
    mentions = list(_mentions(frozenset(kinds), migration))
    reading = (*migration.once(loads_by_name), *migration.once(parts_of_names))
    certain = migration.once(numbers_of_layers) if mentions or reading else {}
    counted = {kind: _Counted(kind, numbers) for kind, numbers in certain.items()}
    uncounted: dict[Module, list[Mention]] = {}
    for module, mention in mentions:
        layers = counted.get(kinds[mention.prefix]) if mention.is_of_layer else None
        if layers is not None:
            layers.note(mention.number, (module, mention.node))
        else:
            uncounted.setdefault(module, []).append(mention)
    for read in reading:
        for kind in read.layers.keys() & counted:
            for call in read.layers[kind]:
                counted[kind].note(certain[kind][call], (read.module, read.node))
    left = [
        replace(read, layers={kind: calls for kind, calls in read.layers.items() if kind not in counted})
        for read in reading
    ]
    return DependedOn(
        {call: name for layers in counted.values() for call, name in layers.named().items()},
        {call: place for layers in counted.values() for call, place in layers.because().items()},
        uncounted,
        [read for read in left if read.layers],
    )


def _mentions(prefixes: frozenset[str], migration: Migration) -> Iterator[tuple[Module, Mention]]:
    for module, facts in migration.facts.modules.items():
        for mention in mentions_in(facts, migration, prefixes):
            yield module, mention


@dataclass(frozen=True)
class _Counted:
    """The layers of a kind, of which it is certain how Keras counted them."""

    kind: str
    numbers: Mapping[cst.Call, int]
    mentioned: dict[int, tuple[Module, cst.CSTNode]] = field(default_factory=dict)
    """The numbers that the program speaks of, and where it first does."""

    def note(self, number: int | None, place: tuple[Module, cst.CSTNode]) -> None:
        """A mention of the layer with a number, or of all where that is None."""
        for each in self.numbers.values():
            if number in (None, each):
                self.mentioned.setdefault(each, place)

    def named(self) -> dict[cst.Call, str]:
        """The layers that get their old names."""
        wanted = set(self.mentioned)
        if self.kind != "Input":
            wanted = _without_clashes(self.mentioned, self.numbers.values())
        return {call: f"{snake(self.kind)}_{number}" for call, number in self.numbers.items() if number in wanted}

    def because(self) -> dict[cst.Call, tuple[Module, cst.CSTNode]]:
        """Where the program mentions these, as far as it does."""
        return {call: self.mentioned[number] for call, number in self.numbers.items() if number in self.mentioned}


def _without_clashes(wanted: Collection[int], numbers: Collection[int]) -> set[int]:
    """The layers to name, so that none of the others, counted from `dense`, gets the name of one of these."""
    named = set(wanted)
    while True:
        others = sorted(set(numbers) - named)
        clashing = {number for rank, number in enumerate(others) if rank in named}
        if not clashing:
            return named
        named |= clashing


def snake(kind: str) -> str:
    """As keras/src/utils/naming.py of Keras 3.15 makes it: conv2d, batch_normalization."""
    parted = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", kind)
    return re.sub("([a-z])([A-Z])", r"\1_\2", parted).lower()
