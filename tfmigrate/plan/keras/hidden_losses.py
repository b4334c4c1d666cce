"""Losses whose code is in a module that was not found: what they compute cannot be determined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.keras.compiled_functions import called, compiled
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk


def hidden_losses(facts: Facts, hidden: HiddenParts) -> Iterator[CallChange]:
    """Losses from an unknown module: whether they compare the samples of a batch cannot be determined. Each is reported
    once for a compile(), and not where `hidden` tells of what a lambda calls."""
    seen: set[cst.CSTNode] = {part for function in hidden.told for part in walk(function)}
    told: set[tuple[cst.Call, str]] = set()
    for use in facts.uses:
        if use.method != "compile" or not use.is_of_model:
            continue
        loss = (named_arguments(use.call, ("optimizer", "loss", "metrics", "loss_weights")) or {}).get("loss")
        words = {part for word in _words_in(loss.value) for part in walk(word)} if loss is not None else set()
        for part in walk(loss.value) if loss is not None else ():
            if part in words:
                continue
            name = facts.symbols.get(part, "") if isinstance(part, cst.Name | cst.Attribute) else ""
            if not is_out_of_sight(name) or part in seen or (use.call, name) in told:
                continue
            seen.update(walk(part))
            told.add((use.call, name))
            message = (
                f"the definition of {name} was not found beside this file, above it, or in a folder that it adds to "
                "sys.path: if it computes over the whole batch or returns one number, each replica would see only its "
                "own part, and Keras 3 would multiply the number; pass tfmigrate its file there too, or make sure that "
                "it returns one value for each sample"
            )
            yield CallChange(codes.BATCH_LOSS, part, message, action="warn")


class HiddenParts:
    """Losses that call functions from unknown modules, and that are not known to compute over the whole batch. Each is
    told where it is first compiled."""

    def __init__(self, facts: Facts, modules: Mapping[Module, Facts]) -> None:
        reader = Reader(modules)
        self.told: dict[cst.CSTNode, tuple[cst.BaseExpression, FunctionValue, list[str]]] = {}
        """Of each function where it is compiled, and what it calls."""
        for shown in compiled(facts):
            functions = [value for value in ordered(shown.values) if isinstance(value, FunctionValue)]
            if shown.is_metric or any(map(reader.mixes_samples, functions)):
                continue
            hidden = [(function, names) for function in functions if (names := reader.out_of_sight(function))]
            for function, names in hidden[:1]:
                self.told.setdefault(function.node, (shown.node, function, names))

    def changes(self) -> Iterator[CallChange]:
        for node, function, hidden in self.told.values():
            listed = " and ".join(f"{name}()" for name in hidden)
            found = "definition was" if len(hidden) == 1 else "definitions were"
            message = (
                f"{called(function)} calls {listed}, whose {found} not found beside this file, above it, or in "
                "a folder that it adds to sys.path: if that computes over the whole batch or returns one number, each "
                "replica would see only its own part, and Keras 3 would multiply the number; pass tfmigrate its file "
                "there too, or make sure that it returns one value for each sample"
            )
            yield CallChange(codes.BATCH_LOSS, node, message, action="warn")


def _words_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What only says which loss is taken: `name` in `getattr(losses, name)` and `LOSSES[name]`."""
    for part in walk(node):
        if isinstance(part, cst.Subscript):
            yield from part.slice
        elif isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value == "getattr":
            yield from part.args[1:2]
