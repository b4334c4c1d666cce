"""How a model function trains: its loss, optimizer, metrics and specs, and what of compile() they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords, named_arguments
from tfmigrate.plan.estimator.layers import (
    CROSS_ENTROPIES,
    IGNORED_LOSS_ARGUMENTS,
    KEPT_LOSS_ARGUMENTS,
    LOSSES,
    MEANS,
    METRICS,
    OPTIMIZERS,
    REFUSED_OPTIMIZERS,
    SCHEDULES,
)
from tfmigrate.plan.estimator.reader import PREDICT, SQUARES, Reader, Thing
from tfmigrate.plan.written import Written

SPEC = (
    "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
    "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks",
)  # fmt: skip
_HOOKS = ("training_chief_hooks", "training_hooks", "evaluation_hooks", "prediction_hooks", "scaffold")


class TrainingReader(Reader):
    """Reads the calls that make the loss, the optimizer, the metrics and the specs; their statements go."""

    def _prediction(self, node: cst.BaseExpression, code: str) -> Thing:
        """The model's output that a loss or metric is computed from, and the form it is in."""
        thing = self._read(node)
        base = thing.of if thing.kind == "reading" else thing
        if base is None or base.kind != "tensor":
            raise self._refuse(code, node, f"`{self._module.code(node)}` is not the model's output")
        self._outputs.append(base)
        return thing

    def _loss(self, node: cst.Call, name: str) -> Thing:
        loss = LOSSES.get(name)
        if loss is None:
            raise self._refuse(codes.ESTIMATOR_LOSS, node, f"tf.losses.{name} has no known equivalent in Keras")
        given = named_arguments(node, (loss.labels, loss.predictions, *loss.parameters))
        if given is None or loss.labels not in given or loss.predictions not in given:
            raise self._refuse(codes.ESTIMATOR_LOSS, node, "the arguments of this loss cannot be read")
        settings: list[Written] = []
        for key, arg in given.items():
            if key in (loss.labels, loss.predictions) or key in IGNORED_LOSS_ARGUMENTS:
                continue
            if key == "reduction" and (self._symbol(arg.value) or "").rsplit(".", 1)[-1] in MEANS:
                continue
            if key not in KEPT_LOSS_ARGUMENTS:
                raise self._refuse(
                    codes.ESTIMATOR_LOSS, arg.value, f"`{key}=` of a loss has no known equivalent in Keras"
                )
            self._needs_plain(arg.value)
            settings.append(Written.of(f"{KEPT_LOSS_ARGUMENTS[key]}=", arg.value))
        labels = self._read(given[loss.labels].value)
        return self._made_loss(node, loss.keras, loss.logits, labels, given[loss.predictions].value, settings)

    def _made_loss(
        self,
        node: cst.Call,
        keras: str,
        logits: bool,
        labels: Thing,
        predicted: cst.BaseExpression,
        settings: Sequence[Written] = (),
    ) -> Thing:
        if labels.kind != "labels" or labels.form not in ("", "onehot"):
            raise self._refuse(codes.ESTIMATOR_LOSS, node, "the loss is not computed from the labels as they are")
        prediction = self._prediction(predicted, codes.ESTIMATOR_LOSS)
        if prediction.form not in ("", "squeezed"):
            raise self._refuse(
                codes.ESTIMATOR_LOSS, predicted, "the loss is not computed from the model's output as it is"
            )
        if labels.form == "onehot":
            if keras != "CategoricalCrossentropy" or settings:
                raise self._refuse(
                    codes.ESTIMATOR_LOSS, node, "one-hot labels are understood by the softmax loss alone"
                )
            keras = "SparseCategoricalCrossentropy"
        inside = Written.joined([*(["from_logits=True"] if logits else []), *settings], ", ")
        base = prediction.of if prediction.kind == "reading" else prediction
        code = Written.of(f"{self._tf}.keras.losses.{keras}(", inside, ")")
        return Thing("loss", node, code, of=base, form=keras)

    def _mean(self, node: cst.Call, inner: cst.BaseExpression) -> Thing:
        """tf.reduce_mean over a cross entropy or a square: the mean that Keras computes."""
        thing = None
        if isinstance(inner, cst.Name):
            thing = self._names.get(inner.value)
            inner = thing.node if thing is not None and thing.node is not None else inner
        name = self._symbol(inner.func) if isinstance(inner, cst.Call) else None
        if isinstance(inner, cst.Call) and name is not None and name in CROSS_ENTROPIES:
            given = keywords(inner)
            if set(given) - {"name"} != {"labels", "logits"}:
                raise self._refuse(codes.ESTIMATOR_LOSS, inner, "labels and logits are not passed by name")
            labels = self._read(given["labels"].value)
            return self._made_loss(node, CROSS_ENTROPIES[name], True, labels, given["logits"].value)
        if isinstance(inner, cst.Call) and name in SQUARES:
            pair = _pair(inner)
            if pair is not None:
                one, other = pair
                if self._read(one).kind != "labels":
                    one, other = other, one
                return self._made_loss(node, "MeanSquaredError", False, self._read(one), other)
        raise self._refuse(codes.ESTIMATOR_LOSS, node, "this mean is not a known loss")

    def _optimizer(self, node: cst.Call, name: str) -> Thing:
        if name in REFUSED_OPTIMIZERS:
            raise self._refuse(codes.ESTIMATOR_OPTIMIZER, node, REFUSED_OPTIMIZERS[name])
        known = OPTIMIZERS.get(name)
        given = named_arguments(node, known.parameters) if known is not None else None
        if known is None or given is None:
            raise self._refuse(codes.ESTIMATOR_OPTIMIZER, node, f"tf.train.{name} is not understood")
        settings: dict[str, Written | Thing] = {}
        for key, arg in given.items():
            if key in ("use_locking", "name"):
                continue
            thing = self._read(arg.value)
            if key not in known.parameters or (thing.kind not in ("plain", "rate")):
                raise self._refuse(codes.ESTIMATOR_OPTIMIZER, arg.value, f"`{key}=` is not understood")
            settings[known.renamed.get(key, key)] = thing if thing.kind == "rate" else Written.at(arg.value)
        if name == "MomentumOptimizer" and any(isinstance(value, Thing) for value in settings.values()):
            raise self._refuse(
                codes.ESTIMATOR_OPTIMIZER,
                node,
                "TensorFlow 1 multiplies the momentum by the rate of this step, Keras by that of each step gone by: "
                "under a schedule they differ",
            )
        for key, code in known.defaults.items():
            settings.setdefault(key, Written.of(code))
        keras = Written.of(f"{self._tf}.keras.optimizers.{known.keras}")
        return Thing("optimizer", node, keras, settings=tuple(settings.items()))

    def _schedule(self, node: cst.Call, name: str) -> Thing:
        keras, parameters = SCHEDULES[name]
        given = named_arguments(node, parameters)
        step = given.get("global_step", given.get("x")) if given is not None else None
        if given is None or step is None or self._read(step.value).kind != "step":
            raise self._refuse(
                codes.ESTIMATOR_OPTIMIZER, node, "this schedule follows something other than the global step"
            )
        settings: list[tuple[str, Written | Thing]] = []
        for key, arg in given.items():
            if arg is step or key == "name":
                continue
            self._needs_plain(arg.value)
            new = {"learning_rate": "initial_learning_rate"}.get(key, key)
            settings.append((new, Written.at(arg.value)))
        code = Written.of(f"{self._tf}.keras.optimizers.schedules.{keras}")
        return Thing("rate", node, code, settings=tuple(settings))

    def _minimize(self, node: cst.Call, optimizer: Thing) -> Thing:
        given = named_arguments(node, ("loss", "global_step"))
        if given is None or not set(given) <= {"loss", "global_step", "name"} or "loss" not in given:
            raise self._refuse(codes.ESTIMATOR_OPTIMIZER, node, "minimize() is given more than the loss and the step")
        loss = self._read(given["loss"].value)
        if loss.kind != "loss":
            raise self._refuse(codes.ESTIMATOR_LOSS, node, "what is minimised is not a loss that this tool can follow")
        if "global_step" not in given:
            raise self._refuse(
                codes.ESTIMATOR_OPTIMIZER,
                node,
                "minimize() has no global_step=, so that the Estimator never counts a step: `steps=` never ends it",
            )
        return Thing("train_op", node, of=optimizer, entries=(("loss", loss),))

    def _metric(self, node: cst.Call, name: str) -> Thing:
        given = named_arguments(node, ("labels", "predictions", "weights"))
        if given is None or not {"labels", "predictions"} <= set(given) or not set(given) <= {
            "labels", "predictions", "name",
        }:  # fmt: skip
            raise self._refuse(codes.ESTIMATOR_METRIC, node, "the arguments of this metric cannot be read")
        labels = self._read(given["labels"].value)
        prediction = self._prediction(given["predictions"].value, codes.ESTIMATOR_METRIC)
        keras = METRICS.get(name)
        if keras is not None and labels.form == "" and prediction.form in ("", "squeezed"):
            return self._known_metric(node, keras)
        classes = prediction.form in ("argmax", "cast of argmax", "argmax of nn.softmax")
        if name == "accuracy" and classes and labels.kind == "labels":
            if labels.form in ("", "argmax of onehot"):
                return self._known_metric(node, "SparseCategoricalAccuracy")
            if labels.form == "argmax of ":
                return self._known_metric(node, "CategoricalAccuracy")
        raise self._refuse(
            codes.ESTIMATOR_METRIC, node, f"tf.metrics.{name} of these values has no known equivalent in Keras"
        )

    def _known_metric(self, node: cst.Call, keras: str) -> Thing:
        return Thing("metric", node, Written.of(f"{self._tf}.keras.metrics.{keras}"))

    def _spec(self, node: cst.Call) -> Thing:
        given = named_arguments(node, SPEC)
        if given is None:
            raise self._refuse(codes.ESTIMATOR_NOT_FOLLOWED, node, "the arguments of this EstimatorSpec cannot be read")
        for key in _HOOKS:
            if key in given and not is_none(given[key].value):
                raise self._refuse(codes.ESTIMATOR_HOOK, given[key].value, f"`{key}=` of an EstimatorSpec")
        if "export_outputs" in given:
            self._plan.notes.append((given["export_outputs"].value, "export_outputs is dropped: model.export() writes "
                                     "one signature, the model's output"))  # fmt: skip
        entries = []
        for key in ("predictions", "loss", "train_op", "eval_metric_ops"):
            if key not in given or is_none(given[key].value):
                continue
            thing = self._read(given[key].value)
            if key == "predictions":
                if PREDICT in self._modes:
                    for part in thing.entries or (("", thing),):
                        self._outputs.extend(_base(part[1]))
                thing = replace(thing, node=given[key].value)
            entries.append((key, thing))
        return Thing("spec", node, entries=tuple(entries))


def _base(thing: Thing) -> list[Thing]:
    """The tensor that a value is, or is computed from."""
    if thing.kind == "reading" and thing.of is not None:
        return [thing.of]
    return [thing] if thing.kind == "tensor" else []


def _pair(call: cst.Call) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """The two sides of tf.square(a - b) or tf.squared_difference(a, b)."""
    if len(call.args) == 2:
        return call.args[0].value, call.args[1].value
    inner = call.args[0].value if call.args else None
    if isinstance(inner, cst.BinaryOperation) and isinstance(inner.operator, cst.Subtract):
        return inner.left, inner.right
    return None
