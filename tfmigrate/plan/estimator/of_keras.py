"""An Estimator of a Keras model, `model_to_estimator(model, config)`: the model trains by itself, under the strategy.

Measured on TensorFlow 1.15, two replicas: an optimizer of Keras takes the steps of the global batch. Of an optimizer
of tf.train the gradients are divided by the number of replicas twice, by Keras and by the optimizer, which leaves Adam
its steps, but for a larger epsilon. With `eval_distribute` the loss is reported divided by the number of replicas; the
metrics are not.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords, named_arguments, text_of
from tfmigrate.plan.change.tf_train import OPTIMIZERS
from tfmigrate.plan.edits import Insert, Remove, Replace, Scope
from tfmigrate.plan.estimator.calls import EstimatorCall
from tfmigrate.plan.estimator.choosing import Choosing
from tfmigrate.plan.estimator.inputs import Inputs
from tfmigrate.plan.estimator.passing import Passing
from tfmigrate.plan.estimator.reader import Outcome
from tfmigrate.plan.estimator.replicas import Replicas
from tfmigrate.plan.estimator.strategy_calls import default_of, name_where_made
from tfmigrate.plan.estimator.whole import Whole
from tfmigrate.plan.on_strategy.earlier import lines_made_of, raised, unit_beside
from tfmigrate.plan.on_strategy.outside import order_of, sites_of
from tfmigrate.plan.strategy.scope import Cover, Run, first_common_unit
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import last_attribute, sole_target
from tfmigrate.understand.values import Literal, Made, ModelObject, Opaque, Site, StrategyObject, options
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Written

PARAMETERS = (
    "keras_model", "keras_model_path", "custom_objects", "model_dir", "config", "checkpoint_format",
)  # fmt: skip
_HARMLESS = frozenset(
    {"add", "compile", "count_params", "get_config", "get_layer", "load_weights", "set_weights", "summary", "to_json"}
)
"""What may be called of the model: its Estimator begins with the weights that it has then, and it keeps these."""
_LINEAR = frozenset({"GradientDescentOptimizer", "MomentumOptimizer"})
"""Optimizers whose steps are as large as the gradients and the rate are."""

_CLIPS = frozenset({"clipnorm", "clipvalue", "global_clipnorm"})
_MAKES_DATA = frozenset({"from_tensor_slices", "from_tensors"})


class OfKerasModel(Whole):
    """An Estimator of a Keras model."""

    @property
    def parameters(self) -> tuple[str, ...]:
        return PARAMETERS

    def plan(self, strategy: StrategyObject) -> None:
        config = self.config()
        assert config is not None
        named = self.named(self.call, PARAMETERS, self.module)
        if "keras_model" not in named:
            raise self._refused(self.call, "it is created from a file")
        node = named["keras_model"].value
        models = self._models(node)
        uses = self.followed_uses()
        scope = self.strategy = name_where_made(self, config, strategy)
        sites = frozenset().union(*(sites_of(model) for model in models)) | self._compiled(models, scope)
        self._check_features()
        outcome = Outcome(self.module)
        passing = Passing(self.drafts, None, self.parts[0].site)
        choosing = Choosing(outcome, self.draft, "")
        replicas = Replicas(self.drafts, strategy, scope, self.frame)
        inputs = Inputs(self.facts, self.drafts, replicas, passing, choosing, optional=self.optional)
        self._leave_model(node)
        for call in self.calls(uses, outcome, inputs, config):
            call.plan()
            if call.use.method != "train":
                self._check_evaluation(call)
        self.edits.extend(inputs.edits())
        for module, place, message in inputs.batches.notes():
            self.say(codes.REPLICA_BATCH, module, place, message)
        arg = named["config"].value
        if isinstance(arg, cst.Name) and not self.drop_config(arg, config):
            raise self._refused(arg, "its RunConfig is not created by a plain assignment, or is used elsewhere")
        self._scope(sites, strategy, scope)
        self.edits.extend((module, Scope((unit,), context)) for module, unit, context in self.scoped)
        self.settings(config, {name: arg for name, arg in named.items() if name == "model_dir"})
        message = (
            "the Estimator is removed: its Keras model is built and compiled in the scope of the strategy, and "
            "trained directly"
        )
        self.say(codes.ESTIMATOR, self.module, self.call, message)

    def _check_evaluation(self, call: EstimatorCall) -> None:
        """Refuse an evaluation that may do nothing; say where its loss was another."""
        module = call.use.site.frame.module
        if call.inputs.batches.may_be_empty(call.use, call.evaluated_as):
            message = "there may be fewer batches than replicas, in which case the Estimator evaluated nothing"
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, call.use.call, message, module)
        if call.evaluates:
            message = "TensorFlow 1.15 reported this loss divided by the number of replicas; it is now the mean"
            self.say(codes.ESTIMATOR_LEFT_OUT, module, call.use.call, message, "warn")

    def _refused(self, node: cst.CSTNode, message: str) -> Exception:
        return self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, message)

    def _models(self, node: cst.BaseExpression) -> frozenset[ModelObject]:
        """What it is made of. Raises Unconvertible where the program does more with it."""
        value = self.value(self.module, node)
        found = options(value) if value is not None else frozenset()
        models = frozenset(option for option in found if isinstance(option, ModelObject))
        if not models or len(models) != len(found):
            raise self._refused(node, "its Keras model cannot be followed")
        taking = {part.node for part in self.facts.estimators if part.name == "model_to_estimator"
                  for _, passed in part.arguments if models & set(options(passed))}  # fmt: skip
        if len(taking) != 1:
            raise self._refused(node, "another Estimator is created from the same Keras model")
        for use in self.facts.uses:
            if use.models & models and use.method not in _HARMLESS:
                message = f"{use.method}() is also called on its Keras model, which the Estimator did not train"
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, use.call, message, use.site.frame.module)
        return models

    # ---- compile() ----

    def _compiled(self, models: frozenset[ModelObject], scope: str) -> frozenset[Site]:
        """Where the models are compiled, and what they are compiled with is made. Raises Unconvertible."""
        compiles = [use for use in self.facts.uses if use.method == "compile" and use.models & models]
        if frozenset().union(*(use.models for use in compiles)) < models:
            raise self._refused(self.call, "no compile() of its Keras model was found")
        for use in compiles:
            self._check_scale(use)
        return frozenset(site for use in compiles for site in (use.site, *use.parts, *self._optimizer(use, scope)))

    def _check_scale(self, use: Use) -> None:
        """Refuse what depends on the loss of one replica, which the Estimator divided by the number of replicas."""
        module = use.site.frame.module
        for arg in use.call.args:
            for call in (node for node in walk(arg) if isinstance(node, cst.Call)):
                if "reduction" in keywords(call):
                    message = (
                        "its loss has an explicit reduction, which an Estimator does not divide by the number of "
                        "replicas"
                    )
                    raise self.refuse(codes.ESTIMATOR_LOSS, call, message, module)

    def _optimizer(self, use: Use, scope: str) -> Iterator[Site]:
        """Where the optimizer of a compile() is made; one of tf.train gets the rate that it trained with."""
        optimizer = use.argument(0, "optimizer")
        module = use.site.frame.module
        for option in options(optimizer) if optimizer is not None else ():
            if isinstance(option, Made) and option.kind == "optimizer":
                if option.config is not None and keywords(option.config).keys() & _CLIPS:
                    message = "each replica clipped gradients that are divided by the number of replicas"
                    raise self.refuse(codes.ESTIMATOR_OPTIMIZER, use.call, message, module)
                yield from option.sites
                continue
            if isinstance(option, Literal):
                continue
            made = option if isinstance(option, Opaque) and isinstance(option.node, cst.Call) else None
            name = self._of_tf_train(made) if made is not None else None
            if made is None or name is None:
                raise self.refuse(codes.ESTIMATOR_OPTIMIZER, use.call, "its optimizer cannot be followed", module)
            self._keep_rate(made, name, scope)
            yield from made.sites

    def _of_tf_train(self, made: Opaque) -> str | None:
        """The class of tf.train that an optimizer is of."""
        call = made.node
        if not isinstance(call, cst.Call):
            return None
        for site in made.sites:
            symbol = names.plain(self.facts.modules[site.frame.module].symbols.get(call.func, ""))
            name = symbol.removeprefix("tensorflow.train.")
            if name != symbol and name.endswith("Optimizer"):
                return name
        return None

    def _keep_rate(self, made: Opaque, name: str, scope: str) -> None:
        """Let an optimizer of tf.train take the steps that it took: see above. Raises Unconvertible."""
        call = made.node
        assert isinstance(call, cst.Call)
        module = next(site.frame.module for site in made.sites)
        if name == "AdamOptimizer":
            message = (
                "under a strategy TensorFlow 1.15 divided the gradients of this optimizer twice by the number of "
                "replicas; Adam takes the same steps, except that its epsilon was larger by that factor"
            )
            self.say(codes.ESTIMATOR_LEFT_OUT, module, call, message, "warn")
            return
        if name not in _LINEAR:
            message = (
                f"under a strategy the gradients of tf.train.{name} were divided twice by the number of replicas "
                "(TensorFlow 1.15), which no rate in Keras compensates"
            )
            raise self.refuse(codes.ESTIMATOR_OPTIMIZER, call, message, module)
        passed = named_arguments(call, OPTIMIZERS[name].parameters)
        rate = passed.get("learning_rate") if passed is not None else None
        if rate is None or not is_pure(rate.value) or nodes_in(rate.value, cst.Call):
            raise self.refuse(codes.ESTIMATOR_OPTIMIZER, call, "the rate of its optimizer cannot be read", module)
        here = all(site.frame is self.frame for site in made.sites)
        strategy = scope if here else default_of(self.drafts[module])
        value = Written.at(rate.value)
        plain = isinstance(rate.value, cst.Name | cst.Attribute | cst.Float | cst.Integer)
        divided = Written.of(value if plain else Written.of("(", value, ")"), f" / {strategy}.num_replicas_in_sync")
        self.edits.append((module, Replace(rate.value, divided.code)))
        message = (
            "under a strategy TensorFlow 1.15 divided the gradients of this optimizer twice by the number of "
            "replicas, so its rate is divided by that number instead: remove this if the rate was meant as written"
        )
        self.say(codes.ESTIMATOR_LEFT_OUT, module, call, message, "warn")

    # ---- where it goes ----

    def _leave_model(self, node: cst.BaseExpression) -> None:
        """`estimator` is the model from now on."""
        small = only_statement(self.unit)
        target = sole_target(small)
        draft = self.draft
        scope = draft.scope_of(self.frame)
        if isinstance(small, cst.Assign) and small.value is self.call and isinstance(target, cst.Name):
            mentions = draft.scopes.of_variable(target.value, scope)
            alone = sum(mention.binds for mention in mentions) == 1
            exported = (self.module, target.value) in self.facts.exported
            if isinstance(node, cst.Name) and alone and not exported and self._is_settled(node.value):
                self.edits.append((self.module, Remove(small)))
                for mention in mentions:
                    if not mention.binds and isinstance(mention.node, cst.Name):
                        self.edits.append((self.module, Replace(mention.node, node.value)))
                self.renamed = (target.value, node.value)
                return
        self.edits.append((self.module, Replace(self.call, (node,))))

    def _is_settled(self, name: str) -> bool:
        """Whether a variable is not bound again once the Estimator is made."""
        scope = self.draft.scope_of(self.frame)
        order = self.module.order
        bindings = [mention for mention in self.draft.scopes.of_variable(name, scope) if mention.binds]
        return bool(bindings) and all(
            mention.scope is scope and order.get(mention.unit, -1) < order[self.unit] for mention in bindings
        )

    def _scope(self, sites: frozenset[Site], strategy: StrategyObject, scope: str) -> None:
        """Put the making of the model in the scope of the strategy, which is made before that."""
        if strategy.site.frame is not self.frame:
            raise self._refused(strategy.node, "its strategy is created in a different function than the Estimator")
        units: set[Unit] = set()
        for site in sorted(sites, key=order_of):
            lifted = site.lifted(self.frame)
            if lifted is None:
                message = "its Keras model is built before the call of the function that creates the strategy"
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, site.unit, message, site.frame.module)
            units.add(lifted.unit)
        training = {lifted.unit for use in self.uses() if (lifted := use.site.lifted(self.frame)) is not None}
        if training & units:
            raise self._refused(self.call, "its Keras model is built on the line that trains it")
        gone = [unit for unit in self.module.places if self._goes(unit)]
        function = self.frame.function
        body = function.body if isinstance(function, cst.FunctionDef) else self.module.tree
        cover = Cover(self.module, frozenset(units), frozenset(training), gone, ())
        runs = [run for run in cover.runs(body) if self._holds(run, units)]
        self._strategy_before(runs, strategy)
        self.edits.extend((self.module, Scope(run.units, Written.of(f"{scope}.scope()"))) for run in runs)

    def _holds(self, run: Run, units: set[Unit]) -> bool:
        return any(inner in units for unit in run.units for inner in (unit, *self.module.inside(unit)))

    def _goes(self, unit: cst.CSTNode) -> bool:
        removed = {edit.node for module, edit in self.edits if module is self.module and isinstance(edit, Remove)}
        return isinstance(unit, cst.SimpleStatementLine) and all(small in removed for small in unit.body)

    def _strategy_before(self, runs: list[Run], strategy: StrategyObject) -> None:
        """Make the strategy before the model, where it was made after it."""
        module, made = self.module, strategy.site.unit
        early = unit_beside(made, first_common_unit(module, runs), module)
        if early is None:
            raise self._refused(strategy.node, "its strategy is created in a separate block, after the Keras model")
        if module.order[made] < module.order[early] and self.line is None:
            return
        lines = lines_made_of(strategy, early, self.drafts)
        if lines is None:
            message = "its strategy is created after the Keras model, and cannot be created before it"
            raise self._refused(strategy.node, message)
        small = only_statement(made)
        if self.line is not None:
            name, insert = self.line
            self.edits.remove((module, insert))
            self.line = name, Insert(early, insert.code)
        elif isinstance(small, cst.Assign) and small.value is strategy.node:
            lines.append(small)
        else:
            message = "its strategy is created after the Keras model, and not on a separate line"
            raise self._refused(strategy.node, message)
        self.edits.extend((module, edit) for line in lines for edit in raised(line, early, module))
        if self.line is not None:
            self.edits.append((module, self.line[1]))

    # ---- inputs ----

    def _check_features(self) -> None:
        """Refuse where features are given by names that are not those of the model's inputs: Keras 3 names an input
        otherwise than TensorFlow 1 did, where the program does not."""
        named = {
            text_of(arg.value)
            for module in self.facts.modules
            for call in module.calls
            for arg in call.args
            if arg.keyword is not None and arg.keyword.value == "name"
            and names.canonical(self.facts.modules[module].symbols.get(call.func, "")) == "keras.layers.Input"
        }  # fmt: skip
        for module in self.facts.modules:
            for keys in _feature_keys(module):
                if not keys <= named:
                    message = (
                        f"its features are named {min(map(str, keys - named))}, but no Input of the program has that "
                        "name"
                    )
                    raise self._refused(self.call, message)


def _feature_keys(module: Module) -> Iterator[set[str | None]]:
    """The keys of the dicts that stand where a dataset's features do: first in a pair that a function returns, or in
    what from_tensor_slices() takes."""
    for node in (*module.calls, *module.all_of(cst.Return), *module.all_of(cst.Lambda)):
        if isinstance(node, cst.Call):
            makes = last_attribute(node.func) in _MAKES_DATA
            value = node.args[0].value if makes and node.args else None
        elif isinstance(node, cst.Return | cst.Lambda):
            value = node.value if isinstance(node, cst.Return) else node.body
            value = value if isinstance(value, cst.Tuple) else None
        first = value.elements[0].value if isinstance(value, cst.Tuple) and len(value.elements) > 1 else value
        if isinstance(first, cst.Dict):
            yield {text_of(part.key) for part in first.elements if isinstance(part, cst.DictElement)}
