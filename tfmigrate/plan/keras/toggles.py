"""`trainable` as compile() found it, set again before each step of training.

Old Keras collected at compile() which weights a model trains. Keras 3 reads `trainable` at every step, so a part of two
models that are trained in turns, the critic of a GAN, would be what was set last for both. Setting it before each
step is right on Keras 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of, setters_of
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.syntax import dotted, root_name
from tfmigrate.understand.values import ClassValue, Literal, ModelObject, Parallel, Site, options
from tfmigrate.walk import walk
from tfmigrate.written import Code

_Drafts = Mapping[Module, Draft]


@dataclass
class _Part:
    """A model that others are built on, and what its `trainable` is in each of those that are compiled."""

    model: ModelObject
    by_whole: dict[ModelObject, set[bool | None]] = field(default_factory=dict)
    """None where it cannot be determined."""
    alike: frozenset[ModelObject] = frozenset()
    """Models that need the same at the same steps, such as those of both arms of an `if`, of which a name is one."""

    @property
    def is_toggled(self) -> bool:
        """Whether two models need two values."""
        return len(set().union(*self.by_whole.values())) > 1

    @property
    def is_clear(self) -> bool:
        return all(len(values) == 1 and None not in values for values in self.by_whole.values())

    def needed(self, use: Use) -> bool | None:
        """What it must be when a model is trained; None where the model has no such part, or several say several."""
        values = set().union(*(self.by_whole.get(whole, set()) for whole in use.models))
        return next(iter(values)) if len(values) == 1 else None

    def is_(self, models: Set[ModelObject]) -> bool:
        """Whether what may be these models is this one, or another one that needs the same in its place."""
        return self.model in models and models <= self.alike | {self.model}


def plan_toggles(compiles: Sequence[Use], trainings: Sequence[Use], drafts: _Drafts) -> frozenset[ModelObject]:
    """The edits that set `trainable` before each training; returns the parts for which that is complete."""
    mended: set[ModelObject] = set()
    for part, steps in _clear_parts(compiles, trainings, drafts):
        settings = [(use, _expression(part, use, drafts)) for use in steps]
        if not all(code is not None and _is_line(use.site.unit) for use, code in settings):
            continue
        if _differ_in_a_line(part, steps):
            continue
        for use in steps:
            drafts[use.site.frame.module].leave(codes.TRAINABLE_TOGGLE, use.call)
        if all(drafts[use.site.frame.module].allows(codes.TRAINABLE_TOGGLE, use.call) for use in steps):
            mended.add(part.model)
            for use, code in settings:
                if code is not None:
                    _set(part, use, code, steps, drafts)
    return frozenset(mended)


def _differ_in_a_line(part: _Part, steps: Sequence[Use]) -> bool:
    """Whether one line trains twice, for which a line above it cannot set what both need."""
    needed: dict[Unit, set[bool | None]] = {}
    for use in steps:
        needed.setdefault(use.site.unit, set()).add(part.needed(use))
    return any(len(values) > 1 for values in needed.values())


def set_at_each_step(compiles: Sequence[Use], trainings: Sequence[Use], drafts: _Drafts) -> frozenset[ModelObject]:
    """The parts whose `trainable` the program sets before each training already."""
    return frozenset(
        part.model
        for part, steps in _clear_parts(compiles, trainings, drafts)
        if all(_is_set_already(part, use, steps, drafts[use.site.frame.module]) for use in steps)
    )


def _clear_parts(
    compiles: Sequence[Use], trainings: Sequence[Use], drafts: _Drafts
) -> Iterator[tuple[_Part, list[Use]]]:
    """The parts for which it is known what each training needs, with the trainings that need anything."""
    if any("trainable" in keywords(call) for draft in drafts.values() for call in draft.module.calls):
        return  # What sets a model's sets that of each layer, too.
    clear: list[tuple[_Part, list[Use]]] = []
    for part in _parts(compiles):
        steps = [use for use in trainings if part.needed(use) is not None]
        trained = {whole for use in steps for whole in use.models}
        if part.is_toggled and part.is_clear and set(part.by_whole) <= trained and not _is_mixed(part.model, drafts):
            clear.append((part, steps))
    for part, steps in clear:
        needed = list(map(part.needed, steps))
        alike = (other.model for other, others in clear if others == steps and list(map(other.needed, steps)) == needed)
        yield replace(part, alike=frozenset(alike)), steps


def _parts(compiles: Iterable[Use]) -> Iterable[_Part]:
    parts: dict[ModelObject, _Part] = {}
    for use in compiles:
        known = dict(use.trainable)
        for whole in use.models:
            for model in whole.base_models():
                value = known.get(model, Literal(True))
                plain = value.value if isinstance(value, Literal) and isinstance(value.value, bool) else None
                parts.setdefault(model, _Part(model)).by_whole.setdefault(whole, set()).add(plain)
    return sorted(parts.values(), key=lambda part: _order(part.model))


def _is_mixed(part: ModelObject, drafts: _Drafts) -> bool:
    """Whether `trainable` is also set of layers of a model, or of a model in it or round it: one sets the others'."""
    inside = set(part.base_models())
    for value in (toggle.receiver for draft in drafts.values() for toggle in draft.facts.toggles):
        models = models_of(value)
        if options(value) != {part} and not models and not opaque_sites(value).isdisjoint(part.sites):
            return True
        if any(model is not part and (model in inside or part in model.base_models()) for model in models):
            return True
        if models == {part} and not any(isinstance(option, ModelObject | Parallel) for option in options(value)):
            return True  # a layer of it
    return False


def _order(model: ModelObject) -> list[tuple[str, int, tuple[int, int]]]:
    """Where a model is made: the call that leads there from furthest out first, as one line may hold several."""
    places = [_place(model.site, model.node)]
    for frame in model.site.frame.chain():
        if frame.call is not None and frame.call_node is not None:
            places.append(_place(frame.call, frame.call_node))
    return places[::-1]


def _place(site: Site, node: cst.CSTNode) -> tuple[str, int, tuple[int, int]]:
    """The file, the unit, and where in it a node stands, if it does."""
    module = site.frame.module
    position = next((module.position(part) for part in walk(site.unit) if part is node), (0, 0))
    return module.path, module.order.get(site.unit, 0), position


def _is_line(unit: Unit) -> bool:
    return isinstance(unit, cst.SimpleStatementLine)


def _set(part: _Part, use: Use, code: Code, steps: Sequence[Use], drafts: _Drafts) -> None:
    draft, value = drafts[use.site.frame.module], part.needed(use)
    edit = Insert(use.site.unit, (*code, f".trainable = {value}"))
    if edit in draft.edits or _is_set_already(part, use, steps, draft):
        return
    draft.edits.append(edit)
    message = f"Keras 3 reads `trainable` at each step, not at compile(): it is set to {value} here, as it was then"
    draft.say(codes.TRAINABLE_TOGGLE, use.call, message, "rewrite")


def _is_set_already(part: _Part, use: Use, steps: Sequence[Use], draft: Draft) -> bool:
    """Whether it is what it must be on every way to a step: a line above sets it, or another such step needs the same;
    in a loop also at the end of its body."""
    return _Ways(part, bool(part.needed(use)), steps, draft).lead_to(use.site.unit)


@dataclass(frozen=True)
class _Ways:
    """Asks whether `trainable` of a part has a value wherever the program may come from."""

    part: _Part
    value: bool
    steps: Sequence[Use]
    draft: Draft

    def lead_to(self, unit: Unit) -> bool:
        place = self.draft.module.places[unit]
        above = self._through(units_of(place.block)[: place.index])
        if above is not None or place.owner is None or not isinstance(place.owner, cst.BaseCompoundStatement):
            return above is True
        if isinstance(place.owner, cst.For | cst.While) and place.block is place.owner.body:
            jumps = any(isinstance(node, cst.Continue) for node in walk(place.owner.body))
            return not jumps and self._through(units_of(place.block)) is True and self.lead_to(place.owner)
        return isinstance(place.owner, cst.If | cst.With) and self.lead_to(place.owner)

    def _through(self, units: Sequence[Unit]) -> bool | None:
        """Whether some lines leave it so, by the last one that sets it; None if they do not set it."""
        for unit in reversed(units):
            inside = {unit, *self.draft.module.inside(unit)}
            nodes = set(walk(unit))
            trained = [step for step in self.steps if step.site.unit in inside]
            toggles = [toggle for toggle in self.draft.facts.toggles if toggle.node in nodes]
            if trained:
                same = all(self.part.needed(use) == self.value for use in trained)
                return same and unit is trained[0].site.unit
            if toggles:
                known = _is_line(unit) and len(toggles) == 1 and self.part.is_(models_of(toggles[0].receiver))
                return known and toggles[0].assigned == Literal(self.value)
            if any(isinstance(node, cst.Call) and _last_name(node.func) in self._setters for node in nodes):
                return False
        return None

    @cached_property
    def _setters(self) -> frozenset[str]:
        """The functions of the module that set some `trainable`."""
        toggled = {toggle.node for toggle in self.draft.facts.toggles}
        functions = self.draft.module.all_of(cst.FunctionDef)
        return frozenset(function.name.value for function in functions if not toggled.isdisjoint(walk(function)))


def _last_name(node: cst.BaseExpression) -> str:
    return dotted(node).rpartition(".")[2]


def _expression(part: _Part, use: Use, drafts: _Drafts) -> Code | None:
    """Code that is the part where a model is trained: an attribute of its object, or a name of that function."""
    attribute = _attribute(part, use, drafts)
    if attribute is not None:
        return (attribute,)
    frame, draft = use.site.frame, drafts[use.site.frame.module]
    inside = set(walk(frame.function or frame.module.tree))
    for node in _mentions(draft):
        if node in inside and _is_part(node, part, draft) and _is_settled(node, use, draft):
            return (node,)
    return None


def _attribute(part: _Part, use: Use, drafts: _Drafts) -> str | None:
    """The attribute whose `trainable` a method of the same object sets."""
    receiver, own = receiver_of(use.site.frame.function), use.site.frame.owner
    for draft in drafts.values() if receiver is not None and own is not None else ():
        for toggle in draft.facts.toggles:
            held = toggle.node.value if isinstance(toggle.node, cst.Attribute) else None
            if not isinstance(held, cst.Attribute) or not part.is_(models_of(toggle.receiver)) or own is None:
                continue
            owner = next((cls for cls in _classes(held, draft) if _share_a_base(cls, own)), None)
            method = next(
                (round_ for round_ in _methods_round(held, draft) if dotted(held.value) == receiver_of(round_)), None
            )
            if owner is not None and method is not None and _is_set_once(held.attr.value, (owner, own)):
                return f"{receiver}.{held.attr.value}"
    return None


def _methods_round(node: cst.CSTNode, draft: Draft) -> Iterator[cst.FunctionDef]:
    functions = draft.module.all_of(cst.FunctionDef)
    return (function for function in functions if any(node is part for part in walk(function)))


def _classes(node: cst.CSTNode, draft: Draft) -> Iterator[ClassValue]:
    return (cls for cls in draft.facts.classes if any(node is part for part in walk(cls.node)))


def _share_a_base(cls: ClassValue, other: ClassValue) -> bool:
    return not set(cls.ancestors()).isdisjoint(other.ancestors())


def _is_set_once(name: str, owners: Iterable[ClassValue]) -> bool:
    """Whether one statement alone gives an attribute of an object its value."""
    setters = {unit: method for cls in owners for base in cls.ancestors() for method, unit in setters_of(base, name)}
    binding = [unit for unit, method in setters.items() if f"{receiver_of(method)}.{name}" in _targets(unit)]
    return len(binding) == 1


def _targets(unit: Unit) -> set[str]:
    """What a statement assigns to, the elements of a tuple one by one."""
    targets = [part.target for part in walk(unit) if isinstance(part, cst.AssignTarget | cst.AnnAssign)]
    spread = [
        element.value for target in targets if isinstance(target, cst.Tuple | cst.List) for element in target.elements
    ]
    return {dotted(target) for target in (*targets, *spread)}


def _mentions(draft: Draft) -> Iterator[cst.BaseExpression]:
    """The expressions whose `trainable` is set, and those that models are trained by."""
    for toggle in draft.facts.toggles:
        if isinstance(toggle.node, cst.Attribute):
            yield toggle.node.value
    for use in draft.facts.uses:
        if isinstance(use.call.func, cst.Attribute):
            yield use.call.func.value


def _is_part(node: cst.BaseExpression, part: _Part, draft: Draft) -> bool:
    value = draft.facts.values.get(node)
    return value is not None and part.is_(models_of(value))


def _is_settled(node: cst.BaseExpression, use: Use, draft: Draft) -> bool:
    """Whether a name or an attribute means the same where a model is trained."""
    root, scope = root_name(node), draft.scope_of(use.site.frame)
    if root is None or draft.scopes.owner(root.value, scope) is None:
        return False
    order = draft.module.order
    bindings = reaching(root.value, scope, draft.scopes)
    return all(binding.unit is binding.scope.node or order[binding.unit] < order[use.site.unit] for binding in bindings)
