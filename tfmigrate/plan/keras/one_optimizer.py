"""One optimizer whose class is known: arguments that are called otherwise or gone, and old values to write out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import libcst as cst

from tfmigrate import old_keras
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, is_zero, unchanged, with_code
from tfmigrate.plan.edits import Argument, Arguments, Remark
from tfmigrate.plan.keras import positions
from tfmigrate.plan.keras.gradient_clipping import CLIPS, bounds_of
from tfmigrate.plan.keras.old_defaults import (
    NADAM,
    PACKAGE,
    UNDER_ROOT,
    WHY_SQUARED,
    concerns,
    depends_on_version,
    story,
)
from tfmigrate.plan.names.tables import Tables
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.written import Code, as_operand

_RATES = frozenset({"learning_rate", "lr"})
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_NADAM = ("keras.optimizers.Nadam", "keras.optimizers.nadam")
_RMSPROP = ("keras.optimizers.RMSprop", "keras.optimizers.rmsprop")
_ADAGRAD = ("keras.optimizers.Adagrad", "keras.optimizers.adagrad")
_TWO_CLIPS = (
    "Keras 3 raises ValueError if more than one of clipnorm, clipvalue and global_clipnorm is given, even as 0: "
    "keep one; it clips the gradients of each replica, which Keras 2 adds up first"
)
_LARGE_EPSILON = 1e-5
"""With 1e-3 losses were 0.04 to 0.4 off after 190 steps, with 1e-7 1e-5 to 1e-4 (TFM304)."""


@dataclass(eq=False)
class Optimizer:
    """What one call is given now. Each step changes the arguments, and the next sees what the others left."""

    call: cst.Call
    real: str
    """The qualified name of its class, as the program has it."""
    facts: Facts
    settings: Settings
    tables: Tables
    tf: str
    divided: bool
    """Whether a callback does what its `decay=` did."""
    arguments: list[Argument] = field(init=False)
    """As they stand after the steps so far."""

    def __post_init__(self) -> None:
        self.arguments = list(unchanged(self.call.args))

    @cached_property
    def known(self) -> str:
        """The qualified name of its class in the Keras of today."""
        return names.canonical(self.tables.moves.moved(self.real))

    @cached_property
    def flavour(self) -> str:
        return names.flavour(self.real)

    def changes(self) -> Iterator[CallChange]:
        """The warnings first; the first of the others makes the edit of all."""
        changes = list(self._steps())
        yield from (change for change in changes if change.action == "warn")
        done = [change for change in changes if change.action != "warn"]
        if done:
            yield replace(done[0], edit=Arguments(self.call, tuple(self.arguments)))
            yield from done[1:]

    def _steps(self) -> Iterator[CallChange]:
        yield from self._renamed()
        taken = self._meanings()
        yield from self._moved_places(taken)
        yield from self._without_epsilon_none()
        given = self._given(taken)
        yield from self._without_decay()
        given |= self._by_name()
        under_root = self._epsilon_was_under_root()
        if not under_root:
            yield from self._squared_epsilon()
        yield from self._clipping()
        yield from self._old_defaults(given | {"epsilon"} if under_root else given)
        yield from self._of_nadam(given)
        yield from self._of_unknown_version(given)

    def _wants(self, code: str) -> bool:
        """Whether a rule is selected."""
        return code in self.tables.wanted

    def _by_name(self) -> set[str]:
        return {argument.keyword for argument in self.arguments if argument.keyword is not None}

    def _given(self, taken: Iterable[Sequence[str]]) -> set[str]:
        """What is passed, by name or by place; `taken`: what the places may mean."""
        given = self._by_name().union(*taken)
        if self.arguments and self.arguments[0].keyword is None:
            given.add("learning_rate")
        return given

    def _passed(self, *keywords: str) -> Argument | None:
        """The first argument that is passed by one of these names."""
        return next((argument for argument in self.arguments if argument.keyword in keywords), None)

    def _renamed(self) -> Iterator[CallChange]:
        for position, argument in enumerate(self.arguments):
            new = self.tables.of_optimizers.get(argument.keyword or "")
            if new is not None:
                self.arguments[position] = replace(argument, keyword=new)
                message = f"the argument `{argument.keyword}` is `{new}` now"
                yield CallChange(codes.RENAMED_ARGUMENTS, self.call, message)

    def _meanings(self) -> list[tuple[str, ...]]:
        """What the positional arguments may be, see positions."""
        version = self.settings.written_for(PACKAGE.get(self.flavour, ""))
        title = self.known.rsplit(".", 1)[-1].lower()
        return positions.meanings(title, self.flavour, version, self.arguments, self.facts)

    def _moved_places(self, taken: Sequence[tuple[str, ...]]) -> Iterator[CallChange]:
        """Positional arguments that have another place today get their names; so does an epsilon that may change."""
        optimizer = self.known.rsplit(".", 1)[-1]
        today = old_keras.TODAY.get(optimizer.lower())
        if not self._wants(codes.MOVED_PLACES) or not taken or today is None:
            return
        if len(taken) > 1:
            yield self._disputed_place(optimizer, taken)
            return
        (parameters,) = taken
        moved = next((n for n, name in enumerate(parameters) if today[n : n + 1] != (name,)), len(parameters))
        epsilon = parameters.index("epsilon") if "epsilon" in parameters else len(parameters)
        for place in range(min(moved, epsilon), len(parameters)):
            self.arguments[place] = replace(self.arguments[place], keyword=parameters[place])
        if moved < len(parameters):
            now = f"`{today[moved]}` is" if moved < len(today) else "none is"
            message = f"the {_ORDINALS[moved]} argument of {optimizer} was `{parameters[moved]}`, where {now} now"
            yield CallChange(codes.MOVED_PLACES, self.call, message)

    def _disputed_place(self, optimizer: str, taken: Sequence[tuple[str, ...]]) -> CallChange:
        place = positions.disputed(taken)[0]
        package, since = PACKAGE[self.flavour], ".".join(map(str, old_keras.CHANGED[self.flavour]))
        message = (
            f"the {_ORDINALS[place]} argument of {optimizer} was `{taken[0][place]}` before {package} {since} and is "
            f"`{taken[1][place]}` since, and the version this was written for is unknown: pass --from "
            f"{package}==VERSION, or pass it by name"
        )
        return CallChange(codes.MOVED_PLACES, self.call.args[place], message, action="warn")

    def _without_epsilon_none(self) -> Iterator[CallChange]:
        if not self._wants(codes.EPSILON_NONE):
            return
        for argument in list(self.arguments):
            if argument.keyword == "epsilon" and not isinstance(argument.value, str) and is_none(argument.value):
                self.arguments.remove(argument)
                message = "`epsilon=None` meant Keras's epsilon, 1e-7, which is the default now; Keras 3 fails on None"
                yield CallChange(codes.EPSILON_NONE, self.call, message)

    def _without_decay(self) -> Iterator[CallChange]:
        """`decay=d` divided the rate by 1 + d * step, as InverseTimeDecay(rate, 1, d) does, or a callback of fit()."""
        decay = self._passed("decay")
        if not self._wants(codes.OPTIMIZER_DECAY) or decay is None or isinstance(decay.value, str):
            return
        value = decay.value
        if is_zero(value):
            self.arguments.remove(decay)
            yield CallChange(codes.OPTIMIZER_DECAY, self.call, "`decay=0` no longer exists and did nothing")
        elif self.divided:
            self.arguments.remove(decay)
            message = (
                "Keras 3 ignores `decay`: a callback lowers the rate instead, and other callbacks can still set it"
            )
            yield CallChange(codes.OPTIMIZER_DECAY, self.call, message)
        else:
            yield from self._scheduled(decay, value)

    def _scheduled(self, decay: Argument, value: cst.BaseExpression) -> Iterator[CallChange]:
        """The schedule that `decay` was, in the place of the rate; nothing where no rate is known."""
        self.arguments.remove(decay)
        rate = self._passed(*_RATES)
        if rate is None and self.arguments and self.arguments[0].keyword is None:
            rate = self.arguments[0]
        rows = (row for row in self.tables.defaults if row.of == self.known and row.argument == "learning_rate")
        default = next(rows, None)
        if rate is not None and not isinstance(rate.value, str):
            base: Code = (rate.value,)
        elif default is not None:
            base = (repr(default.old),)
        else:
            self.arguments.append(decay)
            return
        schedule = (f"{self.tf}.keras.optimizers.schedules.InverseTimeDecay(", *base, ", 1, ", value, ")")
        if rate is None:
            self.arguments.append(with_code(Argument("None", "learning_rate", decay.source), schedule))
        else:
            self.arguments[self.arguments.index(rate)] = with_code(rate, schedule)
        message = "Keras 3 ignores `decay`: written out as the schedule that it was"
        yield CallChange(codes.OPTIMIZER_DECAY, self.call, message)

    def _epsilon_was_under_root(self) -> bool:
        """RMSprop of tf.keras with momentum: its kernel had epsilon where it is now (ResourceApplyRMSProp)."""
        if self.known not in _RMSPROP or self.flavour != "tf.keras":
            return False
        positional = [argument for argument in self.arguments if argument.keyword is None]
        momentum = positional[2] if len(positional) > 2 else self._passed("momentum")
        if momentum is None or isinstance(momentum.value, str):
            return False
        return not is_zero(momentum.value)

    def _squared_epsilon(self) -> Iterator[CallChange]:
        """An epsilon written out for RMSprop, or for standalone Keras's Adagrad, whose sum of squares started at 0:
        under the root its square does what it did beside the root."""
        was_beside_root = self.known in _RMSPROP or (self.known in _ADAGRAD and self.flavour == "keras")
        epsilon = self._passed("epsilon")
        if not self._wants(codes.OPTIMIZER_EPSILON) or not was_beside_root:
            return
        if epsilon is None or isinstance(epsilon.value, str):
            return
        text = epsilon.value.value if isinstance(epsilon.value, cst.Float) else "epsilon"
        number = float(text) if isinstance(epsilon.value, cst.Float) else None
        if number not in (0, 1):
            square = (*as_operand(epsilon.value), " ** 2") if number is None else repr(float(f"{number**2:.12g}"))
            self.arguments[self.arguments.index(epsilon)] = with_code(epsilon, square)
            name = self.known.rsplit(".", 1)[-1]
            name = {"rmsprop": "RMSprop", "adagrad": "Adagrad"}.get(name, name)
            message = f"{name} added epsilon to the square root and now adds it under the root: its square is written"
            why = Remark(self.call, f"{text} squared: {UNDER_ROOT}")
            yield CallChange(codes.OPTIMIZER_EPSILON, self.call, message, more=(why,))
        if number is not None and number >= _LARGE_EPSILON:
            message = (
                f"an epsilon of {text} is as large as the roots of many gradients, so its square is only an "
                f"approximation: losses may differ by a few per cent from those of old runs"
            )
            yield CallChange(codes.OPTIMIZER_EPSILON, self.call, message, action="warn")

    def _clipping(self) -> Iterator[CallChange]:
        """`clipnorm` was the norm of all gradients together, and became that of each one by itself."""
        if not self._wants(codes.GRADIENT_CLIPPING):
            return
        bounds = bounds_of(self.call, self.real, self.settings)
        for position, argument in enumerate(self.arguments):
            if argument.keyword == "clipnorm" and "global_clipnorm" in bounds:
                self.arguments[position] = replace(argument, keyword="global_clipnorm")
                message = "`clipnorm` bounded all gradients together, as `global_clipnorm` does now"
                yield CallChange(codes.GRADIENT_CLIPPING, self.call, message)
        if len([argument for argument in self.arguments if argument.keyword in CLIPS]) > 1:
            yield CallChange(codes.GRADIENT_CLIPPING, self.call, _TWO_CLIPS, action="warn")

    def _old_defaults(self, given: Set[str]) -> Iterator[CallChange]:
        """Defaults that are others today are written out as they were."""
        for default in self.tables.defaults:
            missing = default.argument not in given and not (default.argument in _RATES and given & _RATES)
            if default.of == self.known and missing and concerns(default, self.flavour, self.settings):
                self.arguments.append(Argument(repr(default.old), default.argument))
                why = (Remark(self.call, WHY_SQUARED),) if default.argument == "epsilon" else ()
                yield CallChange(self.tables.codes[default], self.call, f"{story(default)}: written out", more=why)

    def _of_nadam(self, given: Set[str]) -> Iterator[CallChange]:
        if self.known not in _NADAM or not self._wants(codes.NADAM_MOMENTUM):
            return
        if "schedule_decay" in given:
            self.arguments[:] = [argument for argument in self.arguments if argument.keyword != "schedule_decay"]
            yield CallChange(codes.NADAM_MOMENTUM, self.call, "the argument `schedule_decay` no longer exists")
        yield CallChange(codes.NADAM_MOMENTUM, self.call, NADAM, action="warn")

    def _of_unknown_version(self, given: Set[str]) -> Iterator[CallChange]:
        """A default that depends on the version the code was written for, which nothing tells."""
        for default in self.tables.defaults:
            if default.of != self.known or default.argument in given:
                continue
            if default.argument == "learning_rate" and "lr" in given:
                continue
            message = depends_on_version(default, self.flavour, self.settings)
            if message is not None:
                yield CallChange(self.tables.codes[default], self.call, message, action="warn")
