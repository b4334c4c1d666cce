"""Where strategies belong: the functions that see both how a model is built and where it is wrapped."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, takewhile

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.kept import attribute_for, keeper_of
from tfmigrate.plan.strategy.model_group import (
    Group,
    Refusal,
    common_frame,
    compiled_by,
    group_of,
    group_of_copies,
    group_of_object,
    lines_building,
    made_apart,
    owner_of,
    remade_optimizers,
    sites_to_cover,
)
from tfmigrate.plan.strategy.superseded import superseded
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use, Wrap
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.program import Module, Unit, block_of, dotted
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.values import Frame, Site
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Owner:
    """All groups of one function (or one module's top level), which share one strategy variable."""

    module: Module
    function: cst.Module | cst.FunctionDef
    groups: tuple[Group, ...]
    name: str
    """The strategy's."""
    kept: bool = False
    """Whether the function is the `__init__` of an object that keeps the strategy, and its name one of its attributes.
    """

    @property
    def wraps(self) -> tuple[Wrap, ...]:
        return tuple(wrap for group in self.groups for wrap in group.wraps)

    @property
    def body(self) -> cst.Module | cst.BaseSuite:
        return block_of(self.function)


def owners_of(
    wraps: Iterable[Wrap],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
    callers: Mapping[Wrap, Frame],
    inside: Container[cst.CSTNode] = (),
    keeping: Container[cst.Call] = (),
    copying: Container[cst.Call] = (),
) -> tuple[list[Owner], dict[cst.Call, Refusal]]:
    """The owners of wraps, and the calls that have none; a call without one in some activation has none at all.

    `callers`: those further out, of wraps whose strategy cannot be made where they would be owned; `inside`:
    functions that the scope of another strategy turned out to stand round; `keeping`: calls whose objects keep the
    strategy where they can, because it cannot be made anywhere else; `copying`: calls whose models are copied there.
    """
    ownerless: dict[cst.Call, Refusal] = {}
    by_frame: dict[Frame, list[Wrap]] = {}
    wraps = tuple(wraps)
    frames = {
        wrap: callers.get(wrap)
        or (_raised_copy(wrap, facts, drafts) if wrap.call in copying else _raised(wrap, facts, drafts))
        for wrap in wraps
    }
    split = {
        wrap.call
        for wrap, frame in frames.items()
        if wrap.call not in copying and (frame is None or wrap.call in keeping or _builds_beside(frame, wrap, facts))
    }
    keepers = {wrap: keeper_of(wrap, facts, drafts) for wrap in wraps if wrap.call in split}
    keepers = {wrap: keeper for wrap, keeper in keepers.items() if keeper is not None or frames[wrap] is None}
    for wrap in wraps:
        frame = keepers[wrap] if wrap in keepers else frames[wrap]
        if frame is None:
            places = made_apart(sites_to_cover(group_of(wrap.site.frame, (wrap,), facts)))
            message = "its optimizer or a part of its model is made elsewhere, and no caller of both was found"
            message += f": {places}" if places is not None else ""
            ownerless[wrap.call] = Refusal(codes.MADE_ELSEWHERE, message)
        else:
            by_frame.setdefault(frame, []).append(wrap)
    ownerless.update(_leave_scopes_of_callers(by_frame, facts, inside))
    beginnings = {frame.function for frame in keepers.values() if frame is not None}
    by_function: dict[cst.Module | cst.FunctionDef, list[Group]] = {}
    modules: dict[cst.CSTNode, Module] = {}
    for frame, members in by_frame.items():
        members = [wrap for wrap in members if wrap.call not in ownerless]
        function = frame.function or frame.module.tree
        if members and isinstance(function, cst.Module | cst.FunctionDef):
            copied = tuple(wrap for wrap in members if wrap.call in copying)
            others = tuple(wrap for wrap in members if wrap.call not in copying)
            grouped = group_of_object if function in beginnings else group_of
            groups = by_function.setdefault(function, [])
            groups.extend([grouped(frame, others, facts)] if others else [])
            groups.extend([group_of_copies(frame, copied, facts)] if copied else [])
            modules[function] = frame.module
    owners = []
    for function, groups in by_function.items():
        if function in beginnings:
            name = f"{receiver_of(function)}.{attribute_for(groups[0].owner, 'strategy', drafts)}"
        else:
            name = _strategy_name(drafts[modules[function]], function, facts)
        owners.append(Owner(modules[function], function, tuple(groups), name, function in beginnings))
    return owners, ownerless


def _leave_scopes_of_callers(
    by_frame: dict[Frame, list[Wrap]], facts: ProgramFacts, inside: Container[cst.CSTNode]
) -> dict[cst.Call, Refusal]:
    """A function called in the scope of another strategy makes none itself, which would be two: its callers do, all.

    A method that a derived class inherits is walked on an object of that class too, which nothing makes: the callers
    of the method speak for it. Returns the calls that have no such caller.
    """
    called = {wrap.call for frame, wraps in by_frame.items() if frame.call is not None for wrap in wraps}
    ownerless: dict[cst.Call, Refusal] = {}
    while True:
        known = (frame.function for frame in by_frame if frame.function is not None and frame.function in inside)
        function = next(chain(known, _called_in_scopes(by_frame, facts)), None)
        if function is None:
            return ownerless
        for frame in [frame for frame in by_frame if frame.function is function]:
            wraps = by_frame.pop(frame)
            if frame.call is not None:
                by_frame.setdefault(frame.call.frame, []).extend(wraps)
                continue
            message = "a function that is called in the scope of another strategy makes its own: move it to the callers"
            why = Refusal(codes.TWO_STRATEGIES, message)
            ownerless.update((wrap.call, why) for wrap in wraps if wrap.call not in called)


def _called_in_scopes(by_frame: Mapping[Frame, list[Wrap]], facts: ProgramFacts) -> Iterator[cst.CSTNode]:
    """The functions owned among `by_frame` that another owner calls where its own strategy's scope stands."""
    functions = {frame.function for frame in by_frame} - {None}
    if len(by_frame) < 2 or not functions:
        return
    for owner, wraps in by_frame.items():
        for wrap in wraps:
            inside = takewhile(lambda frame, owner=owner: frame is not owner, wrap.site.frame.chain())  # type: ignore[misc]
            for frame in inside:
                if frame.function in functions and frame.function is not owner.function:
                    yield frame.function  # type: ignore[misc]
    for owner in by_frame:
        for site in owner.call.chain() if owner.call is not None else ():
            if site.frame in by_frame and owner.function in functions and owner.function is not site.frame.function:
                group = group_of(site.frame, tuple(by_frame[site.frame]), facts)
                covered = (covered_site.lifted(site.frame) for covered_site in sites_to_cover(group))
                if any(lifted is not None and lifted.unit is site.unit for lifted in covered):
                    yield owner.function  # type: ignore[misc]


def _strategy_name(draft: Draft, function: cst.Module | cst.FunctionDef, facts: ProgramFacts) -> str:
    wraps = [wrap for wrap in facts.wraps if wrap.site.frame.module is draft.module]
    if "strategy" in superseded(draft.facts, draft.scopes, wraps, facts).names(function):
        return "strategy"
    seen_from = draft.module.tree if draft.settings.over_workers else function
    return draft.scopes.fresh("strategy", draft.scopes.by_node[seen_from])


def _raised(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """The wrap's owner, moved outwards until every part of the model and its optimizer is made under it."""
    owner = owner_of(wrap)
    beside = owner is not None and owner not in wrap.site.frame.chain()
    if owner is not None and beside:
        above = common_frame([owner, wrap.site.frame])
        builds_others = not _asks_the_object(wrap) and _builds_others(owner, facts)
        if above is not None and (builds_others or _is_called_in_loop(owner, above)):
            owner = above
    while owner is not None:
        group = group_of(owner, (wrap,), facts)
        parts = frozenset().union(*(use.parts for use in group.compiles))
        outside = {
            site.frame
            for site in sites_to_cover(group) - {use.site for use in group.compiles if compiled_by(use) is not None}
            if site.lifted(owner) is None
            and not _reachable_far(group, site, drafts)
            # Another model in the same variable that no run builds together with this one needs no scope of its own.
            and (site in parts or common_frame([owner, site.frame]) is not None)
        }
        if not outside:
            return owner
        raised = common_frame([owner, *outside])
        if raised is owner:
            return None
        owner = raised
    return None


def _raised_copy(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """As _raised, of a wrap whose model is copied where it was wrapped: where the copy is made and compiled."""
    owner: Frame | None = wrap.site.frame
    while owner is not None:
        group = group_of_copies(owner, (wrap,), facts)
        remade = {site for use in remade_optimizers(group) for site in use.optimizer_parts}
        outside = {
            site.frame
            for site in sites_to_cover(group) - {use.site for use in group.compiles} - remade
            if site.lifted(owner) is None and not _reachable_far(group, site, drafts)
        }
        if not outside:
            return owner
        raised = common_frame([owner, *outside])
        owner = raised if raised is not owner else None
    return None


def _asks_the_object(wrap: Wrap) -> bool:
    """Whether attributes say how many GPUs there are, or whether to wrap: `if self.gpus > 1`."""
    asked = [guard.node.test for guard in wrap.guards if not isinstance(guard.node, cst.Try)]
    return any(
        isinstance(part, cst.Attribute) for node in (*asked, wrap.gpus) if node is not None for part in walk(node)
    )


def _is_called_in_loop(owner: Frame, above: Frame) -> bool:
    """Whether an activation runs in a loop of one that it is called from, so that it is one of several."""
    sites = owner.call.chain() if owner.call is not None else iter(())
    calls = [site for site in sites if site.frame is above or above in site.frame.chain()]
    return any(
        isinstance(outer, cst.For | cst.While)
        for site in calls
        for outer in site.frame.module.ancestors(site.unit)
        if outer in site.frame.module.places
    )


def _builds_others(owner: Frame, facts: ProgramFacts) -> bool:
    """Whether the function of an activation builds, in another one, a model that nothing wraps."""
    wrapped = frozenset().union(*(models_of(wrap.template) for wrap in facts.wraps))
    return any(
        frame.function is owner.function and frame is not owner
        for model in facts.models
        if model not in wrapped
        for frame in model.site.frame.chain()
    )


def _builds_beside(owner: Frame, wrap: Wrap, facts: ProgramFacts) -> bool:
    """Whether another method of the object beside a wrap's owner has the model built too."""
    if owner.owner is None or not _asks_the_object(wrap):
        return False  # The caller's choice is not known in the other method, which may be meant for a single GPU.
    begins = isinstance(owner.function, cst.FunctionDef) and owner.function.name.value == "__init__"
    if begins and owner in wrap.site.frame.chain():
        return False  # Nothing is built earlier, and what is built later stays unwrapped.
    group = group_of(owner, (wrap,), facts)
    lines = {unit for model in group.models for unit in lines_building(model, owner)}
    others = (model for model in facts.models if model not in group.models)
    return any(
        not lines.isdisjoint(lines_building(model, owner))
        and all(frame.function is not owner.function for frame in model.site.frame.chain())
        for model in others
    )


def _reachable_far(group: Group, site: Site, drafts: Mapping[Module, Draft]) -> bool:
    """Whether a site outside the owner can stand under `model.distribute_strategy` beside its compile()."""
    for use in group.compiles:
        if site in use.parts and site.frame is use.site.frame:
            return _known_before(use, site.unit, drafts[site.frame.module])
    return False


def _known_before(use: Use, unit: Unit, draft: Draft) -> bool:
    """Whether the model that compile() is called on has its name before `unit`."""
    receiver = use.call.func.value if isinstance(use.call.func, cst.Attribute) else None
    root = dotted(receiver).split(".", 1)[0]
    if not root:
        return False
    scope = draft.scope_of(use.site.frame)
    order = draft.module.order
    return all(
        order[mention.unit] < order[unit] or mention.unit is scope.node
        for mention in reaching(root, scope, draft.scopes)
    )
