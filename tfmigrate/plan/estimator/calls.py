"""What is called of an Estimator: train, evaluate, predict and train_and_evaluate become calls of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, is_true, quoted, with_code
from tfmigrate.plan.edits import Argument, Arguments, Edit, Insert, Remove, Replace
from tfmigrate.plan.estimator.exporting import EXPORTS, plan_export
from tfmigrate.plan.estimator.global_batches import Feed
from tfmigrate.plan.estimator.hooks import callbacks_of, drop_hooks
from tfmigrate.plan.estimator.inputs import Inputs
from tfmigrate.plan.estimator.migration import Migration
from tfmigrate.plan.estimator.reader import Build, Outcome
from tfmigrate.plan.estimator.use_places import comes_first, is_statement, keys_read, target_of
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import EstimatorPart
from tfmigrate.written import Written

_TRAIN = ("input_fn", "hooks", "steps", "max_steps", "saving_listeners")
_EVALUATE = ("input_fn", "steps", "hooks", "checkpoint_path", "name")
_PREDICT = ("input_fn", "predict_keys", "hooks", "checkpoint_path", "yield_single_examples")
_TRAIN_AND_EVALUATE = ("estimator", "train_spec", "eval_spec")
_TRAIN_SPEC = ("input_fn", "max_steps", "hooks")
_EVAL_SPEC = ("input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs")
_EVAL_STEPS = "100"
"""The default of EvalSpec."""


@dataclass(frozen=True)
class EstimatorCall:
    """One call of a method of an Estimator, or of train_and_evaluate()."""

    migration: Migration
    outcome: Outcome
    inputs: Inputs
    use: Use
    evaluates: bool
    """Whether the Estimator is evaluated under the strategy too."""
    trains_alone: bool
    """Whether no other call trains the Estimator."""
    title: str = ""
    """The function that gives the predictions one by one."""

    def plan(self) -> cst.BaseExpression | None:
        """Plan it; of one that trains, returns its input_fn, which tells the shape of the features."""
        method, built = self.use.method, self.outcome
        if method == "train":
            return self._train()
        if method == "train_and_evaluate":
            return self._train_and_evaluate()
        if method == "evaluate":
            self._evaluate()
        elif not isinstance(built, Build):
            raise self._refused(f"{method}() of an Estimator of a Keras model cannot be followed: call it on the model")
        elif method == "predict":
            self._predict(built)
        elif method in EXPORTS and not _bound_round(self.migration, built):
            plan_export(self.migration, self.use, built, self._receiver)
        else:
            raise self._refused(f"{method}() of an Estimator has no known counterpart in Keras")
        return None

    # ---- what is known of it ----

    @property
    def _module(self) -> Module:
        return self.use.site.frame.module

    @property
    def _receiver(self) -> Written:
        """The Estimator, under the name that it has from now on."""
        func, renamed = self.use.call.func, self.migration.renamed
        if self.use.method == "train_and_evaluate":
            node = self._passed(self.use.call, _TRAIN_AND_EVALUATE)["estimator"].value
        else:
            assert isinstance(func, cst.Attribute)
            node = func.value
        receiver = Written.at(node)
        if renamed is not None and self._module is self.migration.module and receiver.text == renamed[0]:
            return Written.of(renamed[1])
        return receiver

    @property
    def evaluated_as(self) -> str:
        """The role of the data that it is evaluated on."""
        return "eval" if self.evaluates else "alone"

    @property
    def _wants_step(self) -> bool:
        """Whether the number of steps may be read of what evaluate() returned."""
        if is_statement(self.use):
            return False
        name, module = target_of(self.use), self._module
        if name is not None and (module, name) not in self.migration.facts.exported:
            draft = self.migration.drafts[module]
            mentions = draft.scopes.of_variable(name, draft.scope_of(self.use.site.frame))
            keys = dict(keys_read(module.tree))
            return any(not mention.binds and keys.get(mention.node) in (None, "global_step") for mention in mentions)
        return dict(keys_read(self.use.site.unit)).get(self.use.call) in (None, "global_step")

    def _passed(self, call: cst.Call, parameters: tuple[str, ...], *known: str) -> dict[str, cst.Arg]:
        """The arguments of a call, of which those that are not `known` may say nothing. Raises Unconvertible."""
        passed = self.migration.named(call, parameters, self._module)
        if "input_fn" in known and "input_fn" not in passed:
            raise self._refused("it gets no input function", call)
        for name, arg in passed.items() if known else ():
            if name not in known and not is_none(arg.value) and not _is_empty(arg.value):
                hook = name in ("hooks", "saving_listeners", "exporters")
                code = codes.ESTIMATOR_HOOK if hook else codes.ESTIMATOR_NOT_FOLLOWED
                message = f"`{name}=` has no known counterpart in Keras"
                raise self.migration.refuse(code, arg.value, message, self._module)
        return passed

    def _data(self, input_fn: cst.Arg, role: str, limited: bool) -> Written:
        """The dataset that an input function gives; see Feed."""
        return self.inputs.dataset(input_fn.value, Feed(self.use, role, limited, self._receiver))

    def _refused(self, message: str, node: cst.CSTNode | None = None) -> Exception:
        return self.migration.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node or self.use.call, message, self._module)

    # ---- train ----

    def _train(self) -> cst.BaseExpression:
        use = self.use
        passed = self._passed(use.call, _TRAIN, "input_fn", "steps", "max_steps", "hooks")
        callbacks = callbacks_of(self.migration, passed.get("hooks"), self._module, use.site.frame)
        self._check_that_steps_count_once(passed.get("max_steps"))
        data = self._data(passed["input_fn"], "train", True)
        data = _taken(data, passed.get("steps", passed.get("max_steps")))
        if is_statement(use) and not self.inputs.batches.may_be_empty(self.use, "train"):
            self._edit(Arguments(use.call, (_sole_argument(data), *_callbacks(callbacks)), method="fit"))
            self._enter_scope()
        else:
            self._put_before([self._fit(data, callbacks)], None if is_statement(use) else self._receiver)
        self._say("train() becomes fit() with the same number of steps")
        return passed["input_fn"].value

    def _check_that_steps_count_once(self, steps: cst.Arg | None) -> None:
        """max_steps counts from the first step ever; where there was none before, it is the number of steps."""
        if steps is None or is_none(steps.value):
            return
        again = any(isinstance(owner, cst.For | cst.While) for site in self.use.site.chain()
                    for owner in site.frame.module.ancestors(site.unit))  # fmt: skip
        if again or not self.trains_alone:
            raise self._refused("max_steps counts the steps of earlier calls too; use `steps=` instead", steps.value)

    def _fit(self, data: Written, callbacks: Sequence[Written]) -> Written:
        """The code that trains: as the Estimator, not at all where there are more replicas than batches."""
        more = ", callbacks=[" if callbacks else ""
        end = Written.of(more, Written.joined(callbacks, ", "), "])" if callbacks else ")")
        if not self.inputs.batches.may_be_empty(self.use, "train"):
            return Written.of(self._receiver, ".fit(", data, end)
        name, indent = self._fresh("train_data"), self._module.tree.default_indent
        head = f"if {name}.cardinality() != 0:  # with fewer batches than replicas, no step is trained"
        return Written.of(f"{name} = ", data, f"\n{head}\n{indent}", self._receiver, f".fit({name}", end)

    # ---- train and evaluate ----

    def _train_and_evaluate(self) -> cst.BaseExpression:
        use, frame = self.use, self.use.site.frame
        named = self._passed(use.call, _TRAIN_AND_EVALUATE)
        if set(named) != set(_TRAIN_AND_EVALUATE):
            raise self._refused("train_and_evaluate() has arguments other than an Estimator and two specs")
        train = self._spec(named["train_spec"].value, "TrainSpec")
        evaluation = self._spec(named["eval_spec"].value, "EvalSpec")
        trained = self._passed(train.node, _TRAIN_SPEC, "input_fn", "max_steps", "hooks")
        evaluated = self._passed(
            evaluation.node, _EVAL_SPEC, "input_fn", "steps", "name", "hooks", "start_delay_secs", "throttle_secs"
        )
        callbacks = callbacks_of(self.migration, trained.get("hooks"), self._module, frame)
        drop_hooks(self.migration, evaluated.get("hooks"), self._module, frame)
        self._check_that_steps_count_once(trained.get("max_steps"))
        data = self._data(trained["input_fn"], "train", True)
        data = _taken(data, trained.get("max_steps"))
        steps = evaluated.get("steps")
        limited = steps is None or not is_none(steps.value)
        test = self._data(evaluated["input_fn"], self.evaluated_as, limited)
        test = Written.of(test, f".take({_EVAL_STEPS})") if steps is None else _taken(test, steps)
        fit = self._fit(data, callbacks)
        name = None if is_statement(use) else self._fresh("results")
        lines = [fit, *self._metrics(test, name, step=True)]
        self._put_before(lines, None if name is None else Written.of(f"({name}, [])"))
        self._say(
            (
                "train_and_evaluate() becomes fit(), then evaluate(); the Estimator also evaluated at checkpoints, "
                "by the clock"
            )
            + self._unevenness
        )
        return trained["input_fn"].value

    def _spec(self, node: cst.BaseExpression, name: str) -> EstimatorPart:
        value = self.migration.value(self._module, node)
        frame = self.use.site.frame
        if not isinstance(value, EstimatorPart) or value.name != name or value.site.frame is not frame:
            raise self._refused(f"its {name} is not created next to it", node)
        if isinstance(node, cst.Name) and self.migration.assigned(node, self._module, frame) is not value.node:
            raise self._refused(f"its {name} is used elsewhere too", node)
        return value

    # ---- evaluate ----

    def _evaluate(self) -> None:
        use = self.use
        passed = self._passed(use.call, _EVALUATE, "input_fn", "steps", "name", "hooks")
        drop_hooks(self.migration, passed.get("hooks"), self._module, use.site.frame)
        data = self._data(passed["input_fn"], self.evaluated_as, "steps" in passed)
        data, step = _taken(data, passed.get("steps")), self._wants_step
        if (step or self.inputs.batches.may_be_empty(self.use, self.evaluated_as)) and comes_first(use):
            name = None if is_statement(use) else target_of(use) or self._fresh("results")
            self._put_before(self._metrics(data, name, step=step), None if name is None else Written.of(name))
        else:
            self._edit(Arguments(use.call, (_sole_argument(data), Argument("True", "return_dict"))))
            if step:
                added = Written.of(use.call, f" | {{{self._key_of_step}: ", self._step, "}")
                self._edit(Replace(use.call, added.code))
            self._enter_scope()
        self._say(f"evaluate() takes the dataset and returns a dict{self._unevenness}")

    def _metrics(self, data: Written, name: str | None, *, step: bool) -> list[Written]:
        """Lines that bind a name to the dict which an Estimator's evaluate() returns, all zeros where there were more
        replicas than batches; None where nothing reads it. `step`: with the number of steps."""
        bound = f"{name} = " if name is not None else ""
        lines = [Written.of(bound, self._receiver, ".evaluate(", data, ", return_dict=True)")]
        if self.inputs.batches.may_be_empty(self.use, self.evaluated_as):
            test, indent = self._fresh("eval_data"), self._module.tree.default_indent
            lines = [Written.of(f"{test} = ", data)]
            if name is not None:
                keys = ", ".join(quoted(key, self._quote) for key in ("loss", *self.outcome.metrics))
                zeros = f"{name} = dict.fromkeys([{keys}], 0.0)  # no batch: zeros, as TensorFlow 2.9 reports"
                lines.append(Written.of(zeros))
            evaluated = Written.of(bound, self._receiver, f".evaluate({test}, return_dict=True)")
            lines.append(Written.of(f"if {test}.cardinality() != 0:\n{indent}", evaluated))
        if name is not None and step:
            lines.append(Written.of(f"{name}[{self._key_of_step}] = ", self._step))
        return lines

    @property
    def _key_of_step(self) -> str:
        return quoted("global_step", self._quote)

    @property
    def _step(self) -> Written:
        """The number of steps that were trained."""
        return Written.of(self._receiver, ".optimizer.iterations.numpy()")

    @property
    def _unevenness(self) -> str:
        """What is said of an evaluation that may end with a batch that is not full."""
        if not self.inputs.batches.may_be_uneven(self.use, self.evaluated_as):
            return ""
        return (
            "; with a partial last batch, the loss is now the mean of all samples instead of the mean of the "
            "batches' means"
        )

    # ---- predict ----

    def _predict(self, built: Build) -> None:
        use, home = self.use, built.module
        passed = self._passed(use.call, _PREDICT, "input_fn", "hooks", "yield_single_examples")
        drop_hooks(self.migration, passed.get("hooks"), self._module, use.site.frame)
        whole = passed.get("yield_single_examples")
        if whole is not None and not is_true(whole.value):
            message = "predict() returns whole batches here; the function written for it yields one sample at a time"
            raise self._refused(message, whole.value)
        if built.readings is None:
            raise self._refused("the predictions are computed from more than the model's one output")
        if self._module is not home:
            raise self._refused(f"predictions are read here but created in {home.path}")
        data = self._data(passed["input_fn"], "predict", False)
        inner = _bound_round(self.migration, built)
        if inner:
            raise self._refused(
                f"the predictions are computed with `{min(inner)}`, a variable of the function around model_fn"
            )
        readings = Insert(built.outermost, built.readings)
        if (home, readings) not in self.migration.edits:
            self.migration.edits.append((home, readings))
        self._edit(Replace(use.call, Written.of(f"{self.title}(", self._receiver, ".predict(", data, "))").code))
        self._enter_scope()
        self._say("predict() takes the dataset; samples are read one at a time")

    # ---- the plan ----

    @property
    def _quote(self) -> str:
        return self.migration.drafts[self._module].quote

    def _fresh(self, wanted: str) -> str:
        draft = self.migration.drafts[self._module]
        return draft.scopes.fresh(wanted, draft.scope_of(self.use.site.frame))

    def _say(self, message: str) -> None:
        self.migration.say(codes.ESTIMATOR_CALLS, self._module, self.use.call, message)

    def _edit(self, edit: Edit) -> None:
        self.migration.edits.append((self._module, edit))

    def _put_before(self, lines: list[Written], result: Written | None) -> None:
        """Plan lines that come before a statement, with `result` in the place of the call; None: the statement goes."""
        unit = self.use.site.unit
        small = only_statement(unit)
        if small is None or not comes_first(self.use):
            raise self._refused(f"{self.use.method}() is part of a larger expression")
        # An Estimator without a name is made in these lines.
        scoped = self.inputs.batches.needs_scope(self.use) or unit is self.migration.unit
        self._edit(Insert(unit, Written.joined(lines, "\n").code, (unit,), scoped=scoped))
        self._enter_scope()
        if result is None or result.text == target_of(self.use):
            self._edit(Remove(small))
        else:
            self._edit(Replace(self.use.call, result.code))

    def _enter_scope(self) -> None:
        """A call whose input function asks for the strategy stands in its scope."""
        if self.inputs.batches.needs_scope(self.use):
            here = self.use.site.frame is self.migration.frame
            strategy = self.migration.strategy if here else Written.of(self._receiver, ".distribute_strategy")
            self.migration.scoped.append((self._module, self.use.site.unit, Written.of(strategy, ".scope()")))


def _bound_round(migration: Migration, built: Build) -> set[str]:
    """The names that the predictions read of a function round the model function, where they are not computed."""
    scopes = migration.drafts[built.module].scopes
    around = {node for node in built.module.ancestors(built.function) if isinstance(node, cst.FunctionDef)}
    owners = ((name, scopes.owner(name, scopes.by_node[built.function])) for name in built.predicted_from)
    return {name for name, owner in owners if owner is not None and owner.node in around}


def _callbacks(callbacks: Sequence[Written]) -> Iterator[Argument]:
    if callbacks:
        code = Written.of("[", Written.joined(callbacks, ", "), "]").code
        yield replace(with_code(Argument("None"), code), keyword="callbacks")


def _taken(data: Written, steps: cst.Arg | None) -> Written:
    """A dataset, or its first batches where their number is given."""
    return data if steps is None or is_none(steps.value) else Written.of(data, ".take(", steps.value, ")")


def _sole_argument(value: Written) -> Argument:
    """An argument that takes the place of others."""
    return with_code(Argument("None"), value.code)


def _is_empty(node: cst.BaseExpression) -> bool:
    """`[]` and `()`, which an Estimator takes for no hooks."""
    return isinstance(node, cst.List | cst.Tuple) and not node.elements
