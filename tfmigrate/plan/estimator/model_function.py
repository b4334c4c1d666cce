"""Reads a model function, statement by statement, with what each name stands for and for which modes a statement runs.

Layers stay where they are, as Keras layers (`network`); the loss, the optimizer, the metrics and the specs go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords, named_arguments, text_of, unchanged
from tfmigrate.plan.edits import Arguments, Branch, Remove, Replace, Signature, Unwrap
from tfmigrate.plan.estimator import network, penalties, training
from tfmigrate.plan.estimator.arms import TRAINING, Arms
from tfmigrate.plan.estimator.contrib import contrib_layer, layer_of
from tfmigrate.plan.estimator.keras_layers import keras_call
from tfmigrate.plan.estimator.layers import LAYER_CLASSES, LAYERS, LOGGING_HOOKS, SCHEDULES
from tfmigrate.plan.estimator.own_code import builds, run_by
from tfmigrate.plan.estimator.reader import Build, Reader, Unconvertible, training_modes
from tfmigrate.plan.estimator.things import (
    EVAL,
    MODE_NAMES,
    MODE_VALUES,
    MODES,
    PLAIN,
    PREDICT,
    STAYS,
    TRAIN,
    Choice,
    Config,
    Features,
    IsDict,
    Items,
    Labels,
    Layer,
    Logs,
    Loss,
    Metric,
    MetricPart,
    Mode,
    Object,
    OfSamples,
    Optimizer,
    Params,
    Penalty,
    Plain,
    Rate,
    Reading,
    Several,
    Spec,
    Step,
    Tensor,
    Tensors,
    Thing,
    Training,
    TrainOp,
    Updates,
    Variables,
    within,
)
from tfmigrate.understand import names
from tfmigrate.understand.contents import is_layer
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.program import Unit, root_name, units_of
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import ClassValue, FunctionValue, Method
from tfmigrate.walk import calls_in, nodes_in, walk

_STEPS = {
    "minimize": training.read_minimize,
    "compute_gradients": training.read_compute_gradients,
    "apply_gradients": training.read_apply_gradients,
}
"""The methods of an optimizer."""
_OF_NETWORK = (Plain, Features, Tensor, Mode, Training, Params, Choice)
"""What a function is passed that builds a part of the model."""
_EQUALITIES = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)


class ModelFunction(Reader):
    """Reads statements and expressions; what the calls of TensorFlow mean stands in `network` and `training`."""

    def __init__(self, facts: ProgramFacts, plan: Build, parameters: Mapping[str, Thing], tf: str, quote: str) -> None:
        super().__init__(facts, plan, tf, quote)
        self.names = dict(parameters)
        self.assigned: list[tuple[str, Thing, cst.Assign]] = []
        self.keys: set[str] = set()
        """The features that are chosen by name."""
        self.whole_features = False
        self.used_params = False
        self.unwrapped: dict[cst.CSTNode, cst.BaseSuite | None] = {}
        """Statements that are replaced by one of their blocks, or by nothing."""
        self.arms = Arms()
        """What is built in some modes only."""
        self.features_may_be_dict = False
        """Whether the function asks if its features are a dict."""
        self._returned: Thing | None = None
        self._read_functions: dict[cst.FunctionDef, tuple[type[Thing], ...]] = {}
        """With what each function of the program is called."""
        self._receivers: list[Object] = []
        """The objects whose methods are entered."""
        self._inside: list[cst.FunctionDef] = []
        """The functions of the program that are entered below the model function."""

    # ---- statements ----

    def block(self, block: cst.BaseSuite, modes: frozenset[str]) -> frozenset[str]:
        """Read a block that runs in `modes`; returns those whose run goes on behind it."""
        outer = self.modes
        for unit in units_of(block):
            if not modes:
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, unit, "this statement of model_fn is never reached")
            self.modes = modes
            modes = self._statement(unit, modes)
        self.modes = outer
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
            things = self._attempt(lambda: self.read(unit.iter))
            for name in walk(unit.target):
                if isinstance(name, cst.Name):
                    self.names[name.value] = PLAIN
            before = dict(self.names)
            self.repeats += 1
            self.block(unit.body, modes)
            self.repeats -= 1
            if any(type(self.names.get(name, thing)) is not type(thing) for name, thing in before.items()
                   if not isinstance(thing, Features | Plain)):  # fmt: skip
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "a name is bound to something else in this loop")
            # The variables of the graph, of which summaries were written.
            over = isinstance(things, Unconvertible | Variables)
            if self._is_emptied(unit.body) and (over or is_pure(unit.iter)):
                self._unwrap(unit, None)
            elif isinstance(things, Variables):
                message = "this loop does more with the variables of the graph than to write summaries of them"
                raise self.refuse(codes.NO_KERAS_LAYER, unit, message)
            elif not isinstance(things, Plain):
                raise (
                    things
                    if isinstance(things, Unconvertible)
                    else self.refuse(codes.NO_KERAS_LAYER, unit.iter, "this depends on the data or the mode")
                )
            return modes
        if isinstance(unit, cst.FunctionDef):
            self.names[unit.name.value] = PLAIN
            return modes
        raise self.refuse(codes.NO_KERAS_LAYER, unit, "this statement of model_fn is not understood")

    def _if(self, unit: cst.If, modes: frozenset[str]) -> frozenset[str]:
        test = self.read(unit.test)
        if not isinstance(test, Training):
            if not isinstance(test, Plain | IsDict):
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "this condition depends on the data")
            self.features_may_be_dict = self.features_may_be_dict or isinstance(test, IsDict)
            before = dict(self.names)
            left = self.block(unit.body, modes)
            left_names, self.names = self.names, before
            if isinstance(unit.orelse, cst.If):
                left |= self._if(unit.orelse, modes)
            elif unit.orelse is not None:
                left |= self.block(unit.orelse.body, modes)
            self._join(left_names, unit)
            if left != modes:
                raise self.refuse(
                    codes.ESTIMATOR_NOT_FOLLOWED,
                    unit,
                    "model_fn returns under a condition that depends on more than the mode",
                )
            self._drop_emptied(unit)
            return modes
        arms: list[tuple[cst.BaseSuite, frozenset[str]]] = []
        left = self._modal(unit, test, modes, arms)
        staying = [
            suite for suite, own in arms if TRAIN in own and not all(self._nothing_stays(u) for u in units_of(suite))
        ]
        self._unwrap(unit, staying[0] if staying else None)
        return left

    def _modal(
        self, unit: cst.If, test: Training, modes: frozenset[str], arms: list[tuple[cst.BaseSuite, frozenset[str]]]
    ) -> frozenset[str]:
        """Read the arms of a test of the mode, each in its own modes, and collect them."""
        body, orelse = modes & test.modes, modes - test.modes
        before = dict(self.names)
        left = self.block(unit.body, body) if body else frozenset()
        arms.append((unit.body, body))
        left_names, self.names = self.names, before
        other = orelse
        if isinstance(unit.orelse, cst.Else):
            other = self.block(unit.orelse.body, orelse) if orelse else frozenset()
            arms.append((unit.orelse.body, orelse))
        elif unit.orelse is not None:
            inner = self.read(unit.orelse.test)
            if not isinstance(inner, Training):
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "this condition mixes the mode with other things")
            other = self._modal(unit.orelse, inner, orelse, arms)
        self.names = _by_mode(left_names, left, self.names, other)
        for name, choice in self.arms.choices(left | other, self.within):
            if isinstance(self.names.get(name, PLAIN), Plain):
                self.names[name] = choice
        return left | other

    def _unwrap(self, unit: cst.If | cst.With | cst.For, suite: cst.BaseSuite | None) -> None:
        self.unwrapped[unit] = suite
        self.edit(Unwrap(unit, suite))

    def _join(self, then_names: Mapping[str, Thing], unit: cst.CSTNode) -> None:
        for name, thing in then_names.items():
            other = self.names.setdefault(name, thing)
            if {type(other), type(thing)} == {Features, Tensor}:
                self.names[name] = thing if isinstance(thing, Tensor) else other
                self.whole_features = True
                continue
            if type(other) is not type(thing):
                raise self.refuse(codes.NO_KERAS_LAYER, unit, f"{name} has different values after this condition")
            if isinstance(thing, Loss | Rate | Optimizer | Metric) and other != thing:
                raise self.refuse(codes.NO_KERAS_LAYER, unit, f"{name} depends on this condition")

    def _drop_emptied(self, unit: cst.If) -> None:
        """Take out what would be `pass` alone."""
        other = unit.orelse
        if not isinstance(other, cst.Else | None):
            return
        if self._is_emptied(unit.body) and (other is None or self._is_emptied(other.body)) and is_pure(unit.test):
            self._unwrap(unit, None)
        elif other is not None and self._is_emptied(other.body):
            self.edit(Branch(unit, (unit.test,), unit.body, None))

    def _is_emptied(self, suite: cst.BaseSuite) -> bool:
        """Whether nothing of a block stays, and something of it went."""
        units = units_of(suite)
        only_passes = all(
            isinstance(unit, cst.SimpleStatementLine) and all(isinstance(small, cst.Pass) for small in unit.body)
            for unit in units
        )
        return not only_passes and all(self._nothing_stays(unit) for unit in units)

    def _nothing_stays(self, unit: cst.CSTNode) -> bool:
        """Whether nothing of a unit stays."""
        if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            return all(small in self.removed or isinstance(small, cst.Pass) for small in unit.body)
        if unit not in self.unwrapped:
            return False
        suite = self.unwrapped[unit]
        return suite is None or all(self._nothing_stays(inner) for inner in units_of(suite))

    def _with(self, unit: cst.With, modes: frozenset[str]) -> frozenset[str]:
        for item in unit.items:
            call = item.item
            name = self.symbol(call.func) if isinstance(call, cst.Call) else None
            if name not in ("variable_scope", "name_scope", "device", "control_dependencies"):
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "this `with` has no counterpart in a Keras model")
            assert isinstance(call, cst.Call)
            if name == "variable_scope" and keywords(call).keys() & {"reuse", "initializer", "regularizer"}:
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "a variable scope that reuses variables or sets defaults")
            if name == "control_dependencies":
                thing = self.read(call.args[0].value)
                if not isinstance(thing, Updates | Tensors | TrainOp):
                    raise self.refuse(codes.NO_KERAS_LAYER, unit, "control dependencies between operations")
                self.updates_are_run = self.updates_are_run or isinstance(thing, Updates)
            if item.asname is not None:
                raise self.refuse(codes.NO_KERAS_LAYER, unit, "this scope is bound to a name")
        outer, around = len(self.scope_names), len(self.scopes)
        calls = [item.item for item in unit.items if isinstance(item.item, cst.Call) and item.item.args]
        self.scope_names += [text for call in calls if (text := text_of(call.args[0].value))]
        self.scopes += [call.args[0].value for call in calls if self.symbol(call.func) == "variable_scope"]
        left = self.block(unit.body, modes)
        del self.scope_names[outer:], self.scopes[around:]
        gone = all(self._nothing_stays(inner) for inner in units_of(unit.body))
        self._unwrap(unit, None if gone else unit.body)
        return left

    def _small(self, small: cst.BaseSmallStatement) -> bool:
        if isinstance(small, cst.Return):
            self._return(small)
            return False
        if isinstance(small, cst.Assign):
            self._assign(small)
        elif isinstance(small, cst.AugAssign):
            sides = [self.read(side) for side in (small.target, small.value)]
            whole = penalties.added(self, small, sides) if isinstance(small.operator, cst.AddAssign) else None
            if whole is not None and isinstance(small.target, cst.Name):
                self.names[small.target.value] = whole
                self.remove(small)
                return True
            if any(isinstance(side, Choice) for side in sides):
                message = f"`{self.module.code(small.target)}` is another value in training than elsewhere"
                raise self.refuse(codes.NO_KERAS_LAYER, small, message)
            if not all(isinstance(side, STAYS) for side in sides):
                raise self.refuse(codes.ESTIMATOR_LOSS, small, "a sum of losses is not understood")
            self._note_in_arm(self.module.code(small.target), small.value, sides[0])
        elif isinstance(small, cst.Expr):
            self._expression(small)
        elif isinstance(small, cst.Assert):
            test = self.read(small.test)
            if isinstance(test, Training) and self.modes <= test.modes:
                self.remove(small)
            elif not isinstance(test, Plain):
                raise self.refuse(codes.NO_KERAS_LAYER, small, "this assertion depends on the data or the mode")
        elif isinstance(small, cst.Raise):
            return False
        elif not isinstance(small, cst.Pass):
            raise self.refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")
        return True

    def _return(self, small: cst.Return) -> None:
        if self._inside:
            self._returned = self.read(small.value) if small.value is not None else PLAIN
            if small.value is not None and isinstance(self._returned, STAYS):
                self._note_in_arm("", small.value, self._returned)
            return
        modes = self.modes
        for mode in sorted(modes):
            self.modes = frozenset({mode})
            thing = self.read(small.value) if small.value is not None else PLAIN
            if not isinstance(thing, Spec):
                raise self.refuse(
                    codes.ESTIMATOR_NOT_FOLLOWED, small, "model_fn returns something other than an EstimatorSpec"
                )
            self.specs[mode] = thing
        self.modes = modes
        self.remove(small)

    def _assign(self, small: cst.Assign) -> None:
        edits, notes, layer_names = len(self.plan.edits), len(self.plan.notes), dict(self.layer_names)
        thing = self._passed(small.value)
        for target in small.targets:
            if isinstance(target.target, cst.Name):
                self.names[target.target.value] = thing
                self.assigned.append((target.target.value, thing, small))
            elif isinstance(target.target, cst.Attribute) and isinstance(self.read(target.target.value), Object):
                self._keep(target.target, thing)
            elif isinstance(thing, Metric) and (pair := _two_names(target.target)) is not None:
                self.names.update({name: MetricPart(thing, place) for place, name in enumerate(pair)})
            elif not isinstance(thing, Plain):
                raise self.refuse(
                    codes.NO_KERAS_LAYER, small, "a value is assigned to something other than a plain name"
                )
        if not isinstance(thing, (*STAYS, Choice)):
            self.remove(small)
            return
        if self._drops_in_training(small):
            return
        self._note_in_arm("=".join(self.module.code(target.target) for target in small.targets), small.value, thing)
        if TRAIN not in self.modes:
            # The model is built as in training; this goes with its arm.
            del self.plan.edits[edits:], self.plan.notes[notes:]
            self.layer_names = layer_names

    def _drops_in_training(self, small: cst.Assign) -> bool:
        """`net = tf.nn.dropout(net, 0.5)` in an arm for training: the Keras layer does nothing elsewhere."""
        call = small.value
        target = small.targets[0].target if len(small.targets) == 1 else None
        dropped = call.args[0].value if isinstance(call, cst.Call) and call in self.dropouts and call.args else None
        same = isinstance(target, cst.Name) and isinstance(dropped, cst.Name) and dropped.value == target.value
        return same and self.modes == {TRAIN}

    def _keep(self, target: cst.Attribute, thing: Thing) -> None:
        """Note what an object keeps as an attribute."""
        whole = self.read(target.value)
        assert isinstance(whole, Object)
        name = target.attr.value
        before = whole.attributes.get(name, thing)
        same_kind = not isinstance(before, Layer) or not isinstance(thing, Layer) or before.kind == thing.kind
        if type(before) is not type(thing) or not same_kind:
            raise self.refuse(codes.NO_KERAS_LAYER, target, f"`{self.module.code(target)}` is bound to several things")
        if not isinstance(thing, Plain):
            whole.attributes[name] = thing

    def _note_in_arm(self, target: str, value: cst.BaseExpression, thing: Thing) -> None:
        """Note what is built or set in some modes only."""
        if isinstance(thing, Plain):
            self.arms.bind(self.modes, self.within, re.findall(r"[^\W\d]\w*", target), value)
        elif self.modes != MODES and not isinstance(thing, Choice):
            self.arms.build(self.modes, self.within, target, value, thing)

    def _expression(self, small: cst.Expr) -> None:
        if isinstance(small.value, cst.SimpleString | cst.ConcatenatedString):
            return
        call = small.value
        name = self.symbol(call.func) if isinstance(call, cst.Call) else None
        if name is not None and name.startswith(("summary.", "contrib.summary.")):
            self.plan.notes.append((small, "this summary is no longer written; the TensorBoard callback writes the "
                                            "loss and the metrics"))  # fmt: skip
            self.remove(small)
        elif name in ("identity",):
            self.remove(small)
        elif isinstance(call, cst.Call) and self._talks(call):
            if not all(map(self._stays, call.args)):
                self.plan.notes.append((small, "this message is no longer written: it reports the mode or the data"))
                self.remove(small)
            elif self.modes != MODES:
                self.remove(small)
        elif isinstance(self.read(small.value), Plain):
            if self.modes != MODES:
                func = call.func if isinstance(call, cst.Call) else None
                owner = root_name(func) if isinstance(func, cst.Attribute) else None
                if owner is not None and owner.value in self.names:
                    message = f"`{owner.value}` may be changed here for some modes only"
                    raise self.refuse(codes.NO_KERAS_LAYER, small, message)
                self.remove(small)
        else:
            raise self.refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")

    def _talks(self, call: cst.Call) -> bool:
        """Whether a call writes a message: print, and the functions of loggers."""
        if isinstance(call.func, cst.Name) and call.func.value == "print":
            return "print" not in self.names
        name = self.program.modules[self.module].symbols.get(call.func, "")
        return names.plain(name).removeprefix("tensorflow.").startswith(("logging.", "absl.logging."))

    def _stays(self, arg: cst.Arg) -> bool:
        """Whether what is passed to a call is there in the function that builds the Keras model."""
        try:
            return isinstance(self.read(arg.value), STAYS)
        except Unconvertible:
            return False

    # ---- expressions ----

    def read(self, node: cst.BaseExpression) -> Thing:
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
            inner = self.read(node.expression)
            return Training(MODES - inner.modes) if isinstance(inner, Training) else inner
        if isinstance(node, cst.Dict):
            return self._dict(node)
        if isinstance(node, cst.Tuple | cst.List):
            return self._list(node)
        if isinstance(node, cst.Attribute):
            return self._attribute(node)
        return self._operation(node)

    def _attribute(self, node: cst.Attribute) -> Thing:
        whole = self.read(node.value)
        if isinstance(whole, Object):
            return within(whole.attributes.get(node.attr.value, PLAIN), self.modes)
        if isinstance(whole, Params):
            self.used_params = True
        elif not isinstance(whole, Plain):
            raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node)}` has no counterpart in Keras")
        return PLAIN

    def _conditional(self, node: cst.IfExp, test: Training) -> Thing:
        """`a if mode == TRAIN else b`, of which one at least is no part of the model: its statement goes."""
        outer = self.modes
        things: list[tuple[str, Thing]] = []
        for arm, modes in ((node.body, test.modes), (node.orelse, MODES - test.modes)):
            self.modes = (outer & modes) or modes
            thing = self.read(arm)
            things += [(mode, thing) for mode in sorted(modes)]
        self.modes = outer
        if all(isinstance(thing, Plain) for _, thing in things):
            # What stays of it is its value in training; where it is read is refused but for a dropout.
            self.edit(Replace(node, (node.body if TRAIN in test.modes else node.orelse,)))
            return Choice(tuple((mode, node.body if mode in test.modes else node.orelse) for mode, _ in things))
        if all(isinstance(thing, STAYS) for _, thing in things):
            raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node)}` has no counterpart in Keras")
        return within(Several(tuple(things)), outer)

    def _needs_plain_inside(self, node: cst.BaseExpression) -> None:
        """Refuse where what is written inside a comprehension or lambda is more than plain."""
        for call in calls_in(node):
            name = self.symbol(call.func) or ""
            if name.startswith(("layers.", "contrib.layers.")) or name in network.OF_GRAPH:
                message = f"tf.{name} stands in a comprehension or lambda, which is not followed"
                raise self.refuse(codes.NO_KERAS_LAYER, call, message)
        words = {part.attr for part in nodes_in(node, cst.Attribute)}
        words |= {part.keyword for part in nodes_in(node, cst.Arg) if part.keyword is not None}
        own = {part.name.value for part in nodes_in(node, cst.Param)}
        for read in nodes_in(node, cst.Name):
            if read in words or read.value in own:
                continue
            thing = self.names.get(read.value, PLAIN)
            self.used_params = self.used_params or isinstance(thing, Params)
            if not isinstance(thing, Plain | Params | Optimizer | Loss):
                message = f"`{self.module.code(node)}` has no counterpart in Keras"
                raise self.refuse(codes.NO_KERAS_LAYER, node, message)

    def _operation(self, node: cst.BaseExpression) -> Thing:
        test = self.read(node.test) if isinstance(node, cst.IfExp) else None
        if isinstance(node, cst.IfExp) and isinstance(test, Training):
            return self._conditional(node, test)
        divided = training.read_divided(self, node) if isinstance(node, cst.BinaryOperation) else None
        if divided is not None:
            return divided
        if isinstance(node, cst.BaseComp | cst.Lambda):
            penalty = penalties.read_listed(self, node) if isinstance(node, cst.BaseComp) else None
            if penalty is not None:
                return penalty
            self._needs_plain_inside(node)
        parts = [self.read(part) for part in _operands(node)]
        if all(isinstance(part, Plain) for part in parts):
            return PLAIN
        if isinstance(node, cst.BinaryOperation | cst.UnaryOperation):
            if all(isinstance(part, Plain | Tensor) for part in parts):
                return Tensor(node)
            whole = penalties.combined(self, node, *parts) if isinstance(node, cst.BinaryOperation) else None
            if whole is not None:
                return whole
            if any(isinstance(part, Choice) for part in parts):
                message = f"`{self.module.code(node)}` is another value in training than elsewhere"
                raise self.refuse(codes.NO_KERAS_LAYER, node, message)
            if all(isinstance(part, Plain | Reading) for part in parts):
                return Reading(node, next(part.of for part in parts if isinstance(part, Reading)))
        raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node)}` has no counterpart in Keras")

    def _list(self, node: cst.Tuple | cst.List) -> Thing:
        things = [self.read(element.value) for element in node.elements]
        if all(isinstance(thing, Plain) for thing in things):
            return PLAIN
        if all(isinstance(thing, Updates) for thing in things):
            return Updates()
        if len(things) == 2 and isinstance(things[0], MetricPart):
            metric = things[0].metric
            if things == [MetricPart(metric, 0), MetricPart(metric, 1)]:
                return metric
        if all(isinstance(thing, Logs) for thing in things):
            return Logs()
        if all(isinstance(thing, TrainOp | Updates) for thing in things):
            return TrainOp(next(thing.optimizer for thing in things if isinstance(thing, TrainOp)))
        if all(isinstance(thing, Tensor | Updates | TrainOp) for thing in things):
            return Tensors()
        raise self.refuse(codes.NO_KERAS_LAYER, node, "this list mixes things that are not tensors of layers")

    def _name(self, node: cst.Name) -> Thing:
        thing = within(self.names.get(node.value, PLAIN), self.modes)
        if isinstance(thing, Several) and all(isinstance(each, Tensor) for _, each in thing.by_mode):
            # Each mode's own tensor, which must be the same one (arms).
            return next((each for mode, each in thing.by_mode if mode == TRAIN), thing.by_mode[0][1])
        if isinstance(thing, Features):
            self.whole_features = True
            return Tensor(node, raw=True)
        if isinstance(thing, Params):
            self.used_params = True
        if isinstance(thing, Config):
            raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "model_fn reads the RunConfig")
        return thing

    def _subscript(self, node: cst.Subscript) -> Thing:
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = text_of(index.value) if isinstance(index, cst.Index) else None
        if isinstance(node.value, cst.Name) and isinstance(self.names.get(node.value.value), Features):
            if key is None:
                raise self.refuse(codes.NO_KERAS_LAYER, node, "a feature is chosen by something other than its name")
            self.keys.add(key)
            return Tensor(node, raw=True)
        whole = self.read(node.value)
        if isinstance(whole, Params | Plain):
            self.used_params = self.used_params or isinstance(whole, Params)
            return PLAIN
        if isinstance(whole, Metric) and isinstance(index, cst.Index) and self.module.code(index.value) in ("0", "1"):
            return MetricPart(whole, int(self.module.code(index.value)))
        if isinstance(whole, Items) and key is not None:
            feature = whole.entry(key)
            if feature is not None:
                return feature
        raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node)}` has no counterpart in Keras")

    def _comparison(self, node: cst.Comparison) -> Thing:
        left = self.read(node.left)
        if len(node.comparisons) == 1 and self._mode(node.left) is not None:
            # MODE == mode
            target = node.comparisons[0]
            if isinstance(target.operator, _EQUALITIES) and isinstance(self.read(target.comparator), Mode):
                node = node.with_changes(
                    left=target.comparator, comparisons=[target.with_changes(comparator=node.left)]
                )
                left = self.read(node.left)
        if isinstance(left, Mode) and len(node.comparisons) == 1:
            target = node.comparisons[0]
            nodes = (
                [element.value for element in target.comparator.elements]
                if isinstance(target.comparator, cst.Tuple | cst.List | cst.Set)
                else [target.comparator]
            )
            modes = {mode for part in nodes if (mode := self._mode(part)) is not None}
            if len(modes) == len(nodes):
                negated = isinstance(target.operator, cst.NotEqual | cst.NotIn | cst.IsNot)
                return Training(MODES - modes if negated else frozenset(modes))
        sides = [left, *(self.read(part.comparator) for part in node.comparisons)]
        if all(isinstance(side, Plain) for side in sides):
            return PLAIN
        if all(isinstance(side, Plain | Reading | Tensor) for side in sides) and isinstance(left, Reading | Tensor):
            return Reading(node, left.of if isinstance(left, Reading) else left, "comparison")
        if isinstance(left, Labels) and all(is_none(part.comparator) for part in node.comparisons):
            return Training(frozenset({PREDICT}))
        raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node)}` is not understood")

    def _mode(self, node: cst.BaseExpression) -> str | None:
        name = self.symbol(node) or ""
        if "ModeKeys." in name:
            return MODE_NAMES.get(name.rsplit(".", 1)[-1])
        text = text_of(node)
        return next((mode for mode, value in MODE_VALUES.items() if value == text), None)

    def _boolean(self, node: cst.BooleanOperation) -> Thing:
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(left, Training) and isinstance(right, Training):
            both = left.modes & right.modes if isinstance(node.operator, cst.And) else left.modes | right.modes
            return Training(both)
        if isinstance(left, Plain) and isinstance(right, Plain):
            return PLAIN
        raise self.refuse(codes.NO_KERAS_LAYER, node, "this condition mixes the mode with other things")

    def _dict(self, node: cst.Dict) -> Thing:
        entries = []
        for element in node.elements:
            thing = self.read(element.value)
            key = text_of(element.key) if isinstance(element, cst.DictElement) else None
            if key is None and not isinstance(thing, Plain):
                raise self.refuse(codes.NO_KERAS_LAYER, node, "a key of this dict is not a plain string")
            entries.append((key or "", thing))
        return PLAIN if all(isinstance(thing, Plain) for _, thing in entries) else Items(tuple(entries))

    # ---- calls ----

    def _call(self, node: cst.Call) -> Thing:
        name = self.symbol(node.func)
        if name is None:
            return self._other_call(node)
        head, _, last = name.rpartition(".")
        if name == "nn.dropout":
            return network.nn_dropout(self, node)
        if head == "layers" and last in LAYERS:
            return network.layer_function(self, node, LAYERS[last])
        if head == "layers" and last in LAYER_CLASSES:
            return network.layer_object(self, node, LAYER_CLASSES[last])
        if head in ("estimator", "contrib.learn") and last == "EstimatorSpec":
            return training.read_spec(self, node)
        if head == "losses" or name.startswith("contrib.losses"):
            return training.read_loss(self, node, last)
        if head == "metrics":
            return training.read_metric(self, node, last)
        if head in ("train", "contrib.opt") and last.endswith("Optimizer"):
            return training.read_optimizer(self, node, last)
        if name in LOGGING_HOOKS:
            return Logs()
        if head == "train" and last in SCHEDULES:
            return training.read_schedule(self, node, last)
        found = self._of_graph(node, name)
        if found is not None:
            return found
        contrib = layer_of(name)
        if contrib is not None:
            return contrib_layer(self, node, contrib)
        step = self._grouped(node) if name == "group" else None
        if step is not None:
            return step
        averaged = _averaged(node) if name == "reduce_mean" else None
        if averaged is not None:
            return training.read_mean(self, node, averaged)
        summed = self._summed(node) if name == "reduce_sum" else None
        return summed or network.operation(self, node, name)

    def _of_graph(self, node: cst.Call, name: str) -> Thing | None:
        """The global step, a collection, or the variables of the graph and a penalty of them; None for anything
        else."""
        if name in ("train.get_global_step", "train.get_or_create_global_step", "train.create_global_step"):
            return Step()
        if name == "get_collection":
            return self._collection(node)
        if name == "trainable_variables" and not node.args:
            return Variables()
        return self._penalised(node, name)

    def _penalised(self, node: cst.Call, name: str) -> Thing | None:
        """A penalty of the weights, and a loss with it, in a call that adds or multiplies; None for anything else."""
        if name not in ("add_n", "add", "reduce_sum", "multiply", "math.add_n", "math.add", "math.multiply"):
            return None
        first = node.args[0].value if node.args else None
        parts = [arg.value for arg in node.args]
        if isinstance(first, cst.List | cst.Tuple) and name.endswith("add_n"):
            parts = [element.value for element in first.elements]
        concerned = (*nodes_in(node, cst.Name), *calls_in(node))
        if not any(self._is_penalty(part) for part in concerned):
            return None
        things = [self.read(part) for part in parts]
        if name.endswith("multiply") and len(things) == 2:
            (one, other), (left, right) = things, parts
            if isinstance(one, Penalty) and isinstance(other, Plain):
                return penalties.scaled(self, one, right)
            if isinstance(other, Penalty) and isinstance(one, Plain):
                return penalties.scaled(self, other, left)
            return None
        return penalties.added(self, node, things)

    def _is_penalty(self, node: cst.BaseExpression) -> bool:
        """Whether a name or call stands for the weights, or what is computed of them."""
        if isinstance(node, cst.Name):
            return isinstance(within(self.names.get(node.value, PLAIN), self.modes), Penalty | Variables)
        return self.symbol_of_call(node) == "trainable_variables"

    @property
    def within(self) -> cst.FunctionDef:
        return [self.plan.function, *self._inside][-1]

    def _summed(self, node: cst.Call) -> OfSamples | None:
        """`tf.reduce_sum()` of the losses of all samples."""
        whole = _averaged(node)
        thing = self.read(whole) if whole is not None else None
        return OfSamples(thing.mean, summed=True) if isinstance(thing, OfSamples) and not thing.summed else None

    def _grouped(self, node: cst.Call) -> TrainOp | None:
        """The training step in a group of it and updates; None for another group."""
        things = [self.read(arg.value) for arg in node.args]
        self.updates_are_run = self.updates_are_run or any(isinstance(thing, Updates) for thing in things)
        steps = [thing for thing in things if isinstance(thing, TrainOp)]
        alone = len(steps) == 1 and all(isinstance(thing, TrainOp | Updates) for thing in things)
        return steps[0] if alone else None

    def _collection(self, node: cst.Call) -> Updates:
        """A collection of the graph, of which only that of updates is known."""
        collection = node.args[0].value if node.args else None
        if collection is not None and penalties.is_collection(self, collection):
            raise self.refuse(codes.ESTIMATOR_LOSS, node, penalties.PART)
        if collection is not None and (
            self.symbol(collection) == "GraphKeys.UPDATE_OPS" or text_of(collection) == "update_ops"
        ):
            return Updates()
        raise self.refuse(codes.NO_KERAS_LAYER, node, "a collection of the graph has no counterpart in Keras")

    def _other_call(self, node: cst.Call) -> Thing:
        """A call of something that is not TensorFlow's: an optimizer's method, a layer, a function of the program."""
        func = node.func
        if isinstance(func, cst.Call):
            inner = self.symbol(func.func)
            if inner is not None:
                head, _, last = inner.rpartition(".")
                if head == "layers" and last in LAYER_CLASSES:
                    return network.layer_class(self, node, func, LAYER_CLASSES[last])
            losses = training.keras_loss(self, node, func)
            if losses is not None:
                return losses
        if isinstance(func, cst.Attribute) and self.symbol_of_call(func.value) in network.OF_GRAPH:
            message = f"`{self.module.code(func.value)}` has no place in a Keras model"
            raise self.refuse(codes.NO_KERAS_LAYER, node, message)
        if self._asks_for_dict(node):
            return IsDict()
        if isinstance(func, cst.Name) and func.value == "sum" and "sum" not in self.names and len(node.args) == 1:
            summed = self.read(node.args[0].value)
            if isinstance(summed, Penalty):
                return summed
        thing = self._thing_called(func)
        if isinstance(thing, Layer):
            return network.layer_call(self, node, thing.made)
        if isinstance(func, cst.Attribute) and func.attr.value in _STEPS:
            optimizer = self.read(func.value)
            if isinstance(optimizer, Optimizer):
                return _STEPS[func.attr.value](self, node, optimizer)
        return self._program_call(node, thing)

    def _program_call(self, node: cst.Call, thing: Thing) -> Thing:
        """A call of a function, a class or an object of the program, or of a layer or model that it has."""
        func = node.func
        value = self.program.modules[self.module].values.get(func)
        things = [self._passed(arg.value) for arg in node.args]
        own = isinstance(value, FunctionValue) and isinstance(value.node, cst.FunctionDef) and value.owner is None
        if isinstance(value, ClassValue) and not list(value.unknown_bases()):
            return self._made_object(node, value, things)
        method = self._method(func, thing)
        if method is not None:
            return self._of_object(node, *method, things)
        if all(isinstance(thing, Plain) for thing in things):
            return self._of_closure(node, value) if own and isinstance(value, FunctionValue) else PLAIN
        if is_layer(value):
            return keras_call(self, node, value, things)
        if own and isinstance(value, FunctionValue):
            if not all(isinstance(thing, _OF_NETWORK) for thing in things):
                return self._computed(node, value, things)
            built = self._attempt(lambda: self._own_function(node, value, things))
            if not isinstance(built, Unconvertible):
                return built
            computed = self._attempt(lambda: self._computed(node, value, things))
            if not isinstance(computed, Unconvertible):
                return computed
            raise built
        if isinstance(func, cst.Attribute) and isinstance(self.read(func.value), Params):
            return PLAIN
        raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(func)}` is not followed")

    def _thing_called(self, func: cst.BaseExpression) -> Thing:
        """What a name, or an attribute of an object, stands for that is called."""
        if isinstance(func, cst.Name):
            return within(self.names.get(func.value, PLAIN), self.modes)
        return self.read(func) if self._is_of_object(func) else PLAIN

    def _is_of_object(self, func: cst.BaseExpression) -> bool:
        root = root_name(func) if isinstance(func, cst.Attribute) else None
        return root is not None and isinstance(self.names.get(root.value), Object)

    def _made_object(self, node: cst.Call, cls: ClassValue, passed: Sequence[Thing]) -> Object:
        """An object of a plain class of the program."""
        made = Object(cls)
        maker = cls.lookup("__init__")
        if isinstance(maker, FunctionValue):
            plain = all(isinstance(thing, Plain) for thing in passed)
            if not plain or builds(self.program, maker):
                self._own_function(node, maker, passed, made)
        return made

    def _of_object(self, node: cst.Call, function: FunctionValue, receiver: Object, passed: Sequence[Thing]) -> Thing:
        """What a method of an object returns."""
        plain = all(isinstance(thing, Plain) for thing in passed)
        if plain and not receiver.attributes and not builds(self.program, function):
            return PLAIN
        return self._own_function(node, function, passed, receiver)

    def _method(self, func: cst.BaseExpression, called: Thing) -> tuple[FunctionValue, Object] | None:
        """The method of an object that a call runs, and the object."""
        method, receiver = None, called
        if isinstance(called, Object):
            method = called.cls.lookup("__call__")
        elif isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call):
            value = self.program.modules[self.module].values.get(func)
            of_super = isinstance(func.value.func, cst.Name) and func.value.func.value == "super"
            receiver = self._receivers[-1] if of_super and self._receivers else PLAIN
            method = value.function if isinstance(value, Method) else None
        elif isinstance(func, cst.Attribute) and self._is_of_object(func):
            receiver = self.read(func.value)
            method = receiver.cls.lookup(func.attr.value) if isinstance(receiver, Object) else None
        if isinstance(method, FunctionValue) and isinstance(receiver, Object):
            return method, receiver
        return None

    def _asks_for_dict(self, node: cst.Call) -> bool:
        """`isinstance(features, dict)`."""
        if not isinstance(node.func, cst.Name) or node.func.value != "isinstance" or len(node.args) != 2:
            return False
        subject, kind = (arg.value for arg in node.args)
        return isinstance(kind, cst.Name) and kind.value == "dict" and isinstance(self._passed(subject), Features)

    def _passed(self, node: cst.BaseExpression) -> Thing:
        """What is passed on; all the features may be, and are then chosen from by key."""
        thing = within(self.names.get(node.value, PLAIN), self.modes) if isinstance(node, cst.Name) else PLAIN
        return thing if isinstance(thing, Features) else self.read(node)

    def _of_closure(self, node: cst.Call, function: FunctionValue) -> Thing:
        """What a function is that is passed nothing of the model, and may read it of the function round it."""
        if builds(self.program, function):
            message = f"{self.module.code(node.func)} makes layers or variables of its own"
            raise self.refuse(codes.NO_KERAS_LAYER, node, message)
        if function.node not in set(walk(self.plan.function)):
            return PLAIN
        computed = self._attempt(lambda: self._computed(node, function, [PLAIN] * len(node.args)))
        if not isinstance(computed, Unconvertible):
            return computed
        read = {name.value for name in nodes_in(function.node.body, cst.Name)} - set(parameters_of(function.node))
        if any(not isinstance(self.names[name], STAYS) for name in read & self.names.keys()):
            raise computed
        return PLAIN

    def _attempt(self, reading: Callable[[], Thing]) -> Thing | Unconvertible:
        """What a reading returns; where that is refused, nothing of it is left."""
        lists: tuple[list[Any], ...] = (self.plan.edits, self.plan.notes, self.removed, self.assigned, self.outputs,
                                        self._inside)  # fmt: skip
        lengths = [len(each) for each in lists]
        saved = dict(self.names), self.module, self._returned, self.modes, self.repeats, self.normalised
        weighted, penalised = len(self.weighted), len(self.penalised)
        read, unwrapped = dict(self._read_functions), dict(self.unwrapped)
        functions, computing = set(self.plan.functions), set(self.plan.computing)
        try:
            return reading()
        except Unconvertible as problem:
            for each, length in zip(lists, lengths, strict=True):
                del each[length:]
            self.names, self.module, self._returned, self.modes, self.repeats, self.normalised = saved
            self._read_functions, self.unwrapped = read, unwrapped
            del self.weighted[weighted:], self.penalised[penalised:]
            self.plan.functions, self.plan.computing = functions, computing
            return problem

    def _computed(self, node: cst.Call, function: FunctionValue, passed: Sequence[Thing]) -> Thing:
        """What a function of the program returns that computes losses and metrics, and builds no part of the model: it
        goes with them. Raises Unconvertible."""
        definition = function.node
        assert isinstance(definition, cst.FunctionDef)
        bound = self._bound(node, definition, passed)
        returns = list(nodes_in(definition.body, cst.Return))
        if definition in self._read_functions or definition is self.plan.function:
            raise self.refuse(codes.NO_KERAS_LAYER, node, f"{definition.name.value} is called in two ways")
        if definition in self._inside or len(returns) != 1:
            message = f"{definition.name.value} returns in {len(returns)} places"
            raise self.refuse(codes.NO_KERAS_LAYER, node, message)
        edits, removed, assigned = len(self.plan.edits), len(self.removed), len(self.assigned)
        saved = self.names, self.module, self._returned
        closed_over = self.names if definition in set(walk(self.plan.function)) else {}
        self.names, self.module, self._returned = {**closed_over, **bound}, function.module, None
        self._inside.append(definition)
        for unit in units_of(definition.body):
            self._statement(unit, self.modes)
        self._inside.pop()
        returned, own = self._returned, self.plan.edits[edits:]
        self.names, self.module, self._returned = saved
        if returned is None or isinstance(returned, STAYS) or not all(isinstance(edit, Remove) for _, edit in own):
            message = (
                f"{definition.name.value} is passed the labels or the model's output, and computes more of them than a "
                "loss or metrics"
            )
            raise self.refuse(codes.NO_KERAS_LAYER, node, message)
        del self.plan.edits[edits:], self.removed[removed:], self.assigned[assigned:]
        self.plan.functions.add(definition)
        self.plan.computing.add(definition)
        name = definition.name.value
        if function.module is self.plan.module and (function.module, name) not in self.program.exported:
            self.edit(Unwrap(definition, None))
            self.unwrapped[definition] = None
        return returned

    def _bound(
        self, node: cst.Call, definition: cst.FunctionDef, passed: Sequence[Thing], own: str | None = None
    ) -> dict[str, Thing]:
        """What each parameter of a function stands for, in a call; but for its object."""
        params = [param.name.value for param in definition.params.params if param.name.value != own]
        named = named_arguments(node, params)
        if named is None or not set(named) <= set(params):
            raise self.refuse(codes.NO_KERAS_LAYER, node, "its arguments cannot be matched with its parameters")
        kinds = {id(arg): thing for arg, thing in zip(node.args, passed, strict=True)}
        bound = {name: kinds[id(named[name])] if name in named else PLAIN for name in params}
        for name in TRAINING & named.keys():
            told = training_modes(self, named[name].value)
            if told is not None and self.modes != MODES and told & self.modes == {TRAIN} & self.modes:
                bound[name] = Training(frozenset({TRAIN}))
        return bound

    def _own_function(
        self, node: cst.Call, function: FunctionValue, passed: Sequence[Thing], receiver: Object | None = None
    ) -> Thing:
        """A function of the program, or the method of an object, that builds a part of the model: its layers are
        rewritten where they stand."""
        definition = function.node
        if not isinstance(definition, cst.FunctionDef) or (receiver is not None and definition.decorators):
            raise self.refuse(codes.NO_KERAS_LAYER, node, f"`{self.module.code(node.func)}` is not followed")
        own = receiver_of(definition) if receiver is not None else None
        params = [param.name.value for param in definition.params.params if param.name.value != own]
        saved = self.names, self.module, self._returned
        bound = self._bound(node, definition, passed, own)
        if own is not None and receiver is not None:
            bound[own] = receiver
        form = tuple(type(bound[name]) for name in params)
        two_ways = self._read_functions.setdefault(definition, form) != form or definition in self.plan.computing
        if two_ways or definition is self.plan.function:
            raise self.refuse(codes.NO_KERAS_LAYER, node, f"{definition.name.value} is called in two ways")
        self.plan.functions.add(definition)
        closed_over = self.names if definition in set(walk(self.plan.function)) else {}
        self.names, self.module, self._returned = {**closed_over, **bound}, function.module, None
        if definition in self._inside:
            raise self.refuse(codes.NO_KERAS_LAYER, definition, f"{definition.name.value} calls itself")
        self._inside.append(definition)
        if receiver is not None:
            self._receivers.append(receiver)
        again = self._is_called_again(definition)
        self.repeats += again
        for unit in units_of(definition.body):
            self._statement(unit, self.modes)
        self.repeats -= again
        self._inside.pop()
        if receiver is not None:
            self._receivers.pop()
        returned = self._returned
        self.names, self.module, self._returned = saved
        if not isinstance(returned, Tensor) and not (receiver is not None and returned is None):
            raise self.refuse(
                codes.NO_KERAS_LAYER, node, f"{definition.name.value} returns something other than a tensor"
            )
        dropped = {name for name, thing in bound.items() if isinstance(thing, Mode | Training)}
        if dropped:
            kept = params if own is None else [own, *params]
            staying_parameters = tuple(name for name in kept if name not in dropped)
            self.plan.edits.append((function.module, Signature(definition, staying_parameters)))
            told = {id(arg) for name, arg in (named_arguments(node, params) or {}).items() if name in dropped}
            staying = [arg for arg in node.args if id(arg) not in told]
            self.edit(Arguments(node, unchanged(staying)))
        return Tensor(node) if isinstance(returned, Tensor) else PLAIN

    def _is_called_again(self, definition: cst.FunctionDef) -> bool:
        """Whether a function of the program is called in more than one place."""
        elsewhere = set(self._calls_outside_training())
        callees = [facts.values.get(call.func) for module, facts in self.program.modules.items()
                   for call in module.calls if call not in elsewhere]  # fmt: skip
        return sum(run_by(value) is definition for value in callees) > 1

    def _calls_outside_training(self) -> Iterator[cst.Call]:
        """The calls in arms of the model function that do not run in training."""
        for unit in nodes_in(self.plan.function.body, cst.If):
            mode = unit.test.comparisons[0].comparator if isinstance(unit.test, cst.Comparison) else None
            if mode is not None and isinstance(unit.test, cst.Comparison) and len(unit.test.comparisons) == 1:
                equal = isinstance(unit.test.comparisons[0].operator, cst.Equal)
                if equal and self._mode(mode) in (EVAL, PREDICT):
                    yield from calls_in(unit.body)


def _by_mode(
    then_names: Mapping[str, Thing], modes: frozenset[str], other: Mapping[str, Thing], others: frozenset[str]
) -> dict[str, Thing]:
    """The names where two ways meet that are gone in different modes."""
    if not modes or not others:
        return dict(then_names if modes else other)
    joined = {**then_names, **other}
    for name in then_names.keys() & other.keys():
        if then_names[name] is not other[name]:
            ways = [(mode, within(then_names[name], frozenset({mode}))) for mode in sorted(modes)]
            ways += [(mode, within(other[name], frozenset({mode}))) for mode in sorted(others)]
            same = all(isinstance(thing, Plain) for _, thing in ways)
            joined[name] = PLAIN if same else Several(tuple(ways))
    return joined


def _two_names(node: cst.BaseAssignTargetExpression) -> list[str] | None:
    """The names of `value, update = ...`."""
    parts = [element.value for element in node.elements] if isinstance(node, cst.Tuple | cst.List) else []
    names = [part.value for part in parts if isinstance(part, cst.Name)]
    return names if len(names) == len(parts) == 2 else None


def _averaged(node: cst.Call) -> cst.BaseExpression | None:
    """What a call of tf.reduce_mean averages whole; None where it takes axes."""
    named = named_arguments(node, ("input_tensor", "axis", "keepdims", "name"))
    if named is None or "input_tensor" not in named or not set(named) <= {"input_tensor", "name"}:
        return None
    return named["input_tensor"].value


def _operands(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation):
        yield from (node.left, node.right)
    elif isinstance(node, cst.UnaryOperation):
        yield node.expression
    elif isinstance(node, cst.IfExp):
        yield from (node.test, node.body, node.orelse)
