"""What names and attributes of objects are bound to in a model function."""

from __future__ import annotations

import re

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.program_calls import passed_on
from tfmigrate.plan.estimator.things import MODES, STAYS, TRAIN, Choice, Layer, Metric, MetricPart, Object, Plain, Thing
from tfmigrate.understand.syntax import sole_name


def assign(reader: ModelReader, small: cst.Assign) -> None:
    edits, notes, layer_names = len(reader.plan.edits), len(reader.plan.notes), dict(reader.layer_names)
    thing = passed_on(reader, small.value)
    for target in small.targets:
        if isinstance(target.target, cst.Name):
            reader.names[target.target.value] = thing
            reader.assigned.append((target.target.value, thing, small))
        elif isinstance(target.target, cst.Attribute) and isinstance(reader.read(target.target.value), Object):
            _keep(reader, target.target, thing)
        elif isinstance(thing, Metric) and (pair := _two_names(target.target)) is not None:
            reader.names.update({name: MetricPart(thing, place) for place, name in enumerate(pair)})
        elif not isinstance(thing, Plain):
            raise reader.refuse(codes.NO_KERAS_LAYER, small, "a value is assigned to something other than a plain name")
    if not isinstance(thing, (*STAYS, Choice)):
        reader.remove(small)
        return
    if _drops_in_training(reader, small):
        return
    note_in_arm(reader, "=".join(reader.module.code(target.target) for target in small.targets), small.value, thing)
    if TRAIN not in reader.modes:
        # The model is built as in training; this goes with its arm.
        del reader.plan.edits[edits:], reader.plan.notes[notes:]
        reader.layer_names = layer_names


def _drops_in_training(reader: ModelReader, small: cst.Assign) -> bool:
    """`net = tf.nn.dropout(net, 0.5)` in an arm for training: the Keras layer does nothing elsewhere."""
    call = small.value
    dropped = call.args[0].value if isinstance(call, cst.Call) and call in reader.dropouts and call.args else None
    same = isinstance(dropped, cst.Name) and dropped.value == sole_name(small)
    return same and reader.modes == {TRAIN}


def _keep(reader: ModelReader, target: cst.Attribute, thing: Thing) -> None:
    """Note what an object keeps as an attribute."""
    whole = reader.read(target.value)
    assert isinstance(whole, Object)
    name = target.attr.value
    before = whole.attributes.get(name, thing)
    same_kind = not isinstance(before, Layer) or not isinstance(thing, Layer) or before.kind == thing.kind
    if type(before) is not type(thing) or not same_kind:
        raise reader.refuse(codes.NO_KERAS_LAYER, target, f"`{reader.module.code(target)}` is bound to several values")
    if not isinstance(thing, Plain):
        whole.attributes[name] = thing


def note_in_arm(reader: ModelReader, target: str, value: cst.BaseExpression, thing: Thing) -> None:
    """Note what is built or set in some modes only."""
    if isinstance(thing, Plain):
        reader.arms.bind(reader.modes, reader.within, re.findall(r"[^\W\d]\w*", target), value)
    elif reader.modes != MODES and not isinstance(thing, Choice):
        reader.arms.build(reader.modes, reader.within, target, value, thing)


def _two_names(node: cst.BaseAssignTargetExpression) -> list[str] | None:
    """The names of `value, update = ...`."""
    parts = [element.value for element in node.elements] if isinstance(node, cst.Tuple | cst.List) else []
    names = [part.value for part in parts if isinstance(part, cst.Name)]
    return names if len(names) == len(parts) == 2 else None
