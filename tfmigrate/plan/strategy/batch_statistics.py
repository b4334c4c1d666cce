"""`train_on_batch()` of a model with BatchNormalization: Keras 3 gives each replica the whole batch, not its part."""

from __future__ import annotations

from collections.abc import Mapping

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module

_LAYER = "keras.layers.BatchNormalization"


def say_batch_statistics(placement: Placement, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Say so at the first call for each group of models, where the program has such layers."""
    known = (names.canonical(name) for module in facts.modules.values() for name in module.symbols.values())
    if _LAYER not in known:
        return
    for group in placement.owner.groups:
        first = next((use for use in group.trainings if use.method == "train_on_batch"), None)
        if first is not None:
            message = (
                "train_on_batch() of Keras 3 gives each replica the whole batch: BatchNormalization takes its mean "
                "and variance from all of it, where multi_gpu_model and Keras 2 took them from each GPU's part, and "
                "several GPUs are no faster than one; if that matters, train on Keras 2 or with fit()"
            )
            drafts[first.site.frame.module].say(codes.BATCH_STATISTICS, first.call, message, "warn")
