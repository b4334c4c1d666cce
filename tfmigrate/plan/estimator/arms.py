"""What a model function builds in arms for single modes: `if mode == TRAIN: logits = model(x, training=True)`.

The graphs of TensorFlow 1 shared their variables by name, so arms that say the same built the same network. A Keras
model is built once, as the arm for training says, where each other mode says the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.estimator.things import TRAIN, Choice, Tensor, Thing
from tfmigrate.walk import nodes_in, words_in
from tfmigrate.written import Written

TRAINING = frozenset({"training", "is_training", "train", "is_train"})
"""Words for a parameter that says whether this is training."""


@dataclass(frozen=True)
class _Step:
    """Something that an arm builds."""

    function: cst.FunctionDef
    target: str
    code: str
    read: frozenset[str]
    """The names in it."""
    node: cst.CSTNode
    thing: Thing

    def says_as(self, other: _Step) -> bool:
        return (self.function, self.target, self.code) == (other.function, other.target, other.code)


@dataclass
class Arms:
    """What the modes build, each for itself."""

    _built: dict[str, list[_Step]] = field(default_factory=dict)
    _settings: dict[str, dict[tuple[cst.FunctionDef, str], cst.BaseExpression]] = field(default_factory=dict)
    """The mode -> the plain value that it gives to each name of a function."""

    def build(
        self, modes: Iterable[str], function: cst.FunctionDef, target: str, value: cst.BaseExpression, thing: Thing
    ) -> None:
        """Note a tensor or layer that stands in a function, in an arm for these modes."""
        read = frozenset(words_in(value))
        step = _Step(function, target, _without_training(value), read, value, thing)
        for mode in modes:
            self._built.setdefault(mode, []).append(step)

    def bind(
        self, modes: Iterable[str], function: cst.FunctionDef, targets: Iterable[str], value: cst.BaseExpression
    ) -> None:
        """Note a plain value."""
        for mode in modes:
            self._settings.setdefault(mode, {}).update({(function, target): value for target in targets})

    def choices(self, modes: Collection[str], function: cst.FunctionDef) -> Iterator[tuple[str, Choice]]:
        """The names of a function to which the modes gave several plain values."""
        own = {name for mode in modes for place, name in self._settings.get(mode, {}) if place is function}
        for name in sorted(own):
            values = tuple((mode, self._settings.get(mode, {}).get((function, name))) for mode in sorted(modes))
            texts = {None if value is None else _without_training(value) for _, value in values}
            if len(texts) > 1:
                yield name, Choice(values)

    def odd_one(self, modes: Iterable[str]) -> cst.CSTNode | None:
        """Something that one of these modes builds, and training does not, or the other way round."""
        trained = self._built.get(TRAIN, [])
        for mode in modes:
            own = self._built.get(mode, [])
            for step, other in zip(own, trained, strict=False):
                own_names = [(step.function, name) for name in step.read]
                alike = all(self._setting(mode, name) == self._setting(TRAIN, name) for name in own_names)
                if not step.says_as(other) or not alike:
                    return step.node
            if len(own) != len(trained):
                return max(own, trained, key=len)[min(len(own), len(trained))].node
        return None

    def _setting(self, mode: str, name: tuple[cst.FunctionDef, str]) -> str | None:
        value = self._settings.get(mode, {}).get(name)
        return None if value is None else _without_training(value)

    def in_training(self) -> Mapping[cst.CSTNode, cst.BaseExpression]:
        """The node of a tensor that an arm builds -> that of the same tensor in training."""
        trained = self._built.get(TRAIN, [])
        return {
            step.thing.node: other.thing.node
            for own in self._built.values()
            for step, other in zip(own, trained, strict=False)
            if isinstance(step.thing, Tensor) and isinstance(other.thing, Tensor)
        }


def _without_training(node: cst.BaseExpression) -> str:
    """The code of an expression, without what it says of training in arguments of those names."""
    told = [arg.value for arg in nodes_in(node, cst.Arg) if arg.keyword is not None and arg.keyword.value in TRAINING]
    return "".join(Written.at(node, {value: Written.of("_") for value in told}).text.split())
