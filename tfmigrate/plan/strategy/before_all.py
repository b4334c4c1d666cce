"""A strategy over several machines is made before any operation: where that is, and what prevents it."""

from __future__ import annotations

import libcst as cst

from tfmigrate.importing import LIBRARIES
from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import is_of_the_program, options
from tfmigrate.walk import calls_in

_SETTING_UP = frozenset({"config", "ConfigProto", "logging", "set_session", "Session", "environ", "GPUOptions"})


def place_of_strategy(draft: Draft, last: Unit) -> Unit:
    """The statement of the module's top level before which the strategy must be made: no operation may come first.

    It is the first that calls TensorFlow, Keras or a function of the program, other than to set devices up; or the one
    that `last`, where the model is built, stands in.
    """
    outermost = [last, *draft.module.ancestors(last)][-1]
    for unit in draft.module.tree.body:
        if not _only_defines(unit):
            if unit is outermost or any(_may_compute(call, draft) for call in calls_in(unit)):
                return unit
    return outermost  # type: ignore[return-value]


def _only_defines(unit: cst.CSTNode) -> bool:
    return isinstance(unit, cst.FunctionDef | cst.ClassDef)


def _may_compute(call: cst.Call, draft: Draft) -> bool:
    name = draft.facts.called(call).split(".")
    if name[0] in LIBRARIES:
        return not _SETTING_UP.intersection(name)
    value = draft.facts.values.get(call.func)
    return value is not None and any(is_of_the_program(option) for option in options(value))


def devices_problem(draft: Draft, place: Unit) -> Refusal | None:
    """Devices that are set up after the strategy is made, which TensorFlow refuses."""
    module = draft.module
    before = module.tree.body[: module.places[place].index]
    early = {call for unit in before if not _only_defines(unit) for call in calls_in(unit)}
    for call in module.calls:
        name = draft.facts.called(call)
        if name.startswith("tensorflow.config.") and ".set_" in name and call not in early:
            return Refusal(
                codes.DEVICES_TOO_LATE,
                f"{dotted(call.func)}() at {module.place(call, module)} would come after the strategy, which must be "
                f"created before everything else on several machines, at {module.place(place, module)}: move it up",
            )
    return None
