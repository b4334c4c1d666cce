"""The strategy that an Estimator is trained under: the RunConfig's, with a name where the model is made."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import has_stars, is_none, named_arguments
from tfmigrate.plan.change.device_names import first_gpus
from tfmigrate.plan.edits import Argument, Arguments, Insert, Replace
from tfmigrate.plan.estimator.migration import Migration, settings_of
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.program import Unit, units_of
from tfmigrate.understand.reaching import sole_assignment
from tfmigrate.understand.values import EstimatorPart, FunctionValue, Literal, StrategyObject, options
from tfmigrate.walk import values_returned, walk
from tfmigrate.written import Written, shown

COUNTS = ("num_gpus", "num_gpus_per_worker")
"""How tf.contrib's MirroredStrategy was told to take the first so many GPUs."""
_SUMMING = ("cross_device_ops", "cross_tower_ops")
"""How it was told to sum the gradients of its devices; the second is the older word."""


def strategy_of(migration: Migration) -> StrategyObject | None:
    """The strategy that it trains under; None where it trains on one device."""
    config = migration.config()
    if config is None:
        return None
    module = config.site.frame.module
    named = settings_of(config)
    if any(has_stars(part.node) for part in config.chain):
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, config.node, "its RunConfig cannot be read", module)
    if "train_distribute" not in named or is_none(named["train_distribute"].value):
        if "experimental_distribute" in named:
            node = named["experimental_distribute"].value
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "a DistributeConfig is not followed", module)
        return None
    return _mirrored(migration, config, named["train_distribute"].value)


def _mirrored(migration: Migration, config: EstimatorPart, node: cst.BaseExpression) -> StrategyObject:
    module = config.site.frame.module
    known = [migration.value(module, arm) for arm in _arms_of(node)]
    values = migration.once(option for value in known if value is not None for option in options(value))
    strategies = [option for option in values if isinstance(option, StrategyObject)]
    single = [option for option in strategies if option.name == "OneDeviceStrategy"]
    mirrored = [option for option in strategies if option.name == "MirroredStrategy"]
    for maker in (option.site.frame.function for option in mirrored):
        if isinstance(maker, cst.FunctionDef) and maker is not config.site.frame.function and _may_run_out(maker):
            name = maker.name.value
            message = f"{name}() may end without a strategy: let it return tf.distribute.get_strategy() there"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
    inline = {option.node for option in mirrored} & set(_arms_of(node))
    several = (bool(single) and len(mirrored) == 1) or (len(mirrored) > 1 and not inline)
    none = Literal(None) in values and mirrored and _returns_default(migration, config, node, [*single, *mirrored])
    if (several or none) and values - {Literal(None)} == {*single, *mirrored} and migration.alternative is None:
        if Literal(None) in values and not none:
            message = "its strategy is not, or not always, a MirroredStrategy"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
        for option in single:
            _one_device(migration, option)
        for option in mirrored[1:]:
            _own_strategy(migration, option)
        migration.optional = bool(single) or bool(none)
        return mirrored[0]
    if len(strategies) == 1 and strategies[0].name == "MirroredStrategy":
        if values == set(strategies):
            if migration.alternative is not None:
                _default_in_other_arm(migration, config, migration.alternative, node, strategies[0])
            return strategies[0]
        perhaps = migration.alternative is None and values == {strategies[0], Literal(None)}
        if perhaps and _none_is_default(migration, config, node, strategies[0]):
            migration.optional = True
            return strategies[0]
    message = "its strategy is not, or not always, a MirroredStrategy"
    if len(values) == len(strategies) == 1:
        message = f"it trains under a {strategies[0].name}, and only MirroredStrategy is followed"
    raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)


def _returns_default(
    migration: Migration, config: EstimatorPart, node: cst.BaseExpression, strategies: Sequence[StrategyObject]
) -> bool:
    """Where a function returns None instead of a strategy, and nothing but the RunConfig takes what it returns, the
    default strategy stands for that. Plans it; False where it cannot be."""
    makers = {option.site.frame.function for option in strategies}
    maker = next(iter(makers))
    module = strategies[0].site.frame.module
    if len(makers) != 1 or not isinstance(maker, cst.FunctionDef) or maker is config.site.frame.function:
        return False
    calls = [call for known, facts in migration.facts.modules.items() for call in known.calls
             if isinstance(value := facts.values.get(call.func), FunctionValue) and value.node is maker]  # fmt: skip
    call = node
    if isinstance(node, cst.Name):
        draft = migration.drafts[config.site.frame.module]
        passed = {inner for part in config.chain for inner in walk(part.node)}
        mentions = draft.scopes.of_variable(node.value, draft.scope_of(config.site.frame))
        bound = [sole_assignment(mention) for mention in mentions if mention.binds]
        if len(bound) != 1 or bound[0] is None or not all(m.binds or m.node in passed for m in mentions):
            return False
        call = bound[0].value
    returned = list(values_returned(maker.body))
    nothing = [value for value in returned if value is not None and is_none(value)]
    made = {option.node for option in strategies}
    if calls != [call] or not nothing or not all(value in made or value in nothing for value in returned):
        return False
    if not _always_ends(units_of(maker.body)):
        return False
    default = f"{migration.drafts[module].tf}.distribute.get_strategy()"
    migration.edits.extend((module, Replace(value, default)) for value in nothing)
    return True


def _may_run_out(function: cst.FunctionDef) -> bool:
    """Whether a function that returns something at one place may come to its end without a return."""
    returns = any(value is not None for value in values_returned(function.body))
    return returns and not _always_ends(units_of(function.body))


def _always_ends(units: Sequence[Unit]) -> bool:
    """Whether a block ends with a return or a raise, whichever way it is run through."""
    last = units[-1]
    if isinstance(last, cst.With):
        return _always_ends(units_of(last.body))
    if isinstance(last, cst.Try):
        whole = [*units_of(last.body), *(units_of(last.orelse.body) if last.orelse is not None else ())]
        return _always_ends(whole) and all(_always_ends(units_of(handler.body)) for handler in last.handlers)
    if isinstance(last, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return isinstance(last.body[-1], cst.Return | cst.Raise)
    arm: cst.If | cst.Else | None = last if isinstance(last, cst.If) else None
    while isinstance(arm, cst.If):
        if not _always_ends(units_of(arm.body)):
            return False
        arm = arm.orelse
    return arm is not None and _always_ends(units_of(arm.body))


def _one_device(migration: Migration, strategy: StrategyObject) -> None:
    """A strategy of one device, which stands where there are no several: it stays, under its name in TensorFlow 2."""
    module = strategy.site.frame.module
    draft = migration.drafts[module]
    passed = named_arguments(strategy.node, ("device",))
    if passed is None or set(passed) != {"device"} or has_stars(strategy.node):
        message = "the arguments of OneDeviceStrategy cannot be read"
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, strategy.node, message, module)
    if "contrib" in migration.facts.modules[module].symbols.get(strategy.node.func, ""):
        migration.edits.append((module, Replace(strategy.node.func, f"{draft.tf}.distribute.OneDeviceStrategy")))


def _default_in_other_arm(
    migration: Migration,
    config: EstimatorPart,
    other: EstimatorPart,
    node: cst.BaseExpression,
    strategy: StrategyObject,
) -> None:
    """Where a RunConfig for one device is made instead, the strategy is the default one. Raises Unconvertible."""
    module = config.site.frame.module
    draft = migration.drafts[module]
    message = "under a condition it trains on one device, and more than its RunConfig reads its strategy"
    if not isinstance(node, cst.Name) or strategy.site.frame is not config.site.frame:
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
    passed = {inner for part in config.chain for inner in walk(part.node)}
    mentions = draft.scopes.of_variable(node.value, draft.scope_of(config.site.frame))
    makers = [sole_assignment(mention) for mention in mentions if mention.binds]
    alone = len(makers) == 1 and makers[0] is not None and makers[0].value is strategy.node
    if not alone or not all(mention.binds or mention.node in passed for mention in mentions):
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
    line = f"{node.value} = {draft.tf}.distribute.get_strategy()"
    migration.edits.append((module, Insert(other.site.unit, line, (other.site.unit,))))
    migration.optional = True


def _none_is_default(
    migration: Migration, config: EstimatorPart, node: cst.BaseExpression, strategy: StrategyObject
) -> bool:
    """Where a RunConfig may be given None instead of the strategy, the default strategy stands for that: one
    device, as None was. Plans it; False where something else reads that None."""
    module = config.site.frame.module
    draft = migration.drafts[module]
    if strategy.site.frame is not config.site.frame:
        return False
    values = [node]
    if isinstance(node, cst.Name):
        passed = {inner for part in config.chain for inner in walk(part.node)}
        mentions = draft.scopes.of_variable(node.value, draft.scope_of(config.site.frame))
        if not all(mention.binds or mention.node in passed for mention in mentions):
            return False
        makers = [sole_assignment(mention) for mention in mentions if mention.binds]
        values = [assignment.value for assignment in makers if assignment is not None]
        if len(values) != len(makers):
            return False
    for value in values:
        arms = _arms_of(value)
        if not all(is_none(arm) or arm is strategy.node for arm in arms):
            return False
        default = f"{draft.tf}.distribute.get_strategy()"
        migration.edits.extend((module, Replace(arm, default)) for arm in arms if is_none(arm))
    return True


def name_where_made(migration: Migration, config: EstimatorPart, strategy: StrategyObject) -> str:
    """The name of the strategy where the Estimator is made; a strategy without a name gets one."""
    choice = _own_strategy(migration, strategy)
    node = settings_of(config)["train_distribute"].value
    frame = config.site.frame
    if isinstance(node, cst.Name):
        carrier = Carrier(migration.drafts)
        if frame is migration.frame:
            return node.value
        carried = carrier.at(node, config.site, migration.frame, migration.unit)
        if carried is not None and carried.text.isidentifier():
            return carried.text
    if strategy.node in _arms_of(node) and frame is migration.frame:
        draft = migration.draft
        name = draft.scopes.fresh("strategy", draft.scope_of(frame))
        if isinstance(node, cst.IfExp):
            default = f"{draft.tf}.distribute.get_strategy()"
            body, orelse = (choice if arm is strategy.node else default for arm in (node.body, node.orelse))
            choice = Written.of(body, " if ", node.test, " else ", orelse)
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
        "its strategy has no name where the Estimator is made",
        config.site.frame.module,
    )


def _own_strategy(migration: Migration, strategy: StrategyObject) -> Written:
    """The call that makes the strategy, as TensorFlow 2 has it; planned where the one that is there differs."""
    module = strategy.site.frame.module
    draft, symbols = migration.drafts[module], migration.facts.modules[module].symbols
    contrib = "contrib" in symbols.get(strategy.node.func, "")
    parameters: tuple[str, ...] = ("devices", "cross_device_ops")
    if contrib:
        parameters = ("devices", *COUNTS, "cross_device_ops", "auto_shard_dataset", "cross_tower_ops")
    passed_on = named_arguments(strategy.node, parameters)
    if passed_on is None or has_stars(strategy.node):
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, strategy.node, "its arguments cannot be read", module)
    arguments: list[Argument] = []
    dropped = False
    for name, arg in passed_on.items():
        old = any("contrib" in symbols.get(part, "") for part in walk(arg.value))
        if is_none(arg.value):
            continue
        if name in _SUMMING and (old or name != "cross_device_ops"):
            message = f"`{name}=` is left out: TensorFlow 2 chooses how the gradients of the devices are summed"
            migration.say(codes.ESTIMATOR_LEFT_OUT, module, arg.value, message, "warn")
            dropped = True
            if isinstance(arg.value, cst.Name):
                migration.assigned(arg.value, module, strategy.site.frame)
            continue
        if name in COUNTS and not old and module.code(arg.value) != "0":
            gpus = first_gpus(Written.at(arg.value), draft.quote)
            arguments.append(Argument(arg.value, "devices", code=gpus.code))
        elif name in ("devices", "cross_device_ops") and not old:
            arguments.append(Argument(arg.value, name, code=(arg.value,)))
        else:
            raise migration.refuse(
                codes.ESTIMATOR_NOT_FOLLOWED, arg.value, f"MirroredStrategy has no `{name}=` of that kind any more",
                module,
            )  # fmt: skip
    name = f"{draft.tf}.distribute.MirroredStrategy"
    counted = dropped or bool(passed_on.keys() - {"devices", "cross_device_ops"})
    if counted:
        migration.edits.append((module, Arguments(strategy.node, tuple(arguments), function=name if contrib else None)))
    elif contrib:
        migration.edits.append((module, Replace(strategy.node.func, name)))
    if not counted:
        passed = (Written.of(f"{arg.keyword.value}=" if arg.keyword else "", arg.value) for arg in strategy.node.args)
        return Written.of(f"{name}(", Written.joined(passed, ", "), ")")
    named = (
        Written((f"{argument.keyword}=" + shown(argument.code)), (f"{argument.keyword}=", *argument.code))
        for argument in arguments
    )
    return Written.of(f"{name}(", Written.joined(named, ", "), ")")


def _arms_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What an expression may come to."""
    return [*_arms_of(node.body), *_arms_of(node.orelse)] if isinstance(node, cst.IfExp) else [node]
