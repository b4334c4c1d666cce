"""ModelCheckpoint and the classes of a program that descend from it: what each call of them passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import keywords, named_arguments
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.program import dotted
from tfmigrate.understand.reaching import bound
from tfmigrate.understand.values import ClassValue, FunctionValue, Symbol, Value
from tfmigrate.walk import calls_in

CHECKPOINT = "keras.callbacks.ModelCheckpoint"
PARAMETERS = (
    "filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period",
)  # fmt: skip
"""Of ModelCheckpoint, in order, in every Keras 2; the last is `save_freq` in Keras 3."""


@dataclass(frozen=True)
class Checkpoint:
    """One call that makes a ModelCheckpoint, with its arguments by their names there."""

    call: cst.Call
    named: Mapping[str, cst.BaseExpression]
    """What is passed, or is a default of the program's own class."""


def checkpoints(facts: Facts) -> Iterator[Checkpoint]:
    """Every call in a module that makes one and shows all that it passes."""
    for call in facts.module.calls:
        cls = own_class(call, facts)
        if facts.canonical(call.func) == CHECKPOINT or cls is not None:
            named = _named(call, cls)
            if named is not None:
                yield Checkpoint(call, named)


def objects_of(cls: ClassValue, modules: Iterable[Facts]) -> list[Checkpoint]:
    """What makes the objects of a class of the program; empty where a call of it hides what it passes."""
    calls = [call for facts in modules for call in facts.module.calls if own_class(call, facts) is cls]
    made = [Checkpoint(call, known) for call in calls if (known := _named(call, cls)) is not None]
    return made if len(made) == len(calls) else []


def _named(call: cst.Call, cls: ClassValue | None) -> dict[str, cst.BaseExpression] | None:
    """What a call passes to ModelCheckpoint, through the __init__ of a class of the program; None if some is hidden."""
    method = cls.lookup("__init__") if cls is not None else None
    if isinstance(method, FunctionValue):
        initialiser = Initialiser.of(method)
        return initialiser.passed(call) if initialiser is not None else None
    plain = named_arguments(call, PARAMETERS)
    return None if plain is None else {name: arg.value for name, arg in plain.items()}


@dataclass(frozen=True)
class Initialiser:
    """The __init__ of a class of the program, with the call in it of that of ModelCheckpoint."""

    method: FunctionValue
    handed: cst.Call

    @classmethod
    def of(cls, value: Value | None) -> Initialiser | None:
        if not isinstance(value, FunctionValue) or not positional(value.node.params):
            return None
        handed = passed_on(value)
        return cls(value, handed) if handed is not None else None

    @property
    def own(self) -> str:
        """What it calls its object."""
        return positional(self.method.node.params)[0].name.value

    def hands_on(self, star: str) -> bool:
        """Whether it passes on what it is given beyond its own parameters: by place for "*", by name for "**"."""
        params = self.method.node.params
        rest = params.star_arg if star == "*" else params.star_kwarg
        name = rest.name.value if isinstance(rest, cst.Param) else None
        return any(arg.star == star and dotted(arg.value) == name for arg in self.handed.args)

    def passed(self, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
        """What a call that makes an object passes through it, by the names there; None where some is hidden."""
        params = self.method.node.params
        places = [param.name.value for param in positional(params)[1:]]
        declared = {param.name.value: param.default for param in (*positional(params)[1:], *params.kwonly_params)}
        named = keywords(call) if self.hands_on("**") else {}
        rest = {name: arg for name, arg in named.items() if name not in declared}
        unnamed = [arg for arg in call.args if arg.keyword is None and not arg.star]
        more = unnamed[len(places) :] if self.hands_on("*") else []
        own = bound([arg for arg in call.args if arg not in more and arg not in rest.values()], places)
        if own is None:
            return None
        given = {name: own[name].value if name in own else default for name, default in declared.items()}
        known = {**given, **{name: arg.value for name, arg in rest.items()}, **self._handed(given, more)}
        return {name: value for name, value in known.items() if value is not None}

    def _handed(
        self, given: Mapping[str, cst.BaseExpression | None], more: Sequence[cst.Arg]
    ) -> dict[str, cst.BaseExpression | None]:
        """What its own call passes, with `more` for `*args`: a parameter stands for what is passed for it, and whatever
        else it says for itself. None for a parameter that nothing is passed for."""
        written = [one for arg in self.handed.args if arg.star != "**" for one in (more if arg.star else [arg])]
        known: dict[str, cst.BaseExpression | None] = {}
        for name, arg in (bound(written, PARAMETERS) or {}).items():
            own = arg not in more and isinstance(arg.value, cst.Name) and arg.value.value in given
            known[name] = given[dotted(arg.value)] if own else arg.value
        return known


def own_class(call: cst.Call, facts: Facts) -> ClassValue | None:
    """The class of the program that a call makes an object of, where that descends from ModelCheckpoint."""
    classes = [option for option in facts.options(call.func) if isinstance(option, ClassValue)]
    return classes[0] if len(classes) == 1 and descends(classes[0]) else None


def descends(value: Value) -> bool:
    if isinstance(value, Symbol):
        return names.canonical(value.name) == CHECKPOINT
    return isinstance(value, ClassValue) and any(descends(base) for base in value.bases)


def passed_on(initialiser: FunctionValue) -> cst.Call | None:
    """The call of ModelCheckpoint's own __init__ in that of a class that descends from it."""
    for call in calls_in(initialiser.node.body):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "__init__":
            return call if isinstance(call.func.value, cst.Call) else None
    return None


def hands_on_rest(cls: ClassValue) -> bool:
    """Whether the __init__ of a class passes on to that of Keras all keywords that it does not name itself."""
    method = cls.lookup("__init__")
    initialiser = Initialiser.of(method)
    return not isinstance(method, FunctionValue) or (initialiser is not None and initialiser.hands_on("**"))
