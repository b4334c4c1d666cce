"""Reads a model function and plans the Keras model that it becomes.

The function is read once, statement by statement, with what each name stands for and for which modes a statement runs.
Layers stay where they are, as Keras layers (estimator_network); the loss, the optimizer, the metrics and the specs go,
and become one compile() at the end (estimator_training).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords, named_arguments, quoted, text_of, unchanged
from tfmigrate.plan.edits import Arguments, Insert, Signature, Unwrap
from tfmigrate.plan.estimator.layers import LAYER_CLASSES, LAYERS, SCHEDULES
from tfmigrate.plan.estimator.network import NetworkReader
from tfmigrate.plan.estimator.reader import EVAL, MODE_NAMES, MODES, PLAIN, PREDICT, TRAIN, Build, Thing, Unconvertible
from tfmigrate.plan.estimator.training import TrainingReader
from tfmigrate.plan.written import Written
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.program import Module, Unit, is_docstring, only_statement, units_of
from tfmigrate.understand.scopes import numbered
from tfmigrate.understand.values import FunctionValue, Made, ModelObject
from tfmigrate.walk import walk

_KEPT = frozenset({"plain", "tensor", "tensors", "layer"})
_EQUALITIES = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)


def build(facts: ProgramFacts, module: Module, function: cst.FunctionDef, tf: str, quote: str, title: str) -> Build:
    """The plan; `title` is the name of the function of predictions. Raises Unconvertible."""
    return _Reader(facts, Build(module, function), tf, quote).whole(title)


class _Reader(TrainingReader, NetworkReader):
    """Reads statements and expressions; the base classes read the calls of TensorFlow."""

    # ---- the whole ----

    def whole(self, title: str) -> Build:
        plan, function = self._plan, self._plan.function
        plan.functions.add(function)
        given = [p.name.value for p in (*function.params.params, *function.params.kwonly_params)]
        if not given or given[0] != "features" or not set(given) <= {"features", "labels", "mode", "params", "config"}:
            raise self._refuse(
                codes.ESTIMATOR_NOT_FOLLOWED, function, f"model_fn has the parameters {', '.join(given)}"
            )
        kinds = {"features": "features", "labels": "labels", "mode": "mode", "params": "params", "config": "config"}
        self._given = given
        self._names = {name: Thing(kinds[name]) for name in given}
        left = self._block(function.body, MODES)
        if left or TRAIN not in self._specs:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, function, "model_fn returns no EstimatorSpec for training")
        train = self._specs[TRAIN]
        output = self._output()
        self._compile(train, output)
        self._signature(function, self._kept_parameters(given))
        if PREDICT in self._specs:
            self._predictions(self._specs[PREDICT], output, title)
        return plan

    def _kept_parameters(self, given: Sequence[str]) -> tuple[str, ...]:
        wanted = {"features", *(["params"] if self._used_params else [])}
        self._plan.parameters = tuple(name for name in given if name in wanted)
        return self._plan.parameters

    def _signature(self, function: cst.FunctionDef, kept: tuple[str, ...]) -> None:
        self._edit(Signature(function, kept))

    def _output(self) -> Thing:
        found = list({id(thing.node): thing for thing in self._outputs}.values())
        if len(found) != 1:
            raise self._refuse(
                codes.NO_KERAS_LAYER,
                self._plan.function,
                f"loss, predictions and metrics are computed from {len(found)} tensors: one output is understood",
            )
        return found[0]

    def _compile(self, train: Thing, output: Thing) -> None:
        function, tf = self._plan.function, self._tf
        loss, step = train.entry("loss"), train.entry("train_op")
        if loss is None or loss.kind != "loss":
            raise self._refuse(codes.ESTIMATOR_LOSS, function, "the training spec's loss is not understood")
        if step is None or step.kind != "train_op" or step.of is None:
            raise self._refuse(codes.ESTIMATOR_OPTIMIZER, function, "the training spec's train_op is not understood")
        for mode, spec in self._specs.items():
            other = spec.entry("loss")
            if other is not None and mode != PREDICT and other.code != loss.code:
                raise self._refuse(codes.ESTIMATOR_LOSS, function, "training and evaluation have different losses")
        if step.entries and step.entries[0][1].code != loss.code:
            raise self._refuse(codes.ESTIMATOR_LOSS, function, "what is minimised is not the spec's loss")
        if self._normalised is not None and not self._updates_are_run:
            self._plan.notes.append(
                (
                    self._normalised,
                    "the moving averages of this batch normalization were never updated, as UPDATE_OPS are not run; "
                    "Keras updates them, so evaluation will differ (for the better)",
                )
            )
        metrics = []
        evaluated = self._specs.get(EVAL)
        operations = evaluated.entry("eval_metric_ops") if evaluated is not None else None
        if operations is not None:
            if operations.kind != "dict":
                raise self._refuse(codes.ESTIMATOR_METRIC, function, "eval_metric_ops is not a plain dict of metrics")
            for name, metric in operations.entries:
                if metric.kind != "metric":
                    raise self._refuse(
                        codes.ESTIMATOR_METRIC, metric.node or function, f"the metric {name!r} is unknown"
                    )
                metrics.append(f"{metric.code.text}(name={quoted(name, self._quote)})")
            self._plan.metrics = tuple(name for name, _ in operations.entries)
        spec_line = self._inputs()
        text = self._name_of(output)
        model = self._fresh("model")
        indent = self._module.tree.default_indent
        lines = [Written.of(f"{model} = {tf}.keras.Model({self._inputs_name}, {text})")]
        settings: list[Written] = []
        for key, value in step.of.settings:
            if isinstance(value, Thing):
                name = self._fresh("learning_rate")
                lines.append(self._rate(name, value))
                value = Written.of(name)
            settings.append(Written.of(f"{key}=", value))
        compiled = [
            Written.of("optimizer=", step.of.code, "(", Written.joined(settings, ", "), ")"),
            Written.of("loss=", loss.code),
            *([Written.of(f"metrics=[{', '.join(metrics)}]")] if metrics else []),
        ]
        arguments = Written.joined(compiled, f",\n{indent}")
        lines.append(Written.of(f"{model}.compile(\n{indent}", arguments, ",\n)"))
        lines.append(Written.of(f"return {model}"))
        units = [unit for unit in units_of(function.body) if not is_docstring(only_statement(unit))]
        last = self._last(units[-1])
        self._edit(Insert(units[0], spec_line))
        self._edit(Insert(last, Written.joined(lines, "\n").code, (last,)))

    def _rate(self, name: str, rate: Thing) -> Written:
        """The line that binds a schedule to a name."""
        indent = self._module.tree.default_indent
        settings = (Written.of(f"{key}=", code) for key, code in rate.settings if isinstance(code, Written))
        inside = Written.joined(settings, f",\n{indent}")
        return Written.of(f"{name} = ", rate.code, f"(\n{indent}", inside, ",\n)")

    def _last(self, unit: Unit) -> Unit:
        """Where the function ends: the last unit of what is left of its last one."""
        suite = self._unwrapped.get(unit)
        return self._last(units_of(suite)[-1]) if suite is not None else unit

    def _name_of(self, output: Thing) -> str:
        found = [name for name, thing, _ in self._assigned if thing.kind == "tensor" and thing.node is output.node]
        if not found:
            raise self._refuse(
                codes.NO_KERAS_LAYER,
                output.node or self._plan.function,
                "the model's output has no name of its own",
            )
        return found[-1]

    def _inputs(self) -> str:
        tf = self._tf
        if self._keys and self._whole_features:
            raise self._refuse(codes.NO_KERAS_LAYER, self._plan.function, "features is used whole and by key")
        if self._keys:
            made = f"{tf}.keras.Input(spec.shape[1:], name=key, dtype=spec.dtype)"
            made = f"{{key: {made} for key, spec in features.items()}}"
        else:
            made = f"{tf}.keras.Input(features.shape[1:], dtype=features.dtype)"
        if self._inputs_name == "features":
            return f"features = {made}"
        return f"{self._inputs_name} = {made}\nfeatures = {self._inputs_name}"

    @property
    def _inputs_name(self) -> str:
        """`features`, unless the function gives that name to something else."""
        assigned = {node.value for part in walk(self._plan.function.body) if isinstance(part, cst.AssignTarget)
                    for node in walk(part) if isinstance(node, cst.Name)}  # fmt: skip
        return self._fresh("inputs") if "features" in assigned else "features"

    def _fresh(self, wanted: str) -> str:
        return numbered(wanted, _names_in(self._plan.function).__contains__)

    def _predictions(self, spec: Thing, output: Thing, title: str) -> None:
        """Plan the generator that gives one sample's predictions after another, where they can be computed apart."""
        found = spec.entry("predictions")
        if found is None or found.node is None:
            return
        wanted: list[cst.BaseExpression] = [found.node]
        lines: list[Written] = []
        for name, thing, statement in reversed(self._assigned):
            mentioned = {node.value for part in wanted for node in walk(part) if isinstance(node, cst.Name)}
            if name in mentioned and thing.kind in ("reading", "dict"):
                head = "".join(map(self._module.code, statement.targets))
                lines.insert(0, Written.of(head, statement.value))
                wanted.append(statement.value)
        local = {name: thing for name, thing, _ in self._assigned} | dict.fromkeys(self._given, PLAIN)
        free = {node.value for part in wanted for node in walk(part) if isinstance(node, cst.Name)} & local.keys()
        tensor = self._name_of(output)
        if any(name != tensor and local[name].kind not in ("reading", "dict") for name in free) or tensor not in free:
            return
        tf, indent = self._tf, self._module.tree.default_indent
        whole = Written.at(found.node)
        used = {tensor}.union(*map(_names_in, wanted))
        if not isinstance(found.node, cst.Name):
            name = numbered("predictions", used.__contains__)
            lines.append(Written.of(f"{name} = ", whole))
            whole = Written.of(name)
        if found.kind == "dict":
            row, rows = numbered("row", used.__contains__), numbered("rows", used.__contains__)
            values = Written.of(f"{tf}.convert_to_tensor(value).numpy() for value in ", whole, ".values()")
            lines.append(Written.of(f"{rows} = zip(*(", values, "))"))
            lines.append(Written.of(f"for {row} in {rows}:\n{indent}yield dict(zip(", whole, f", {row}))"))
        else:
            lines.append(Written.of(f"yield from {tf}.convert_to_tensor(", whole, ").numpy()"))
        body = Written.joined(lines, "\n").code
        indented = (part.replace("\n", f"\n{indent}") if isinstance(part, str) else part for part in body)
        self._plan.readings = (f"def {title}({tensor}):\n{indent}", *indented)

    # ---- statements ----

    def _block(self, block: cst.BaseSuite, modes: frozenset[str]) -> frozenset[str]:
        """Read a block that runs in `modes`; returns those whose run goes on behind it."""
        outer = self._modes
        for unit in units_of(block):
            if not modes:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, unit, "this statement of model_fn is never reached")
            self._modes = modes
            modes = self._statement(unit, modes)
        self._modes = outer
        return modes

    def _statement(self, unit: Unit, modes: frozenset[str]) -> frozenset[str]:
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            for small in unit.body:
                if not self._small(small):
                    return frozenset()
            return modes
        if isinstance(unit, cst.If):
            return self._if(unit, modes)
        if isinstance(unit, cst.With):
            return self._with(unit, modes)
        if isinstance(unit, cst.For):
            self._needs_plain(unit.iter)
            for name in walk(unit.target):
                if isinstance(name, cst.Name):
                    self._names[name.value] = PLAIN
            before = dict(self._names)
            self._block(unit.body, modes)
            if any(self._names.get(name, thing).kind != thing.kind for name, thing in before.items()
                   if thing.kind not in ("features", "plain")):  # fmt: skip
                raise self._refuse(codes.NO_KERAS_LAYER, unit, "a name changes its meaning in this loop")
            return modes
        if isinstance(unit, cst.FunctionDef):
            self._names[unit.name.value] = PLAIN
            return modes
        raise self._refuse(codes.NO_KERAS_LAYER, unit, "this statement of model_fn is not understood")

    def _if(self, unit: cst.If, modes: frozenset[str]) -> frozenset[str]:
        test = self._read(unit.test)
        if test.kind != "training":
            if test.kind != "plain":
                raise self._refuse(codes.NO_KERAS_LAYER, unit, "this condition depends on the data")
            before = dict(self._names)
            left = self._block(unit.body, modes)
            one, self._names = self._names, before
            if isinstance(unit.orelse, cst.If):
                left |= self._if(unit.orelse, modes)
            elif unit.orelse is not None:
                left |= self._block(unit.orelse.body, modes)
            self._join(one, unit)
            if left != modes:
                raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, unit, "model_fn returns under a condition of its own")
            return modes
        arms: list[tuple[cst.BaseSuite, frozenset[str]]] = []
        left = self._modal(unit, test, modes, arms)
        kept = [suite for suite, own in arms if TRAIN in own and not all(self._goes(u) for u in units_of(suite))]
        self._unwrap(unit, kept[0] if kept else None)
        return left

    def _modal(
        self, unit: cst.If, test: Thing, modes: frozenset[str], arms: list[tuple[cst.BaseSuite, frozenset[str]]]
    ) -> frozenset[str]:
        """Read the arms of a test of the mode, each in its own modes, and collect them."""
        body, orelse = modes & test.modes, modes - test.modes
        before = dict(self._names)
        left = self._block(unit.body, body) if body else frozenset()
        arms.append((unit.body, body))
        one, self._names = self._names, before
        other = orelse
        if isinstance(unit.orelse, cst.Else):
            other = self._block(unit.orelse.body, orelse) if orelse else frozenset()
            arms.append((unit.orelse.body, orelse))
        elif unit.orelse is not None:
            inner = self._read(unit.orelse.test)
            if inner.kind != "training":
                raise self._refuse(codes.NO_KERAS_LAYER, unit, "this condition mixes the mode with other things")
            other = self._modal(unit.orelse, inner, orelse, arms)
        self._names = _by_mode(one, left, self._names, other)
        return left | other

    def _unwrap(self, unit: cst.If | cst.With, suite: cst.BaseSuite | None) -> None:
        self._unwrapped[unit] = suite
        self._edit(Unwrap(unit, suite))

    def _join(self, one: Mapping[str, Thing], unit: cst.CSTNode) -> None:
        for name, thing in one.items():
            other = self._names.setdefault(name, thing)
            if other.kind != thing.kind:
                raise self._refuse(codes.NO_KERAS_LAYER, unit, f"{name} means different things after this condition")
            if thing.kind not in _KEPT and (other.code, other.settings) != (thing.code, thing.settings):
                raise self._refuse(codes.NO_KERAS_LAYER, unit, f"{name} depends on this condition")

    def _goes(self, unit: cst.CSTNode) -> bool:
        """Whether nothing of a unit stays."""
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            return all(small in self._removed or isinstance(small, cst.Pass) for small in unit.body)
        if unit not in self._unwrapped:
            return False
        suite = self._unwrapped[unit]
        return suite is None or all(self._goes(inner) for inner in units_of(suite))

    def _with(self, unit: cst.With, modes: frozenset[str]) -> frozenset[str]:
        for item in unit.items:
            call = item.item
            name = self._symbol(call.func) if isinstance(call, cst.Call) else None
            if name not in ("variable_scope", "name_scope", "device", "control_dependencies"):
                raise self._refuse(codes.NO_KERAS_LAYER, unit, "this `with` has no meaning in a Keras model")
            assert isinstance(call, cst.Call)
            if name == "variable_scope" and keywords(call).keys() & {"reuse", "initializer", "regularizer"}:
                raise self._refuse(
                    codes.NO_KERAS_LAYER, unit, "a variable scope that reuses variables or sets defaults"
                )
            if name == "control_dependencies":
                thing = self._read(call.args[0].value)
                if thing.kind not in ("updates", "tensors", "train_op"):
                    raise self._refuse(codes.NO_KERAS_LAYER, unit, "operations that wait for one another")
                self._updates_are_run = self._updates_are_run or thing.kind == "updates"
            if item.asname is not None:
                raise self._refuse(codes.NO_KERAS_LAYER, unit, "this scope is bound to a name")
        left = self._block(unit.body, modes)
        gone = all(self._goes(inner) for inner in units_of(unit.body))
        self._unwrap(unit, None if gone else unit.body)
        return left

    def _small(self, small: cst.BaseSmallStatement) -> bool:
        if isinstance(small, cst.Return):
            self._return(small)
            return False
        if isinstance(small, cst.Assign):
            self._assign(small)
        elif isinstance(small, cst.AugAssign):
            if self._read(small.target).kind not in _KEPT or self._read(small.value).kind not in _KEPT:
                raise self._refuse(codes.ESTIMATOR_LOSS, small, "a sum of losses is not understood")
        elif isinstance(small, cst.Expr):
            self._expression(small)
        elif isinstance(small, cst.Assert):
            test = self._read(small.test)
            if test.kind == "training" and self._modes <= test.modes:
                self._remove(small)
            elif test.kind != "plain":
                raise self._refuse(codes.NO_KERAS_LAYER, small, "this assertion depends on the data or the mode")
        elif isinstance(small, cst.Raise):
            return False
        elif not isinstance(small, cst.Pass):
            raise self._refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")
        return True

    def _return(self, small: cst.Return) -> None:
        if self._inside:
            self._returned = self._read(small.value) if small.value is not None else PLAIN
            return
        modes = self._modes
        for mode in sorted(modes):
            self._modes = frozenset({mode})
            thing = self._read(small.value) if small.value is not None else PLAIN
            if thing.kind != "spec":
                raise self._refuse(
                    codes.ESTIMATOR_NOT_FOLLOWED, small, "model_fn returns something other than an EstimatorSpec"
                )
            self._specs[mode] = thing
        self._modes = modes
        self._remove(small)

    def _assign(self, small: cst.Assign) -> None:
        thing = self._read(small.value)
        for target in small.targets:
            if isinstance(target.target, cst.Name):
                self._names[target.target.value] = thing
                self._assigned.append((target.target.value, thing, small))
            elif thing.kind != "plain":
                raise self._refuse(codes.NO_KERAS_LAYER, small, "a value is kept in something other than a plain name")
        if thing.kind not in _KEPT:
            self._remove(small)
        elif self._modes != MODES and thing.kind != "plain":
            raise self._refuse(codes.NO_KERAS_LAYER, small, "this part of the model is built in one mode only")

    def _expression(self, small: cst.Expr) -> None:
        if isinstance(small.value, cst.SimpleString | cst.ConcatenatedString):
            return
        call = small.value
        name = self._symbol(call.func) if isinstance(call, cst.Call) else None
        if name is not None and name.startswith(("summary.", "contrib.summary.")):
            self._plan.notes.append((small, "this summary is no longer written; the TensorBoard callback writes the "
                                            "loss and the metrics"))  # fmt: skip
            self._remove(small)
        elif name in ("identity",):
            self._remove(small)
        elif isinstance(call, cst.Call) and self._talks(call):
            if not all(map(self._stays, call.args)):
                self._plan.notes.append((small, "this message is no longer written: it reports the mode or the data"))
                self._remove(small)
            elif self._modes != MODES:
                self._remove(small)
        elif self._read(small.value).kind == "plain":
            if self._modes != MODES:
                self._remove(small)
        else:
            raise self._refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")

    def _talks(self, call: cst.Call) -> bool:
        """Whether a call writes a message: print, and the functions of loggers."""
        if isinstance(call.func, cst.Name) and call.func.value == "print":
            return "print" not in self._names
        name = self._program.modules[self._module].symbols.get(call.func, "")
        return names.plain(name).removeprefix("tensorflow.").startswith(("logging.", "absl.logging."))

    def _stays(self, arg: cst.Arg) -> bool:
        """Whether what is passed to a call is there in the function that builds the Keras model."""
        try:
            return self._read(arg.value).kind in _KEPT
        except Unconvertible:
            return False

    # ---- expressions ----

    def _read(self, node: cst.BaseExpression) -> Thing:
        if isinstance(node, cst.Name):
            return self._name(node)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.Subscript):
            return self._subscript(node)
        if isinstance(node, cst.Comparison):
            return self._comparison(node)
        if isinstance(node, cst.BooleanOperation):
            return self._boolean(node)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            inner = self._read(node.expression)
            return Thing("training", modes=MODES - inner.modes) if inner.kind == "training" else inner
        if isinstance(node, cst.Dict):
            return self._dict(node)
        if isinstance(node, cst.Tuple | cst.List):
            found = [self._read(element.value) for element in node.elements]
            if all(thing.kind == "plain" for thing in found):
                return PLAIN
            kind = "train_op" if {thing.kind for thing in found} <= {"train_op", "updates"} else "tensors"
            kind = "updates" if {thing.kind for thing in found} == {"updates"} else kind
            known = all(thing.kind in ("tensor", "features", "updates", "train_op") for thing in found)
            if not known:
                raise self._refuse(codes.NO_KERAS_LAYER, node, "this list mixes things that are not tensors of layers")
            return Thing(kind, node, of=next((t.of for t in found if t.kind == "train_op"), None))
        if isinstance(node, cst.Attribute):
            inner = self._read(node.value)
            if inner.kind == "params":
                self._used_params = True
                return PLAIN
            if inner.kind != "plain":
                raise self._refuse(
                    codes.NO_KERAS_LAYER, node, f"`{self._module.code(node)}` has no counterpart in Keras"
                )
            return PLAIN
        parts = [self._read(part) for part in _operands(node)]
        kinds = {part.kind for part in parts}
        if kinds <= {"plain"}:
            return PLAIN
        if kinds <= {"plain", "tensor", "features"} and isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
            return Thing("tensor", node)
        if kinds <= {"plain", "reading"} and isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
            return Thing("reading", node, of=next(part.of for part in parts if part.kind == "reading"))
        raise self._refuse(codes.NO_KERAS_LAYER, node, f"`{self._module.code(node)}` has no counterpart in Keras")

    def _name(self, node: cst.Name) -> Thing:
        thing = self._names.get(node.value, PLAIN).within(self._modes)
        if thing.kind == "features":
            self._whole_features = True
            return Thing("tensor", node) if thing.node is None else thing
        if thing.kind == "params":
            self._used_params = True
            return thing
        if thing.kind == "config":
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "model_fn reads the RunConfig")
        return thing

    def _subscript(self, node: cst.Subscript) -> Thing:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = text_of(index.value) if isinstance(index, cst.Index) else None
        if isinstance(node.value, cst.Name) and self._names.get(node.value.value, PLAIN).kind == "features":
            if key is None:
                raise self._refuse(codes.NO_KERAS_LAYER, node, "a feature is chosen by something other than its name")
            self._keys.add(key)
            return Thing("tensor", node)
        whole = self._read(node.value)
        if whole.kind in ("params", "plain"):
            self._used_params = self._used_params or whole.kind == "params"
            return PLAIN
        if whole.kind == "dict" and key is not None:
            found = whole.entry(key)
            if found is not None:
                return found
        raise self._refuse(codes.NO_KERAS_LAYER, node, f"`{self._module.code(node)}` has no counterpart in Keras")

    def _comparison(self, node: cst.Comparison) -> Thing:
        left = self._read(node.left)
        if len(node.comparisons) == 1 and self._mode(node.left) is not None:
            # MODE == mode
            target = node.comparisons[0]
            if isinstance(target.operator, _EQUALITIES) and self._read(target.comparator).kind == "mode":
                node = node.with_changes(
                    left=target.comparator, comparisons=[target.with_changes(comparator=node.left)]
                )
                left = self._read(node.left)
        if left.kind == "mode" and len(node.comparisons) == 1:
            target = node.comparisons[0]
            nodes = (
                [element.value for element in target.comparator.elements]
                if isinstance(target.comparator, cst.Tuple | cst.List | cst.Set)
                else [target.comparator]
            )
            found = {mode for part in nodes if (mode := self._mode(part)) is not None}
            if len(found) == len(nodes):
                negated = isinstance(target.operator, cst.NotEqual | cst.NotIn | cst.IsNot)
                return Thing("training", modes=MODES - found if negated else frozenset(found))
        kinds = {left.kind, *(self._read(part.comparator).kind for part in node.comparisons)}
        if kinds <= {"plain"}:
            return PLAIN
        if kinds <= {"plain", "reading", "tensor"} and left.kind in ("reading", "tensor"):
            return Thing("reading", node, of=left.of or left, form="comparison")
        if left.kind == "labels" and all(is_none(part.comparator) for part in node.comparisons):
            return Thing("training", modes=frozenset({PREDICT}))
        raise self._refuse(codes.NO_KERAS_LAYER, node, f"`{self._module.code(node)}` is not understood")

    def _mode(self, node: cst.BaseExpression) -> str | None:
        name = self._symbol(node) or ""
        if "ModeKeys." in name:
            return MODE_NAMES.get(name.rsplit(".", 1)[-1])
        text = text_of(node)
        return {"train": TRAIN, "eval": EVAL, "infer": PREDICT}.get(text or "")

    def _boolean(self, node: cst.BooleanOperation) -> Thing:
        left, right = self._read(node.left), self._read(node.right)
        if left.kind == right.kind == "training":
            both = left.modes & right.modes if isinstance(node.operator, cst.And) else left.modes | right.modes
            return Thing("training", modes=both)
        if left.kind == right.kind == "plain":
            return PLAIN
        raise self._refuse(codes.NO_KERAS_LAYER, node, "this condition mixes the mode with other things")

    def _dict(self, node: cst.Dict) -> Thing:
        entries = []
        for element in node.elements:
            thing = self._read(element.value)
            key = text_of(element.key) if isinstance(element, cst.DictElement) else None
            if key is None and thing.kind != "plain":
                raise self._refuse(codes.NO_KERAS_LAYER, node, "a key of this dict is not a plain string")
            entries.append((key or "", thing))
        if all(thing.kind == "plain" for _, thing in entries):
            return PLAIN
        return Thing("dict", node, entries=tuple(entries))

    # ---- calls ----

    def _call(self, node: cst.Call) -> Thing:
        name = self._symbol(node.func)
        if name is None:
            return self._other_call(node)
        head, _, last = name.rpartition(".")
        if head == "layers" and last in LAYERS:
            return self._layer_function(node, LAYERS[last])
        if head == "layers" and last in LAYER_CLASSES:
            return self._layer_object(node, LAYER_CLASSES[last])
        if head in ("estimator", "contrib.learn") and last == "EstimatorSpec":
            return self._spec(node)
        if head == "losses" or name.startswith("contrib.losses"):
            return self._loss(node, last)
        if head == "metrics":
            return self._metric(node, last)
        if head in ("train", "contrib.opt") and last.endswith("Optimizer"):
            return self._optimizer(node, last)
        if head == "train" and last in SCHEDULES:
            return self._schedule(node, last)
        if head == "train" and last in ("get_global_step", "get_or_create_global_step", "create_global_step"):
            return Thing("step", node)
        if name == "get_collection":
            collection = node.args[0].value if node.args else None
            if collection is not None and (
                self._symbol(collection) == "GraphKeys.UPDATE_OPS" or text_of(collection) == "update_ops"
            ):
                return Thing("updates", node)
            raise self._refuse(codes.NO_KERAS_LAYER, node, "a collection of the graph has no counterpart in Keras")
        if name == "group":
            found = [self._read(arg.value) for arg in node.args]
            self._updates_are_run = self._updates_are_run or any(thing.kind == "updates" for thing in found)
            steps = [thing for thing in found if thing.kind == "train_op"]
            if len(steps) == 1 and all(thing.kind in ("train_op", "updates") for thing in found):
                return steps[0]
        return self._operation(node, name)

    def _other_call(self, node: cst.Call) -> Thing:
        """A call of something that is not TensorFlow's: an optimizer's method, a layer, a function of the program."""
        func = node.func
        if isinstance(func, cst.Call):
            inner = self._symbol(func.func)
            if inner is not None:
                head, _, last = inner.rpartition(".")
                if head == "layers" and last in LAYER_CLASSES:
                    return self._layer_class(node, func, LAYER_CLASSES[last])
        thing = self._names.get(func.value, PLAIN) if isinstance(func, cst.Name) else PLAIN
        if thing.kind == "layer" and isinstance(thing.node, cst.Call):
            return self._layer_call(node, thing.node)
        if isinstance(func, cst.Attribute) and func.attr.value == "minimize":
            optimizer = self._read(func.value)
            if optimizer.kind == "optimizer":
                return self._minimize(node, optimizer)
        value = self._program.modules[self._module].values.get(func)
        found = [self._passed(arg.value) for arg in node.args]
        if all(thing.kind == "plain" for thing in found):
            return PLAIN
        if isinstance(value, ModelObject) or (isinstance(value, Made) and value.kind == "layer"):
            return self._keras_call(node, found)
        if isinstance(value, FunctionValue) and isinstance(value.node, cst.FunctionDef) and value.owner is None:
            return self._own_function(node, value, found)
        if isinstance(func, cst.Attribute) and self._read(func.value).kind == "params":
            return PLAIN
        raise self._refuse(codes.NO_KERAS_LAYER, node, f"`{self._module.code(func)}` is not followed")

    def _keras_call(self, node: cst.Call, passed: Sequence[Thing]) -> Thing:
        """A layer or model of Keras, called on tensors: it stays, and is told by Keras when training is under way."""
        for arg, thing in zip(node.args, passed, strict=True):
            named = arg.keyword.value if arg.keyword is not None else ""
            if thing.kind == "training" and (named != "training" or thing.modes != {TRAIN}):
                raise self._refuse(codes.NO_KERAS_LAYER, arg.value, "`training=` is something other than mode == TRAIN")
            if thing.kind not in ("plain", "tensor", "tensors", "features", "training"):
                raise self._refuse(codes.NO_KERAS_LAYER, arg.value, "a layer is called on this")
        kept = [arg for arg, thing in zip(node.args, passed, strict=True) if thing.kind != "training"]
        if len(kept) != len(node.args):
            self._edit(Arguments(node, unchanged(kept)))
        return Thing("tensor", node)

    def _passed(self, node: cst.BaseExpression) -> Thing:
        """What is passed on; all the features may be, and are then chosen from by key."""
        thing = self._names.get(node.value, PLAIN) if isinstance(node, cst.Name) else PLAIN
        return thing if thing.kind == "features" else self._read(node)

    def _own_function(self, node: cst.Call, function: FunctionValue, passed: Sequence[Thing]) -> Thing:
        """A function of the program that builds a part of the model: its layers are rewritten where they stand."""
        definition = function.node
        assert isinstance(definition, cst.FunctionDef)
        params = [param.name.value for param in definition.params.params]
        given = named_arguments(node, params)
        if given is None or not set(given) <= set(params):
            raise self._refuse(codes.NO_KERAS_LAYER, node, "its arguments cannot be matched with its parameters")
        kinds = {id(arg): thing for arg, thing in zip(node.args, passed, strict=True)}
        saved = self._names, self._module, self._returned
        bound = {name: kinds[id(given[name])] if name in given else PLAIN for name in params}
        if any(
            thing.kind not in ("plain", "features", "tensor", "mode", "training", "params") for thing in bound.values()
        ):
            raise self._refuse(codes.NO_KERAS_LAYER, node, "it is passed more than tensors, the mode and settings")
        form = tuple(bound[name].kind for name in params)
        if self._read_functions.setdefault(definition, form) != form or definition is self._plan.function:
            raise self._refuse(codes.NO_KERAS_LAYER, node, f"{definition.name.value} is called in two ways")
        self._plan.functions.add(definition)
        self._names, self._module, self._returned = dict(bound), function.module, None
        if definition in self._inside:
            raise self._refuse(codes.NO_KERAS_LAYER, definition, f"{definition.name.value} calls itself")
        self._inside.append(definition)
        for unit in units_of(definition.body):
            self._statement(unit, self._modes)
        self._inside.pop()
        returned = self._returned
        self._names, self._module, self._returned = saved
        if returned is None or returned.kind != "tensor":
            raise self._refuse(
                codes.NO_KERAS_LAYER, node, f"{definition.name.value} returns something other than a tensor"
            )
        dropped = {name for name, thing in bound.items() if thing.kind in ("mode", "training")}
        if dropped:
            kept = tuple(name for name in params if name not in dropped)
            self._plan.edits.append((function.module, Signature(definition, kept)))
            staying = [arg for arg in node.args if kinds[id(arg)].kind not in ("mode", "training")]
            self._edit(Arguments(node, unchanged(staying)))
        return Thing("tensor", node)


def _names_in(node: cst.CSTNode) -> set[str]:
    return {name.value for name in walk(node) if isinstance(name, cst.Name)}


def _by_mode(
    one: Mapping[str, Thing], modes: frozenset[str], other: Mapping[str, Thing], others: frozenset[str]
) -> dict[str, Thing]:
    """The names where two ways meet that are gone in different modes."""
    if not modes or not others:
        return dict(one if modes else other)
    found = {**one, **other}
    for name in one.keys() & other.keys():
        if one[name] is not other[name]:
            ways = [(mode, one[name].within(frozenset({mode}))) for mode in sorted(modes)]
            ways += [(mode, other[name].within(frozenset({mode}))) for mode in sorted(others)]
            same = all(thing.kind == "plain" for _, thing in ways)
            found[name] = PLAIN if same else Thing("several", by_mode=tuple(ways))
    return found


def _operands(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation):
        yield from (node.left, node.right)
    elif isinstance(node, cst.UnaryOperation):
        yield node.expression
    elif isinstance(node, cst.IfExp):
        yield from (node.test, node.body, node.orelse)
