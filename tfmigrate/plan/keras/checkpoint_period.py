"""`period=` of ModelCheckpoint, which Keras 3 lacks: dropped where it is 1, else kept by a class that counts epochs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords, named_arguments, unchanged
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Arguments, Replace
from tfmigrate.plan.keras.checkpoints import (
    CHECKPOINT,
    PARAMETERS,
    descends,
    hands_on_rest,
    objects_of,
    own_class,
    passed_on,
)
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module, dotted
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import ClassValue, FunctionValue, Literal
from tfmigrate.walk import calls_in, nodes_in

_HELPER = "PeriodicCheckpoint"


def check(context: Context) -> Iterator[CallChange]:
    """`period=1` wrote after each epoch, which is the default; a class keeps another period, which Keras 3 lacks."""
    facts, helper = context.facts, Helper.of(context.draft, _HELPER, "periodic")
    helped: dict[cst.CSTNode, CallChange] = {}
    for period in _periods(facts, context.modules):
        if period.is_default(facts):
            yield _dropped(period)
        elif (change := _kept(period, helper.name, facts)) is not None:
            helped[period.cls.node if period.cls is not None else period.call] = change
        elif period.heir is None or not _may_keep(period.heir, context.modules):
            yield _left(period, facts)
    for cls in _classes(facts, context.modules):
        asked = [period for known in context.modules.values() for period in _of_heirs(known) if period.heir is cls]
        if any(not period.is_default(facts) for period in asked) and _may_keep(cls, context.modules):
            helped[cls.node] = _keeping(cls, helper.name, facts)
    yield from helper.brought_by(helped, helped.values())


@dataclass(frozen=True)
class _Period:
    """A `period` that reaches ModelCheckpoint: in a call that makes one, or in the __init__ of a class."""

    call: cst.Call
    argument: cst.Arg
    cls: ClassValue | None = None
    """The class whose __init__ the call stands in."""
    heir: ClassValue | None = None
    """The class of the program that the call makes an object of, which hands `period` on unseen."""
    given: tuple[cst.BaseExpression | None, ...] = ()
    """The `period` that each object of the class is made with; None for one that is made without."""

    def is_default(self, facts: Facts) -> bool:
        """Whether it is 1 for every object, as a number: a variable is a setting, which may be changed later."""
        value = self.argument.value
        if isinstance(value, cst.Integer):
            return value.evaluated_value == 1
        numbers = [argument.evaluated_value for argument in self.given if isinstance(argument, cst.Integer)]
        asked = [argument for argument in self.given if argument is not None]
        if self.cls is None or len(numbers) < len(asked):
            return False
        return facts.values.get(value) == Literal(1) or (numbers == [1] * len(self.given) and bool(numbers))


def _periods(facts: Facts, modules: Mapping[Module, Facts]) -> Iterator[_Period]:
    """Every `period` that reaches ModelCheckpoint from a module."""
    for call in facts.module.calls:
        if facts.canonical(call.func) == CHECKPOINT and (argument := _argument(call)) is not None:
            yield _Period(call, argument)
    yield from _of_heirs(facts)
    for cls in _classes(facts, modules):
        initialiser = cls.members.get("__init__")
        handed = passed_on(initialiser) if isinstance(initialiser, FunctionValue) else None
        argument = _argument(handed) if handed is not None else None
        if handed is not None and argument is not None:
            periods = (checkpoint.named.get("period") for checkpoint in objects_of(cls, modules.values()))
            yield _Period(handed, argument, cls, given=tuple(periods))


def _of_heirs(facts: Facts) -> Iterator[_Period]:
    """Those in calls that make an object of a class which hands `period` on unseen."""
    for call in facts.module.calls:
        if _is_plain_heir(call, facts) and (argument := _argument(call)) is not None:
            yield _Period(call, argument, heir=own_class(call, facts))


def _argument(call: cst.Call) -> cst.Arg | None:
    named = named_arguments(call, PARAMETERS)
    return None if named is None or has_stars(call) else named.get("period")


def _is_plain_heir(call: cst.Call, facts: Facts) -> bool:
    """Whether a call makes an object of a class of the program, and `period` reaches ModelCheckpoint as it is."""
    cls = own_class(call, facts)
    if cls is None or not hands_on_rest(cls):
        return False
    initialiser = cls.lookup("__init__")
    if not isinstance(initialiser, FunctionValue):
        return True
    return "period" in keywords(call) and "period" not in parameters_of(initialiser.node)


def _classes(facts: Facts, modules: Mapping[Module, Facts]) -> list[ClassValue]:
    """The classes of a module that descend from ModelCheckpoint and are used somewhere."""
    heirs = list(filter(descends, facts.classes))
    if not heirs:  # as in most modules: no calls need be read then
        return []
    used = {own_class(call, known) for known in modules.values() for call in known.module.calls}
    return [cls for cls in heirs if cls in used]


def _dropped(period: _Period) -> CallChange:
    """The change that leaves out a `period` of 1."""
    message = "`period=1` is the default; TensorFlow 2.16 rejects the argument"
    if period.argument.keyword is not None:
        return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Revision(period.call, dropped=("period",)))
    arguments = tuple(argument for argument in unchanged(period.call.args) if argument.source is not period.argument)
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Arguments(period.call, arguments))


def _kept(period: _Period, name: str, facts: Facts) -> CallChange | None:
    """The change that puts the class `name` in the place of ModelCheckpoint; None where the call, or the class round
    it, does not name ModelCheckpoint itself."""
    message = f"ModelCheckpoint of Keras 3 has no `period`: {name} saves every {_text(period, facts)} epochs, as it did"
    by_name = tuple(
        replace(argument, keyword="period") if argument.source is period.argument else argument
        for argument in unchanged(period.call.args)
    )
    if period.cls is None:
        edit = Arguments(period.call, by_name, function=name)
        return None if period.heir is not None else CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, edit)
    bases = _bases(period.cls, facts)
    if len(bases) != 1 or not _leaves_counting(period.cls):
        return None
    more = (Replace(bases[0], name),)
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Arguments(period.call, by_name), more=more)


def _bases(cls: ClassValue, facts: Facts) -> list[cst.BaseExpression]:
    return [arg.value for arg in cls.node.bases if facts.canonical(arg.value) == CHECKPOINT]


def _may_keep(cls: ClassValue, modules: Mapping[Module, Facts]) -> bool:
    """Whether a class that hands `period` on unseen keeps it once its base is the helper."""
    return len(_bases(cls, modules[cls.closure.module])) == 1 and _leaves_counting(cls)


def _keeping(cls: ClassValue, name: str, facts: Facts) -> CallChange:
    """The change that makes `name` the base of such a class."""
    base = _bases(cls, facts)[0]
    message = f"ModelCheckpoint of Keras 3 has no `period`, which is handed on to it: {name} takes it"
    return CallChange(codes.CHECKPOINT_PERIOD, base, message, Replace(base, name))


def _leaves_counting(cls: ClassValue) -> bool:
    """Whether ModelCheckpoint alone counts the epochs for a class, whose own on_epoch_end(), if any, calls super()."""
    own = cls.members.get("on_epoch_end")
    if own is None:
        return True
    if not isinstance(own, FunctionValue):
        return False
    read = {node.attr.value for node in nodes_in(cls.node, cst.Attribute)}
    called = [call.func for call in calls_in(own.node.body) if isinstance(call.func, cst.Attribute)]
    return not read & {"period", "epochs_since_last_save"} and any(
        func.attr.value == "on_epoch_end" and isinstance(func.value, cst.Call) and dotted(func.value.func) == "super"
        for func in called
    )


def _left(period: _Period, facts: Facts) -> CallChange:
    """The warning about a `period` that stays as it is."""
    text = _text(period, facts)
    what = (
        f"refuses `period={text}`" if period.argument.keyword is not None else f"takes `{text}` for batches, not epochs"
    )
    message = (
        f"TensorFlow 2.16 {what}: write `save_freq=`, which counts batches, as that many epochs times the steps in one"
    )
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, action="warn")


def _text(period: _Period, facts: Facts) -> str:
    return facts.module.code(period.argument.value)
