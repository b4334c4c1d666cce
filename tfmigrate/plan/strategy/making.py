"""From `gpus=` and the guards round a wrap to the expression that makes the strategy."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none
from tfmigrate.plan.change.device_names import first_gpus, gpus_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.gpus import Kind, Kinds, replicas
from tfmigrate.plan.strategy.guards import MISSING_DEVICES, handles
from tfmigrate.plan.strategy.model_group import Refusal, shares_object
from tfmigrate.plan.strategy.negations import negated, operand
from tfmigrate.plan.strategy.strategy import Strategy
from tfmigrate.understand.blocks import Unit, suites_of
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.folding import constant
from tfmigrate.understand.lifecycle import Guard, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of, sets_attribute
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Frame, Site, Visible
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Written

_REPEATABLE = (cst.Name, cst.Attribute, cst.Subscript)
"""What reads well more than once."""


@dataclass(frozen=True)
class Making:
    """Making the strategy of a wrap just before the unit `before` of `owner`."""

    wrap: Wrap
    owner: Frame
    before: Unit
    draft: Draft
    """Of the owner's module."""
    carrier: Carrier
    gpu_kinds: Kinds
    """What the `gpus` of the call may be, in all of its activations."""
    going: Container[cst.CSTNode]
    """The statements of which only the content stays, so that their condition decides nothing there."""

    def strategy(self) -> Strategy | Refusal:
        """`gpus=4` used the devices 0 to 3 and no others, so they are named; an omitted `gpus` used all that are
        visible, as MirroredStrategy() does. A guard that kept the model on one device becomes the default strategy."""
        devices = self._devices()
        if isinstance(devices, Refusal):
            return devices
        conditions: list[Written] = []
        for guard in self.wrap.guards:
            condition = self._condition(guard)
            if isinstance(condition, Refusal):
                return condition
            if condition and condition not in conditions:
                conditions.append(condition)
        if self.wrap.several_only and self.wrap.gpus is not None and devices and (replicas(self.wrap) or 0) < 2:
            count = self._count()
            if isinstance(count, Refusal):
                return count
            several = Written.of(operand(count), " > 1")
            if several not in conditions and constant(several.tree) is None:
                conditions.append(several)
        return Strategy(devices, (tuple(conditions),))

    # ---- on which devices ----

    def _devices(self) -> Written | Refusal:
        """The devices argument; nothing for all visible devices."""
        if self._takes_all:
            return Written.of()
        count = self._count()
        if isinstance(count, Refusal):
            return count
        if isinstance(count.tree, cst.Integer):
            return first_gpus(count, self.draft.quote)
        return gpus_of(self._either(count, count, Written.of("range(", count, ")")), self.draft.quote)

    @property
    def _takes_all(self) -> bool:
        """Whether it takes as many GPUs as there are, as MirroredStrategy() does."""
        return self.wrap.gpus is None or self.wrap.gpus_value == Visible("count")

    def _count(self) -> Written | Refusal:
        assert self.wrap.gpus is not None
        count = self.carrier.at(self.wrap.gpus, self.wrap.site, self.owner, self.before, self._visible_gpus)
        if count is None or (isinstance(count.tree, cst.Name) and count.tree.value == "None"):
            return count_too_late(self.wrap, self.owner, self.before)
        return count

    def _either(self, gpus: Written, of_list: Written, of_number: Written) -> Written:
        """Code for a list of ids, or for a number, or for what multi_gpu_model itself asked where it can be either."""
        if self.gpu_kinds == {Kind.LIST}:
            return of_list
        if self.gpu_kinds == {Kind.NUMBER} or not isinstance(gpus.tree, _REPEATABLE):
            return of_number
        return Written.of("(", of_list, " if isinstance(", gpus, ", (list, tuple)) else ", of_number, ")")

    @property
    def _visible_gpus(self) -> str:
        """Code for how many GPUs TensorFlow sees."""
        quote = self.draft.quote
        return f"len({self.draft.tf}.config.list_physical_devices({quote}GPU{quote}))"

    # ---- under which conditions ----

    def _condition(self, guard: Guard) -> Written | Refusal | None:
        """The guard as a condition; None where it is decided there already, or decides nothing."""
        if self._is_decided(guard) or self._decides_nothing(guard):
            return None
        node = guard.node
        if isinstance(node, cst.Try):
            return self._enough_devices(node, guard)
        test = self.carrier.at(node.test, guard.site, self.owner, self.before, self._visible_gpus)
        if test is None and self.owner is guard.frame and self._says_the_same(node.test, node):
            test = Written.at(node.test)
        if test is None:
            condition = f"the condition `{guard.frame.module.code(node.test)}`"
            return _too_late(condition, "what it needs", self.wrap, self.owner, self.before)
        test = test if guard.arm == "body" else negated(test)
        known = constant(test.tree)
        return None if known is not None and known.value else test

    def _is_decided(self, guard: Guard) -> bool:
        """Whether the strategy is made only where a guard lets the wrap be reached."""
        node, module = guard.node, guard.frame.module
        if isinstance(node, cst.IfExp):
            return _is_called_in(self.owner, node.body if guard.arm == "body" else node.orelse, guard)
        here = Site(self.owner, self.before).lifted(guard.frame)
        if here is None:
            return False
        inside = node not in self.going and _inside(module, here.unit, node)
        return inside or _passed(module, here.unit, node, self.wrap, guard.frame)

    def _decides_nothing(self, guard: Guard) -> bool:
        """Whether a guard always lets the wrap be reached, or asks whether there is a model to wrap at all, or sees to
        it that there are several GPUs: on one, MirroredStrategy() is what the other arm did."""
        if not isinstance(guard.node, cst.Try) and _always(guard.node.test, guard.arm):
            return True
        if isinstance(guard.node, cst.If) and self._asks_for_the_model(guard.node, guard):
            return True
        return self.wrap.gpus_value in (None, Visible("count")) and bool(guard.needs_several)

    def _asks_for_the_model(self, choice: cst.If, guard: Guard) -> bool:
        """`if model is not None:` round the wrap of that model, which nothing sets in between."""
        site, name = self.wrap.site, dotted(asked_for(choice.test, guard.arm))
        if not name or name != dotted(self.wrap.template_node) or guard.frame is not site.frame:
            return False
        module = guard.frame.module
        below = [inner for inner in module.inside(choice) if module.order[inner] < module.order[site.unit]]
        bindings = self.carrier.scopes[module].bindings(name)
        return not (
            any(sets_attribute(inner, name, module) for inner in below)
            or any(binding.unit in below for binding in bindings)
        )

    def _says_the_same(self, test: cst.BaseExpression, node: cst.CSTNode) -> bool:
        """Whether a condition says the same in an arm of its statement: nothing above that binds its names."""
        module, scopes = self.owner.module, self.carrier.scopes[self.owner.module]
        if not _inside(module, self.before, node):
            return False
        above = {inner for inner in module.inside(node) if module.order[inner] < module.order[self.before]}
        if any(binding.unit in above for name in names_in(test) for binding in scopes.bindings(name)):
            return False
        attributes = [module.code(part) for part in nodes_in(test, cst.Attribute)]
        return not any(sets_attribute(inner, text, module) for inner in above for text in attributes)

    def _enough_devices(self, node: cst.Try, guard: Guard) -> Written | Refusal | None:
        """`try: wrap except ValueError` fell back to one device when devices were missing, or gpus was below 2."""
        if guard.arm != "body":
            message = "multi_gpu_model is called in an `except` block: it cannot be determined what failed before it"
            return Refusal(codes.ODD_CALL, message)
        if self._takes_all:
            return None
        count = self._count()
        if isinstance(count, Refusal):
            return count
        if any(nodes_in(count.tree, cst.Subscript)) and handles(node, "KeyError"):
            return self._not_in_its_try(count)
        if not handles(node, MISSING_DEVICES):
            return None
        wanted = self._either(count, Written.of("len(", count, ")"), operand(count))
        return Written.of(f"{self._visible_gpus} >= ", wanted)

    def _not_in_its_try(self, count: Written) -> Refusal:
        """A number of GPUs that is asked for above a `try` that handles that there is none."""
        place = self.owner.module.place(self.before, self.wrap.site.frame.module)
        message = (
            f"the strategy must be created before the model, at {place}, but `{count.text}` is computed in a `try` "
            "below, which handles a failure: compute it above that line, with 1 in case of failure"
        )
        return Refusal(codes.GPUS_TOO_LATE, message)


def asked_for(test: cst.BaseExpression, arm: str) -> cst.BaseExpression | None:
    """What a condition asks for whether it is there, in the arm where it is: `model`, `model is not None`."""
    wanted: tuple[type[cst.BaseCompOp], ...] = (cst.IsNot, cst.NotEqual) if arm == "body" else (cst.Is, cst.Equal)
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression if arm == "orelse" else None
    if isinstance(test, cst.Comparison):
        (target, *others) = test.comparisons
        asks = not others and isinstance(target.operator, wanted) and is_none(target.comparator)
        return test.left if asks else None
    return test if arm == "body" else None


def count_too_late(wrap: Wrap, owner: Frame, before: Unit) -> Refusal:
    """Why the number of GPUs of a wrap cannot be written where its model is made."""
    assert wrap.gpus is not None
    gpus, function = wrap.site.frame.module.code(wrap.gpus), wrap.site.frame.function
    needed = "its definition"
    if isinstance(function, cst.FunctionDef) and function is not owner.function and gpus in parameters_of(function):
        needed = f"what {function.name.value}() is passed for it"
    return _too_late(f"gpus={gpus}", needed, wrap, owner, before)


def counts_by_attribute(wrap: Wrap) -> bool:
    """Whether each object whose method wraps has a number of GPUs of its own."""
    receiver = receiver_of(wrap.site.frame.function)
    read = nodes_in(wrap.gpus, cst.Attribute) if wrap.gpus is not None else ()
    return receiver is not None and any(dotted(node.value) == receiver for node in read)


def _too_late(what: str, needed: str, wrap: Wrap, owner: Frame, before: Unit) -> Refusal:
    place = owner.module.place(before, wrap.site.frame.module)
    message = f"{what} is not yet known at {place}, where the model or its optimizer is created"
    instance = owner.owner if wrap.site.frame.function is not owner.function else None
    if instance is not None and shares_object(owner, wrap.site.frame):
        needed = f"pass it to {instance.node.name.value}() and keep it as an attribute"
    else:
        needed = f"move {needed} above that line"
    return Refusal(codes.GPUS_TOO_LATE, f"{message}: {needed}")


def is_never_reached(wrap: Wrap, carrier: Carrier) -> bool:
    """Whether a guard keeps an activation from wrapping, as its caller's constants show: `build(parallel=False)`."""
    *_, outermost = wrap.site.chain()
    for guard in wrap.guards:
        if isinstance(guard.node, cst.Try):
            continue
        test = carrier.at(guard.node.test, guard.site, outermost.frame, outermost.unit)
        known = constant(test.tree) if test is not None else None
        if known is not None and bool(known.value) != (guard.arm == "body"):
            return True
    return False


def _always(test: cst.BaseExpression, arm: str) -> bool:
    """Whether a guard's arm is the only one: `if True:`."""
    constant = {"True": "body", "1": "body", "False": "orelse", "0": "orelse"}
    return isinstance(test, cst.Name | cst.Integer) and constant.get(test.value) == arm


def _inside(module: Module, unit: Unit, node: cst.CSTNode) -> bool:
    """Whether a unit stands in an arm of the statement (an `elif` included)."""
    suites = set(suites_of(node))
    return any(
        module.places[outer].block in suites for outer in (unit, *module.ancestors(unit)) if outer in module.places
    )


def _is_called_in(owner: Frame, arm: cst.BaseExpression, guard: Guard) -> bool:
    """Whether an activation runs under a call that stands in an arm of `a if b else c`."""
    calls = {frame.call_node for frame in owner.chain() if frame.call is not None and frame.call.frame is guard.frame}
    return not calls.isdisjoint(walk(arm))


def _passed(module: Module, unit: Unit, node: cst.CSTNode, wrap: Wrap, owner: Frame) -> bool:
    """Whether the statement, whose other arm left the function, was already behind when `unit` began."""
    site = wrap.site.lifted(owner)
    if node not in module.order or site is None or node in module.ancestors(site.unit):
        return False
    return module.order[node] < module.order[unit]
