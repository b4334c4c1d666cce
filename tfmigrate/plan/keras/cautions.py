"""What a migrated program should know beside its edits: where Keras 3, or a file of an old run, is not what it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.draft import Draft
from tfmigrate.understand import names
from tfmigrate.understand.alternatives import Step, are_alternatives, steps_to
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.lifecycle import LOADING, SAVING, TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.program import Module, Unit
from tfmigrate.understand.values import (
    ClassValue,
    FunctionValue,
    Literal,
    ModelObject,
    Parallel,
    Site,
    Sites,
    Value,
    options,
)
from tfmigrate.walk import walk


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
                yield Shared(use, optimizer[1], why, "make it in the loop")
            if alone and _each_of_a_loop(use, optimizer[0]):
                why = "the loop compiles several models with it: Keras 3 builds it for the weights of one of them alone"
                yield Shared(use, optimizer[1], why, "make it in the loop")
            if alone:
                continue
            before = f"its optimizer is also that of the compile() at {earlier.place(draft.module)}"
            if opaque_sites(earlier.receiver) != opaque_sites(use.receiver):
                why = (
                    f"{before}: Keras 3 builds it for one model's weights and raises ValueError (Unknown variable) at "
                    "the other's first step"
                )
                yield Shared(use, optimizer[1], why, "make one for each")
            elif any(earlier.line < line < use.line for line in _unfrozen(use, draft)):
                why = (
                    f"{before}, after which layers are unfrozen: Keras 3 built it for the weights that "
                    "trained before, and raises ValueError (Unknown variable) at the first step"
                )
                yield Shared(use, optimizer[1], why, "make a new one here")


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
    """Whether two calls stand in different arms, so that no run makes both."""
    module = use.site.frame.module
    return module is other.site.frame.module and module.exclusive(use.site.unit, other.site.unit)


def say_files_of_old_runs(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Files that the parallel model wrote, and those that a template wrote whose clone was trained."""
    if wrap.cpu_relocation:
        drafts[wrap.site.frame.module].say(
            codes.RELOCATED_TEMPLATE,
            wrap.call,
            "cpu_relocation=True trained a clone: what was saved from the template had untrained weights, "
            f"and will have the trained ones now{_begun_with(wrap, facts)}",
            "warn",
        )
    for use in facts.uses:
        if wrap.wrapper_class is not None and _has_own(wrap.wrapper_class, use.method):
            continue  # Its files are the template's already.
        if _is_on_the_other_side(use, wrap):
            continue
        if use.method in SAVING | {"load_weights"} and wrap.may_make(use.receiver):
            drafts[use.site.frame.module].say(
                codes.PARALLEL_CHECKPOINT,
                use.call,
                f"{use.method}() was called on the parallel model, whose files nest the model as one layer; the "
                "plain model neither writes nor reads that layout, so files of old runs need converting",
                "warn",
            )


def _begun_with(wrap: Wrap, facts: ProgramFacts) -> str:
    """The weights that training begins with now, in words, where the clone began with new ones instead."""
    here, known = wrap.site.frame.module, models_of(wrap.template)
    parts = _with_own_weights(known)
    trained = next((number for number, use in enumerate(facts.uses) if _trains(use, wrap)), None)
    told = [
        f"{use.method}() at {use.place(here)}"
        for use in facts.uses[:trained]
        if use.method in LOADING | TRAINING and not parts.isdisjoint(options(use.receiver))
    ]
    told += [
        f"{model.maker.rpartition('.')[2]}() at {model.site.frame.module.place(model.site.unit, here)}"
        for model in facts.models
        if model in parts and _has_weights(model)
    ]
    if told:
        return f"; the clone began with new weights, and training now goes on from those of {told[0]}"
    if known:
        return ""
    return "; the clone began with new weights: if the template was given others before, training now goes on from them"


def _with_own_weights(models: Set[ModelObject]) -> frozenset[Value]:
    """These models and those they are built on; what a copy was made from has weights of its own."""
    pending, parts = [*models], set[Value]()
    while pending:
        model = pending.pop()
        if model not in parts:
            parts.add(model)
            pending.extend(model.on if model.origin != "loaded" else ())
    return frozenset(parts)


def _trains(use: Use, wrap: Wrap) -> bool:
    """Whether a call trains the parallel model."""
    return use.method in TRAINING and wrap.may_make(use.receiver)


def _has_weights(model: ModelObject) -> bool:
    """Whether a model is made with weights from a file."""
    if model.origin == "loaded":
        return model.maker.endswith("load_model")
    weights = keywords(model.node).get("weights") if isinstance(model.node, cst.Call) else None
    return model.origin == "a pretrained network" and (weights is None or not is_none(weights.value))


def _is_on_the_other_side(use: Use, wrap: Wrap) -> bool:
    """Whether a call stands in the arm of a later `if` with the wrap's own test, in which nothing was wrapped."""
    return any(
        isinstance(owner, cst.If)
        and isinstance(guard.node, cst.If)
        and owner.test.deep_equals(guard.node.test)
        and (block is owner.body) != (guard.arm == "body")
        for guard in wrap.guards
        for owner, block in use.site.frame.module.arms(use.site.unit)
    )


def _has_own(cls: ClassValue, method: str) -> bool:
    """Whether a class that wraps a parallel model answers a method itself, by that name or in __getattribute__."""
    if cls.lookup(method) is not None:
        return True
    chooser = cls.lookup("__getattribute__")
    strings = walk(chooser.node) if isinstance(chooser, FunctionValue) else ()
    return any(
        isinstance(part, cst.SimpleString) and bool(part.raw_value) and part.raw_value in method for part in strings
    )


def say_undefined(wrap: Wrap, draft: Draft) -> None:
    """A call of multi_gpu_model that nothing imports."""
    if draft.facts.symbols.get(wrap.call.func) == names.UNDEFINED:
        draft.say(
            codes.UNDEFINED_NAME,
            wrap.call,
            "nothing defines multi_gpu_model here, so this line raised a NameError: it is taken for Keras's",
            "warn",
        )
