"""fit() on arrays of a program that is on a strategy already."""

from __future__ import annotations

from collections.abc import Container, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.data.arrays import Training, plan_trainings
from tfmigrate.plan.data.pipeline import takes_arrays
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.names.import_tensorflow import import_tensorflow
from tfmigrate.plan.on_strategy.scoping import Scoping
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import ModelObject


def plan_arrays_on_strategy(
    facts: ProgramFacts, drafts: Mapping[Module, Draft], apart: Container[ModelObject], moved: Set[ModelObject]
) -> None:
    """The same for a program on a strategy, whose fit() is right as it is: so only where this very rule is selected.

    `apart`: models left out; `moved`: those put into a scope just now.
    """
    scoping = Scoping(facts)
    trainings: dict[cst.Call, Training] = {}
    for use in facts.uses:
        draft = drafts[use.site.frame.module]
        if not draft.settings.asks_for(codes.ARRAYS_TO_DATASET) or any(model in apart for model in use.models):
            continue
        scoped = all(model in moved or any(map(scoping.inside, model.sites)) for model in use.models)
        if use.models and scoped and takes_arrays(use, draft.facts):
            trainings.setdefault(use.call, Training(use))
    plan_trainings(trainings.values(), drafts)
    for module in {training.use.site.frame.module for training in trainings.values()}:
        import_tensorflow(drafts[module])
