"""tf.estimator under MirroredStrategy -> Keras under its scope.

Each Estimator is migrated whole or not at all: its model function becomes one that returns a compiled model
(estimator_model), its input functions return the global batch (estimator_inputs), and its calls become fit, evaluate
and predict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import has_stars, is_none, keywords, named_arguments
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments, Edit, Insert, Remove, Replace, Scope
from tfmigrate.plan.estimator_inputs import Inputs
from tfmigrate.plan.estimator_model import build
from tfmigrate.plan.estimator_names import modernised, only_compat_import
from tfmigrate.plan.estimator_reader import Build, Unconvertible
from tfmigrate.plan.expressions import Carrier, sole_assignment
from tfmigrate.plan.unread import drop_unread
from tfmigrate.plan.workers import OfEstimator
from tfmigrate.result import Action
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.program import Module, Unit, only_statement, units_of
from tfmigrate.understand.values import (
    EstimatorPart,
    Frame,
    FunctionValue,
    Literal,
    StrategyObject,
    Value,
    options,
)
from tfmigrate.walk import walk

ESTIMATOR = ("model_fn", "model_dir", "config", "params", "warm_start_from")
TRAIN = ("input_fn", "hooks", "steps", "max_steps", "saving_listeners")
EVALUATE = ("input_fn", "steps", "hooks", "checkpoint_path", "name")
PREDICT = ("input_fn", "predict_keys", "hooks", "checkpoint_path", "yield_single_examples")
TRAIN_SPEC = ("input_fn", "max_steps", "hooks")
EVAL_SPEC = ("input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs")
TRAINS = frozenset({"train", "train_and_evaluate"})
EVAL_STEPS = "100"
"""The default of EvalSpec."""

COUNTS = ("num_gpus", "num_gpus_per_worker")
"""How tf.contrib's MirroredStrategy was told to take the first so many GPUs."""
CANNED_ENDS = ("Classifier", "Regressor")
CANNED_BEGINNINGS = ("DNN", "Linear", "BoostedTrees", "Baseline")
DISTRIBUTING = frozenset({"train_distribute", "experimental_distribute"})
SILENT_SETTINGS = frozenset({"session_config", "log_step_count_steps", "save_summary_steps"})
CHECKPOINT_SETTINGS = frozenset(
    {
        "model_dir", "save_checkpoints_secs", "save_checkpoints_steps", "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
    }
)  # fmt: skip
LOGGING_HOOKS = frozenset({"train.LoggingTensorHook", "train.StepCounterHook"})


def plan_estimators(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> list[OfEstimator]:
    """Add to the drafts what becomes of every Estimator, or why it stays; returns the strategies of those that go."""
    gone: list[OfEstimator] = []
    made: dict[cst.Call, list[EstimatorPart]] = {}
    for part in facts.estimators:
        made.setdefault(part.node, []).append(part)
    touched: set[Module] = set()
    before = {module: draft.tf for module, draft in drafts.items()}
    for draft in drafts.values() if made else ():
        door = None if draft.edits else only_compat_import(draft)
        draft.tf = door[1] if door is not None else draft.tf
    for call, parts in made.items():
        draft = drafts[parts[0].site.frame.module]
        name = parts[0].name
        canned = name.endswith(CANNED_ENDS) or name.startswith(CANNED_BEGINNINGS)
        if (canned or name == "model_to_estimator") and not any(_is_distributed(part) for part in parts):
            _say_alone(draft, call)
        elif canned:
            if draft.wanted(codes.CANNED_ESTIMATOR, call):
                message = f"tf.estimator.{name} is a finished model of TensorFlow: Keras has none to put in its place"
                draft.say(codes.CANNED_ESTIMATOR, call, message, "refuse")
        elif name == "model_to_estimator":
            if draft.wanted(codes.ESTIMATOR_NOT_FOLLOWED, call):
                message = (
                    "model_to_estimator: the Keras model can train by itself: build and compile it under the strategy, "
                    "and call fit() with the batch of all replicas"
                )
                draft.say(codes.ESTIMATOR_NOT_FOLLOWED, call, message, "refuse")
        elif name == "Estimator":
            migration = _Migration(facts, drafts, tuple(parts))
            touched |= migration.run()
            gone.extend(migration.gone)
    _unused_configs(facts, drafts)
    for module, draft in drafts.items():
        if module in touched:
            exported = {name for one, name in facts.exported if one is module}
            drop_unread(draft, draft.scopes.by_node.values(), exported)
            _join_scopes(draft)
            modernised(draft)
        else:
            draft.tf = before[module]
    return gone


def _join_scopes(draft: Draft) -> None:
    """Blocks of one scope between which nothing is left are one block."""
    module = draft.module
    removed = {edit.node for edit in draft.edits if isinstance(edit, Remove)}

    def goes(unit: Unit) -> bool:
        return isinstance(unit, cst.SimpleStatementLine) and all(small in removed for small in unit.body)

    scopes = [edit for edit in draft.edits if isinstance(edit, Scope)]
    joined: list[Scope] = []
    for scope in sorted(scopes, key=lambda one: module.order[one.units[0]]):
        place = module.places[scope.units[0]]
        last = module.places[joined[-1].units[-1]] if joined else None
        if last is not None and (last.block, joined[-1].context) == (place.block, scope.context):
            between = units_of(place.block)[last.index + 1 : place.index]
            if all(goes(unit) for unit in between):
                joined[-1] = Scope((*joined[-1].units, *between, *scope.units), scope.context)
                continue
        joined.append(scope)
    draft.edits[:] = [*(edit for edit in draft.edits if not isinstance(edit, Scope)), *joined]


def _say_alone(draft: Draft, call: cst.Call) -> None:
    if draft.wanted(codes.ESTIMATOR_ALONE, call):
        message = "this Estimator trains on one device (no train_distribute); it is left as it is"
        draft.say(codes.ESTIMATOR_ALONE, call, message, "warn")


def _is_distributed(part: EstimatorPart) -> bool:
    """Whether a canned Estimator, or one of a Keras model, may be told to train on several devices."""
    given = [value for name, value in part.arguments if name == "config"]
    configs = [option for value in given for option in options(value)]
    return has_stars(part.node) or not all(
        isinstance(config, Literal)
        or (isinstance(config, EstimatorPart) and not DISTRIBUTING & keywords(config.node).keys()
            and not has_stars(config.node))
        for config in configs
    )  # fmt: skip


def _unused_configs(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A RunConfig that distributes, and that nothing in sight takes: its Estimator would be overlooked."""
    taken = {
        option
        for part in facts.estimators
        for _, value in part.arguments
        for option in options(value)
        if isinstance(option, EstimatorPart)
    }
    nodes = {part.node for part in taken}
    for part in facts.estimators:
        if part.name == "RunConfig" and part.node not in nodes and "train_distribute" in keywords(part.node):
            draft = drafts[part.site.frame.module]
            if draft.wanted(codes.ESTIMATOR_NOT_FOLLOWED, part.node):
                nodes.add(part.node)
                message = "no Estimator that takes this RunConfig is in sight"
                draft.say(codes.ESTIMATOR_NOT_FOLLOWED, part.node, message, "refuse")


@dataclass
class _Said:
    code: str
    module: Module
    node: cst.CSTNode
    message: str
    action: Action


@dataclass
class _Migration:
    """One Estimator."""

    facts: ProgramFacts
    drafts: Mapping[Module, Draft]
    parts: tuple[EstimatorPart, ...]
    """The activations of the one call."""
    renamed: tuple[str, str] | None = None
    """(old, new) name of the variable that the Estimator is bound to."""
    edits: list[tuple[Module, Edit]] = field(default_factory=list)
    said: list[_Said] = field(default_factory=list)
    strategy: str = ""
    """Its name where the Estimator is made."""
    scoped: list[tuple[Module, Unit, str]] = field(default_factory=list)
    """Units that stand in a scope, and in which."""
    gone: list[OfEstimator] = field(default_factory=list)
    """Its strategy, once it is planned whole."""
    _optional: bool = False
    """Whether it trained on one device under some condition."""
    _line: tuple[str, Insert] | None = None
    """The name of a strategy that had none, and the line that makes it."""

    def run(self) -> set[Module]:
        """Plan it; returns the modules that change."""
        draft, call = self._draft, self._call
        if not draft.settings.wants(codes.ESTIMATOR):
            return set()
        try:
            strategy = self._strategy()
            if strategy is None:
                _say_alone(draft, call)
                return set()
            self._plan(strategy)
        except Unconvertible as problem:
            if self.drafts[self._module].wanted(codes.ESTIMATOR, call):
                message = f"this Estimator stays: {problem.message}"
                self.drafts[problem.module].say(problem.code, problem.node, message, "refuse")
            return set()
        unwanted = {
            one.code
            for one in self.said
            if one.action == "rewrite" and not self.drafts[one.module].settings.wants(one.code)
        }
        if unwanted:
            message = f"this Estimator stays: {min(unwanted)} is not selected, and it is migrated whole or not at all"
            draft.say(codes.ESTIMATOR_NOT_FOLLOWED, call, message, "refuse")
            return set()
        self.said = [one for one in self.said if self.drafts[one.module].settings.wants(one.code)]
        wanted = [self.drafts[one.module].wanted(one.code, one.node) for one in self.said]
        if not all(wanted):
            return set()
        for one in self.said:
            self.drafts[one.module].say(one.code, one.node, one.message, one.action)
        for module, edit in self.edits:
            if edit not in self.drafts[module].edits:
                self.drafts[module].edits.append(edit)
        trainings = tuple(use for use in self._uses() if use.method in TRAINS)
        self.gone.append(OfEstimator(strategy, trainings, self._line))
        return {module for module, _ in self.edits}

    # ---- what is there ----

    @property
    def _call(self) -> cst.Call:
        return self.parts[0].node

    @property
    def _module(self) -> Module:
        return self.parts[0].site.frame.module

    @property
    def _frame(self) -> Frame:
        return self.parts[0].site.frame

    @property
    def _unit(self) -> Unit:
        return self.parts[0].site.unit

    @property
    def _draft(self) -> Draft:
        return self.drafts[self._module]

    def _refuse(self, code: str, node: cst.CSTNode, message: str, module: Module | None = None) -> Unconvertible:
        return Unconvertible(code, module or self._module, node, message)

    def _say(self, code: str, module: Module, node: cst.CSTNode, message: str, action: Action = "rewrite") -> None:
        self.said.append(_Said(code, module, node, message, action))

    def _value(self, module: Module, node: cst.BaseExpression) -> Value | None:
        return self.facts.modules[module].values.get(node)

    def _named(self, call: cst.Call, parameters: tuple[str, ...], module: Module) -> dict[str, cst.Arg]:
        given = named_arguments(call, parameters)
        if given is None or has_stars(call):
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, call, "its arguments cannot be read", module)
        return given

    def _config(self) -> EstimatorPart | None:
        """The RunConfig of the Estimator; None where it has none."""
        given = self._named(self._call, ESTIMATOR, self._module)
        arg = given.get("config")
        if arg is None or is_none(arg.value):
            return None
        value = self._value(self._module, arg.value)
        found = options(value) if value is not None else frozenset()
        configs = [option for option in found if isinstance(option, EstimatorPart) and option.name == "RunConfig"]
        if len(configs) != 1 or len(found) != 1:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, "its RunConfig cannot be followed")
        return configs[0]

    def _strategy(self) -> StrategyObject | None:
        """The strategy that it trains under; None where it trains on one device."""
        config = self._config()
        if config is None:
            return None
        module = config.site.frame.module
        given = keywords(config.node)
        if has_stars(config.node):
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, config.node, "its RunConfig cannot be read", module)
        if "train_distribute" not in given or is_none(given["train_distribute"].value):
            if "experimental_distribute" in given:
                node = given["experimental_distribute"].value
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "a DistributeConfig is not followed", module)
            return None
        return self._mirrored(config, given["train_distribute"].value)

    def _mirrored(self, config: EstimatorPart, node: cst.BaseExpression) -> StrategyObject:
        module = config.site.frame.module
        known = [self._value(module, arm) for arm in _arms_of(node)]
        found = frozenset(option for value in known if value is not None for option in options(value))
        strategies = [option for option in found if isinstance(option, StrategyObject)]
        if len(strategies) == 1 and strategies[0].name == "MirroredStrategy":
            if found == set(strategies):
                return strategies[0]
            if found == {strategies[0], Literal(None)} and self._none_is_default(config, node, strategies[0]):
                self._optional = True
                return strategies[0]
        message = "its strategy is not, or not always, a MirroredStrategy"
        if len(found) == len(strategies) == 1:
            message = f"it trains under a {strategies[0].name}, and only MirroredStrategy is followed"
        raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)

    def _none_is_default(self, config: EstimatorPart, node: cst.BaseExpression, strategy: StrategyObject) -> bool:
        """Where a RunConfig may be given None instead of the strategy, the default strategy stands for that: one
        device, as None was. Plans it; False where something else reads that None."""
        module = config.site.frame.module
        draft = self.drafts[module]
        if strategy.site.frame is not config.site.frame:
            return False
        values = [node]
        if isinstance(node, cst.Name):
            given = set(walk(config.node))
            mentions = draft.scopes.of_variable(node.value, draft.scope_of(config.site.frame))
            if not all(mention.binds or mention.node in given for mention in mentions):
                return False
            made = [sole_assignment(mention) for mention in mentions if mention.binds]
            values = [assignment.value for assignment in made if assignment is not None]
            if len(values) != len(made):
                return False
        for value in values:
            arms = _arms_of(value)
            if not all(is_none(arm) or arm is strategy.node for arm in arms):
                return False
            default = f"{draft.tf}.distribute.get_strategy()"
            self.edits.extend((module, Replace(arm, default)) for arm in arms if is_none(arm))
        return True

    def _uses(self) -> list[Use]:
        found = []
        for use in self.facts.estimator_uses:
            mine = [option for option in options(use.receiver) if option in self.parts]
            if mine:
                if len(options(use.receiver)) != len(mine):
                    raise self._refuse(
                        codes.ESTIMATOR_NOT_FOLLOWED, use.call, "this may be another Estimator", use.site.frame.module
                    )
                found.append(use)
        return list({use.call: use for use in found}.values())

    # ---- the plan ----

    def _plan(self, strategy: StrategyObject) -> None:
        config = self._config()
        assert config is not None
        given = self._named(self._call, ESTIMATOR, self._module)
        if "warm_start_from" in given:
            raise self._refuse(
                codes.ESTIMATOR_NOT_FOLLOWED, given["warm_start_from"].value, "it starts from a checkpoint"
            )
        if "model_fn" not in given:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, self._call, "it has no model_fn")
        uses = self._uses()
        trainings = [use for use in uses if use.method in TRAINS]
        if not trainings:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, self._call, "no call that trains it is in sight")
        self._trained_before_it_is_read(uses, trainings)
        self._escapes({use.call for use in uses})
        scope = self.strategy = self._scope_of(config, strategy)
        function = self._value(self._module, given["model_fn"].value)
        if not isinstance(function, FunctionValue) or not isinstance(function.node, cst.FunctionDef) or function.owner:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, given["model_fn"].value, "its model_fn cannot be followed")
        home = self.drafts[function.module]
        title = home.scopes.fresh("predictions_of", home.scopes.module)
        built = build(self.facts, function.module, function.node, home.tf, home.quote, title)
        self._used_once(built)
        self.edits.extend(built.edits)
        self._say(
            codes.MODEL_FUNCTION,
            function.module,
            function.node,
            f"{function.node.name.value} returns a compiled Keras model",
        )
        for node, message in built.notes:
            self._say(codes.ESTIMATOR_LEFT_OUT, function.module, node, message, "warn")
        inputs = Inputs(self.facts, self.drafts, strategy, scope, self._frame, optional=self._optional)
        self._rename()
        evaluates = "eval_distribute" in keywords(config.node) and not is_none(
            keywords(config.node)["eval_distribute"].value
        )
        planned = [self._use(use, built, inputs, evaluates, title, trainings, function.module) for use in uses]
        first = next(one for one in planned if one is not None)
        self._construct(given, built, inputs, first, scope, config)
        self.edits.extend(inputs.edits())
        for module, node, message in inputs.notes():
            self._say(codes.REPLICA_BATCH, module, node, message)
        self._settings(config, given)
        count = f"{len(built.functions)} function(s)" if len(built.functions) > 1 else "its model function"
        self._say(
            codes.ESTIMATOR,
            self._module,
            self._call,
            f"the Estimator becomes a Keras model, made by {count} under the MirroredStrategy",
        )

    def _scope_of(self, config: EstimatorPart, strategy: StrategyObject) -> str:
        """The name of the strategy where the Estimator is made; a strategy without a name gets one."""
        made = self._own_strategy(strategy)
        node = keywords(config.node)["train_distribute"].value
        frame = config.site.frame
        if isinstance(node, cst.Name):
            carrier = Carrier(self.drafts)
            if frame is self._frame:
                return node.value
            carried = carrier.carried(node, config.site, self._frame, self._unit)
            if carried is not None and carried.isidentifier():
                return carried
        if strategy.node in _arms_of(node) and frame is self._frame:
            draft = self._draft
            name = draft.scopes.fresh("strategy", draft.scope_of(frame))
            if isinstance(node, cst.IfExp):
                default = f"{draft.tf}.distribute.get_strategy()"
                body, orelse = (made if arm is strategy.node else default for arm in (node.body, node.orelse))
                made = f"{body} if {draft.module.code(node.test)} else {orelse}"
            self._line = name, Insert(self._unit, f"{name} = {made}")
            self.edits.append((self._module, self._line[1]))
            return name
        raise self._refuse(
            codes.ESTIMATOR_NOT_FOLLOWED,
            node,
            "its strategy has no name where the Estimator is made",
            config.site.frame.module,
        )

    def _own_strategy(self, strategy: StrategyObject) -> str:
        """The call that makes the strategy, as TensorFlow 2 has it; planned where the one that is there differs."""
        module = strategy.site.frame.module
        draft, symbols = self.drafts[module], self.facts.modules[module].symbols
        contrib = "contrib" in symbols.get(strategy.node.func, "")
        parameters = ("devices", *COUNTS, "cross_device_ops") if contrib else ("devices", "cross_device_ops")
        given = named_arguments(strategy.node, parameters)
        if given is None or has_stars(strategy.node):
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, strategy.node, "its arguments cannot be read", module)
        arguments = []
        for name, arg in given.items():
            old = any("contrib" in symbols.get(part, "") for part in walk(arg.value))
            if is_none(arg.value):
                continue
            if name in COUNTS and not old and module.code(arg.value) != "0":
                text = f"[f{draft.quote}/gpu:{{i}}{draft.quote} for i in range({module.code(arg.value)})]"
                arguments.append(Argument(text, "devices"))
            elif name in ("devices", "cross_device_ops") and not old:
                arguments.append(Argument(module.code(arg.value), name))
            else:
                raise self._refuse(
                    codes.ESTIMATOR_NOT_FOLLOWED, arg.value, f"MirroredStrategy has no `{name}=` of that kind any more",
                    module,
                )  # fmt: skip
        name = f"{draft.tf}.distribute.MirroredStrategy"
        counted = bool(given.keys() - {"devices", "cross_device_ops"})
        if counted:
            self.edits.append((module, Arguments(strategy.node, tuple(arguments), function=name if contrib else None)))
        elif contrib:
            self.edits.append((module, Replace(strategy.node.func, name)))
        if not counted:
            return f"{name}({', '.join(module.code(arg).rstrip(', ') for arg in strategy.node.args)})"
        return f"{name}({', '.join(f'{one.keyword}={one.value}' for one in arguments)})"

    def _trained_before_it_is_read(self, uses: list[Use], trainings: list[Use]) -> None:
        """An Estimator reads its last checkpoint, a model what it was trained to: training may not be left out."""
        conditions = [_conditions(use) for use in trainings]
        for use in uses:
            if use not in trainings and not any(own <= _conditions(use) for own in conditions):
                message = f"{use.method}() also runs where train() did not, and read a checkpoint then"
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, use.site.frame.module)

    def _escapes(self, handled: set[cst.Call]) -> None:
        """Refuse where the Estimator goes to something that is not followed."""
        for module, facts in self.facts.modules.items():
            for node in walk(module.tree):
                if isinstance(node, cst.Call) and node not in handled:
                    if isinstance(facts.values.get(node.func), FunctionValue):
                        continue
                    for arg in node.args:
                        if any(option in self.parts for option in facts.options(arg.value)):
                            raise self._refuse(
                                codes.ESTIMATOR_NOT_FOLLOWED, node, "it is passed on to something not followed", module
                            )
        for module, facts in self.facts.modules.items():
            called = {node.func for node in walk(module.tree) if isinstance(node, cst.Call)}
            for node in walk(module.tree):
                if isinstance(node, cst.Attribute) and node not in called:
                    if any(option in self.parts for option in facts.options(node.value)):
                        message = f"`{module.code(node)}` has no counterpart on a Keras model"
                        raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)

    def _used_once(self, built: Build) -> None:
        """A function that is rewritten may have no other caller."""
        nodes = {function.name.value: function for function in built.functions}
        mine = {part.node for part in self.parts}
        for module, facts in self.facts.modules.items():
            inside = {part for function in built.functions for part in walk(function)}
            for node in walk(module.tree):
                if isinstance(node, cst.Call) and node not in mine and node not in inside:
                    for part in (node.func, *(arg.value for arg in node.args)):
                        value = facts.values.get(part)
                        if isinstance(value, FunctionValue) and value.node in nodes.values():
                            message = f"{module.code(part)} is used here too, as a function of TensorFlow 1"
                            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message, module)

    def _rename(self) -> None:
        """`estimator = ...` is a model from now on, by name too, where every mention of the name is in sight."""
        line = self._unit
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Assign):
            return
        target = line.body[0].targets[0].target
        if not isinstance(target, cst.Name) or line.body[0].value is not self._call:
            return
        draft = self._draft
        scope = draft.scope_of(self._frame)
        mentions = draft.scopes.of_variable(target.value, scope)
        exported = (self._module, target.value) in self.facts.exported
        if exported or sum(mention.binds for mention in mentions) != 1:
            return
        new = draft.scopes.fresh("model", scope)
        if any(new in inner.bound for inner in draft.scopes.by_node.values()):
            return
        for mention in mentions:
            if isinstance(mention.node, cst.Name):
                self.edits.append((self._module, Replace(mention.node, new)))
        self.renamed = (target.value, new)

    def _receiver(self, use: Use, node: cst.BaseExpression) -> str:
        text = use.site.frame.module.code(node)
        if self.renamed is not None and use.site.frame.module is self._module and text == self.renamed[0]:
            return self.renamed[1]
        return text

    # ---- its calls ----

    def _use(
        self,
        use: Use,
        built: Build,
        inputs: Inputs,
        evaluates: bool,
        title: str,
        trainings: list[Use],
        home: Module,
    ) -> tuple[cst.BaseExpression, Use] | None:
        """Plan one call; of one that trains, returns its input_fn, which tells the shape of the features."""
        module = use.site.frame.module
        if use.method == "train":
            return self._train(use, inputs, trainings)
        if use.method == "train_and_evaluate":
            return self._train_and_evaluate(use, inputs, evaluates, trainings)
        assert isinstance(use.call.func, cst.Attribute)
        receiver = self._receiver(use, use.call.func.value)
        if use.method == "evaluate":
            given = self._named(use.call, EVALUATE, module)
            self._only(given, ("input_fn", "steps", "name"), module)
            role = "eval" if evaluates else "alone"
            text = inputs.dataset(given["input_fn"].value, use, role, "steps" in given, receiver)
            text += self._taken(given.get("steps"), module)
            arguments = (Argument(text), Argument("True", "return_dict"))
            self.edits.append((module, Arguments(use.call, arguments)))
            self._in_scope(use, inputs, receiver)
            self._say(codes.ESTIMATOR_CALL, module, use.call, "evaluate() takes the dataset and returns a dict")
            return None
        if use.method == "predict":
            given = self._named(use.call, PREDICT, module)
            self._only(given, ("input_fn",), module)
            if built.readings is None:
                message = "the predictions are computed from more than the model's one output"
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
            if module is not home:
                message = f"predictions are read here, and made in {home.path}"
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
            text = inputs.dataset(given["input_fn"].value, use, "predict", False, receiver)
            readings = Insert(built.function, built.readings)
            if (home, readings) not in self.edits:
                self.edits.append((home, readings))
            self.edits.append((module, Replace(use.call, f"{title}({receiver}.predict({text}))")))
            self._in_scope(use, inputs, receiver)
            self._say(
                codes.ESTIMATOR_CALL, module, use.call, "predict() takes the dataset; one sample is read at a time"
            )
            return None
        message = f"{use.method}() of an Estimator has no counterpart that is known here"
        raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)

    def _only(self, given: Mapping[str, cst.Arg], allowed: tuple[str, ...], module: Module) -> None:
        for name, arg in given.items():
            if name not in allowed and not is_none(arg.value):
                code = codes.ESTIMATOR_HOOK if name in ("hooks", "saving_listeners", "exporters") else (
                    codes.ESTIMATOR_NOT_FOLLOWED)  # fmt: skip
                raise self._refuse(code, arg.value, f"`{name}=` has no counterpart in Keras that is known here", module)

    def _taken(self, steps: cst.Arg | None, module: Module) -> str:
        return f".take({module.code(steps.value)})" if steps is not None and not is_none(steps.value) else ""

    def _hooks(self, arg: cst.Arg | None, module: Module, frame: Frame) -> None:
        """Hooks that only log go; their statements too."""
        if arg is None or is_none(arg.value):
            return
        node = arg.value
        made = node
        if isinstance(node, cst.Name):
            made = self._assigned(node, module, frame) or node
        if not isinstance(made, cst.List | cst.Tuple):
            raise self._refuse(codes.ESTIMATOR_HOOK, node, "these hooks cannot be followed", module)
        for element in made.elements:
            hook = element.value
            inner = self._assigned(hook, module, frame) if isinstance(hook, cst.Name) else hook
            name = self._tf_name(module, inner.func) if isinstance(inner, cst.Call) else None
            if name not in LOGGING_HOOKS:
                raise self._refuse(
                    codes.ESTIMATOR_HOOK,
                    hook,
                    f"the hook `{module.code(hook)}` has no callback that is known here",
                    module,
                )
            message = "this hook goes: Keras' progress bar shows the loss at every step"
            self._say(codes.ESTIMATOR_LEFT_OUT, module, hook, message, "warn")

    def _assigned(self, name: cst.Name, module: Module, frame: Frame) -> cst.BaseExpression | None:
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

    def _tf_name(self, module: Module, node: cst.BaseExpression) -> str | None:
        name = self.facts.modules[module].symbols.get(node)
        return names.plain(name).removeprefix("tensorflow.") if name is not None else None

    def _train(self, use: Use, inputs: Inputs, trainings: list[Use]) -> tuple[cst.BaseExpression, Use]:
        module, frame = use.site.frame.module, use.site.frame
        assert isinstance(use.call.func, cst.Attribute)
        given = self._named(use.call, TRAIN, module)
        self._only(given, ("input_fn", "steps", "max_steps", "hooks"), module)
        self._hooks(given.get("hooks"), module, frame)
        if not _is_statement(use):
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, "the result of train() is used", module)
        receiver = self._receiver(use, use.call.func.value)
        self._counts_once(given.get("max_steps"), use, trainings)
        text = inputs.dataset(given["input_fn"].value, use, "train", True, receiver)
        text += self._taken(given.get("steps", given.get("max_steps")), module)
        self.edits.append((module, Arguments(use.call, (Argument(text),), method="fit")))
        self._in_scope(use, inputs, receiver)
        self._say(codes.ESTIMATOR_CALL, module, use.call, "train() is fit(), with as many steps")
        return given["input_fn"].value, use

    def _counts_once(self, arg: cst.Arg | None, use: Use, trainings: list[Use]) -> None:
        """max_steps counts from the first step ever; where there was none before, it is the number of steps."""
        if arg is None or is_none(arg.value):
            return
        module = use.site.frame.module
        again = any(isinstance(owner, cst.For | cst.While) for site in use.site.chain()
                    for owner in site.frame.module.ancestors(site.unit))  # fmt: skip
        if len(trainings) > 1 or again:
            message = "max_steps counts the steps of earlier calls too; say `steps=` instead"
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, message, module)

    def _train_and_evaluate(
        self, use: Use, inputs: Inputs, evaluates: bool, trainings: list[Use]
    ) -> tuple[cst.BaseExpression, Use]:
        module, frame = use.site.frame.module, use.site.frame
        given = self._named(use.call, ("estimator", "train_spec", "eval_spec"), module)
        if set(given) != {"estimator", "train_spec", "eval_spec"} or not _is_statement(use):
            message = "the result of train_and_evaluate() is used, or its arguments are missing"
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, module)
        train = self._spec(given["train_spec"].value, "TrainSpec", use)
        evaluation = self._spec(given["eval_spec"].value, "EvalSpec", use)
        trained = self._named(train.node, TRAIN_SPEC, module)
        evaluated = self._named(evaluation.node, EVAL_SPEC, module)
        self._only(trained, ("input_fn", "max_steps", "hooks"), module)
        self._only(evaluated, ("input_fn", "steps", "name", "start_delay_secs", "throttle_secs"), module)
        self._hooks(trained.get("hooks"), module, frame)
        self._counts_once(trained.get("max_steps"), use, trainings)
        receiver = self._receiver(use, given["estimator"].value)
        text = inputs.dataset(trained["input_fn"].value, use, "train", True, receiver)
        text += self._taken(trained.get("max_steps"), module)
        role = "eval" if evaluates else "alone"
        steps = evaluated.get("steps")
        limited = steps is None or not is_none(steps.value)
        test = inputs.dataset(evaluated["input_fn"].value, use, role, limited, receiver)
        test += f".take({EVAL_STEPS})" if steps is None else self._taken(steps, module)
        unit = use.site.unit
        lines = f"{receiver}.fit({text})\n{receiver}.evaluate({test}, return_dict=True)"
        if inputs.needs_scope(use):
            indent = module.tree.default_indent
            body = lines.replace("\n", "\n" + indent)
            lines = f"with {self._context(use, receiver)}.scope():\n{indent}{body}"
        assert isinstance(unit, cst.SimpleStatementLine)
        self.edits.append((module, Insert(unit, lines, (unit,))))
        self.edits.append((module, Remove(unit.body[0])))
        self._say(
            codes.ESTIMATOR_CALL,
            module,
            use.call,
            "train_and_evaluate() is fit(), then evaluate(); the Estimator also evaluated at checkpoints, by the clock",
        )
        return trained["input_fn"].value, use

    def _spec(self, node: cst.BaseExpression, name: str, use: Use) -> EstimatorPart:
        module = use.site.frame.module
        value = self._value(module, node)
        if not isinstance(value, EstimatorPart) or value.name != name or value.site.frame is not use.site.frame:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, f"its {name} is not made beside it", module)
        if isinstance(node, cst.Name):
            if self._assigned(node, module, use.site.frame) is not value.node:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, f"its {name} is used elsewhere too", module)
        return value

    def _in_scope(self, use: Use, inputs: Inputs, receiver: str) -> None:
        """A call whose input function asks for the strategy stands in its scope."""
        if inputs.needs_scope(use):
            context = f"{self._context(use, receiver)}.scope()"
            self.scoped.append((use.site.frame.module, use.site.unit, context))

    def _context(self, use: Use, receiver: str) -> str:
        return self.strategy if use.site.frame is self._frame else f"{receiver}.distribute_strategy"

    # ---- the construction ----

    def _construct(
        self,
        given: Mapping[str, cst.Arg],
        built: Build,
        inputs: Inputs,
        first: tuple[cst.BaseExpression, Use],
        scope: str,
        config: EstimatorPart,
    ) -> None:
        node, use = first
        dataset = inputs.before(node, use.site, self._frame, self._unit)
        if dataset is None:
            raise self._refuse(
                codes.ESTIMATOR_NOT_FOLLOWED,
                node,
                "what the model is trained on, and so its features' shape, is not known where the Estimator is made",
                use.site.frame.module,
            )
        arguments = [f"{dataset}.element_spec[0]"]
        parts: list[tuple[str, cst.BaseExpression]] = [("_model", given["model_fn"].value)]
        if "params" in built.parameters:
            if "params" not in given:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, self._call, "model_fn takes params, and gets none")
            parts.append(("_params", given["params"].value))
            arguments.append("{_params}")
        template = "{_model}(" + ", ".join(arguments) + ")"
        self.edits.append((self._module, Replace(self._call, template, tuple(parts))))
        self.scoped.append((self._module, self._unit, f"{scope}.scope()"))
        self.edits.extend((module, Scope((unit,), context)) for module, unit, context in self.scoped)
        arg = given["config"].value
        if isinstance(arg, cst.Name):
            if self._assigned(arg, self._module, self._frame) is not config.node:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg, "its RunConfig is used elsewhere too")

    def _settings(self, config: EstimatorPart, given: Mapping[str, cst.Arg]) -> None:
        module = config.site.frame.module
        for name, arg in (*keywords(config.node).items(), *given.items()):
            if name in CHECKPOINT_SETTINGS and not is_none(arg.value):
                where = module if arg in config.node.args else self._module
                message = (
                    f"`{name}=`: the Estimator wrote and restored checkpoints by itself; add the callback "
                    "BackupAndRestore or ModelCheckpoint where that is wanted"
                )
                self._say(codes.ESTIMATOR_LEFT_OUT, where, arg.value, message, "warn")
            elif name == "tf_random_seed":
                message = "`tf_random_seed=`: call tf.keras.utils.set_random_seed() instead"
                self._say(codes.ESTIMATOR_LEFT_OUT, module, arg.value, message, "warn")
            elif arg in config.node.args and name not in SILENT_SETTINGS | {"train_distribute", "eval_distribute"}:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, f"`{name}=` of its RunConfig", module)


def _arms_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What an expression may come to."""
    return [*_arms_of(node.body), *_arms_of(node.orelse)] if isinstance(node, cst.IfExp) else [node]


def _is_statement(use: Use) -> bool:
    small = only_statement(use.site.unit)
    return isinstance(small, cst.Expr) and small.value is use.call


def _conditions(use: Use) -> frozenset[tuple[cst.CSTNode, cst.CSTNode]]:
    """The arms of conditions that a use stands in, its callers' included."""
    return frozenset(
        arm
        for site in use.site.chain()
        for arm in site.frame.module.arms(site.unit)
        if isinstance(arm[0], cst.If | cst.Try)
    )
