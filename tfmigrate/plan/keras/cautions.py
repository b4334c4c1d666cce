"""What a migrated program should know beside its edits: where Keras 3, or a file of an old run, is not what it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords, passed_as
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import concerns
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand import names
from tfmigrate.understand.alternatives import Step, are_alternatives, steps_to
from tfmigrate.understand.carrier import names_in
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import INFERENCE, LOADING, SAVING, TRAINING, Facts, ProgramFacts, Use, Wrap
from tfmigrate.understand.program import Module, Unit
from tfmigrate.understand.values import (
    ClassValue,
    FunctionValue,
    Literal,
    Method,
    ModelObject,
    Parallel,
    Parameter,
    Site,
    Sites,
    Symbol,
    Value,
    is_tensor,
    options,
    ordered,
)
from tfmigrate.walk import calls_in, walk


def say_trainable_toggles(
    compiles: Iterable[Use], trainings: Iterable[Use], drafts: Mapping[Module, Draft], mended: Set[ModelObject]
) -> None:
    """`critic.trainable = False` before a combined model's compile(): Keras 3 reads it at every step instead.

    `compiles` and `trainings`: the calls of the models under one strategy; where the program trains something unknown,
    each of them may be trained. `mended`: parts for which it is set at each step.
    """
    trained = {model.places for use in trainings for model in _each(use)}
    uses = [use for draft in drafts.values() for use in draft.facts.uses if use.method in TRAINING]
    unsure = not all(any(True for _ in _each(use)) for use in uses)
    compiled = [model for use in compiles for model in _each(use) if unsure or model.places in trained]
    shared = {
        part.places
        for part in compiled
        for whole in compiled
        if part.places < whole.places and not are_alternatives(part.steps, whole.steps, part.sites)
    }
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


def say_shared_optimizers(compiles: Iterable[Use], drafts: Mapping[Module, Draft]) -> None:
    """One optimizer object, two models: Keras 3 builds it for the first one's weights alone."""
    for shared in shared_optimizers(compiles, drafts):
        draft = drafts[shared.use.site.frame.module]
        draft.say(codes.SHARED_OPTIMIZER, shared.use.call, f"{shared.why}; {shared.mend}", "warn")


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


def say_compiled_out_of_sight(owner: Owner, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A model that is compiled by unknown code: in a module found at run time, a library, or by a caller."""
    compiled = {wrap.call for group in owner.groups if group.compiles for wrap in group.wraps}
    for group in owner.groups:
        if group.compiles or any(model.origin == "loaded" for model in group.models):
            continue
        if group.owner.call is None and all(wrap.call in compiled for wrap in group.wraps):
            continue  # A method that a derived class inherits, of which nothing makes an object.
        uses = [use for use in facts.uses if concerns(use, group.models, group.wraps)]
        handed_out = group.owner.function is not None and group.owner.call is None
        given = next(_given_to_others(group.models, facts), None)
        if group.trainings or ((handed_out or given) and not any(use.method in INFERENCE for use in uses)):
            place = group.trainings[0] if group.trainings else group.wraps[0]
            module, call = given if given and not group.trainings else (place.site.frame.module, place.call)
            drafts[module].say(
                codes.COMPILED_OUT_OF_SIGHT,
                call,
                "no compile() of this model was found: wherever it is, Keras 3 needs compile() and the "
                "optimizer inside `with model.distribute_strategy.scope():`",
                "warn",
            )


def _given_to_others(models: Set[ModelObject], facts: ProgramFacts) -> Iterator[tuple[Module, cst.Call]]:
    """The calls of functions and classes of unknown modules that are given one of these models."""
    for module, known in facts.modules.items():
        for call in module.calls:
            if is_out_of_sight(known.symbols.get(call.func, "")):
                given = (known.values.get(arg.value) for arg in call.args)
                if any(not models.isdisjoint(models_of(value)) for value in given if value is not None):
                    yield module, call


def say_optimizers_out_of_sight(owner: Owner, drafts: Mapping[Module, Draft]) -> None:
    """An optimizer that comes from a caller or a module that was not found: whether it is made in the scope is unknown.

    Each source is reported once. A name, "adam", would be right anywhere.
    """
    told: set[Value] = set()
    for use in (use for group in owner.groups for use in group.compiles):
        draft, argument = drafts[use.site.frame.module], passed_as("optimizer", 0, use.call)
        value = use.argument(0, "optimizer")
        for source in ordered(options(value)) if value is not None else ():
            if source in told or argument is None:
                continue
            if isinstance(source, Parameter):
                missing = f"what calls {_function_of(source)} was not found"
            elif isinstance(source, Symbol) and is_out_of_sight(source.name):
                missing = f"the definition of {source.name} was not found"
            else:
                continue
            told.add(source)
            given = draft.module.code(argument.value)
            message = (
                f"{missing}: if `{given}` is an optimizer object, Keras 3 refuses it unless it is made inside the "
                "scope of the strategy, and Keras 2 takes it; pass tfmigrate its file too, or make it in the scope"
            )
            draft.say(codes.COMPILED_OUT_OF_SIGHT, argument.value, message, "warn")


def say_parts_out_of_sight(owner: Owner, drafts: Mapping[Module, Draft]) -> None:
    """A part of the model that a caller passes: `Model(x, discriminator(x))` of a parameter that no known call gives.

    Each is reported once. A function that makes layers would be right anywhere.
    """
    told: set[Parameter] = set()
    models = (model for group in owner.groups for whole in group.models for model in whole.base_models())
    for model in dict.fromkeys(models):
        draft, function = drafts[model.site.frame.module], model.site.frame.function
        for call in calls_in(function) if isinstance(function, cst.FunctionDef) else ():
            for part in _parts_given(call, draft.facts):
                values = draft.facts.options(part)
                for parameter in values if len(values) == 1 else ():
                    if isinstance(parameter, Parameter) and parameter not in told:
                        told.add(parameter)
                        message = (
                            f"what calls {_function_of(parameter)} was not found: if `{parameter.name}` is a model or "
                            "a layer, training ends in an error on Keras 3 unless it is made inside the scope of this "
                            "strategy too; pass tfmigrate its file too, or make it in the scope"
                        )
                        draft.say(codes.COMPILED_OUT_OF_SIGHT, call, message, "warn")


def _parts_given(call: cst.Call, facts: Facts) -> Iterator[cst.BaseExpression]:
    """What a call makes a part of a model, if it is a layer: what is called on a tensor, listed, or added."""
    given = [arg.value for arg in call.args]
    for value in facts.options(call.func):
        if isinstance(value, Symbol) and names.canonical(value.name) == "keras.models.Sequential":
            for listed in given:
                if isinstance(listed, cst.List | cst.Tuple):
                    yield from (element.value for element in listed.elements)
        elif isinstance(value, Method) and value.name == "add" and isinstance(value.receiver, ModelObject):
            yield from given
        elif isinstance(value, Parameter):
            if any(is_tensor(option) for arg in given for option in facts.options(arg)):
                yield call.func


def _function_of(parameter: Parameter) -> str:
    function, owner = parameter.frame.function, parameter.frame.owner
    if owner is not None and isinstance(function, cst.FunctionDef) and function.name.value == "__init__":
        return f"{owner.node.name.value}()"
    return f"{function.name.value}()" if isinstance(function, cst.FunctionDef) else "this function"


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
        if use.method in SAVING | {"load_weights"} and any(
            isinstance(option, Parallel) and option.wrap.call is wrap.call for option in options(use.receiver)
        ):
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
    parallel = any(isinstance(option, Parallel) and option.wrap.call is wrap.call for option in options(use.receiver))
    return parallel and use.method in TRAINING


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
