"""Plans the Keras model that a model function becomes.

The function is read first (`model_function`). Training and evaluation become one compile() at its end, predictions a
generator beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import quoted, text_of
from tfmigrate.plan.edits import Insert, Signature
from tfmigrate.plan.estimator.model_function import ModelFunction
from tfmigrate.plan.estimator.penalties import lines_of
from tfmigrate.plan.estimator.reader import Build, Predicting, Unconvertible
from tfmigrate.plan.estimator.things import (
    EVAL,
    MODES,
    NAME,
    PLAIN,
    PREDICT,
    TRAIN,
    Config,
    Each,
    Features,
    Items,
    Labels,
    Loss,
    Metric,
    Mode,
    Optimizer,
    Params,
    Rate,
    Reading,
    Spec,
    Tensor,
    Thing,
    TrainOp,
)
from tfmigrate.understand.blocks import Unit, is_docstring, only_statement, units_of
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.understand.scopes import numbered
from tfmigrate.walk import nodes_in, walk, words_in
from tfmigrate.written import Written

_PARAMETERS: Mapping[str, Thing] = {
    "features": Features(), "labels": Labels(), "mode": Mode(), "params": Params(), "config": Config(),
}  # fmt: skip
"""Those that a model_fn may have."""


def build(
    facts: ProgramFacts, module: Module, function: cst.FunctionDef, tf: str, quote: str, title: str, penalty: str
) -> Build:
    """The plan; `title` is the name of the function of predictions, `penalty` that of the helper that adds a penalty
    of a weight. Raises Unconvertible."""
    plan = Build(module, function)
    plan.functions.add(function)
    parameters = [p.name.value for p in nameable(function.params)]
    if not parameters or parameters[0] != "features" or not set(parameters) <= _PARAMETERS.keys():
        message = f"model_fn has the parameters {', '.join(parameters)}"
        raise Unconvertible(codes.ESTIMATOR_NOT_FOLLOWED, module, function, message)
    reading = ModelFunction(facts, plan, {name: _PARAMETERS[name] for name in parameters}, tf, quote)
    left = reading.block(function.body, MODES)
    if TRAIN in left or TRAIN not in reading.specs:
        message = "model_fn returns no EstimatorSpec for training"
        raise reading.refuse(codes.ESTIMATOR_NOT_FOLLOWED, function, message)
    odd = reading.arms.odd_one(reading.specs)
    if odd is not None:
        raise reading.refuse(codes.NO_KERAS_LAYER, odd, "this part of the model is built in one mode only")
    model = _Model(reading)
    model.plan_compile(reading.specs[TRAIN], penalty)
    kept = ("features", "params") if reading.used_params else ("features",)
    plan.keys = frozenset(reading.keys)
    plan.parameters = tuple(name for name in parameters if name in kept)
    reading.edit(Signature(function, plan.parameters))
    if PREDICT in reading.specs:
        model.plan_predictions(reading.specs[PREDICT], parameters, title)
    return plan


class _Model:
    """What is written at the end of the function, and beside it."""

    def __init__(self, reading: ModelFunction) -> None:
        """Raises Unconvertible where the model has not one output with a name."""
        self._reading = reading
        self._function = reading.plan.function
        self._output = _output_of(reading)
        self._tf, self._indent = reading.tf, reading.module.tree.default_indent

    # ---- compile() ----

    def plan_compile(self, train: Spec, penalty: str) -> None:
        """Plan the lines that make and compile the model, and return it."""
        loss, optimizer = self._trained_with(train)
        self._note_moving_averages()
        metrics = self._metrics()
        inputs = self._inputs()
        output, model = self._name_of_output, self._fresh("model")
        lines = [Written.of(f"{model} = {self._tf}.keras.Model({self._inputs_name}, {output})")]
        if loss.penalty is not None:
            self._reading.plan.penalised = True
            fresh = {name: self._fresh(name) for name in ("weight", NAME)}
            lines += lines_of(self._reading, loss.penalty, model, penalty, fresh)
        settings: list[Written] = []
        for key, value in optimizer.settings:
            if isinstance(value, Rate):
                name = self._fresh("learning_rate")
                lines.append(self._schedule(name, value))
                value = Written.of(name)
            settings.append(Written.of(f"{key}=", value))
        compiled = [
            Written.of("optimizer=", optimizer.keras, "(", Written.joined(settings, ", "), ")"),
            Written.of("loss=", loss.code),
            *([Written.of(f"metrics=[{', '.join(metrics)}]")] if metrics else []),
        ]
        arguments = Written.joined(compiled, f",\n{self._indent}")
        lines.append(Written.of(f"{model}.compile(\n{self._indent}", arguments, ",\n)"))
        lines.append(Written.of(f"return {model}"))
        units = [unit for unit in units_of(self._function.body) if not is_docstring(only_statement(unit))]
        last = self._last_line(units[-1])
        self._reading.edit(Insert(units[0], inputs))
        self._reading.edit(Insert(last, Written.joined(lines, "\n").code, (last,)))

    def _trained_with(self, train: Spec) -> tuple[Loss, Optimizer]:
        """The loss and the optimizer of the spec for training, which the others agree with."""
        refuse, function = self._reading.refuse, self._function
        loss, step = train.loss, train.train_op
        if not isinstance(loss, Loss):
            raise refuse(codes.ESTIMATOR_LOSS, function, "the training spec's loss is not understood")
        if not isinstance(step, TrainOp) or step.optimizer is None:
            raise refuse(codes.ESTIMATOR_OPTIMIZER, function, "the training spec's train_op is not understood")
        for mode, spec in self._reading.specs.items():
            if spec.loss is not None and mode != PREDICT and spec.loss != loss:
                raise refuse(codes.ESTIMATOR_LOSS, function, "training and evaluation use different losses")
        if step.loss is not None and step.loss != loss:
            raise refuse(codes.ESTIMATOR_LOSS, function, "the spec's loss is not what is minimized")
        return loss, step.optimizer

    def _note_moving_averages(self) -> None:
        if self._reading.normalised is not None and not self._reading.updates_are_run:
            message = (
                "the moving averages of this batch normalization were never updated, because UPDATE_OPS are not "
                "run; Keras updates them, so evaluation will differ (for the better)"
            )
            self._reading.plan.notes.append((self._reading.normalised, message))

    def _metrics(self) -> list[str]:
        """The metrics of evaluation, as they are written."""
        reading = self._reading
        operations = reading.specs[EVAL].metrics if EVAL in reading.specs else None
        if operations is None:
            return []
        if not isinstance(operations, Items):
            message = "eval_metric_ops is not a plain dict of metrics"
            raise reading.refuse(codes.ESTIMATOR_METRIC, self._function, message)
        metrics = []
        for name, metric in operations.entries:
            if not isinstance(metric, Metric):
                place = metric.node if isinstance(metric, Tensor | Reading | Each) else self._function
                raise reading.refuse(codes.ESTIMATOR_METRIC, place, f"the metric {name!r} is unknown")
            settings = f"{metric.settings}, " if metric.settings else ""
            metrics.append(f"{metric.keras.text}({settings}name={quoted(name, reading.quote)})")
        reading.plan.metrics = tuple(name for name, _ in operations.entries)
        return metrics

    def _schedule(self, name: str, rate: Rate) -> Written:
        """The line that binds a schedule to a name."""
        settings = (Written.of(f"{key}=", code) for key, code in rate.settings)
        inside = Written.joined(settings, f",\n{self._indent}")
        return Written.of(f"{name} = ", rate.keras, f"(\n{self._indent}", inside, ",\n)")

    def _last_line(self, unit: Unit) -> Unit:
        """A unit, or the last line of its block where that alone stays."""
        suite = self._reading.unwrapped.get(unit)
        return self._last_line(units_of(suite)[-1]) if suite is not None else unit

    # ---- inputs and output ----

    def _inputs(self) -> str:
        """The lines that make the model's inputs of the specs of the features."""
        reading, tf = self._reading, self._tf
        if reading.features_may_be_dict and reading.whole_features:
            code = f"lambda spec: {tf}.keras.Input(spec.shape[1:], dtype=spec.dtype)"
            return self._inputs_as(f"{tf}.nest.map_structure({code}, features)")
        if reading.keys and reading.whole_features:
            raise reading.refuse(codes.NO_KERAS_LAYER, self._function, "features is used both as a whole and by key")
        if reading.keys:
            self._choose(reading.keys)
            quote = reading.quote
            # Keras 3 takes no `/` in the name of an input.
            slashes = any("/" in key for key in reading.keys)
            name = f"key.replace({quote}/{quote}, {quote}_{quote})" if slashes else "key"
            code = f"{tf}.keras.Input(spec.shape[1:], name={name}, dtype=spec.dtype)"
            code = f"{{key: {code} for key, spec in features.items()}}"
        else:
            code = f"{tf}.keras.Input(features.shape[1:], dtype=features.dtype)"
        return self._inputs_as(code)

    def _inputs_as(self, code: str) -> str:
        """The lines that name the inputs."""
        if self._inputs_name == "features":
            return f"features = {code}"
        return f"{self._inputs_name} = {code}\nfeatures = {self._inputs_name}"

    def _choose(self, read: Set[str]) -> None:
        """Note the features that are read, where others may stand beside them: Keras takes every feature of a dataset
        for an input, and fails on strings under a strategy (AddN in its first step, Keras 3.15)."""
        written = [
            {text_of(element.key) for element in node.elements if isinstance(element, cst.DictElement)}
            for module in self._reading.program.modules
            for node in module.all_of(cst.Dict)
        ]
        around = [keys for keys in written if keys >= read]
        given = [keys for module in self._reading.program.modules for keys in _given_features(module) if keys >= read]
        if given and all(keys == read for keys in given):
            return
        if not around or any(keys != read for keys in around):
            self._reading.plan.chosen = tuple(sorted(read))

    @property
    def _inputs_name(self) -> str:
        """`features`, unless the function gives that name to something else."""
        assigned = {name for part in nodes_in(self._function.body, cst.AssignTarget)
                    for name in words_in(part)}  # fmt: skip
        return self._fresh("inputs") if "features" in assigned else "features"

    @property
    def _name_of_output(self) -> str:
        same = self._reading.arms.in_training()
        names = [
            name
            for name, thing, _ in self._reading.assigned
            if isinstance(thing, Tensor) and same.get(thing.node, thing.node) is self._output.node
        ]
        if not names:
            message = "the model's output has no name"
            raise self._reading.refuse(codes.NO_KERAS_LAYER, self._output.node, message)
        return names[-1]

    def _fresh(self, wanted: str) -> str:
        return numbered(wanted, words_in(self._function).__contains__)

    # ---- predictions ----

    def plan_predictions(self, spec: Spec, parameters: Iterable[str], title: str) -> None:
        """Plan the generator that gives one sample's predictions after another, where they can be computed apart.

        `parameters`: those of the model function.
        """
        if spec.predictions is None:
            return
        node, predicted = spec.predictions
        wanted, lines = self._computing(node)
        local: dict[str, Thing] = {name: thing for name, thing, _ in self._reading.assigned}
        local.update(dict.fromkeys(parameters, PLAIN))
        free = set[str]().union(*map(words_in, wanted)) & local.keys()
        tensor = self._name_of_output
        if any(name != tensor and not isinstance(local[name], Reading | Items) for name in free) or tensor not in free:
            return
        used = {tensor}.union(*map(words_in, wanted))
        self._reading.plan.predicted_from = frozenset(used - local.keys())
        by_name = isinstance(predicted, Items)
        self._reading.plan.predicting = Predicting(tensor, tuple(lines), Written.at(node), by_name, frozenset(used))
        lines += self._yielding(node, predicted, used)
        body = Written.joined(lines, "\n").code
        indented = (part.replace("\n", f"\n{self._indent}") if isinstance(part, str) else part for part in body)
        self._reading.plan.readings = (f"def {title}({tensor}):\n{self._indent}", *indented)

    def _computing(self, node: cst.BaseExpression) -> tuple[list[cst.BaseExpression], list[Written]]:
        """The predictions and what they are computed from, and the lines that bind the latter to names."""
        wanted: list[cst.BaseExpression] = [node]
        lines: list[Written] = []
        for name, thing, statement in reversed(self._reading.assigned):
            if isinstance(thing, Reading | Items) and any(name in words_in(part) for part in wanted):
                targets = "".join(map(self._reading.module.code, statement.targets))
                lines.insert(0, Written.of(targets, statement.value))
                wanted.append(statement.value)
        return wanted, lines

    def _yielding(self, node: cst.BaseExpression, predicted: Thing, used: set[str]) -> list[Written]:
        """The lines that yield the predictions, a sample at a time."""
        tf, whole = self._tf, Written.at(node)
        lines: list[Written] = []
        if not isinstance(node, cst.Name):
            name = numbered("predictions", used.__contains__)
            lines.append(Written.of(f"{name} = ", whole))
            whole = Written.of(name)
        if isinstance(predicted, Items):
            row, rows = numbered("row", used.__contains__), numbered("rows", used.__contains__)
            values = Written.of(f"{tf}.convert_to_tensor(value).numpy() for value in ", whole, ".values()")
            lines.append(Written.of(f"{rows} = zip(*(", values, "))"))
            lines.append(Written.of(f"for {row} in {rows}:\n{self._indent}yield dict(zip(", whole, f", {row}))"))
        else:
            lines.append(Written.of(f"yield from {tf}.convert_to_tensor(", whole, ").numpy()"))
        return lines


def _output_of(reading: ModelFunction) -> Tensor:
    """The one tensor that loss, predictions and metrics are computed from. Raises Unconvertible."""
    same = reading.arms.in_training()
    nodes = [same.get(thing.node, thing.node) for thing in reading.outputs]
    tensors = [Tensor(node) for node in {id(node): node for node in nodes}.values()]
    if len(tensors) != 1:
        message = (
            f"loss, predictions and metrics are computed from {len(tensors)} tensors: only one output is supported"
        )
        raise reading.refuse(codes.NO_KERAS_LAYER, reading.plan.function, message)
    return tensors[0]


def _given_features(module: Module) -> Iterator[set[str]]:
    """The keys of the dicts that stand where the features of a dataset do, alone or first in a pair: what a function
    returns, a lambda gives, or from_tensor_slices() takes."""
    for function in (module.tree, *module.all_of(cst.FunctionDef)):
        assigned: dict[str, list[cst.BaseExpression]] = {}
        for target in nodes_in(function, cst.Assign):
            for part in target.targets:
                if isinstance(part.target, cst.Name):
                    assigned.setdefault(part.target.value, []).append(target.value)
        for node in walk(function):
            value = node.value if isinstance(node, cst.Return) else node.body if isinstance(node, cst.Lambda) else None
            if isinstance(node, cst.Call) and len(node.args) == 1:
                value = node.args[0].value
            first = value.elements[0].value if isinstance(value, cst.Tuple) and len(value.elements) > 1 else value
            known = assigned.get(first.value, []) if isinstance(first, cst.Name) else []
            first = known[0] if len(known) == 1 else first
            if isinstance(first, cst.Dict):
                yield {text_of(part.key) or "" for part in first.elements if isinstance(part, cst.DictElement)}
