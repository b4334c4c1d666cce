"""`period=` of ModelCheckpoint, which Keras 3 lacks: dropped where it is 1, else kept by a class that counts epochs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords, unchanged
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Arguments, Replace
from tfmigrate.plan.keras.checkpoints import CHECKPOINT, PARAMETERS, checkpoints
from tfmigrate.plan.keras.forwarding import arguments_of, names_class
from tfmigrate.plan.keras.handed_on import Construction
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import explicit
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, FunctionValue
from tfmigrate.walk import calls_in, nodes_in

_HELPER = "PeriodicCheckpoint"


def check(context: Context) -> Iterator[CallChange]:
    """`period=1` wrote after each epoch, which is the default; a class keeps another period, which Keras 3 lacks."""
    facts, helper = context.facts, Helper.of(context.draft, _HELPER, "periodic")
    periods = context.migration.once(_periods)
    users: dict[cst.CSTNode, None] = {}
    changes: list[CallChange] = []
    for period in periods:
        if period.facts is not facts:
            continue
        if period.is_default:
            yield _dropped(period)
        elif not period.may_keep:
            yield _left(period)
        elif period.is_read_by_keras:
            subclasses = [one for one in period.subclasses if one.facts is facts and one.cls.node not in users]
            users.update(dict.fromkeys([one.cls.node for one in subclasses] if period.subclasses else [period.call]))
            changes.append(_kept(period, helper.name, subclasses))
    keeping = (period for period in periods if period.may_keep and not period.is_default)
    for subclass in (one for period in keeping for one in period.subclasses):
        if subclass.facts is facts and subclass.cls.node not in users:
            users[subclass.cls.node] = None
            changes.append(_keeping(subclass, helper.name))
    yield from helper.brought_by(users, changes) if users else changes


@dataclass(frozen=True)
class _Subclass:
    """A class of the program that names ModelCheckpoint as its base."""

    cls: ClassValue
    facts: Facts

    @property
    def bases(self) -> list[cst.BaseExpression]:
        return [arg.value for arg in self.cls.node.bases if self.facts.canonical(arg.value) == CHECKPOINT]


@dataclass(frozen=True)
class _Period:
    """A `period` that reaches ModelCheckpoint, in the last call on its way that names it."""

    call: cst.Call
    facts: Facts
    argument: cst.Arg
    objects: Sequence[Construction]
    """What begins with it."""
    subclasses: Sequence[_Subclass]
    """The classes whose objects these are, or whose subclasses'; none where Keras's own class is called."""
    may_keep: bool
    """Whether they keep periods once they descend from the class that does."""

    @property
    def is_default(self) -> bool:
        """Whether it is 1 for every object, as a number: a variable is a setting, which may be changed later."""
        given = [made.given("period") for made in self.objects]
        return all(one is not None and isinstance(one.node, cst.Integer) and _is_one(one.node) for one in given)

    @property
    def is_read_by_keras(self) -> bool:
        """Whether the call is one of ModelCheckpoint; else a class of the program hands `period` on unseen."""
        return all(made.handed is self.call for made in self.objects)


def _is_one(number: cst.Integer) -> bool:
    return number.evaluated_value == 1


def _periods(migration: Migration) -> list[_Period]:
    known = migration.once(checkpoints)
    reached: dict[cst.Call, list[Construction]] = {}
    for made in known.all():
        call = next((call for call, _ in reversed(made.calls) if _argument(call, made) is not None), None)
        if call is not None:
            reached.setdefault(call, []).append(made)
    return [_period(call, objects, migration) for call, objects in reached.items()]


def _period(call: cst.Call, objects: Sequence[Construction], migration: Migration) -> _Period:
    facts = dict(objects[0].calls)[call]
    argument = _argument(call, objects[0])
    assert argument is not None
    classes = {cls: None for made in objects if made.cls is not None for cls in made.cls.ancestors()}
    named = [_Subclass(cls, migration.facts.modules[cls.closure.module]) for cls in classes]
    subclasses = [subclass for subclass in named if subclass.bases]
    may_keep = all(len(subclass.bases) == 1 and subclass.facts.module in migration.leaving for subclass in subclasses)
    return _Period(call, facts, argument, objects, subclasses, may_keep and all(map(_leaves_counting, classes)))


def _argument(call: cst.Call, made: Construction) -> cst.Arg | None:
    """The argument of a call that is the period; by its place only where the call is one of ModelCheckpoint."""
    if call is not made.handed:
        return keywords(call).get("period") if made.given("period") is not None else None
    return dict(explicit(arguments_of(call), PARAMETERS)).get("period")


def _dropped(period: _Period) -> CallChange:
    message = "`period=1` is the default; TensorFlow 2.16 rejects the argument"
    if period.argument.keyword is not None:
        return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Revision(period.call, dropped=("period",)))
    arguments = tuple(argument for argument in unchanged(period.call.args) if argument.source is not period.argument)
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Arguments(period.call, arguments))


def _kept(period: _Period, name: str, subclasses: Sequence[_Subclass]) -> CallChange:
    """The class `name` in the place of ModelCheckpoint, also as the base of these classes."""
    message = f"ModelCheckpoint of Keras 3 has no `period`: {name} saves every {_text(period)} epochs, as it did"
    by_name = tuple(
        replace(argument, keyword="period") if argument.source is period.argument else argument
        for argument in unchanged(period.call.args)
    )
    edit = Arguments(period.call, by_name)
    if not period.subclasses:
        edit = replace(edit, function=name)
    elif names_class(period.call):
        edit = replace(edit, function=f"{name}.__init__")
    more = tuple(Replace(base, name) for subclass in subclasses for base in subclass.bases)
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, edit, more=more)


def _keeping(subclass: _Subclass, name: str) -> CallChange:
    message = f"ModelCheckpoint of Keras 3 has no `period`, which is passed on to it: {name} takes it"
    return CallChange(codes.CHECKPOINT_PERIOD, subclass.bases[0], message, Replace(subclass.bases[0], name))


def _leaves_counting(cls: ClassValue) -> bool:
    """Whether the epochs are counted in on_epoch_end() of ModelCheckpoint alone, which that of the class calls."""
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


def _left(period: _Period) -> CallChange:
    text = _text(period)
    what = (
        f"refuses `period={text}`" if period.argument.keyword is not None else f"takes `{text}` for batches, not epochs"
    )
    message = (
        f"TensorFlow 2.16 {what}: write `save_freq=`, which counts batches, as that many epochs times the steps "
        "per epoch"
    )
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, action="warn")


def _text(period: _Period) -> str:
    return period.facts.module.code(period.argument.value)
