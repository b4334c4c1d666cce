"""Expressions of a model function: what each stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator import penalties, training
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.operations import OF_GRAPH
from tfmigrate.plan.estimator.tensorflow_calls import read_call
from tfmigrate.plan.estimator.things import (
    MODES,
    PLAIN,
    PREDICT,
    STAYS,
    TRAIN,
    Choice,
    Config,
    Features,
    Items,
    Labels,
    Logs,
    Loss,
    Metric,
    MetricPart,
    Mode,
    Object,
    Optimizer,
    Params,
    Plain,
    Reading,
    Several,
    Tensor,
    Tensors,
    Thing,
    Training,
    TrainOp,
    Updates,
    within,
)
from tfmigrate.understand.syntax import index_of
from tfmigrate.walk import calls_in, nodes_in

_LISTED = (cst.Tuple, cst.List, cst.Set)
_EQUALITIES = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)


def read_expression(reader: ModelReader, node: cst.BaseExpression) -> Thing:
    read = _READ.get(type(node))
    return PLAIN if read is None else read(reader, node)


def _attribute(reader: ModelReader, node: cst.Attribute) -> Thing:
    whole = reader.read(node.value)
    if isinstance(whole, Object):
        return within(whole.attributes.get(node.attr.value, PLAIN), reader.modes)
    if isinstance(whole, Params):
        reader.used_params = True
    elif not isinstance(whole, Plain):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` has no counterpart in Keras")
    return PLAIN


def _conditional(reader: ModelReader, node: cst.IfExp) -> Thing:
    test = reader.read(node.test)
    if isinstance(test, Training):
        return _by_mode(reader, node, test)
    if all(isinstance(thing, Plain) for thing in (test, reader.read(node.body), reader.read(node.orelse))):
        return PLAIN
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` has no counterpart in Keras")


def _by_mode(reader: ModelReader, node: cst.IfExp, test: Training) -> Thing:
    """`a if mode == TRAIN else b`, of which one at least is no part of the model: its statement goes."""
    outer = reader.modes
    things: list[tuple[str, Thing]] = []
    for arm, modes in ((node.body, test.modes), (node.orelse, MODES - test.modes)):
        reader.modes = (outer & modes) or modes
        thing = reader.read(arm)
        things += [(mode, thing) for mode in sorted(modes)]
    reader.modes = outer
    if all(isinstance(thing, Plain) for _, thing in things):
        # What stays of it is its value in training; where it is read is refused but for a dropout.
        reader.edit(Replace(node, (node.body if TRAIN in test.modes else node.orelse,)))
        return Choice(tuple((mode, node.body if mode in test.modes else node.orelse) for mode, _ in things))
    if all(isinstance(thing, STAYS) for _, thing in things):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` has no counterpart in Keras")
    return within(Several(tuple(things)), outer)


def _needs_plain_inside(reader: ModelReader, node: cst.BaseExpression) -> None:
    """Refuse where what is written inside a comprehension or lambda is more than plain."""
    for call in calls_in(node):
        name = reader.symbol(call.func) or ""
        if name.startswith(("layers.", "contrib.layers.")) or name in OF_GRAPH:
            message = f"tf.{name} is in a comprehension or lambda, which cannot be followed"
            raise reader.refuse(codes.NO_KERAS_LAYER, call, message)
    words = {part.attr for part in nodes_in(node, cst.Attribute)}
    words |= {part.keyword for part in nodes_in(node, cst.Arg) if part.keyword is not None}
    own = {part.name.value for part in nodes_in(node, cst.Param)}
    for read in nodes_in(node, cst.Name):
        if read in words or read.value in own:
            continue
        thing = reader.names.get(read.value, PLAIN)
        reader.used_params = reader.used_params or isinstance(thing, Params)
        if not isinstance(thing, Plain | Params | Optimizer | Loss):
            message = f"`{reader.module.code(node)}` has no counterpart in Keras"
            raise reader.refuse(codes.NO_KERAS_LAYER, node, message)


def _function_inside(reader: ModelReader, node: cst.BaseComp | cst.Lambda) -> Thing:
    penalty = penalties.read_listed(reader, node) if isinstance(node, cst.BaseComp) else None
    if penalty is not None:
        return penalty
    _needs_plain_inside(reader, node)
    return PLAIN


def _unary(reader: ModelReader, node: cst.UnaryOperation) -> Thing:
    thing = reader.read(node.expression)
    if isinstance(node.operator, cst.Not):
        return Training(MODES - thing.modes) if isinstance(thing, Training) else thing
    return _computed(reader, node, [thing])


def _binary(reader: ModelReader, node: cst.BinaryOperation) -> Thing:
    divided = training.read_divided(reader, node)
    return divided or _computed(reader, node, [reader.read(node.left), reader.read(node.right)])


def _computed(reader: ModelReader, node: cst.BinaryOperation | cst.UnaryOperation, parts: list[Thing]) -> Thing:
    """What arithmetic with these things gives. Raises Unconvertible."""
    if all(isinstance(part, Plain) for part in parts):
        return PLAIN
    if all(isinstance(part, Plain | Tensor) for part in parts):
        return Tensor(node)
    whole = penalties.combined(reader, node, *parts) if isinstance(node, cst.BinaryOperation) else None
    if whole is not None:
        return whole
    if any(isinstance(part, Choice) for part in parts):
        message = f"`{reader.module.code(node)}` has a different value in training than elsewhere"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    if all(isinstance(part, Plain | Reading) for part in parts):
        return Reading(node, next(part.of for part in parts if isinstance(part, Reading)))
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` has no counterpart in Keras")


def _list(reader: ModelReader, node: cst.Tuple | cst.List) -> Thing:
    things = [reader.read(element.value) for element in node.elements]
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
    raise reader.refuse(codes.NO_KERAS_LAYER, node, "this list contains things that are not layer outputs")


def _name(reader: ModelReader, node: cst.Name) -> Thing:
    thing = within(reader.names.get(node.value, PLAIN), reader.modes)
    if isinstance(thing, Several) and all(isinstance(each, Tensor) for _, each in thing.by_mode):
        # Each mode's own tensor, which must be the same one (arms).
        return next((each for mode, each in thing.by_mode if mode == TRAIN), thing.by_mode[0][1])
    if isinstance(thing, Features):
        reader.whole_features = True
        return Tensor(node, raw=True)
    if isinstance(thing, Params):
        reader.used_params = True
    if isinstance(thing, Config):
        raise reader.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "model_fn reads the RunConfig")
    return thing


def _subscript(reader: ModelReader, node: cst.Subscript) -> Thing:
    index = index_of(node)
    key = text_of(index)
    if isinstance(node.value, cst.Name) and isinstance(reader.names.get(node.value.value), Features):
        if key is None:
            raise reader.refuse(codes.NO_KERAS_LAYER, node, "a feature is chosen by something other than its name")
        reader.keys.add(key)
        return Tensor(node, raw=True)
    whole = reader.read(node.value)
    if isinstance(whole, Params | Plain):
        reader.used_params = reader.used_params or isinstance(whole, Params)
        return PLAIN
    if isinstance(whole, Metric) and index is not None and reader.module.code(index) in ("0", "1"):
        return MetricPart(whole, int(reader.module.code(index)))
    if isinstance(whole, Items) and key is not None:
        feature = whole.entry(key)
        if feature is not None:
            return feature
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` has no counterpart in Keras")


def _comparison(reader: ModelReader, node: cst.Comparison) -> Thing:
    left = reader.read(node.left)
    test = _test_of_mode(reader, node, left)
    if test is not None:
        return test
    sides = [left, *(reader.read(part.comparator) for part in node.comparisons)]
    if all(isinstance(side, Plain) for side in sides):
        return PLAIN
    if all(isinstance(side, Plain | Reading | Tensor) for side in sides) and isinstance(left, Reading | Tensor):
        return Reading(node, left.of if isinstance(left, Reading) else left, "comparison")
    if isinstance(left, Labels) and all(is_none(part.comparator) for part in node.comparisons):
        return Training(frozenset({PREDICT}))
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` is not understood")


def _test_of_mode(reader: ModelReader, node: cst.Comparison, left: Thing) -> Training | None:
    """`mode == MODE`, `MODE == mode` or `mode in (MODE, MODE)`; None for another comparison."""
    if len(node.comparisons) != 1:
        return None
    operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
    if isinstance(left, Mode):
        nodes = [each.value for each in right.elements] if isinstance(right, _LISTED) else [right]
    elif reader.mode_named(node.left) and isinstance(operator, _EQUALITIES) and isinstance(reader.read(right), Mode):
        nodes = [node.left]
    else:
        return None
    modes = {mode for part in nodes if (mode := reader.mode_named(part)) is not None}
    if len(modes) != len(nodes):
        return None
    negated = isinstance(operator, cst.NotEqual | cst.NotIn | cst.IsNot)
    return Training(MODES - modes if negated else frozenset(modes))


def _boolean(reader: ModelReader, node: cst.BooleanOperation) -> Thing:
    left, right = reader.read(node.left), reader.read(node.right)
    if isinstance(left, Training) and isinstance(right, Training):
        both = left.modes & right.modes if isinstance(node.operator, cst.And) else left.modes | right.modes
        return Training(both)
    if isinstance(left, Plain) and isinstance(right, Plain):
        return PLAIN
    raise reader.refuse(codes.NO_KERAS_LAYER, node, "this condition combines the mode with other tests")


def _dict(reader: ModelReader, node: cst.Dict) -> Thing:
    entries = []
    for element in node.elements:
        thing = reader.read(element.value)
        key = text_of(element.key) if isinstance(element, cst.DictElement) else None
        if key is None and not isinstance(thing, Plain):
            raise reader.refuse(codes.NO_KERAS_LAYER, node, "a key of this dict is not a plain string")
        entries.append((key or "", thing))
    return PLAIN if all(isinstance(thing, Plain) for _, thing in entries) else Items(tuple(entries))


_READ: Mapping[type[cst.BaseExpression], Callable[[ModelReader, Any], Thing]] = {
    cst.Name: _name,
    cst.Call: read_call,
    cst.Subscript: _subscript,
    cst.Attribute: _attribute,
    cst.Comparison: _comparison,
    cst.BooleanOperation: _boolean,
    cst.UnaryOperation: _unary,
    cst.BinaryOperation: _binary,
    cst.IfExp: _conditional,
    cst.Dict: _dict,
    cst.Tuple: _list,
    cst.List: _list,
    cst.ListComp: _function_inside,
    cst.SetComp: _function_inside,
    cst.DictComp: _function_inside,
    cst.GeneratorExp: _function_inside,
    cst.Lambda: _function_inside,
}
"""Expressions that may be more than plain."""
