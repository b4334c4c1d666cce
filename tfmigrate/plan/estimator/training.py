"""What a model function trains and evaluates by: its losses, metrics and specs, and what of compile() they become."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords, named_arguments, text_of
from tfmigrate.plan.estimator import penalties
from tfmigrate.plan.estimator.layers import (
    CROSS_ENTROPIES,
    IGNORED_LOSS_ARGUMENTS,
    KEPT_LOSS_ARGUMENTS,
    LOSSES,
    MEANS,
    METRICS,
)
from tfmigrate.plan.estimator.reader import SQUARES, Reader
from tfmigrate.plan.estimator.things import (
    PREDICT,
    Each,
    Items,
    Labels,
    Logs,
    Loss,
    Metric,
    OfSamples,
    Plain,
    Reading,
    Spec,
    Tensor,
    Thing,
    outputs_of,
)
from tfmigrate.written import Written

SPEC = (
    "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
    "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks",
)  # fmt: skip
_PARTS = ("predictions", "loss", "train_op", "eval_metric_ops")
_HOOKS = ("training_chief_hooks", "training_hooks", "evaluation_hooks", "prediction_hooks", "scaffold")


def _prediction(reader: Reader, node: cst.BaseExpression, code: str) -> str:
    """The model's output that a loss or metric is computed from, and the form it is in."""
    thing = reader.read(node)
    if not isinstance(thing, Tensor | Reading):
        raise reader.refuse(code, node, f"`{reader.module.code(node)}` is not the model's output")
    reader.outputs.extend(outputs_of(thing))
    return thing.form if isinstance(thing, Reading) else ""


def read_loss(reader: Reader, node: cst.Call, name: str) -> Thing:
    loss = LOSSES.get(name)
    if loss is None and name in penalties.COLLECTING:
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, penalties.PART)
    if loss is None:
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, f"tf.losses.{name} has no known equivalent in Keras")
    named = named_arguments(node, (loss.labels, loss.predictions, *loss.parameters))
    if named is None or loss.labels not in named or loss.predictions not in named:
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, "the arguments of this loss cannot be read")
    settings: list[Written] = []
    for key, arg in named.items():
        if key in (loss.labels, loss.predictions) or key in IGNORED_LOSS_ARGUMENTS:
            continue
        if key == "reduction" and (reader.symbol(arg.value) or "").rsplit(".", 1)[-1] in MEANS:
            continue
        if key not in KEPT_LOSS_ARGUMENTS:
            raise reader.refuse(codes.ESTIMATOR_LOSS, arg.value, f"`{key}=` of a loss has no known equivalent in Keras")
        reader.needs_plain(arg.value)
        settings.append(Written.of(f"{KEPT_LOSS_ARGUMENTS[key]}=", arg.value))
    labels = reader.read(named[loss.labels].value)
    return _made_loss(reader, node, loss.keras, labels, named[loss.predictions].value, settings)


def _made_loss(
    reader: Reader,
    node: cst.Call,
    keras: str,
    labels: Thing,
    predicted: cst.BaseExpression,
    settings: Sequence[Written] = (),
) -> Thing:
    if not isinstance(labels, Labels) or labels.form not in ("", "onehot"):
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, "the loss is not computed from the labels as they are")
    if _prediction(reader, predicted, codes.ESTIMATOR_LOSS) not in ("", "squeezed"):
        raise reader.refuse(
            codes.ESTIMATOR_LOSS, predicted, "the loss is not computed from the model's output as it is"
        )
    found = reader.read(predicted)
    if isinstance(found, Reading) and found.flat and not (labels.flat and keras.endswith("Crossentropy")):
        message = (
            "the output is flattened for this loss, but Keras compares it in its own shape, with labels that may "
            "have a different number of dimensions: leave the shapes of both as they are"
        )
        raise reader.refuse(codes.ESTIMATOR_LOSS, predicted, message)
    if labels.form == "onehot":
        if keras != "CategoricalCrossentropy" or settings:
            raise reader.refuse(codes.ESTIMATOR_LOSS, node, "one-hot labels are only supported with the softmax loss")
        keras = "SparseCategoricalCrossentropy"
    inside = Written.joined([*(["from_logits=True"] if keras.endswith("Crossentropy") else []), *settings], ", ")
    return Loss(Written.of(f"{reader.tf}.keras.losses.{keras}(", inside, ")"))


def keras_loss(reader: Reader, node: cst.Call, creation: cst.Call) -> Thing | None:
    """`tf.keras.losses.X(reduction=NONE)(labels, logits)`, the only reduction that a strategy allows beside SUM; None
    for another call."""
    name = reader.symbol(creation.func) or ""
    given = keywords(creation)
    reduction = given.get("reduction")
    if not name.startswith("keras.losses.") or reduction is None or len(given) != len(creation.args):
        return None
    text = text_of(reduction.value) or (reader.symbol(reduction.value) or "").rpartition(".")[2]
    passed = named_arguments(node, ("y_true", "y_pred"))
    if text.lower() != "none" or passed is None or set(passed) != {"y_true", "y_pred"}:
        return None
    for arg in creation.args:
        if arg is not reduction:
            reader.needs_plain(arg.value)
    if reader.read(passed["y_true"].value) != Labels():
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, "the loss is not computed from the labels as they are")
    if _prediction(reader, passed["y_pred"].value, codes.ESTIMATOR_LOSS) not in ("", "squeezed"):
        message = "the loss is not computed from the model's output as it is"
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, message)
    settings = [Written.of(f"{key}=", arg.value) for key, arg in given.items() if key not in ("reduction", "name")]
    keras = name.removeprefix("keras.losses.")
    return OfSamples(Loss(Written.of(f"{reader.tf}.keras.losses.{keras}(", Written.joined(settings, ", "), ")")))


def read_divided(reader: Reader, node: cst.BinaryOperation) -> Loss | None:
    """`sum / batch` and `sum * (1. / batch)`, the mean over full batches of that size; None for anything else."""
    thing = reader.read(node.left)
    if not isinstance(thing, OfSamples) or not thing.summed:
        return None
    divisor: cst.BaseExpression | None = node.right if isinstance(node.operator, cst.Divide) else None
    factor = node.right if isinstance(node.operator, cst.Multiply) else None
    if isinstance(factor, cst.BinaryOperation) and isinstance(factor.operator, cst.Divide):
        one = factor.left.evaluated_value if isinstance(factor.left, cst.Integer | cst.Float) else 0
        divisor = factor.right if one == 1 else None
    if divisor is None:
        return None
    reader.needs_plain(divisor)
    reader.plan.divisors.append((reader.module, divisor))
    return thing.mean


def read_mean(reader: Reader, node: cst.Call, inner: cst.BaseExpression) -> Thing:
    """tf.reduce_mean over a cross entropy or a square: the mean that Keras computes; of a loss, that loss."""
    if isinstance(inner, cst.Name):
        thing = reader.names.get(inner.value)
        inner = thing.node if isinstance(thing, Each) else inner
    name = reader.symbol(inner.func) if isinstance(inner, cst.Call) else None
    if isinstance(inner, cst.Call) and name is not None and name in CROSS_ENTROPIES:
        named = keywords(inner)
        if set(named) - {"name"} != {"labels", "logits"}:
            raise reader.refuse(codes.ESTIMATOR_LOSS, inner, "labels and logits are not passed by name")
        labels = reader.read(named["labels"].value)
        return _made_loss(reader, node, CROSS_ENTROPIES[name], labels, named["logits"].value)
    if isinstance(inner, cst.Call) and name in SQUARES:
        pair = _pair(inner)
        if pair is not None:
            left, other = pair
            if not isinstance(reader.read(left), Labels):
                left, other = other, left
            loss = _made_loss(reader, node, "MeanSquaredError", reader.read(left), other)
            _note_broadcast(reader, node, other)
            return loss
    thing = reader.read(inner)
    if isinstance(thing, OfSamples) and not thing.summed:
        return thing.mean
    if isinstance(thing, Loss):
        return thing
    raise reader.refuse(codes.ESTIMATOR_LOSS, node, "this mean is not a known loss")


def _note_broadcast(reader: Reader, node: cst.Call, predicted: cst.BaseExpression) -> None:
    """Labels of one number each, less an output of one column, are a square of differences; Keras pairs the rows."""
    thing = reader.read(predicted)
    if isinstance(thing, Reading) and thing.form == "squeezed":
        return
    message = (
        "if the labels have the shape (batch,) and the output (batch, 1), this subtraction computed a (batch, "
        "batch) square of differences, each label against each output; MeanSquaredError compares each label with "
        "its own output, so the training differs"
    )
    reader.plan.notes.append((node, message))


def read_metric(reader: Reader, node: cst.Call, name: str) -> Thing:
    arguments = named_arguments(node, ("labels", "predictions", "weights"))
    if arguments is None or not {"labels", "predictions"} <= set(arguments) or not set(arguments) <= {
        "labels", "predictions", "name",
    }:  # fmt: skip
        raise reader.refuse(codes.ESTIMATOR_METRIC, node, "the arguments of this metric cannot be read")
    labels = reader.read(arguments["labels"].value)
    form = _prediction(reader, arguments["predictions"].value, codes.ESTIMATOR_METRIC)
    found = reader.read(arguments["predictions"].value)
    if isinstance(found, Reading) and found.flat:
        message = "the output is flattened for this metric, but Keras compares it in its own shape"
        raise reader.refuse(codes.ESTIMATOR_METRIC, node, message)
    keras = METRICS.get(name)
    named = f"{reader.tf}.keras.metrics"
    if keras is not None and labels == Labels() and form in ("", "squeezed"):
        return Metric(Written.of(f"{named}.{keras}"))
    if name == "auc" and labels == Labels() and form in ("nn.sigmoid", "sigmoid"):
        return Metric(Written.of(f"{named}.AUC"), "from_logits=True")
    classes = form in ("argmax", "cast of argmax", "argmax of nn.softmax")
    if name == "accuracy" and classes and isinstance(labels, Labels):
        if labels.form in ("", "argmax of onehot"):
            return Metric(Written.of(f"{named}.SparseCategoricalAccuracy"))
        if labels.form == "argmax of ":
            return Metric(Written.of(f"{named}.CategoricalAccuracy"))
    raise reader.refuse(
        codes.ESTIMATOR_METRIC, node, f"tf.metrics.{name} of these values has no known equivalent in Keras"
    )


def read_spec(reader: Reader, node: cst.Call) -> Thing:
    named = named_arguments(node, SPEC)
    if named is None:
        raise reader.refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "the arguments of this EstimatorSpec cannot be read")
    for key in _HOOKS:
        if key in named and not is_none(named[key].value):
            hooks = reader.read(named[key].value)
            if isinstance(named[key].value, cst.IfExp) and isinstance(hooks, Plain):
                continue  # `hooks if mode == TRAIN else None`, in another mode
            if not isinstance(hooks, Logs):
                raise reader.refuse(codes.ESTIMATOR_HOOK, named[key].value, f"`{key}=` of an EstimatorSpec")
            message = "this hook is dropped: Keras's progress bar shows the loss at every step"
            reader.plan.notes.append((named[key].value, message))
    if "export_outputs" in named:
        reader.plan.names_exports = True
        reader.plan.notes.append((named["export_outputs"].value, "export_outputs is dropped: model.export() writes "
                                 "one signature, the model's output"))  # fmt: skip
    parts = {key: named[key].value for key in _PARTS if key in named and not is_none(named[key].value)}
    read = {key: reader.read(node) for key, node in parts.items()}
    predictions = read.get("predictions")
    if predictions is not None and PREDICT in reader.modes:
        values = [thing for _, thing in predictions.entries] if isinstance(predictions, Items) else [predictions]
        reader.outputs.extend(tensor for thing in values for tensor in outputs_of(thing))
    return Spec(
        (parts["predictions"], predictions) if predictions is not None else None,
        read.get("loss"),
        read.get("train_op"),
        read.get("eval_metric_ops"),
    )


def _pair(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two sides of tf.square(a - b) or tf.squared_difference(a, b)."""
    if len(call.args) == 2:
        return call.args[0].value, call.args[1].value
    inner = call.args[0].value if call.args else None
    if isinstance(inner, cst.BinaryOperation) and isinstance(inner.operator, cst.Subtract):
        return inner.left, inner.right
    return None
