"""GPUs that a program chooses or sets up where a strategy would be made already: TensorFlow takes neither then.

The old program started its GPUs at the wrap, which asked which there are, so what it chose before that counted. A
strategy is made further up, where the model is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Insert, Rank, Remove
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import DeviceChoice, ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import dotted, root_name
from tfmigrate.understand.values import Site
from tfmigrate.written import Written


@dataclass(frozen=True)
class SessionLines:
    """The statements of a module whose session only carries settings, by the set_session() call that ends them."""

    by_call: Mapping[cst.Call, frozenset[cst.CSTNode]] = field(default_factory=dict)
    alike: frozenset[cst.Call] = frozenset()
    """Those whose settings are the same wherever they are made, and made whenever their function runs."""

    @property
    def lines(self) -> frozenset[cst.CSTNode]:
        return frozenset().union(*self.by_call.values())


Sessions = Mapping[Module, SessionLines]


@dataclass(frozen=True)
class Raised:
    """What goes up to stand before a strategy."""

    sessions: tuple[tuple[cst.Call, Unit], ...] = ()
    """set_session() calls, and a unit of the same module before which the settings of each shall stand: instead of
    where they are, in the same function; in addition, in another one, which calls for them: they may be made again."""
    edits: tuple[tuple[Module, Edit], ...] = ()


def raised_settings(
    owner: Owner, before: Unit, facts: ProgramFacts, sessions: Sessions, drafts: Mapping[Module, Draft]
) -> Raised | Refusal:
    """How the devices are set up before a strategy that is made just before the unit `before` of its owner.

    The settings of a session need nothing and stand anywhere; a variable of the environment goes up where its value is
    known there. Otherwise the strategy cannot be made there.
    """
    raised: dict[tuple[cst.Call, Unit], None] = {}
    edits: list[tuple[Module, Edit]] = []
    carrier = Carrier(drafts)
    seen: set[tuple[cst.BaseExpression, Unit]] = set()
    for choice, maker, at, wraps in _late(owner, before, facts):
        if (choice.node, maker) in seen:
            continue
        module = choice.site.frame.module
        session = sessions.get(module, SessionLines())
        if isinstance(choice.node, cst.Call) and choice.node in session.by_call and _can_go_up(choice, at, session):
            raised[choice.node, maker] = None
        elif isinstance(choice.node, cst.Call) and dotted(choice.node.func).endswith("Session"):
            continue  # What counts is its set_session(); of a session without one nothing is known.
        elif not any(_precedes(choice.site, wrap.site, facts) for wrap in wraps):
            continue  # It came too late in the old program too.
        else:
            moved = _variable_set_at(choice, maker, at, carrier)
            if moved is None:
                return _too_late(choice, owner, before)
            edits.extend((module, edit) for edit in moved)
        seen.add((choice.node, maker))
    # Made just before the strategy, they need not be made once more before what leads to it.
    settled = {call for call, maker in raised if maker is before}
    return Raised(tuple(pair for pair in raised if pair[1] is before or pair[0] not in settled), tuple(edits))


def _can_go_up(choice: DeviceChoice, at: Site, session: SessionLines) -> bool:
    """Whether the settings of a session may be made where the function is called that makes them, or above that."""
    if at.frame is choice.site.frame:
        return True
    module = choice.site.frame.module
    way = [site for site in choice.site.chain() if site.frame is not at.frame]
    always = all(
        module.places[site.unit].block is site.frame.function.body
        for site in way
        if isinstance(site.frame.function, cst.FunctionDef)
    )
    here = all(site.frame.module is module for site in (*way, at))
    return here and always and choice.node in session.alike


def _late(owner: Owner, before: Unit, facts: ProgramFacts) -> Iterator[tuple[DeviceChoice, Unit, Site, Sequence[Wrap]]]:
    """The choices that come after the strategy; where it is made, or called for, in that function; they themselves as
    seen from there; and the wraps that started the GPUs instead."""
    for choice in facts.device_choices:
        for group in owner.groups:
            place = Site(group.owner, before)
            met = _met(place, choice.site, facts)
            if met is None:
                continue
            first, second = met
            module = first.frame.module
            # Where the strategy is made before a call, what the call does comes after it.
            after = module.order[second.unit] + (first == place) > module.order[first.unit]
            if after and not module.exclusive(first.unit, second.unit):
                yield choice, first.unit, second, group.wraps


def _met(first: Site, other: Site, facts: ProgramFacts) -> tuple[Site, Site] | None:
    """Two places as seen from the innermost function that both run under."""
    frames = {site.frame: site for site in first.chain() if site.unit in site.frame.module.order}
    for site in other.chain():
        if site.frame in frames and site.unit in site.frame.module.order:
            return frames[site.frame], site
    # A top level runs where another module imports it.
    top, end = [list(site.chain())[-1] for site in (first, other)]
    modules = top.frame.module, end.frame.module
    imported = facts.import_sites.get((modules[1], modules[0])) if top.frame.function is None else None
    if imported is not None:
        return _met(imported, other, facts)
    imported = facts.import_sites.get(modules) if end.frame.function is None else None
    return None if imported is None else _met(first, imported, facts)


def _precedes(earlier: Site, other: Site, facts: ProgramFacts) -> bool:
    """Whether one place may run before the other."""
    met = _met(earlier, other, facts)
    if met is None:
        return True
    first, second = met
    return first.frame.module.order[first.unit] < first.frame.module.order[second.unit]


def _variable_set_at(choice: DeviceChoice, strategy_unit: Unit, at: Site, carrier: Carrier) -> tuple[Edit, ...] | None:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = ...` above the strategy, where it stands in the same block."""
    unit, module = choice.site.unit, choice.site.frame.module
    small = only_statement(unit)
    if at.frame is not choice.site.frame or not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    if (
        small.targets[0].target is not choice.node
        or module.places[unit].block is not module.places[strategy_unit].block
    ):
        return None
    root = root_name(choice.node.value) if isinstance(choice.node, cst.Subscript) else None
    known = root is not None and carrier.at(root, choice.site, at.frame, strategy_unit) == Written.of(root.value)
    value = carrier.at(small.value, choice.site, at.frame, strategy_unit)
    if not known or value is None or not is_pure(small.value):
        return None
    return Insert(strategy_unit, (f"{module.code(choice.node)} = ", *value.code), (unit,), rank=Rank.DEVICES), Remove(
        small
    )


def _too_late(choice: DeviceChoice, owner: Owner, before: Unit) -> Refusal:
    module = choice.site.frame.module
    chosen, place = module.place(choice.node, owner.module), owner.module.place(before, module)
    # Memory growth and the settings of a session say how they are used, not which.
    function = dotted(choice.node.func).rpartition(".")[2] if isinstance(choice.node, cst.Call) else ""
    are_set_up = "memory_growth" in function or "device_configuration" in function or "session" in function
    done, what = (f"set up ({function})", "set them up") if are_set_up else ("chosen", "choose them")
    message = (
        f"the GPUs are {done} at {chosen}, but the strategy must be created before the model, at {place}, which "
        f"starts them: {what} above that line"
    )
    return Refusal(codes.GPUS_TOO_LATE, message)
