"""What is known of an Estimator, and what is planned to become of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import has_stars, is_none, keywords, named_arguments
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Insert, Remove
from tfmigrate.plan.estimator.reader import Unconvertible
from tfmigrate.plan.workers import OfEstimator
from tfmigrate.result import Action
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.values import EstimatorPart, Frame, StrategyObject, Value, options
from tfmigrate.written import Written

ESTIMATOR = ("model_fn", "model_dir", "config", "params", "warm_start_from")

_OLDER = {"distribute": "train_distribute"}
"""A word of TensorFlow 1.7 -> that of 1.8."""


def settings_of(config: EstimatorPart) -> dict[str, cst.Arg]:
    """What a RunConfig is given, and given anew by replace(), by name."""
    given = (item for part in config.chain for item in keywords(part.node).items())
    return {_OLDER.get(name, name): arg for name, arg in given}


def evaluates_distributed(config: EstimatorPart) -> bool:
    """Whether an Estimator is evaluated under its strategy too."""
    evaluation = settings_of(config).get("eval_distribute")
    return evaluation is not None and not is_none(evaluation.value)


def _distributes(config: EstimatorPart) -> bool:
    strategies = (settings_of(config).get(name) for name in ("train_distribute", "experimental_distribute"))
    given = any(arg is not None and not is_none(arg.value) for arg in strategies)
    return given or any(has_stars(part.node) for part in config.chain)


@dataclass
class Said:
    code: str
    module: Module
    node: cst.CSTNode
    message: str
    action: Action


@dataclass
class Migration:
    """One Estimator: what is known of it, and what is planned so far."""

    facts: ProgramFacts
    drafts: Mapping[Module, Draft]
    parts: tuple[EstimatorPart, ...]
    """The activations of the one call."""
    renamed: tuple[str, str] | None = None
    """(old, new) name of the variable that the Estimator is bound to."""
    edits: list[tuple[Module, Edit]] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    strategy: str = ""
    """Its name where the Estimator is made."""
    scoped: list[tuple[Module, Unit, Written]] = field(default_factory=list)
    """Units that stand in a scope, and in which."""
    gone: list[OfEstimator] = field(default_factory=list)
    """Its strategy, once it is planned whole."""
    optional: bool = False
    """Whether it trained on one device under some condition."""
    alternative: EstimatorPart | None = None
    """The RunConfig for one device that it gets in the other arm of a condition."""
    line: tuple[str, Insert] | None = None
    """The name of a strategy that had none, and the line that makes it."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the call that makes it takes, in order."""
        return ESTIMATOR

    @property
    def call(self) -> cst.Call:
        return self.parts[0].node

    @property
    def module(self) -> Module:
        return self.parts[0].site.frame.module

    @property
    def frame(self) -> Frame:
        return self.parts[0].site.frame

    @property
    def unit(self) -> Unit:
        return self.parts[0].site.unit

    @property
    def draft(self) -> Draft:
        return self.drafts[self.module]

    def refuse(self, code: str, node: cst.CSTNode, message: str, module: Module | None = None) -> Unconvertible:
        return Unconvertible(code, module or self.module, node, message)

    def say(self, code: str, module: Module, node: cst.CSTNode, message: str, action: Action = "rewrite") -> None:
        self.said.append(Said(code, module, node, message, action))

    def value(self, module: Module, node: cst.BaseExpression) -> Value | None:
        return self.facts.modules[module].values.get(node)

    def named(self, call: cst.Call, parameters: tuple[str, ...], module: Module) -> dict[str, cst.Arg]:
        arguments = named_arguments(call, parameters)
        if arguments is None or has_stars(call):
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, call, "its arguments cannot be read", module)
        return arguments

    def assigned(self, name: cst.Name, module: Module, frame: Frame) -> cst.BaseExpression | None:
        """What a name stands for that is bound once and read here alone; its statement goes."""
        draft = self.drafts[module]
        mentions = draft.scopes.of_variable(name.value, draft.scope_of(frame))
        binding = [mention for mention in mentions if mention.binds]
        if len(mentions) != 2 or len(binding) != 1 or not isinstance(binding[0].unit, cst.SimpleStatementLine):
            return None
        small = binding[0].unit.body[0]
        if not isinstance(small, cst.Assign) or len(small.targets) != 1:
            return None
        self.edits.append((module, Remove(small)))
        return small.value

    def config(self) -> EstimatorPart | None:
        """The RunConfig of the Estimator; None where it has none. Raises Unconvertible."""
        arg = self.named(self.call, self.parameters, self.module).get("config")
        if arg is None or is_none(arg.value):
            return None
        configs = self._configs(arg.value)
        distributing = [config for config in configs if _distributes(config)]
        others = [config for config in configs if not _distributes(config)]
        if len(configs) not in (1, 2) or (len(configs) == 2 and len(others) != 1):
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, "its RunConfig cannot be followed")
        (config,) = distributing or others
        made = {part.site.frame for known in configs for part in known.chain}
        if len(made) != 1:
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, "its RunConfig is created in two functions")
        if len(configs) == 2:
            (self.alternative,) = others
            if not config.site.frame.module.exclusive(config.site.unit, self.alternative.site.unit):
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, "it may be a different RunConfig")
        return config

    def _configs(self, node: cst.BaseExpression) -> list[EstimatorPart]:
        """Every RunConfig that an expression may be; none where it may be anything else."""
        value = self.value(self.module, node)
        values = self.once(options(value)) if value is not None else frozenset()
        configs = [option for option in values if isinstance(option, EstimatorPart) and option.name == "RunConfig"]
        return configs if len(configs) == len(values) else []

    def once(self, values: Iterable[Value]) -> frozenset[Value]:
        """Values without those that another call of the function round them makes of the same code: of each, that of
        the Estimator's own frame, or the first."""
        made: dict[cst.CSTNode, EstimatorPart | StrategyObject] = {}
        others: list[Value] = []
        for value in ordered(list(values)):
            if not isinstance(value, EstimatorPart | StrategyObject):
                others.append(value)
            elif value.node not in made or self.frame in value.site.frame.chain():
                made[value.node] = value
        return frozenset((*others, *made.values()))

    def drop_config(self, read: cst.Name, config: EstimatorPart) -> bool:
        """Take out the statements that make a RunConfig of the Estimator's frame, which `read` passes on; False where
        something else reads it, or makes it."""
        draft = self.drafts[self.module]
        chain = (*config.chain, *(self.alternative.chain if self.alternative is not None else ()))
        makers = {part.node for part in chain}
        receivers = [part.node.func.value for part in chain if part.base and isinstance(part.node.func, cst.Attribute)]
        reads = [node for node in (read, *receivers) if isinstance(node, cst.Name)]
        gone: list[Remove] = []
        for name in {node.value for node in reads}:
            for mention in draft.scopes.of_variable(name, draft.scope_of(self.frame)):
                if not mention.binds:
                    if mention.node not in reads:
                        return False
                    continue
                small = only_statement(mention.unit)
                if not isinstance(small, cst.Assign) or len(small.targets) != 1 or small.value not in makers:
                    return False
                gone.append(Remove(small))
        self.edits.extend((self.module, edit) for edit in gone)
        return any(edit.node.value is config.node for edit in gone if isinstance(edit.node, cst.Assign))

    def uses(self) -> list[Use]:
        parts = []
        for use in self.facts.estimator_uses:
            mine = [option for option in options(use.receiver) if option in self.parts]
            if mine:
                if len(options(use.receiver)) != len(mine):
                    raise self.refuse(
                        codes.ESTIMATOR_NOT_FOLLOWED,
                        use.call,
                        ("this may be a different Estimator"),
                        use.site.frame.module,
                    )
                parts.append(use)
        by_call: dict[cst.Call, Use] = {}
        for use in parts:
            if use.call not in by_call or self.frame in use.site.frame.chain():
                by_call[use.call] = use
        return list(by_call.values())
