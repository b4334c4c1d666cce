"""The calls that make strategies, as TensorFlow 2 has them, and the name of one where the Estimator is made."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, named_arguments
from tfmigrate.plan.change.device_names import first_gpus
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments, Insert, Replace
from tfmigrate.plan.estimator.migration import Migration, settings_of
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.values import EstimatorPart, StrategyObject
from tfmigrate.walk import walk
from tfmigrate.written import Written, shown

_COUNTS = ("num_gpus", "num_gpus_per_worker")
"""Arguments of tf.contrib's MirroredStrategy that set how many GPUs it uses."""
_SUMMING = ("cross_device_ops", "cross_tower_ops")
"""Arguments that choose how gradients are summed across devices; the second is the older name."""
_TODAY = ("devices", "cross_device_ops")
"""Arguments of MirroredStrategy in TensorFlow 2."""


def name_where_made(migration: Migration, config: EstimatorPart, strategy: StrategyObject) -> str:
    """The name of the strategy where the Estimator is made; a strategy without a name gets one."""
    choice = own_strategy(migration, strategy)
    node = settings_of(config)["train_distribute"].value
    frame = config.site.frame
    if isinstance(node, cst.Name):
        carrier = Carrier(migration.drafts)
        if frame is migration.frame:
            return node.value
        carried = carrier.at(node, config.site, migration.frame, migration.unit)
        if carried is not None and carried.text.isidentifier():
            return carried.text
    if strategy.node in arms_of(node) and frame is migration.frame:
        draft = migration.draft
        name = draft.scopes.fresh("strategy", draft.scope_of(frame))
        if isinstance(node, cst.IfExp):
            body, orelse = (choice if arm is strategy.node else default_of(draft) for arm in (node.body, node.orelse))
            choice = Written.of(body, " if ", node.test, " else ", orelse)
        other = migration.alternative
        if other is not None:
            # Each arm names the strategy that its own RunConfig stands for.
            for unit, line in ((config.site.unit, choice), (other.site.unit, Written.of(default_of(draft)))):
                migration.edits.append((migration.module, Insert(unit, (f"{name} = ", *line.code), (unit,))))
            return name
        migration.line = name, Insert(migration.unit, (f"{name} = ", *choice.code))
        migration.edits.append((migration.module, migration.line[1]))
        return name
    draft = migration.draft
    places = draft.module.places
    if isinstance(node, cst.Call) and frame is migration.frame:
        if places[config.site.unit].block is places[migration.unit].block:
            # What returns the strategy is called where it was: for the RunConfig.
            name = draft.scopes.fresh("strategy", draft.scope_of(frame))
            migration.line = name, Insert(config.site.unit, Written.of(f"{name} = ", node).code)
            migration.edits.append((migration.module, migration.line[1]))
            return name
    raise migration.refuse(
        codes.ESTIMATOR_NOT_FOLLOWED,
        node,
        "its strategy has no name where the Estimator is created",
        config.site.frame.module,
    )


def default_of(draft: Draft) -> str:
    """The code for the strategy that stands where none is entered."""
    return f"{draft.tf}.distribute.get_strategy()"


def one_device(migration: Migration, strategy: StrategyObject) -> None:
    """A strategy of one device, which stands where there are no several: it stays, under its name in TensorFlow 2."""
    module = strategy.site.frame.module
    draft = migration.drafts[module]
    passed = named_arguments(strategy.node, ("device",))
    if passed is None or set(passed) != {"device"}:
        message = "the arguments of OneDeviceStrategy cannot be read"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, strategy.node, message, module)
    if "contrib" in migration.facts.modules[module].symbols.get(strategy.node.func, ""):
        migration.edits.append((module, Replace(strategy.node.func, f"{draft.tf}.distribute.OneDeviceStrategy")))


def own_strategy(migration: Migration, strategy: StrategyObject) -> Written:
    """The call that makes the strategy, as TensorFlow 2 has it; planned where the one that is there differs."""
    module, call = strategy.site.frame.module, strategy.node
    symbols = migration.facts.modules[module].symbols
    contrib = "contrib" in symbols.get(call.func, "")
    parameters = (
        ("devices", *_COUNTS, "cross_device_ops", "auto_shard_dataset", "cross_tower_ops") if contrib else _TODAY
    )
    passed = named_arguments(call, parameters)
    if passed is None:
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, call, "its arguments cannot be read", module)
    name = f"{migration.drafts[module].tf}.distribute.MirroredStrategy"
    if all(word in _TODAY and not _is_of_contrib(arg.value, symbols) for word, arg in passed.items()):
        if contrib:
            migration.edits.append((module, Replace(call.func, name)))
        same = (Written.of(f"{arg.keyword.value}=" if arg.keyword else "", arg.value) for arg in call.args)
        return Written.of(f"{name}(", Written.joined(same, ", "), ")")
    read = (_argument(migration, strategy, word, arg) for word, arg in passed.items() if not is_none(arg.value))
    arguments = tuple(argument for argument in read if argument is not None)
    migration.edits.append((module, Arguments(call, arguments, function=name if contrib else None)))
    named = (
        Written((f"{argument.keyword}=" + shown(argument.code)), (f"{argument.keyword}=", *argument.code))
        for argument in arguments
    )
    return Written.of(f"{name}(", Written.joined(named, ", "), ")")


def _argument(migration: Migration, strategy: StrategyObject, name: str, arg: cst.Arg) -> Argument | None:
    """What TensorFlow 2 takes for an argument; None where it is left out. Raises Unconvertible."""
    module = strategy.site.frame.module
    old = _is_of_contrib(arg.value, migration.facts.modules[module].symbols)
    if name in _SUMMING and (old or name not in _TODAY):
        message = f"`{name}=` is removed: TensorFlow 2 chooses how the gradients of the devices are summed"
        migration.say(codes.ESTIMATOR_LEFT_OUT, module, arg.value, message, "warn")
        if isinstance(arg.value, cst.Name):
            migration.assigned(arg.value, module, strategy.site.frame)
        return None
    if name in _COUNTS and not old and module.code(arg.value) != "0":
        gpus = first_gpus(Written.at(arg.value), migration.drafts[module].quote)
        return Argument(arg.value, "devices", code=gpus.code)
    if name in _TODAY and not old:
        return Argument(arg.value, name, code=(arg.value,))
    message = f"MirroredStrategy no longer has such a `{name}=`"
    raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, message, module)


def _is_of_contrib(node: cst.CSTNode, symbols: Mapping[cst.CSTNode, str]) -> bool:
    """Whether something of tf.contrib is mentioned in an expression."""
    return any("contrib" in symbols.get(part, "") for part in walk(node))


def arms_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What an expression may come to."""
    return [*arms_of(node.body), *arms_of(node.orelse)] if isinstance(node, cst.IfExp) else [node]
