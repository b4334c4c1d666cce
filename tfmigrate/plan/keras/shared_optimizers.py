"""One optimizer object for several models, or for weights that were frozen at first: Keras 3 builds it only once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_zero, passed_as
from tfmigrate.plan.draft import Draft
from tfmigrate.understand import names
from tfmigrate.understand.contents import opaque_sites
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.lifecycle import TRAINING, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Literal, Site


@dataclass(frozen=True)
class Shared:
    """A compile() whose optimizer was built for other weights before."""

    use: Use
    made: cst.CSTNode | None
    """The call that makes the optimizer."""
    why: str
    mend: str

    def say(self, draft: Draft) -> None:
        draft.say(codes.SHARED_OPTIMIZER, self.use.call, f"{self.why}; {self.mend}", "warn")


def say_shared_optimizers(compiles: Iterable[Use], drafts: Mapping[Module, Draft]) -> None:
    """One optimizer object, two models: Keras 3 builds it for the first one's weights alone."""
    for shared in shared_optimizers(compiles, drafts):
        shared.say(drafts[shared.use.site.frame.module])


def shared_optimizers(compiles: Iterable[Use], drafts: Mapping[Module, Draft]) -> Iterator[Shared]:
    """Each compile() but the first of an optimizer's; that of a model whose layers are no longer frozen, too."""
    first: dict[tuple[Site, cst.CSTNode | None], Use] = {}
    for use in compiles:
        draft = drafts[use.site.frame.module]
        for optimizer in use.optimizers:
            earlier = first.setdefault(optimizer, use)
            alone = earlier is use or _exclusive(earlier, use)
            if alone and _anew_in_a_loop(use, optimizer[0]):
                why = (
                    "its optimizer is created before the loop, and the model inside it: Keras 3 builds it for the "
                    "weights of the first round's model and raises ValueError (Unknown variable) in the second"
                )
                yield Shared(use, optimizer[1], why, "create it in the loop")
            if alone and _each_of_a_loop(use, optimizer[0]):
                why = "the loop compiles several models with it: Keras 3 only builds it for the weights of one of them"
                yield Shared(use, optimizer[1], why, "create it in the loop")
            slots = _made_slots_anew(optimizer, drafts)
            if alone and slots and _again_in_a_loop(use, optimizer[0], draft):
                why = f"the loop compiles the model with it again and trains it: {_ANEW}"
                yield Shared(use, optimizer[1], why, "create it in the loop")
            if alone:
                continue
            before = f"its optimizer is also that of the compile() at {earlier.place(draft.module)}"
            if earlier.call is use.call:
                before = "it uses the same optimizer each time it runs"
            if opaque_sites(earlier.receiver) != opaque_sites(use.receiver):
                why = (
                    f"{before}: Keras 3 builds it for one model's weights and raises ValueError (Unknown variable) at "
                    "the other's first step"
                )
                yield Shared(use, optimizer[1], why, "create one for each")
            elif any(earlier.line < line < use.line for line in _unfrozen(use, draft)):
                why = (
                    f"{before}, after which layers are unfrozen: Keras 3 built it for the weights that "
                    "trained before, and raises ValueError (Unknown variable) at the first step"
                )
                yield Shared(use, optimizer[1], why, "create a new one here")
            elif slots and any(earlier.line < line < use.line for line in _trained(use, draft)):
                why = f"{before}, after which the model trains: {_ANEW}"
                yield Shared(use, optimizer[1], why, "create a new one here")


_ANEW = "standalone Keras reset its momentum and averages at each compile(), and today's Keras keeps them"


def _made_slots_anew(optimizer: tuple[Site, cst.CSTNode | None], drafts: Mapping[Module, Draft]) -> bool:
    """Whether an optimizer is one of standalone Keras that keeps something of earlier steps beside their count."""
    site, maker = optimizer
    draft = drafts.get(site.frame.module)
    if draft is None or not isinstance(maker, cst.Call):
        return False
    real = draft.facts.called(maker)
    if names.flavour(real) != "keras":
        return False
    momentum = passed_as("momentum", 1, maker)
    return names.canonical(real).rpartition(".")[2].lower() != "sgd" or (
        momentum is not None and not is_zero(momentum.value)
    )


def _again_in_a_loop(use: Use, optimizer: Site, draft: Draft) -> bool:
    """Whether a loop compiles a model in every round and trains it, with an optimizer made before the loop."""
    if optimizer.frame is not use.site.frame:
        return False
    module = draft.module
    before, lines = {*module.ancestors(optimizer.unit)}, list(_trained(use, draft))
    return any(
        isinstance(loop, cst.For | cst.While) and loop not in before and _holds(loop, lines, module)
        for loop in module.ancestors(use.site.unit)
    )


def _holds(loop: cst.CSTNode, lines: Iterable[int], module: Module) -> bool:
    """Whether one of some lines stands in a loop."""
    inside = {module.position(unit)[0] for unit in module.inside(loop)}
    return not inside.isdisjoint(lines)


def _trained(use: Use, draft: Draft) -> Iterator[int]:
    """The lines of a compile()'s own function that train its model."""
    compiled = opaque_sites(use.receiver)
    for other in draft.facts.uses:
        if other.method in TRAINING and other.site.frame is use.site.frame:
            trained = opaque_sites(other.receiver)
            if (trained and trained == compiled) or not use.models.isdisjoint(other.models):
                yield draft.module.position(other.call)[0]


def _anew_in_a_loop(use: Use, optimizer: Site) -> bool:
    """Whether a loop round a compile(), or round a call that leads to it, makes the model in every round, and not the
    optimizer."""
    built = [model.site for model in use.models if model.site is not None] or opaque_sites(use.receiver)
    sites = [optimizer, *built]
    for here in use.site.chain():
        module = here.frame.module
        lifted = [site.lifted(here.frame) for site in sites]
        first, *models = [set(module.ancestors(site.unit)) if site is not None else set() for site in lifted]
        loops = (node for node in module.ancestors(here.unit) if isinstance(node, cst.For | cst.While))
        if models and any(loop not in first and all(loop in owners for owners in models) for loop in loops):
            return True
    return False


def _each_of_a_loop(use: Use, optimizer: Site) -> bool:
    """Whether a loop compiles what it goes over with one optimizer: `for model in models: model.compile(optimizer)`."""
    frame, module = use.site.frame, use.site.frame.module
    unit = next((place.unit for place in optimizer.chain() if place.frame is frame), None)
    before = set(module.ancestors(unit)) if unit is not None else set()
    receiver = use.call.func
    read = names_in(receiver.value) if isinstance(receiver, cst.Attribute) else frozenset[str]()
    return any(
        isinstance(loop, cst.For) and loop not in before and not read.isdisjoint(names_in(loop.target))
        for loop in module.ancestors(use.site.unit)
    )


def _unfrozen(use: Use, draft: Draft) -> Iterator[int]:
    """The lines of the compile()'s own function on which layers of its model may be set free to train."""
    whole = opaque_sites(use.receiver)
    for toggle in draft.facts.toggles:
        part = opaque_sites(toggle.receiver)
        if toggle.assigned != Literal(False) and part and part <= whole:
            yield draft.module.position(toggle.node)[0]


def _exclusive(use: Use, other: Use) -> bool:
    """Whether two calls stand in different arms, so that no run makes both; two runs of one function may."""
    here = {site.frame: site.unit for site in use.site.chain()}
    for site in other.site.chain():
        if site.frame in here:
            return site.frame.module.exclusive(here[site.frame], site.unit)
    return False
