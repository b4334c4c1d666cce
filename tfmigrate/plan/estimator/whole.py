"""Plans an Estimator whole, or not at all: what is common to those of a model function and those of a Keras model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator.calls import EstimatorCall
from tfmigrate.plan.estimator.inputs import Inputs
from tfmigrate.plan.estimator.migration import Migration, evaluates_distributed, settings_of
from tfmigrate.plan.estimator.reader import Outcome, Unconvertible
from tfmigrate.plan.estimator.strategy import strategy_of
from tfmigrate.plan.workers import OfEstimator
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import sole_name
from tfmigrate.understand.values import EstimatorPart, FunctionValue, StrategyObject
from tfmigrate.walk import words_in

TRAINS = frozenset({"train", "train_and_evaluate"})
SILENT_SETTINGS = frozenset({"session_config", "log_step_count_steps", "save_summary_steps"})
_OF_DEVICES = frozenset({"gpu_options", "GPUOptions", "device_count", "visible_device_list"})
CHECKPOINT_SETTINGS = frozenset(
    {
        "model_dir", "save_checkpoints_secs", "save_checkpoints_steps", "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
    }
)  # fmt: skip


class Whole(Migration):
    """Plans an Estimator whole, or not at all."""

    def run(self) -> set[Module]:
        """Plan it; returns the modules that change."""
        draft, call = self.draft, self.call
        if not draft.settings.wants(codes.ESTIMATOR):
            return set()
        try:
            strategy = strategy_of(self)
            if strategy is None:
                say_alone(draft, call)
                return set()
            self.plan(strategy)
        except Unconvertible as problem:
            draft.leave(codes.ESTIMATOR, call)
            if draft.allows(codes.ESTIMATOR, call):
                message = f"this Estimator stays: {problem.message}"
                self.drafts[problem.module].say(problem.code, problem.node, message, "refuse")
            return set()
        unwanted = {
            said.code
            for said in self.said
            if said.action == "rewrite" and not self.drafts[said.module].settings.wants(said.code)
        }
        if unwanted:
            message = (
                f"this Estimator stays: {min(unwanted)} is not selected, and an Estimator is migrated completely or "
                "not at all"
            )
            draft.say(codes.ESTIMATOR_NOT_FOLLOWED, call, message, "refuse")
            return set()
        self.said = [said for said in self.said if self.drafts[said.module].settings.wants(said.code)]
        if not all(self.drafts[said.module].allows(said.code, said.node) for said in self.said):
            for said in self.said:
                self.drafts[said.module].leave(said.code, said.node)
            return set()
        for report in self.said:
            self.drafts[report.module].say(report.code, report.node, report.message, report.action)
        for module, edit in self.edits:
            if edit not in self.drafts[module].edits:
                self.drafts[module].edits.append(edit)
        trainings = tuple(use for use in self.uses() if use.method in TRAINS)
        self.gone.append(OfEstimator(strategy, trainings, self.line))
        return {module for module, _ in self.edits}

    @abstractmethod
    def plan(self, strategy: StrategyObject) -> None:
        """Plan all of it, under a strategy. Raises Unconvertible."""

    def followed_uses(self) -> list[Use]:
        """Every call of a method of the Estimator. Raises Unconvertible where none trains it, where one runs that may
        find it untrained, or where it is passed to code that is not followed."""
        uses = self.uses()
        trainings = [use for use in uses if use.method in TRAINS]
        if not trainings:
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, self.call, "no call that trains it was found")
        self._check_that_training_comes_first(uses, trainings)
        self._check_that_nothing_else_takes_it({use.call for use in uses})
        return uses

    def calls(
        self, uses: Sequence[Use], outcome: Outcome, inputs: Inputs, config: EstimatorPart, title: str = ""
    ) -> list[EstimatorCall]:
        """These calls, each of which plans itself; see EstimatorCall for `title`."""
        evaluates = evaluates_distributed(config)
        trains_alone = sum(use.method in TRAINS for use in uses) == 1
        return [EstimatorCall(self, outcome, inputs, use, evaluates, trains_alone, title) for use in uses]

    def _check_that_training_comes_first(self, uses: list[Use], trainings: list[Use]) -> None:
        """An Estimator reads its last checkpoint, a model what it was trained to: training may not be left out."""
        conditions = [_conditions(use) for use in trainings]
        for use in uses:
            if use not in trainings and not any(own <= _conditions(use) for own in conditions):
                message = f"{use.method}() also runs without train(), and then reads a checkpoint"
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, use.site.frame.module)

    def _check_that_nothing_else_takes_it(self, handled: set[cst.Call]) -> None:
        """Refuse where the Estimator goes to something that is not followed."""
        for module, facts in self.facts.modules.items():
            for node in module.calls:
                if node not in handled:
                    printed = isinstance(node.func, cst.Name) and node.func.value == "print"
                    if printed or isinstance(facts.values.get(node.func), FunctionValue):
                        continue
                    for arg in node.args:
                        if any(option in self.parts for option in facts.options(arg.value)):
                            raise self.refuse(
                                codes.ESTIMATOR_NOT_FOLLOWED,
                                node,
                                "it is passed to code that cannot be followed",
                                module,
                            )
        for module, facts in self.facts.modules.items():
            called = {node.func for node in module.calls}
            for read in module.all_of(cst.Attribute):
                if read not in called and any(option in self.parts for option in facts.options(read.value)):
                    message = f"`{module.code(read)}` has no counterpart in a Keras model"
                    raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, read, message, module)

    def rename(self) -> None:
        """`estimator = ...` is a model from now on, by name too, where every mention of the name is known."""
        line = self.unit
        if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Assign):
            return
        target = line.body[0].targets[0].target
        if not isinstance(target, cst.Name) or line.body[0].value is not self.call or target.value == "model":
            return
        draft = self.draft
        scope = draft.scope_of(self.frame)
        mentions = draft.scopes.of_variable(target.value, scope)
        exported = (self.module, target.value) in self.facts.exported
        if exported or sum(mention.binds for mention in mentions) != 1:
            return
        new = draft.scopes.fresh("model", scope)
        if draft.scopes.bindings(new):
            return
        for mention in mentions:
            if isinstance(mention.node, cst.Name):
                self.edits.append((self.module, Replace(mention.node, new)))
        self.renamed = (target.value, new)

    @property
    def target(self) -> str | None:
        """The variable that the Estimator is bound to."""
        return sole_name(only_statement(self.unit))

    def settings(self, config: EstimatorPart, named: Mapping[str, cst.Arg]) -> None:
        """Report the settings of its RunConfig, and those of its own arguments, that a Keras model has no place for.
        Raises Unconvertible for one of the RunConfig that changes the training."""
        module = config.site.frame.module
        configs = [config] if self.alternative is None else [config, self.alternative]
        own = [arg for made in configs for part in made.chain for arg in part.node.args]
        settings = [setting for made in configs for setting in settings_of(made).items()]
        for name, arg in (*settings, *named.items()):
            if name in CHECKPOINT_SETTINGS and not is_none(arg.value):
                where = module if arg in own else self.module
                message = (
                    f"`{name}=`: the Estimator itself wrote and restored checkpoints; add the callback "
                    "BackupAndRestore or ModelCheckpoint if you want that"
                )
                self.say(codes.ESTIMATOR_LEFT_OUT, where, arg.value, message, "warn")
            elif name == "session_config" and _sets_devices(module, arg.value):
                message = (
                    "`session_config=` is removed, and with it the selection of GPUs or the limit on their memory: "
                    "call tf.config.set_visible_devices() or tf.config.experimental.set_memory_growth() first"
                )
                self.say(codes.ESTIMATOR_LEFT_OUT, module, arg.value, message, "warn")
            elif name == "tf_random_seed":
                message = "`tf_random_seed=`: call tf.keras.utils.set_random_seed() instead"
                self.say(codes.ESTIMATOR_LEFT_OUT, module, arg.value, message, "warn")
            elif arg in own and name not in SILENT_SETTINGS | {"train_distribute", "eval_distribute"}:
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, arg.value, f"`{name}=` of its RunConfig", module)


def say_alone(draft: Draft, call: cst.Call) -> None:
    """Report an Estimator that trains under no strategy."""
    message = "this Estimator runs on one device (no train_distribute); it is left as it is"
    draft.change(codes.ESTIMATOR_ALONE, call, message, action="warn")


def _sets_devices(module: Module, config: cst.BaseExpression) -> bool:
    """Whether a configuration of a session may say something of the GPUs: one that is not made in this module may."""
    words = words_in(module.tree)
    return not is_none(config) and ("ConfigProto" not in words or bool(_OF_DEVICES & words))


def _conditions(use: Use) -> frozenset[tuple[cst.CSTNode, cst.CSTNode]]:
    """The arms of conditions that a use stands in, its callers' included."""
    return frozenset(
        arm
        for site in use.site.chain()
        for arm in site.frame.module.arms(site.unit)
        if isinstance(arm[0], cst.If | cst.Try)
    )
