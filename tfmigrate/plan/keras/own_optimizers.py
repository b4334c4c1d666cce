"""An optimizer for each model: one that several share is built for the weights of one of them alone.

`type(optimizer).from_config(optimizer.get_config())` has the same settings. Old Keras made the slots of an optimizer
for each compile(), so they were never shared; only its count of steps was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.cautions import Shared, shared_optimizers
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.program import Module, dotted

_COUNTS = frozenset({"Adam", "Adamax", "Nadam"})
"""Optimizers whose update reads how many steps were made."""


def plan_own_optimizers(compiles: Iterable[Use], drafts: Mapping[Module, Draft]) -> None:
    """A copy for each compile() whose optimizer another model has, or in words what to do by hand."""
    done: set[cst.BaseExpression] = set()
    for shared in shared_optimizers(compiles, drafts):
        draft = drafts[shared.use.site.frame.module]
        given = _given(shared.use.call)
        if given is None:
            draft.say(codes.SHARED_OPTIMIZER, shared.use.call, f"{shared.why}; {shared.mend}", "warn")
        elif given not in done and draft.wanted(codes.SHARED_OPTIMIZER, shared.use.call):
            done.add(given)
            text = dotted(given)
            draft.edits.append(Replace(given, f"type({text}).from_config({text}.get_config())"))
            message = f"{shared.why}; it gets one of its own, with the same settings{_note(shared, draft)}"
            draft.say(codes.SHARED_OPTIMIZER, shared.use.call, message, "rewrite")


def _given(call: cst.Call) -> cst.BaseExpression | None:
    """What compile() is given as its optimizer, where that is a name or an attribute."""
    argument = keywords(call).get("optimizer") or next(iter(call.args), None)
    plain = argument is not None and not argument.star and (argument.keyword is None or "optimizer" in keywords(call))
    return argument.value if argument is not None and plain and dotted(argument.value) else None


def _note(shared: Shared, draft: Draft) -> str:
    """What is not as before with a count of steps for each model."""
    made = shared.made
    if not isinstance(made, cst.Call):
        return ""
    name = names.canonical(draft.facts.symbols.get(made.func, "")).rpartition(".")[2] or dotted(made.func)
    if name in _COUNTS or "decay" in keywords(made):
        return "; both counted their steps together, so the first steps differ a little"
    return ""
