"""fit() on arrays becomes a tf.data pipeline with the global batch: wherever a model of an owner is trained, and where
that is asked for, in programs that are on a strategy already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import FIT, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.form import form_of
from tfmigrate.plan.data.pipeline import Names, plan_pipeline, takes_arrays
from tfmigrate.plan.data.pipeline import Pipeline as PlannedPipeline
from tfmigrate.plan.data.uneven_batches import say_uneven
from tfmigrate.plan.data.written_once import repeated
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Rank
from tfmigrate.plan.strategy.gpus import replicas
from tfmigrate.plan.strategy.instead_of import is_instead_of
from tfmigrate.plan.strategy.model_group import Group
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.settings import Pipeline
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module


@dataclass(frozen=True)
class Training:
    """A fit() on arrays under a strategy: the strategy's name and the number of its replicas, where they are known."""

    use: Use
    strategy: str | None = None
    replicas: int | None = None


def plan_arrays(owners: Iterable[Owner], drafts: Mapping[Module, Draft]) -> None:
    """The edits of each training on arrays, or in words why it keeps them."""
    owners = list(owners)
    plan_trainings(_of_owners(owners, drafts), drafts)
    say_uneven(owners, drafts)


def _of_owners(owners: Iterable[Owner], drafts: Mapping[Module, Draft]) -> Iterator[Training]:
    """The trainings of models on strategies; not those that run on one GPU instead."""
    trainings: dict[cst.Call, list[tuple[Owner, Group, Use]]] = {}
    for owner in owners:
        for group in owner.groups:
            for use in group.trainings:
                if takes_arrays(use, drafts[use.site.frame.module].facts):
                    trainings.setdefault(use.call, []).append((owner, group, use))
    for concerned in trainings.values():
        owner, group, use = concerned[0]
        over_workers = drafts[use.site.frame.module].settings.over_workers
        if not over_workers and all(_is_on_one_gpu(one, of_group) for _, of_group, one in concerned):
            continue
        alone = all(other is owner for other, _, _ in concerned)
        counts = {replicas(wrap) for wrap in group.wraps} if alone else set()
        count = next(iter(counts)) if len(counts) == 1 else None
        here = use.site.frame.function is group.owner.function and use.site.frame.module is group.owner.module
        guarded = any(wrap.guards for wrap in group.wraps)
        yield Training(use, owner.name if alone and here and not guarded else None, count)


def _is_on_one_gpu(use: Use, group: Group) -> bool:
    """Whether a fit() runs where the model is not wrapped, and its arrays can stay: `if gpus == 1: model.fit(x, y)`.

    Where the other arm of the `if` trains on the same data, both are written alike and become one.
    """
    if not all(is_instead_of(wrap, use.site) for wrap in group.wraps):
        return False
    module = use.site.frame.module
    return not any(
        other.site.frame is use.site.frame
        and module.exclusive(other.site.unit, use.site.unit)
        and _has_same_data(other, use)
        for other in group.trainings
    )


def _has_same_data(use: Use, other: Use) -> bool:
    """Whether two calls of fit() make the same pipeline."""
    first, second = ({**(named_arguments(one.call, FIT) or {})} for one in (use, other))
    return all(
        (name in first) == (name in second) and (name not in first or first[name].value.deep_equals(second[name].value))
        for name in _OF_PIPELINE
    )


_OF_PIPELINE = ("x", "y", "batch_size", "sample_weight", "shuffle", "validation_data", "validation_split")
"""What a pipeline is made of."""


def plan_trainings(trainings: Iterable[Training], drafts: Mapping[Module, Draft]) -> None:
    planned: dict[Module, list[tuple[Use, PlannedPipeline]]] = {}
    for training in trainings:
        draft = drafts[training.use.site.frame.module]
        form = form_of(training.use, drafts)
        if _keeps_arrays(form, draft):
            continue
        draft.leave(codes.ARRAYS_TO_DATASET, training.use.call)
        if draft.allows(codes.ARRAYS_TO_DATASET, training.use.call):
            pipeline = _plan_one(training, draft, form)
            if pipeline is not None:
                planned.setdefault(draft.module, []).append((training.use, pipeline))
    for module, pipelines in planned.items():
        draft = drafts[module]
        superfluous = repeated(((use, pipeline.insert) for use, pipeline in pipelines), draft)
        for _, pipeline in pipelines:
            draft.edits.extend([] if pipeline.insert in superfluous else [pipeline.insert])
            draft.edits.append(pipeline.arguments)
        gathering = [use.call for use, pipeline in pipelines if pipeline.gathers]
        if gathering:
            draft.edits.append(Helper.of(draft, _HELPER).above(gathering, Rank.PIPELINE))


def _keeps_arrays(form: Pipeline, draft: Draft) -> bool:
    """Whether the user asked for arrays and gets what arrays give: over workers they are shuffled differently."""
    return form == draft.settings.pipeline == "arrays" and not draft.settings.over_workers


_HELPER = "shuffled_batches"


def _plan_one(training: Training, draft: Draft, form: Pipeline) -> PlannedPipeline | None:
    """The pipeline of one training, reported; None where it keeps its arrays."""
    use = training.use
    over_workers = draft.settings.over_workers
    pipeline = _pipeline(training, draft, form)
    if isinstance(pipeline, str):
        message = f"fit() keeps its arrays, with the global batch size: {pipeline}"
        if over_workers:
            message = f"fit() keeps its arrays, which every worker shuffles in its own order: {pipeline}"
        draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "warn")
        return None
    message = "fit() on arrays becomes a tf.data pipeline with the global batch"
    draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "rewrite")
    return pipeline


def _pipeline(training: Training, draft: Draft, form: Pipeline) -> PlannedPipeline | str:
    if form == "arrays":
        asked = draft.settings.pipeline == "arrays"
        return "as the settings ask" if asked else "they are in a file, which a dataset would load completely"
    keep_batch = draft.settings.batch == "keep" or draft.settings.over_workers
    names = _names(training, draft, gathers=form == "gather")
    return plan_pipeline(draft.module, draft.facts, training.use, names, training.replicas, keep_batch)


def _names(training: Training, draft: Draft, gathers: bool) -> Names:
    scope = draft.scope_of(training.use.site.frame)
    return Names(
        tf=draft.tf,
        strategy=training.strategy,
        train=draft.scopes.fresh("train_dataset", scope, "training_dataset", "train_batches"),
        validation=draft.scopes.fresh("validation_dataset", scope, "val_dataset", "validation_batches"),
        batch=draft.scopes.fresh("global_batch_size", scope),
        split=draft.scopes.fresh("split_at", scope),
        arrays=draft.scopes.fresh("train_arrays", scope),
        gathering=Helper.of(draft, _HELPER).name if gathers else None,
        sharding=draft.scopes.fresh("sharding", scope) if draft.settings.over_workers else None,
    )
