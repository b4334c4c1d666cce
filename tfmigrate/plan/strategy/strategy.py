"""From `gpus=` and the guards round a wrap to the expression that makes the strategy."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import combinations

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.device_names import first_gpus, gpus_of
from tfmigrate.plan.strategy.conditions import any_of, clauses
from tfmigrate.plan.strategy.gpus import Kind, Kinds, kinds_of_all
from tfmigrate.plan.strategy.guards import MISSING_DEVICES, handles, negated, operand
from tfmigrate.plan.strategy.model_group import Refusal, shares_object
from tfmigrate.understand.carrier import Carrier, names_in
from tfmigrate.understand.folding import constant
from tfmigrate.understand.lifecycle import Guard, Wrap
from tfmigrate.understand.objects import receiver_of, sets_attribute
from tfmigrate.understand.program import Module, Unit, dotted, suites_of
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import Frame, Items, Literal, Site, Visible
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Code, Written

_LINE = 100
_CONDITION = 80
"""Characters of a condition that stands behind its `if`, which is indented."""
_REPEATABLE = (cst.Name, cst.Attribute, cst.Subscript)
"""What reads well more than once."""


@dataclass(frozen=True)
class Strategy:
    """Which devices, and under which conditions more than one of them.

    `conditions`: for each way to get there what must hold, from the outside in; nothing is always.
    """

    devices: Written
    conditions: tuple[tuple[Written, ...], ...]
    name: str = "MirroredStrategy"
    """Its class in tf.distribute."""
    taken_from: str = ""
    """Where it is at hand already, and is not made: `self.model.distribute_strategy`."""

    def joined(self, other: Strategy) -> Strategy | None:
        """The strategy that serves both, or None where they ask for different devices."""
        if self.devices != other.devices:
            return None
        ways = dict.fromkeys((*self.conditions, *other.conditions))
        for first, second in combinations(tuple(ways), 2):
            apart = [place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
            if len(first) == len(second) and len(apart) == 1 and negated(first[apart[0]]) == second[apart[0]]:
                ways[first[: apart[0]] + first[apart[0] + 1 :]] = None  # both arms of an `if`
        # A way that asks for more than another one adds nothing to it.
        return Strategy(self.devices, tuple(way for way in ways if not any(set(less) < set(way) for less in ways)))

    @property
    def condition(self) -> Written | None:
        """The conditions as one expression; None is always."""
        return None if () in self.conditions else any_of(self.conditions)

    @property
    def names(self) -> frozenset[str]:
        """Every name in its devices and conditions."""
        read = [*(part for way in self.conditions for part in way), *([self.devices] if self.devices else [])]
        return frozenset[str]().union(*(names_in(part.tree) for part in read))

    @property
    def free_names(self) -> frozenset[str]:
        """The same without those that a comprehension in them binds for itself."""
        parts = [*(part for way in self.conditions for part in way), self.devices]
        trees = [part.tree for part in parts if part]
        own = (names_in(clause.target) for tree in trees for clause in nodes_in(tree, cst.CompFor))
        return self.names - frozenset[str]().union(*own)

    def statement(self, name: str, tf: str, indent: str) -> Code:
        """The assignment, broken over lines where it is long."""
        devices = ("devices=", self.devices) if self.devices else ()
        made = Written.of(f"{tf}.distribute.{self.name}(", *devices, ")")
        mirrored = Written.of(self.taken_from) if self.taken_from else made
        if self.condition is None:
            return Written.of(f"{name} = ", mirrored).code
        default = f"{tf}.distribute.get_strategy()"
        known = constant(self.condition.tree)
        if known is not None and not known.value:
            return Written.of(f"{name} = {default}").code
        line = Written.of(f"{name} = ", mirrored, " if ", self.condition, f" else {default}")
        if len(line.text) <= _LINE:
            return line.code
        condition = _in_lines(self.condition, indent)
        choice = (mirrored, f"\n{indent}if ", *condition, f"\n{indent}else {default}")
        return Written.of(f"{name} = (\n{indent}", *choice, "\n)").code


def _in_lines(condition: Written, indent: str) -> tuple[Written | str, ...]:
    """A condition, a line for each of its parts where it is long."""
    word, parts = clauses(condition)
    if len(condition.text) <= _CONDITION or not word:
        return (condition,)
    deeper = f"\n{indent}{indent}"
    others = (piece for part in parts[1:] for piece in (f"{deeper}{word} ", part))
    return ("(", deeper, parts[0], *others, f"\n{indent})")


ALL_WORKERS = Strategy(Written.of(), ((),), "MultiWorkerMirroredStrategy")
"""Over several machines each worker brings the GPUs it sees, and one GPU a worker is worth a strategy too."""


def strategy_for(
    carrier: Carrier,
    wrap: Wrap,
    owner: Frame,
    before: Unit,
    tf: str,
    quote: str,
    alike: Sequence[Wrap],
    going: Container[cst.CSTNode],
) -> Strategy | Refusal:
    """The strategy of a wrap, to be made just before the unit `before` of `owner`. `alike`: those of its call;
    `going`: the statements of which only the content stays, so that their condition decides nothing there.

    `gpus=4` used the devices 0 to 3 and no others, so they are named; an omitted `gpus` used all that are visible,
    as MirroredStrategy() does. A guard that kept the model on one device becomes the default strategy.
    """
    gpu_kinds = kinds_of_all(alike, carrier.scopes)
    devices = _devices(carrier, wrap, owner, before, tf, quote, gpu_kinds)
    if isinstance(devices, Refusal):
        return devices
    conditions = []
    for guard in wrap.guards:
        condition = _condition(carrier, wrap, guard, owner, before, tf, quote, gpu_kinds, going)
        if isinstance(condition, Refusal):
            return condition
        if condition and condition not in conditions:
            conditions.append(condition)
    if wrap.several_only and wrap.gpus is not None and devices and (replicas(wrap) or 0) < 2:
        count = _count(carrier, wrap, owner, before, tf, quote)
        if isinstance(count, Refusal):
            return count
        several = Written.of(operand(count), " > 1")
        if several not in conditions and constant(several.tree) is None:
            conditions.append(several)
    return Strategy(devices, (tuple(conditions),))


def _count(carrier: Carrier, wrap: Wrap, owner: Frame, before: Unit, tf: str, quote: str) -> Written | Refusal:
    assert wrap.gpus is not None
    count = carrier.at(wrap.gpus, wrap.site, owner, before, _visible_gpus(tf, quote))
    if count is None or (isinstance(count.tree, cst.Name) and count.tree.value == "None"):
        return count_too_late(wrap, owner, before)
    return count


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
    message = f"{what} is not known yet at {place}, where the model or its optimizer is made"
    instance = owner.owner if wrap.site.frame.function is not owner.function else None
    if instance is not None and shares_object(owner, wrap.site.frame):
        needed = f"pass it to {instance.node.name.value}() and keep it as an attribute"
    else:
        needed = f"move {needed} above that line"
    return Refusal(codes.GPUS_TOO_LATE, f"{message}: {needed}")


def _devices(
    carrier: Carrier, wrap: Wrap, owner: Frame, before: Unit, tf: str, quote: str, gpu_kinds: Kinds
) -> Written | Refusal:
    """The devices argument; nothing for all visible devices."""
    if wrap.gpus is None or wrap.gpus_value == Visible("count"):
        return Written.of()
    count = _count(carrier, wrap, owner, before, tf, quote)
    if isinstance(count, Refusal):
        return count
    if isinstance(count.tree, cst.Integer):
        return first_gpus(count, quote)
    ids = _either(gpu_kinds, count, count, Written.of("range(", count, ")"))
    return gpus_of(ids, quote)


def _either(gpu_kinds: Kinds, gpus: Written, of_list: Written, of_number: Written) -> Written:
    """Code for a list of ids, or for a number, or for what multi_gpu_model itself asked where it can be either."""
    if gpu_kinds == {Kind.LIST}:
        return of_list
    if gpu_kinds == {Kind.NUMBER} or not isinstance(gpus.tree, _REPEATABLE):
        return of_number
    return Written.of("(", of_list, " if isinstance(", gpus, ", (list, tuple)) else ", of_number, ")")


def replicas(wrap: Wrap) -> int | None:
    """The number of replicas where it is plain to see."""
    value = wrap.gpus_value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value
    return len(value.values) if isinstance(value, Items) and value.kind == "list" and value.counted else None


def _condition(
    carrier: Carrier,
    wrap: Wrap,
    guard: Guard,
    owner: Frame,
    before: Unit,
    tf: str,
    quote: str,
    gpu_kinds: Kinds,
    going: Container[cst.CSTNode],
) -> Written | Refusal | None:
    """The guard as a condition to stand at `before`; None where it is decided there already, or decides nothing."""
    node = guard.node
    here = Site(owner, before).lifted(guard.frame)
    if here is not None and not isinstance(node, cst.IfExp):
        module = guard.frame.module
        decided = node not in going and _inside(module, here.unit, node)
        if decided or _passed(module, here.unit, node, wrap, guard.frame):
            return None
    if isinstance(node, cst.IfExp) and _is_called_in(owner, node.body if guard.arm == "body" else node.orelse, guard):
        return None
    if not isinstance(node, cst.Try) and _always(node.test, guard.arm):
        return None
    if wrap.gpus_value in (None, Visible("count")) and guard.needs_several:
        return None  # MirroredStrategy() on one GPU is what the other arm did
    if isinstance(node, cst.Try):
        return _enough_devices(carrier, wrap, owner, before, tf, guard, quote, gpu_kinds)
    test = carrier.at(node.test, guard.site, owner, before, _visible_gpus(tf, quote))
    if test is None and owner is guard.frame and _says_the_same(node.test, before, node, carrier, owner):
        test = Written.at(node.test)
    if test is None:
        condition = f"the condition `{guard.frame.module.code(node.test)}`"
        return _too_late(condition, "what it needs", wrap, owner, before)
    test = test if guard.arm == "body" else negated(test)
    known = constant(test.tree)
    return None if known is not None and known.value else test


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


def _says_the_same(test: cst.BaseExpression, unit: Unit, node: cst.CSTNode, carrier: Carrier, owner: Frame) -> bool:
    """Whether a condition says the same at a unit in an arm of its statement: nothing above that binds its names."""
    module, scopes = owner.module, carrier.scopes[owner.module]
    if not _inside(module, unit, node):
        return False
    above = {inner for inner in module.inside(node) if module.order[inner] < module.order[unit]}
    if any(binding.unit in above for name in names_in(test) for binding in scopes.bindings(name)):
        return False
    attributes = [module.code(part) for part in nodes_in(test, cst.Attribute)]
    return not any(sets_attribute(inner, text, module) for inner in above for text in attributes)


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


def _enough_devices(
    carrier: Carrier, wrap: Wrap, owner: Frame, before: Unit, tf: str, guard: Guard, quote: str, gpu_kinds: Kinds
) -> Written | Refusal | None:
    """`try: wrap except ValueError` fell back to one device when devices were missing, or gpus was below 2."""
    if guard.arm != "body":
        return Refusal(
            codes.ODD_CALL, "multi_gpu_model is called in an `except` block: what failed before it cannot be determined"
        )
    if wrap.gpus is None or wrap.gpus_value == Visible("count"):
        return None  # MirroredStrategy() takes as many as there are.
    count = _count(carrier, wrap, owner, before, tf, quote)
    if isinstance(count, Refusal):
        return count
    assert isinstance(guard.node, cst.Try)
    if any(nodes_in(count.tree, cst.Subscript)) and handles(guard.node, "KeyError"):
        return _not_in_its_try(wrap, owner, before, count)
    if not handles(guard.node, MISSING_DEVICES):
        return None
    number = operand(count)
    wanted = _either(gpu_kinds, count, Written.of("len(", count, ")"), number)
    return Written.of(f"{_visible_gpus(tf, quote)} >= ", wanted)


def _not_in_its_try(wrap: Wrap, owner: Frame, before: Unit, count: Written) -> Refusal:
    """A number of GPUs that is asked for above a `try` that handles that there is none."""
    place = owner.module.place(before, wrap.site.frame.module)
    message = (
        f"the strategy must be made before the model, at {place}, and `{count.text}` is computed in a `try` below it, "
        "which handles that it fails there: compute it above that line, with 1 where it fails"
    )
    return Refusal(codes.GPUS_TOO_LATE, message)


def _visible_gpus(tf: str, quote: str) -> str:
    """Code for how many GPUs TensorFlow sees."""
    return f"len({tf}.config.list_physical_devices({quote}GPU{quote}))"
