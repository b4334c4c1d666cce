"""Which wraps belong to one strategy, and which function is its owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan.change.calls import given_optimizer
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.syntax import called_on, dotted, index_of
from tfmigrate.understand.values import (
    NOTHING,
    Frame,
    Instance,
    Made,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    Parameter,
    Site,
    Sites,
    is_unbound,
    options,
)


@dataclass(frozen=True)
class Refusal:
    """Why a wrap cannot be migrated."""

    code: str
    message: str


@dataclass(frozen=True)
class Group:
    """Wraps that share a strategy, made in `owner`, and all models that then live under it."""

    owner: Frame
    wraps: tuple[Wrap, ...]
    models: frozenset[ModelObject]
    compiles: tuple[Use, ...]
    trainings: tuple[Use, ...]
    copied: bool = False
    """Whether the wraps stay, as calls that copy the model into the scope; it is built outside then."""


def group_of(owner: Frame, wraps: tuple[Wrap, ...], facts: ProgramFacts) -> Group:
    return _group(owner, wraps, related_models(wraps, facts), facts)


def group_of_object(owner: Frame, wraps: tuple[Wrap, ...], facts: ProgramFacts) -> Group:
    """As group_of, with the models that the same lines of the object's methods build, which the scope stands round."""
    models = related_models(wraps, facts)
    while True:
        lines = {unit for model in models for unit in lines_building(model, owner)}
        beside = (model for model in facts.models if not lines.isdisjoint(lines_building(model, owner)))
        grown = models.union(*(model.base_models() for model in beside))
        if grown == models:
            return _group(owner, wraps, models, facts)
        models = grown


def group_of_copies(owner: Frame, wraps: tuple[Wrap, ...], facts: ProgramFacts) -> Group:
    """The copies of models that are made where they were wrapped, and what is done with those."""
    return replace(_group(owner, wraps, frozenset(), facts), copied=True)


def lines_building(model: ModelObject, owner: Frame) -> Iterator[Unit]:
    """The lines of methods of the owner's object under which a model is made."""
    return (site.unit for site in model.site.chain() if shares_object(site.frame, owner))


def _group(owner: Frame, wraps: tuple[Wrap, ...], models: frozenset[ModelObject], facts: ProgramFacts) -> Group:
    uses = [use for use in facts.uses if concerns(use, models, wraps)]
    return Group(
        owner=owner,
        wraps=wraps,
        models=models,
        compiles=tuple(use for use in uses if use.method == "compile"),
        trainings=tuple(use for use in uses if use.method in TRAINING),
    )


def owner_of(wrap: Wrap) -> Frame | None:
    """The innermost activation that sees both the template's construction and, where it can, the wrap.

    A method of the object whose other method wraps will do, because it knows what the object knows.
    """
    built = common_frame(site.frame for site in opaque_sites(wrap.template))
    if built is None:
        return None
    here = wrap.site.frame
    if here in built.chain():
        return here
    callers = set(here.chain())
    return next((frame for frame in built.chain() if frame in callers or shares_object(frame, here)), built)


def shares_object(first: Frame, other: Frame) -> bool:
    """Whether two activations may be methods of one object."""
    if first.owner is None or other.owner is None:
        return False
    return not set(first.owner.ancestors()).isdisjoint(other.owner.ancestors())


def common_frame(frames: Iterable[Frame]) -> Frame | None:
    """The innermost activation under which all the given ones run, or None."""
    chains = [list(frame.chain()) for frame in set(frames)]
    if not chains:
        return None
    return next((frame for frame in chains[0] if all(frame in chain for chain in chains[1:])), None)


def related_models(wraps: Iterable[Wrap], facts: ProgramFacts) -> frozenset[ModelObject]:
    """The templates, what they are built of, what is built on them, and what shares a variable with them.

    A model that may stand in the same variable as the parallel one (the other arm of a guard) is compiled by the
    same statement, so it lives under the same strategy; one that is wrapped itself and only trained by the same
    statement has a strategy of its own.
    """
    wrapped = frozenset(wraps)
    models = frozenset().union(*(models_of(wrap.template) for wrap in wrapped))
    apart = frozenset().union(*(models_of(wrap.template) for wrap in facts.wraps if wrap not in wrapped)) - models
    # A template that was not followed is no model object; what is built on it is known by the place it came from.
    places = frozenset().union(
        *(option.sites for wrap in wrapped for option in options(wrap.template) if isinstance(option, Opaque))
    )
    while True:
        grown = set(models)
        for model in models:
            grown.update(model.base_models())
        for model in facts.models:
            if models & model.on or places & model.sites:
                grown.add(model)
        for use in facts.uses:
            if not (use.parallel.isdisjoint(wrapped) and use.models.isdisjoint(models)):
                grown.update(use.models if use.method == "compile" else use.models - apart)
        if grown == models:
            return models
        models = frozenset(grown)


def concerns(use: Use, group_models: frozenset[ModelObject], wraps: Iterable[Wrap]) -> bool:
    """Whether a method was called on a model of the group, or on a template that was not followed."""
    return not use.models.isdisjoint(group_models) or any(
        wrap in use.parallel or use.may_be_unfollowed(wrap) for wrap in wraps
    )


def sites_to_cover(group: Group) -> frozenset[Site]:
    """Where the group's models, optimizers and metrics come into being, and where they are compiled."""
    sites: set[Site] = set()
    for wrap in group.wraps:
        sites.update({wrap.site} if group.copied else opaque_sites(wrap.template))
    for model in group.models:
        sites.update(model.sites)
    for use in group.compiles:
        if not group.copied:
            # The other arm of a guard may put an unknown model in the same variable.
            sites.update(opaque_sites(use.receiver))
        sites.add(use.site)
        sites.update(use.parts - _defaults(use))
    return frozenset(sites)


def _defaults(use: Use) -> Sites:
    """Where the optimizer of a compile() is made as the default of a parameter, round which no scope can stand."""
    return frozenset(site for site in use.optimizer_parts if isinstance(site.unit, cst.FunctionDef))


def compiled_by(use: Use) -> cst.BaseExpression | None:
    """What compile() is called on, where it can be written a second time: a name, an attribute, an item of one."""
    receiver = called_on(use.call)
    return receiver if receiver is not None and written_again(receiver) else None


def written_again(node: cst.BaseExpression) -> str:
    """`a.b` and `a.b[c]` as code, where `c` is a name or a literal; "" for anything else."""
    if not isinstance(node, cst.Subscript):
        return dotted(node)
    index = index_of(node)
    plain = isinstance(index, cst.SimpleString | cst.Integer)
    item = index.value if plain else dotted(index)  # type: ignore[union-attr]
    return f"{dotted(node.value)}[{item}]" if dotted(node.value) and item else ""


def remade_optimizers(group: Group) -> list[Use]:
    """The compiles whose optimizer is made out of reach of their scope, of copies and as the default of a parameter: in
    it another one is made of the same settings, which an optimizer can be asked for."""
    return [use for use in group.compiles if given_optimizer(use.call) is not None and _is_out_of_reach(use, group)]


def _is_out_of_reach(use: Use, group: Group) -> bool:
    far = group.copied and any(site.lifted(group.owner) is None for site in use.optimizer_parts)
    return far or bool(_defaults(use))


def made_apart(sites: Iterable[Site]) -> str | None:
    """Of places that do not all run under one function: two of the outermost, in words, the first of each function."""
    outermost: dict[Frame, Site] = {}
    for site in sites:
        *_, last = site.chain()
        order = last.frame.module.order
        outermost[last.frame] = min(outermost.get(last.frame, last), last, key=lambda place: order[place.unit])
    places = set()
    for site in outermost.values():
        line, _ = site.frame.module.position(site.unit)
        function = site.frame.function
        name = f", in {function.name.value}()" if isinstance(function, cst.FunctionDef) else ""
        places.add((site.frame.module.path, line, f"{site.frame.module.place(site.unit)}{name}"))
    if len(places) < 2:
        return None
    first, second, *_ = sorted(places)
    return " and ".join(place for _, _, place in (first, second))


def _called(frame: Frame) -> str:
    """`call train()`, of the function of an activation."""
    function = frame.function
    if not isinstance(function, cst.FunctionDef):
        return "call this function"
    name = function.name.value
    if name == "__init__" and frame.owner is not None:
        name = frame.owner.node.name.value
    return f"call {name}()"


_HELD = frozenset({"layers", "model"})


def _is_made_with_its_holder(value: Method) -> bool:
    """Whether a model is what an object of a library holds from the start: `build_bert(path).model`."""
    return value.name in _HELD and all(
        isinstance(holder, Opaque) and bool(holder.sites) and not is_unbound(holder)
        for holder in options(value.receiver)
    )


def template_problem(wrap: Wrap) -> str | None:
    """What keeps a template from being followed, in words; None where it can be."""
    for option in options(wrap.template):
        if isinstance(option, Parameter):
            return (
                f"the model is the parameter `{option.name}`, and no known call passes one: migrate the files that "
                f"{_called(option.frame)} together with this one, or let them build the model in a strategy's scope"
            )
        if is_unbound(option):
            return (
                f"the model is {option.origin}, which none of the given files defines: define it, or import it by name"
            )
        if isinstance(option, Opaque) and not option.sites:
            return f"the model is {option.origin}, whose construction is unknown"
        if option == NOTHING and wrap.template == NOTHING:
            return "no known code creates the model before it is wrapped here"
        if isinstance(option, Method) and isinstance(option.receiver, Parameter):
            holder = option.receiver.name
            return (
                f"the model is `{holder}.{option.name}`, and no known call passes anything for `{holder}`: migrate "
                f"the files that {_called(option.receiver.frame)} together with this one"
            )
        if isinstance(option, Method) and is_unbound(option.receiver):
            holder = option.receiver.origin
            return (
                f"the model is the attribute `{option.name}` of {holder}, which none of the given files defines: "
                "define it"
            )
        if isinstance(option, Method) and not _is_made_with_its_holder(option):
            return f"the model is the attribute `{option.name}` of something that could not be followed"
        if isinstance(option, Instance):
            return f"the model is an instance of {option.cls.node.name.value}, which is not a Keras model class"
        if option != NOTHING and not isinstance(option, ModelObject | Parallel | Opaque | Made | Method):
            return "the argument passed as the model was not recognised as a model"
        if isinstance(option, Made) and option.kind == "layer" and not option.models:
            return "the argument passed as the model is a layer"
    return None
