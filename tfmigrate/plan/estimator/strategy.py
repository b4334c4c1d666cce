"""The strategy that an Estimator is trained under: its RunConfig's, or the default one where that is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import has_stars, is_none
from tfmigrate.plan.edits import Insert, Replace
from tfmigrate.plan.estimator.migration import Migration, settings_of
from tfmigrate.plan.estimator.strategy_calls import arms_of, default_of, one_device, own_strategy
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import sole_assignment
from tfmigrate.understand.unreached import ENDING
from tfmigrate.understand.values import EstimatorPart, FunctionValue, Literal, StrategyObject, Value, options
from tfmigrate.walk import values_returned, walk


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
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "a DistributeConfig cannot be followed", module)
        return None
    return _mirrored(migration, config, named["train_distribute"].value)


@dataclass(frozen=True)
class _Given:
    """What `train_distribute=` is given."""

    node: cst.BaseExpression
    values: Sequence[Value]
    """What that may be."""

    def _strategies(self, name: str) -> list[StrategyObject]:
        return [value for value in self.values if isinstance(value, StrategyObject) and value.name == name]

    @property
    def mirrored(self) -> list[StrategyObject]:
        return self._strategies("MirroredStrategy")

    @property
    def single(self) -> list[StrategyObject]:
        return self._strategies("OneDeviceStrategy")

    @property
    def may_be_none(self) -> bool:
        return Literal(None) in self.values

    @property
    def is_followed(self) -> bool:
        """Whether it is a MirroredStrategy at times, and one device else."""
        known = len(self.mirrored) + len(self.single) + self.may_be_none
        return bool(self.mirrored) and known == len(self.values)

    @property
    def has_one_of_several_inline(self) -> bool:
        """Whether one of several strategies is made in the expression itself, where it has no name."""
        arms = arms_of(self.node)
        return len(self.mirrored) > 1 and any(strategy.node in arms for strategy in self.mirrored)


def _mirrored(migration: Migration, config: EstimatorPart, node: cst.BaseExpression) -> StrategyObject:
    module = config.site.frame.module
    known = (migration.value(module, arm) for arm in arms_of(node))
    values = migration.once(option for value in known if value is not None for option in options(value))
    given = _Given(node, ordered(values))
    for strategy in given.mirrored:
        maker, where = strategy.site.frame.function, strategy.site.frame.module
        if not isinstance(maker, cst.FunctionDef) or maker is config.site.frame.function:
            continue
        if _may_run_out(maker, where):
            name = maker.name.value
            message = f"{name}() may end without a strategy: let it return tf.distribute.get_strategy() there"
            raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
    if given.is_followed and _plan_others(migration, config, given):
        return given.mirrored[0]
    message = "its strategy is not always a MirroredStrategy"
    only = given.values[0] if len(given.values) == 1 else None
    if isinstance(only, StrategyObject):
        message = f"it trains under a {only.name}, but only MirroredStrategy is supported"
    raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)


def _plan_others(migration: Migration, config: EstimatorPart, given: _Given) -> bool:
    """Plan the strategy that may be used instead of the first MirroredStrategy; False where it cannot be followed."""
    strategy, *more = given.mirrored
    if migration.alternative is not None:
        if len(given.values) > 1:
            return False
        _default_in_other_arm(migration, config, migration.alternative, given.node, strategy)
        return True
    if given.has_one_of_several_inline:
        return False
    if given.may_be_none and not _returns_default(migration, config, given):
        if more or given.single or not _none_is_default(migration, config, given.node, strategy):
            return False
    for option in given.single:
        one_device(migration, option)
    for option in more:
        own_strategy(migration, option)
    migration.optional = bool(given.single) or given.may_be_none
    return True


def _returns_default(migration: Migration, config: EstimatorPart, given: _Given) -> bool:
    """Where a function returns None instead of a strategy, and nothing but the RunConfig takes what it returns, the
    default strategy stands for that. Plans it; False where it cannot be."""
    strategies = [*given.single, *given.mirrored]
    makers = {strategy.site.frame.function for strategy in strategies}
    maker = next(iter(makers))
    if len(makers) != 1 or not isinstance(maker, cst.FunctionDef) or maker is config.site.frame.function:
        return False
    if _calls_of(maker, migration.facts) != _made_for(migration, config, given.node):
        return False
    made = {strategy.node for strategy in strategies}
    nothing: list[cst.BaseExpression] = []
    for value in values_returned(maker.body):
        if value is not None and is_none(value):
            nothing.append(value)
        elif value not in made:
            return False
    module = strategies[0].site.frame.module
    if not nothing or not module.leaves(maker.body, ENDING):
        return False
    default = default_of(migration.drafts[module])
    migration.edits.extend((module, Replace(value, default)) for value in nothing)
    return True


def _calls_of(function: cst.FunctionDef, facts: ProgramFacts) -> list[cst.Call]:
    """Every call of a function of the program."""
    return [call for module, known in facts.modules.items() for call in module.calls
            if isinstance(value := known.values.get(call.func), FunctionValue) and value.node is function]  # fmt: skip


def _made_for(migration: Migration, config: EstimatorPart, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """The expressions that give a RunConfig its strategy: one that is written in its call, or what a name is assigned
    that nothing else reads; None where anything else binds or reads the name."""
    if not isinstance(node, cst.Name):
        return [node]
    draft = migration.drafts[config.site.frame.module]
    passed = {inner for part in config.chain for inner in walk(part.node)}
    mentions = draft.scopes.of_variable(node.value, draft.scope_of(config.site.frame))
    makers = [sole_assignment(mention) for mention in mentions if mention.binds]
    values = [maker.value for maker in makers if maker is not None]
    alone = all(mention.binds or mention.node in passed for mention in mentions)
    return values if alone and len(values) == len(makers) else None


def _may_run_out(function: cst.FunctionDef, module: Module) -> bool:
    """Whether a function that returns something at one place may come to its end without a return."""
    returns = any(value is not None for value in values_returned(function.body))
    return returns and not module.leaves(function.body, ENDING)


def _default_in_other_arm(
    migration: Migration,
    config: EstimatorPart,
    other: EstimatorPart,
    node: cst.BaseExpression,
    strategy: StrategyObject,
) -> None:
    """Where a RunConfig for one device is made instead, the strategy is the default one. Raises Unconvertible."""
    module = config.site.frame.module
    here = strategy.site.frame is config.site.frame
    if here and node is strategy.node and config.site.frame is migration.frame:
        # It gets its name, and the other arm's the same, in name_where_made().
        migration.optional = True
        return
    if not isinstance(node, cst.Name) or not here or _made_for(migration, config, node) != [strategy.node]:
        message = (
            "under a condition it trains on one device, but its strategy is created elsewhere, or is read by more "
            "than its RunConfig"
        )
        raise migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)
    line = f"{node.value} = {default_of(migration.drafts[module])}"
    migration.edits.append((module, Insert(other.site.unit, line, (other.site.unit,))))
    migration.optional = True


def _none_is_default(
    migration: Migration, config: EstimatorPart, node: cst.BaseExpression, strategy: StrategyObject
) -> bool:
    """Where a RunConfig may be given None instead of the strategy, the default strategy stands for that: one
    device, as None was. Plans it; False where something else reads that None."""
    module = config.site.frame.module
    values = _made_for(migration, config, node)
    if strategy.site.frame is not config.site.frame or values is None:
        return False
    arms = [arm for value in values for arm in arms_of(value)]
    if not all(is_none(arm) or arm is strategy.node for arm in arms):
        return False
    default = default_of(migration.drafts[module])
    migration.edits.extend((module, Replace(arm, default)) for arm in arms if is_none(arm))
    return True
