"""Warnings about models whose `trainable` Keras 3 reads at another time, and about a function that nothing imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.understand import names
from tfmigrate.understand.alternatives import Step, are_alternatives, steps_to
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import TRAINING, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import ModelObject, Parallel, Sites, Value, options


def say_trainable_toggles(
    compiles: Iterable[Use], trainings: Iterable[Use], drafts: Mapping[Module, Draft], mended: Set[ModelObject]
) -> None:
    """`critic.trainable = False` before a combined model's compile(): Keras 3 reads it at every step instead.

    `compiles` and `trainings`: the calls of the models under one strategy; where the program trains something unknown,
    each of them may be trained. `mended`: parts for which it is set at each step.
    """
    shared = _parts_of_others(_compiled_to_train(compiles, trainings, drafts))
    for draft in drafts.values():
        for toggle in draft.facts.toggles:
            models = models_of(toggle.receiver)
            if models and models <= mended:
                continue
            if any(_places(opaque_sites(template)) in shared for _, template in _options(toggle.receiver)):
                draft.say(
                    codes.TRAINABLE_TOGGLE,
                    toggle.node,
                    "both this model and one built on it are compiled and trained: Keras 3 reads `trainable` at "
                    "each step, not at compile(); set it before every train_on_batch() of either",
                    "warn",
                )


def _compiled_to_train(
    compiles: Iterable[Use], trainings: Iterable[Use], drafts: Mapping[Module, Draft]
) -> list[_Called]:
    """The models that are compiled and may be trained."""
    trained = {model.places for use in trainings for model in _each(use)}
    uses = [use for draft in drafts.values() for use in draft.facts.uses if use.method in TRAINING]
    unsure = not all(any(True for _ in _each(use)) for use in uses)
    return [model for use in compiles for model in _each(use) if unsure or model.places in trained]


def _parts_of_others(models: Sequence[_Called]) -> set[_Places]:
    """The places of those that another one is built on in the same run."""
    return {
        part.places
        for part in models
        for whole in models
        if part.places < whole.places and not are_alternatives(part.steps, whole.steps, part.sites)
    }


_Places = frozenset[tuple[Module, Unit]]


@dataclass(frozen=True)
class _Called:
    """One model that a method may be called on."""

    sites: Sites
    steps: tuple[Step, ...]
    """Where the call, the wrap and what makes the model stand."""

    @property
    def places(self) -> _Places:
        return _places(self.sites)


def _each(use: Use) -> Iterator[_Called]:
    """The models that a use may be of, where it is known what they are made of."""
    for option, template in _options(use.receiver):
        steps = [*steps_to(use.site, use.call)]
        if isinstance(option, Parallel):
            steps.extend(steps_to(option.wrap.site, option.wrap.call))
        if isinstance(template, ModelObject):
            steps.extend(steps_to(template.site, template.node))
        if sites := opaque_sites(template):
            yield _Called(sites, tuple(steps))


def _options(model: Value) -> Iterator[tuple[Value, Value]]:
    """What a model may be, with its template: itself where it is not parallel."""
    for option in options(model):
        for template in options(option.wrap.template) if isinstance(option, Parallel) else (option,):
            yield option, template


def _places(sites: Sites) -> _Places:
    """The places, whoever calls the function: a getter that builds a model at its first call has many sites."""
    return frozenset((site.frame.module, site.unit) for site in sites)


def say_undefined(wrap: Wrap, draft: Draft) -> None:
    """A call of multi_gpu_model that nothing imports."""
    if draft.facts.called(wrap.call) == names.UNDEFINED:
        draft.say(
            codes.UNDEFINED_NAME,
            wrap.call,
            "nothing defines multi_gpu_model here, so this line raised a NameError: treated as Keras's function",
            "warn",
        )
