"""tf.estimator under MirroredStrategy -> Keras under its scope.

Each Estimator is migrated whole or not at all: its model function becomes one that returns a compiled model
(`model`), its input functions return the global batch (`inputs`), and its calls become fit, evaluate
and predict.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import has_stars, keywords
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Remove, Replace, Scope
from tfmigrate.plan.estimator.choosing import Choosing
from tfmigrate.plan.estimator.inputs import Inputs
from tfmigrate.plan.estimator.migration import ESTIMATOR, settings_of
from tfmigrate.plan.estimator.model import build
from tfmigrate.plan.estimator.names import modernised, only_compat_import
from tfmigrate.plan.estimator.of_keras import OfKerasModel
from tfmigrate.plan.estimator.own_code import run_by
from tfmigrate.plan.estimator.passing import Passing
from tfmigrate.plan.estimator.reader import Build
from tfmigrate.plan.estimator.replicas import Replicas
from tfmigrate.plan.estimator.strategy_calls import name_where_made
from tfmigrate.plan.estimator.whole import Whole, say_alone
from tfmigrate.plan.names.unread import drop_unread
from tfmigrate.plan.workers import OfEstimator
from tfmigrate.understand.blocks import Unit, only_statement, units_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import sole_name
from tfmigrate.understand.values import EstimatorPart, FunctionValue, Literal, StrategyObject, options
from tfmigrate.walk import nodes_in, walk, words_in
from tfmigrate.written import Code, Written, listed, shown

CANNED_ENDS = ("Classifier", "Regressor")
CANNED_BEGINNINGS = ("DNN", "Linear", "BoostedTrees", "Baseline")
DISTRIBUTING = frozenset({"train_distribute", "experimental_distribute"})


def plan_estimators(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> list[OfEstimator]:
    """Add to the drafts what becomes of every Estimator, or why it stays; returns the strategies of those that go."""
    gone: list[OfEstimator] = []
    by_call: dict[cst.Call, list[EstimatorPart]] = {}
    for part in facts.estimators:
        by_call.setdefault(part.node, []).append(part)
    touched: set[Module] = set()
    before = {module: draft.tf for module, draft in drafts.items()}
    for draft in drafts.values() if by_call else ():
        door = None if draft.edits else only_compat_import(draft)
        draft.tf = door[1] if door is not None else draft.tf
    for call, parts in by_call.items():
        draft = drafts[parts[0].site.frame.module]
        name = parts[0].name
        canned = name.endswith(CANNED_ENDS) or name.startswith(CANNED_BEGINNINGS)
        if (canned or name == "model_to_estimator") and not any(_is_distributed(part) for part in parts):
            say_alone(draft, call)
        elif canned:
            message = f"tf.estimator.{name} is a ready-made model without a replacement in Keras"
            draft.change(codes.CANNED_ESTIMATOR, call, message, action="refuse")
        elif name in _KINDS:
            migration = _KINDS[name](facts, drafts, tuple(parts))
            touched |= migration.run()
            gone.extend(migration.gone)
    _unused_configs(facts, drafts)
    _drop_unused_specs(facts, drafts, touched)
    for module, draft in drafts.items():
        if module in touched:
            exported = {name for exporter, name in facts.exported if exporter is module}
            drop_unread(draft, draft.scopes.by_node.values(), exported)
            _join_scopes(draft)
            modernised(draft)
        else:
            draft.tf = before[module]
    return gone


def _drop_unused_specs(facts: ProgramFacts, drafts: Mapping[Module, Draft], touched: Container[Module]) -> None:
    """A TrainSpec or EvalSpec that nothing reads fails all the same, as tf.estimator is gone."""
    for part in facts.estimators:
        module = part.site.frame.module
        small = only_statement(part.site.unit)
        if part.name not in ("TrainSpec", "EvalSpec") or module not in touched or not isinstance(small, cst.Assign):
            continue
        name = sole_name(small)
        if small.value is part.node and name is not None:
            draft = drafts[module]
            mentions = draft.scopes.of_variable(name, draft.scope_of(part.site.frame))
            read = any(not mention.binds for mention in mentions) or (module, name) in facts.exported
            if not read and Remove(small) not in draft.edits:
                draft.edits.append(Remove(small))


def _join_scopes(draft: Draft) -> None:
    """Blocks of one scope between which nothing is left are one block."""
    module = draft.module
    removed = {edit.node for edit in draft.edits if isinstance(edit, Remove)}

    def goes(unit: Unit) -> bool:
        return isinstance(unit, cst.SimpleStatementLine) and all(small in removed for small in unit.body)

    scopes = [edit for edit in draft.edits if isinstance(edit, Scope)]
    joined: list[Scope] = []
    for scope in sorted(scopes, key=lambda part: module.order[part.units[0]]):
        place = module.places[scope.units[0]]
        last = module.places[joined[-1].units[-1]] if joined else None
        if last is not None and (last.block, joined[-1].context) == (place.block, scope.context):
            between = units_of(place.block)[last.index + 1 : place.index]
            if all(goes(unit) for unit in between):
                joined[-1] = Scope((*joined[-1].units, *between, *scope.units), scope.context)
                continue
        joined.append(scope)
    draft.edits[:] = [*(edit for edit in draft.edits if not isinstance(edit, Scope)), *joined]


def _is_distributed(part: EstimatorPart) -> bool:
    """Whether a canned Estimator, or one of a Keras model, may be told to train on several devices."""
    passed = [value for name, value in part.arguments if name == "config"]
    configs = [option for value in passed for option in options(value)]
    return has_stars(part.node) or not all(
        isinstance(config, Literal)
        or (isinstance(config, EstimatorPart) and not DISTRIBUTING & settings_of(config).keys()
            and not any(has_stars(made.node) for made in config.chain))
        for config in configs
    )  # fmt: skip


def _unused_configs(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A RunConfig that distributes, and that no known code takes: its Estimator would be overlooked."""
    taken = {
        option
        for part in facts.estimators
        for _, value in part.arguments
        for option in options(value)
        if isinstance(option, EstimatorPart)
    }
    nodes = {made.node for part in taken for made in part.chain}
    for part in facts.estimators:
        distributes = keywords(part.node).keys() & {"train_distribute", "distribute"}
        if part.name == "RunConfig" and part.node not in nodes and distributes:
            draft, message = drafts[part.site.frame.module], "no Estimator was found that uses this RunConfig"
            if draft.change(codes.ESTIMATOR_NOT_FOLLOWED, part.node, message, action="refuse"):
                nodes.add(part.node)


class OfModelFunction(Whole):
    """An Estimator of a model function."""

    def plan(self, strategy: StrategyObject) -> None:
        config = self.config()
        assert config is not None
        named = self.named(self.call, ESTIMATOR, self.module)
        if "warm_start_from" in named:
            node = named["warm_start_from"].value
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "it starts from a checkpoint")
        if "model_fn" not in named:
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, self.call, "it has no model_fn")
        uses = self.followed_uses()
        scope = self.strategy = name_where_made(self, config, strategy)
        params = named["params"].value if "params" in named else None
        named = self._without_partial(named)
        function = self.value(self.module, named["model_fn"].value)
        if not isinstance(function, FunctionValue) or not isinstance(function.node, cst.FunctionDef) or function.owner:
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, named["model_fn"].value, "its model_fn cannot be followed")
        home = self.drafts[function.module]
        title = home.scopes.fresh("predictions_of", home.scopes.module)
        helper = Helper.of(home, "add_penalty", "penalty")
        built = self._built(function.node, home, title, helper)
        passing = Passing(self.drafts, params, self.parts[0].site)
        choosing = Choosing(built, home, home.scopes.fresh("read_features", home.scopes.module))
        replicas = Replicas(self.drafts, strategy, scope, self.frame)
        inputs = Inputs(self.facts, self.drafts, replicas, passing, choosing, optional=self.optional)
        self.rename()
        planned = [(call.plan(), call.use) for call in self.calls(uses, built, inputs, config, title)]
        data, use = next((data, use) for data, use in planned if data is not None)
        self._construct(named, built, inputs, (data, use), scope, config)
        self.edits.extend(inputs.edits())
        for home_of_sum, divisor in built.divisors:
            inputs.batches.check_divisor(home_of_sum, divisor)
        if built.penalised:
            self.edits.append((function.module, helper.above([function.node])))
        chooser = choosing.function()
        if chooser is not None:
            self.edits.append((function.module, chooser))
        for module, place, message in inputs.batches.notes():
            self.say(codes.REPLICA_BATCH, module, place, message)
        self.settings(config, named)
        building = len(built.functions - built.computing)
        count = f"{building} function(s)" if building > 1 else "its model function"
        message = f"the Estimator becomes a Keras model, created by {count} under the MirroredStrategy"
        self.say(codes.ESTIMATOR, self.module, self.call, message)

    def _built(self, function: cst.FunctionDef, home: Draft, title: str, helper: Helper) -> Build:
        """The plan for the model function, with what is said of it."""
        built = build(self.facts, home.module, function, home.tf, home.quote, title, helper.name)
        self._used_once(built)
        self.edits.extend(built.edits)
        message = f"{function.name.value} returns a compiled Keras model"
        self.say(codes.MODEL_FUNCTION, home.module, function, message)
        for node, message in built.notes:
            self.say(codes.ESTIMATOR_LEFT_OUT, home.module, node, message, "warn")
        return built

    def _without_partial(self, named: dict[str, cst.Arg]) -> dict[str, cst.Arg]:
        """The arguments of the Estimator, with the params that functools.partial() gives the model function, if any,
        instead of its own: it passes none that are bound."""
        maker = named["model_fn"].value
        symbols = self.facts.modules[self.module].symbols
        if not isinstance(maker, cst.Call) or symbols.get(maker.func) != "functools.partial" or len(maker.args) != 2:
            return named
        function, given = maker.args
        if function.keyword is not None or given.keyword is None or given.keyword.value != "params":
            return named
        return {**named, "model_fn": function, "params": given}

    def _used_once(self, built: Build) -> None:
        """A function that is rewritten may have no other caller."""
        nodes = {function.name.value: function for function in built.functions}
        mine = {node for part in self.parts for node in walk(part.node)}
        for module, facts in self.facts.modules.items():
            inside = {part for function in built.functions for part in walk(function)}
            for node in module.calls:
                if node not in mine and node not in inside:
                    for part in (node.func, *(arg.value for arg in node.args)):
                        if run_by(facts.values.get(part)) in nodes.values():
                            message = f"{module.code(part)} is also used here, as a TensorFlow 1 function"
                            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)

    def _construct(
        self,
        named: Mapping[str, cst.Arg],
        built: Build,
        inputs: Inputs,
        first: tuple[cst.BaseExpression, Use],
        scope: str,
        config: EstimatorPart,
    ) -> None:
        node, use = first
        lower: Unit | None = None
        dataset = inputs.before(node, use.site, self.frame, self.unit)
        if dataset is None:
            lower = self._first_mention(named, built, scope)
            dataset = inputs.before(node, use.site, self.frame, lower) if lower is not None else None
        if dataset is None:
            raise self.refuse(
                codes.ESTIMATOR_NOT_FOLLOWED,
                node,
                "the training data, and so the shape of the features, is unknown where the Estimator is created",
                use.site.frame.module,
            )
        arguments: list[Code] = [(*dataset.code, ".element_spec[0]")]
        if "params" in built.parameters:
            if "params" not in named:
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, self.call, "model_fn takes params, but none are passed")
            arguments.append((named["params"].value,))
        code = (named["model_fn"].value, "(", *listed(arguments), ")")
        if lower is None:
            self.edits.append((self.module, Replace(self.call, code)))
            self.scoped.append((self.module, self.unit, Written.of(f"{scope}.scope()")))
        else:
            self._construct_lower(lower, Written(shown(code), code), scope)
        self.edits.extend((module, Scope((unit,), context)) for module, unit, context in self.scoped)
        arg = named["config"].value
        if isinstance(arg, cst.Name):
            if not self.drop_config(arg, config):
                raise self.refuse(
                    codes.ESTIMATOR_NOT_FOLLOWED,
                    arg,
                    "its RunConfig is not created by a plain assignment, or is used elsewhere",
                )

    def _first_mention(self, named: Mapping[str, cst.Arg], built: Build, scope: str) -> Unit | None:
        """The next line of its block that mentions the Estimator, where its model may be made just before that: an
        Estimator does nothing before it is used. None where something that it is given may be another thing there."""
        line = only_statement(self.unit)
        if not isinstance(line, cst.Assign) or line.value is not self.call or self.target is None:
            return None
        place = self.draft.module.places[self.unit]
        below = units_of(place.block)[place.index + 1 :]
        mentions = [unit for unit in below if self.target in words_in(unit)]
        if not mentions:
            return None
        params = [named["params"].value] if "params" in built.parameters and "params" in named else []
        given = {scope} | words_in(*params)
        between = below[: below.index(mentions[0])]
        met = words_in(*between)
        return mentions[0] if not given & met - self._only_read(between, {scope}) else None

    def _only_read(self, units: Iterable[Unit], names: set[str]) -> set[str]:
        """Those of the names to which nothing in these units assigns."""
        bound = {
            name.value
            for unit in units
            for target in nodes_in(unit, cst.AssignTarget)
            for name in nodes_in(target, cst.Name)
        }
        return names - bound

    def _construct_lower(self, lower: Unit, code: Written, scope: str) -> None:
        """Make the model before a line further down, as its input function is defined between."""
        assert self.target is not None
        name = self.renamed[1] if self.renamed is not None else self.target
        small = only_statement(self.unit)
        assert small is not None
        indent = self.draft.module.tree.default_indent
        self.edits.append((self.module, Remove(small)))
        line = Written.of(f"with {scope}.scope():\n{indent}{name} = ", code)
        self.edits.append((self.module, Insert(lower, line.code, (self.unit,))))


_KINDS: Mapping[str, type[Whole]] = {"Estimator": OfModelFunction, "model_to_estimator": OfKerasModel}
"""What makes an Estimator -> how it is planned."""
