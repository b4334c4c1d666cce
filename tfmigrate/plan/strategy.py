"""From `gpus=` and the guards round a wrap to the expression that makes the strategy."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.blocks import negated
from tfmigrate.plan.expressions import Carrier
from tfmigrate.plan.groups import Refusal
from tfmigrate.understand.lifecycle import Guard, Wrap
from tfmigrate.understand.program import Module, Unit, suites_of
from tfmigrate.understand.values import Frame, Items, Literal, options

_LINE = 100


def strategy_expression(
    module: Module, carrier: Carrier, wrap: Wrap, home: Frame, before: Unit, tf: str
) -> str | Refusal:
    """Code that makes the strategy of a wrap, to stand just before the unit `before` of `home`.

    `gpus=4` used the devices 0 to 3 and no others, so they are named; an omitted `gpus` used all that are visible,
    as MirroredStrategy() does. A guard that kept the model on one device becomes the default strategy.
    """
    devices = _devices(module, carrier, wrap, home, before)
    if isinstance(devices, Refusal):
        return devices
    mirrored = f"{tf}.distribute.MirroredStrategy({devices and f'devices={devices}'})"
    default = f"{tf}.distribute.get_strategy()"
    conditions = []
    for guard in wrap.guards:
        condition = _condition(module, carrier, wrap, guard, home, before, tf)
        if isinstance(condition, Refusal):
            return condition
        if condition:
            conditions.append(condition)
    if not conditions:
        return mirrored
    test = conditions[0] if len(conditions) == 1 else " and ".join(f"({c})" if " or " in c else c for c in conditions)
    return f"{mirrored} if {test} else {default}"


def statement(name: str, expression: str, indent: str) -> str:
    """The assignment, broken over lines where it is long."""
    line = f"{name} = {expression}"
    if len(line) <= _LINE or " if " not in expression:
        return line
    head, _, rest = expression.rpartition(" else ")
    mirrored, _, test = head.rpartition(") if ")
    return f"{name} = (\n{indent}{mirrored})\n{indent}if {test}\n{indent}else {rest}\n)"


def _count(module: Module, carrier: Carrier, wrap: Wrap, home: Frame, before: Unit) -> str | Refusal:
    assert wrap.gpus is not None
    text = carrier.carried(wrap.gpus, wrap.site.frame, home, before)
    if text is None:
        line = module.position(before)[0]
        return Refusal(
            codes.GPUS_TOO_LATE,
            f"gpus={module.code(wrap.gpus)} is not known yet at line {line}, where the model is built: "
            "move its definition above that line",
        )
    return text


def _devices(module: Module, carrier: Carrier, wrap: Wrap, home: Frame, before: Unit) -> str | Refusal:
    """The devices argument; "" for all visible devices."""
    if wrap.gpus is None:
        return ""
    count = _count(module, carrier, wrap, home, before)
    if isinstance(count, Refusal):
        return count
    if is_list(wrap):
        return f'[f"/gpu:{{i}}" for i in {count}]'
    return f'[f"/gpu:{{i}}" for i in range({count})]'


def is_list(wrap: Wrap) -> bool:
    """Whether `gpus` is a list of device ids."""
    return wrap.gpus_value is not None and any(isinstance(option, Items) for option in options(wrap.gpus_value))


def replicas(wrap: Wrap) -> int | None:
    """The number of replicas where it is plain to see."""
    value = wrap.gpus_value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value
    return len(value.values) if isinstance(value, Items) and value.kind == "list" else None


def _condition(
    module: Module, carrier: Carrier, wrap: Wrap, guard: Guard, home: Frame, before: Unit, tf: str
) -> str | Refusal | None:
    """The guard as a condition to stand at `before`; None where it is decided there already, or decides nothing."""
    node = guard.node
    if not isinstance(node, cst.IfExp) and (_inside(module, before, node) or _passed(module, before, node, wrap)):
        return None
    if isinstance(node, cst.Try):
        return _enough_devices(module, carrier, wrap, home, before, tf, guard)
    test = carrier.carried(node.test, wrap.site.frame, home, before)
    if test is None:
        return Refusal(
            codes.GPUS_TOO_LATE,
            f"the condition `{module.code(node.test)}` is not known yet at line {module.position(before)[0]}, "
            "where the model is built: move what it needs above that line",
        )
    if guard.arm == "body":
        return test
    if test == module.code(node.test):
        return negated(module, node.test)
    return f"not ({test})"


def _inside(module: Module, unit: Unit, node: cst.CSTNode) -> bool:
    """Whether a unit stands in an arm of the statement (an `elif` included)."""
    suites = set(suites_of(node))
    return any(module.places[one].block in suites for one in (unit, *module.ancestors(unit)) if one in module.places)


def _passed(module: Module, unit: Unit, node: cst.CSTNode, wrap: Wrap) -> bool:
    """Whether the statement, whose other arm left the function, was already behind when `unit` began."""
    if node not in module.order or node in module.ancestors(wrap.site.unit):
        return False
    return module.order[node] < module.order[unit]


def _enough_devices(
    module: Module, carrier: Carrier, wrap: Wrap, home: Frame, before: Unit, tf: str, guard: Guard
) -> str | Refusal | None:
    """`try: wrap except ValueError` fell back to one device when devices were missing, or gpus was below 2."""
    if guard.arm != "body":
        return Refusal(codes.ODD_CALL, "it stands in an `except` block: what failed before it cannot be told")
    if wrap.gpus is None:
        return None
    count = _count(module, carrier, wrap, home, before)
    if isinstance(count, Refusal):
        return count
    wanted = f"len({count})" if is_list(wrap) else count
    return f'len({tf}.config.list_physical_devices("GPU")) >= {wanted}'
