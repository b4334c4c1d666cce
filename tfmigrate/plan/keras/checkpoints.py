"""ModelCheckpoint and the classes of a program that descend from it: what each call of them passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_flag, keywords, named_arguments, unchanged
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Arguments, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module, dotted
from tfmigrate.understand.reaching import bound
from tfmigrate.understand.values import ClassValue, FunctionValue, Literal, Symbol, Value
from tfmigrate.walk import calls_in, nodes_in

CHECKPOINT = "keras.callbacks.ModelCheckpoint"
PARAMETERS = (
    "filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period",
)  # fmt: skip
"""Of ModelCheckpoint, in order, in every Keras 2; the last is `save_freq` in Keras 3."""
_HELPER = "PeriodicCheckpoint"


@dataclass(frozen=True)
class Checkpoint:
    """One call that makes a ModelCheckpoint, with its arguments by their names there."""

    call: cst.Call
    named: Mapping[str, cst.BaseExpression]
    """What is passed, or is a default of the program's own class."""


def checkpoints(facts: Facts) -> Iterator[Checkpoint]:
    """Every call in a module that makes one and shows all that it passes."""
    for call in facts.module.calls:
        cls = _own_class(call, facts)
        if facts.canonical(call.func) == CHECKPOINT or cls is not None:
            named = _named(call, cls)
            if named is not None:
                yield Checkpoint(call, named)


def objects_of(cls: ClassValue, modules: Iterable[Facts]) -> list[Checkpoint]:
    """What makes the objects of a class of the program; empty where a call of it hides what it passes."""
    calls = [call for facts in modules for call in facts.module.calls if _own_class(call, facts) is cls]
    made = [Checkpoint(call, known) for call in calls if (known := _named(call, cls)) is not None]
    return made if len(made) == len(calls) else []


def _named(call: cst.Call, cls: ClassValue | None) -> dict[str, cst.BaseExpression] | None:
    """What a call passes to ModelCheckpoint, through the __init__ of a class of the program; None if some is hidden."""
    initialiser = cls.lookup("__init__") if cls is not None else None
    if cls is None or not isinstance(initialiser, FunctionValue):
        plain = named_arguments(call, PARAMETERS)
        return None if plain is None else {name: arg.value for name, arg in plain.items()}
    handed = passed_on(initialiser)
    declared = {param.name.value: param.default for param in initialiser.node.params.params[1:]}
    rest = {name: arg for name, arg in keywords(call).items() if name not in declared and hands_on_rest(cls)}
    places = [arg for arg in call.args if arg.keyword is None and not arg.star]
    more = places[len(declared) :] if handed is not None and _hands_on_places(initialiser, handed) else []
    own = bound([arg for arg in call.args if arg not in more and arg not in rest.values()], list(declared))
    if own is None or handed is None:
        return None
    given = {name: own[name].value if name in own else default for name, default in declared.items()}
    written = [one for arg in handed.args if arg.star != "**" for one in (more if arg.star else [arg])]
    passed = bound(written, PARAMETERS) or {}
    taken = {name: arg.value for name, arg in passed.items() if arg in more}
    theirs = {name: arg.value for name, arg in passed.items() if arg not in more}
    ours = {name: given.get(value.value) for name, value in theirs.items() if isinstance(value, cst.Name)}
    fixed = {name: value for name, value in theirs.items() if is_flag(value)}
    known = {**given, **{name: arg.value for name, arg in rest.items()}, **taken, **ours, **fixed}
    return {name: value for name, value in known.items() if value is not None}


def _own_class(call: cst.Call, facts: Facts) -> ClassValue | None:
    """The class of the program that a call makes an object of, where that descends from ModelCheckpoint."""
    classes = [option for option in facts.options(call.func) if isinstance(option, ClassValue)]
    return classes[0] if len(classes) == 1 and _descends(classes[0]) else None


def _descends(value: Value) -> bool:
    if isinstance(value, Symbol):
        return names.canonical(value.name) == CHECKPOINT
    return isinstance(value, ClassValue) and any(_descends(base) for base in value.bases)


def passed_on(initialiser: FunctionValue) -> cst.Call | None:
    """The call of ModelCheckpoint's own __init__ in that of a class that descends from it."""
    for call in calls_in(initialiser.node.body):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__":
            return call if isinstance(call.func.value, cst.Call) else None
    return None


def _hands_on_places(initialiser: FunctionValue, handed: cst.Call) -> bool:
    """Whether an __init__ passes on what it is given by place beyond its own parameters."""
    rest = initialiser.node.params.star_arg
    name = rest.name.value if isinstance(rest, cst.Param) else None
    return any(arg.star == "*" and dotted(arg.value) == name for arg in handed.args)


def hands_on_rest(cls: ClassValue) -> bool:
    """Whether the __init__ of a class passes on to that of Keras all keywords that it does not name itself."""
    initialiser = cls.lookup("__init__")
    if not isinstance(initialiser, FunctionValue):
        return True
    rest, handed = initialiser.node.params.star_kwarg, passed_on(initialiser)
    if rest is None or handed is None:
        return False
    return any(arg.star == "**" and dotted(arg.value) == rest.name.value for arg in handed.args)


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
    """What the objects of the class are made with."""

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
    for call in facts.module.calls:
        if _is_plain_heir(call, facts) and (argument := _argument(call)) is not None:
            yield _Period(call, argument, heir=_own_class(call, facts))


def _argument(call: cst.Call) -> cst.Arg | None:
    named = named_arguments(call, PARAMETERS)
    return None if named is None or has_stars(call) else named.get("period")


def _is_plain_heir(call: cst.Call, facts: Facts) -> bool:
    """Whether a call makes an object of a class of the program, and `period` reaches ModelCheckpoint as it is."""
    cls = _own_class(call, facts)
    if cls is None or not hands_on_rest(cls):
        return False
    initialiser = cls.lookup("__init__")
    declared = initialiser.node.params.params if isinstance(initialiser, FunctionValue) else ()
    return not declared or ("period" in keywords(call) and "period" not in [param.name.value for param in declared])


def _classes(facts: Facts, modules: Mapping[Module, Facts]) -> list[ClassValue]:
    """The classes of a module that descend from ModelCheckpoint and are used somewhere."""
    heirs = list(filter(_descends, facts.classes))
    if not heirs:  # as in most modules: no calls need be read then
        return []
    used = {_own_class(call, known) for known in modules.values() for call in known.module.calls}
    return [cls for cls in heirs if cls in used]


def _dropped(period: _Period) -> CallChange:
    message = "`period=1` is the default; TensorFlow 2.16 rejects the argument"
    if period.argument.keyword is not None:
        return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Revision(period.call, dropped=("period",)))
    arguments = tuple(argument for argument in unchanged(period.call.args) if argument.source is not period.argument)
    return CallChange(codes.CHECKPOINT_PERIOD, period.argument, message, Arguments(period.call, arguments))


def _kept(period: _Period, name: str, facts: Facts) -> CallChange | None:
    """The class `name` in the place of ModelCheckpoint; None where that is not what is made, or called."""
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
    """Whether a class that hands on what it does not name keeps periods once it descends from the other one."""
    return len(_bases(cls, modules[cls.closure.module])) == 1 and _leaves_counting(cls)


def _keeping(cls: ClassValue, name: str, facts: Facts) -> CallChange:
    base = _bases(cls, facts)[0]
    message = f"ModelCheckpoint of Keras 3 has no `period`, which is handed on to it: {name} takes it"
    return CallChange(codes.CHECKPOINT_PERIOD, base, message, Replace(base, name))


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


def _left(period: _Period, facts: Facts) -> CallChange:
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
