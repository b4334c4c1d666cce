"""An optimizer for each model: one that several share is built for the weights of one of them alone.

Old Keras made the slots of an optimizer for each compile(), so they were never shared; its count of steps was, and its
learning rate. `type(optimizer).from_config(optimizer.get_config())` has the same settings; where the update reads the
count, a function makes it, and joins both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import given_optimizer, keywords
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.shared_optimizers import Shared, shared_optimizers
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted

_COUNTLESS = frozenset({"SGD", "RMSprop", "Adagrad", "Adadelta"})
"""Optimizers whose update does not read how many steps were made, but for their `decay`."""

_HELPER = "twin_optimizer"


@dataclass
class _Copy:
    """A compile() whose optimizer is another model's too."""

    shared: Shared
    draft: Draft
    given: cst.BaseExpression
    counts: bool = False
    """Whether one of the optimizers that it may be reads how many steps were made."""


def plan_own_optimizers(compiles: Iterable[Use], drafts: Mapping[Module, Draft]) -> None:
    """A copy for each compile() whose optimizer another model has, or in words what to do by hand."""
    copies: dict[cst.BaseExpression, _Copy] = {}
    for shared in shared_optimizers(compiles, drafts):
        draft = drafts[shared.use.site.frame.module]
        argument = given_optimizer(shared.use.call)
        if argument is None:
            shared.say(draft)
        else:
            copy = copies.setdefault(argument, _Copy(shared, draft, argument))
            copy.counts = copy.counts or _counts(shared, draft)
    helped: dict[Module, list[_Copy]] = {}
    for copy in copies.values():
        call, why = copy.shared.use.call, copy.shared.why
        text, name = dotted(copy.given), _helper(copy.draft).name
        if copy.counts:
            edit = Replace(copy.given, f"{name}({text})")
            message = f"{why}; {name}() creates a separate one; both share one step count, as in old Keras"
        else:
            edit = Replace(copy.given, f"type({text}).from_config({text}.get_config())")
            message = f"{why}; it gets its own, with the same settings"
        if copy.draft.change(codes.SHARED_OPTIMIZER, call, message, edit) and copy.counts:
            helped.setdefault(copy.draft.module, []).append(copy)
    for module, users in helped.items():
        users_here = [copy.shared.use.call for copy in users]
        drafts[module].edits.append(_helper(drafts[module]).above(users_here))


def _helper(draft: Draft) -> Helper:
    return Helper.of(draft, _HELPER, "twin")


def _counts(shared: Shared, draft: Draft) -> bool:
    """Whether the optimizer's update reads the count of steps, as far as is known."""
    maker = shared.made
    if not isinstance(maker, cst.Call):
        return True
    name = draft.facts.canonical(maker.func).rpartition(".")[2] or dotted(maker.func)
    return name not in _COUNTLESS or "decay" in keywords(maker)
