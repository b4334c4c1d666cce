"""`tf.nn.dropout`, whose calls each say what share they keep or drop."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator.network import drops_in_training_alone, note_rank, tensor
from tfmigrate.plan.estimator.reader import Reader
from tfmigrate.plan.estimator.things import TRAIN, Choice, Plain, Tensor
from tfmigrate.written import Written


def nn_dropout(reader: Reader, node: cst.Call) -> Tensor:
    """`tf.nn.dropout`, where it drops in training alone: it is passed what it keeps, or in an arm for training."""
    named = named_arguments(node, ("x", "keep_prob", "noise_shape", "seed", "name", "rate")) or {}
    amounts = [named[name] for name in ("keep_prob", "rate") if name in named]
    if not set(named) <= {"x", "keep_prob", "rate", "seed", "name"} or "x" not in named or len(amounts) != 1:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "the arguments of this dropout cannot be read")
    (amount,) = amounts
    if amount.keyword is None and _depends_on_version(reader, node):
        message = "whether this number is kept or dropped depends on the version of TensorFlow: write `rate=`"
        raise reader.refuse(codes.NO_KERAS_LAYER, amount.value, message)
    inputs = tensor(reader, named["x"].value)
    note_rank(reader, node, "Dropout", inputs)
    keeps = "keep_prob" in named
    in_arm = reader.modes == {TRAIN} and isinstance(reader.read(amount.value), Plain)
    if not in_arm and not drops_in_training_alone(reader, amount.value, 1 if keeps else 0):
        message = "this dropout also drops in evaluation, Keras's only in training"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    value = _in_training(reader, amount.value)
    settings = [_one_minus(value) if keeps else Written.at(value)]
    if "seed" in named:
        reader.needs_plain(named["seed"].value)
        settings.append(Written.of("seed=", named["seed"].value))
    reader.dropouts.add(node)
    inside = Written.joined(settings, ", ")
    reader.edit(Replace(node, (f"{reader.tf}.keras.layers.Dropout(", *inside.code, ")(", inputs, ")")))
    return Tensor(node)


def _depends_on_version(reader: Reader, node: cst.Call) -> bool:
    """Whether a module that is written for TensorFlow 1 and 2 calls what is `tf.nn.dropout` of either."""
    symbols = reader.program.modules[reader.module].symbols
    both = any(symbol.startswith("tensorflow.compat.v1") for symbol in symbols.values())
    return both and "compat.v1" not in symbols.get(node.func, "")


def _in_training(reader: Reader, node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression, or that of its arms which it is in training."""
    chosen = reader.read(node)
    if isinstance(chosen, Choice) and isinstance(node, cst.IfExp):
        return chosen.of(frozenset({TRAIN})).get(TRAIN) or node
    return node


def _one_minus(value: cst.BaseExpression) -> Written:
    simple = isinstance(value, cst.Name | cst.Float | cst.Integer | cst.Attribute | cst.Subscript | cst.Call)
    return Written.of("1 - ", Written.at(value) if simple else Written.of("(", value, ")"))
