"""Methods of models under other names, with their arguments in other places."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import Revision, has_stars, named_arguments, text_of
from tfmigrate.plan.edits import Argument, Arguments, Edit, Replace
from tfmigrate.plan.interfaces import CallChange
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.values import ModelObject

_CATEGORICAL = frozenset({"categorical_crossentropy", "sparse_categorical_crossentropy", "kullback_leibler_divergence"})
"""Losses of models with one output a class, of which there are two at least."""
_COMPILE = ("optimizer", "loss", "metrics", "loss_weights", "sample_weight_mode")
"""Parameters of compile() in order, in every Keras 2."""


def predicted_classes(facts: Facts) -> Iterator[CallChange]:
    """`predict_classes(x)` is `predict(x).argmax(axis=-1)`, and `predict_proba` is `predict`.

    Keras's own `predict_classes` compares with 0.5 where a model has one output; which it is, the loss tells.
    """
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method not in ("predict_classes", "predict_proba") or use.call in seen or not _is_keras(use):
            continue
        seen.add(use.call)
        old = tuple(Argument(a.value, a.keyword.value if a.keyword else None, a) for a in use.call.args)
        predict = Arguments(use.call, old, "predict")
        if use.method == "predict_proba":
            message = "predict_proba() was another name for predict(), and is gone"
            yield CallChange(codes.PREDICT_CLASSES, use.call, message, predict)
        elif _is_categorical(use, facts):
            largest: tuple[Edit, ...] = (Replace(use.call, "{call}.argmax(axis=-1)", (("call", use.call),)),)
            message = "predict_classes() is gone: it was the index of the largest output"
            yield CallChange(codes.PREDICT_CLASSES, use.call, message, predict, more=largest)
        else:
            yield CallChange(
                codes.PREDICT_CLASSES,
                use.call,
                "predict_classes() is gone: write predict(x).argmax(axis=-1), or for a model with one output "
                '(predict(x) > 0.5).astype("int32"), which nothing here tells',
                action="warn",
            )


def _is_keras(use: Use) -> bool:
    """Whether the method is Keras's, not one of the program's own class."""
    return bool(use.models) and not any(model.instance is not None for model in use.models)


def _is_categorical(use: Use, facts: Facts) -> bool:
    """Whether every compile() of each model in question, or of one built on it, names such a loss."""
    losses = [_loss(other) for other in facts.uses if other.method == "compile" and _shared(other, use.models)]
    return bool(losses) and all(loss in _CATEGORICAL for loss in losses)


def _shared(other: Use, models: frozenset[ModelObject]) -> bool:
    return bool(other.models & models)


def _loss(use: Use) -> str | None:
    named = named_arguments(use.call, _COMPILE)
    return text_of(named["loss"].value) if named is not None and "loss" in named else None


def positional_arguments(facts: Facts) -> Iterator[CallChange]:
    """`compile(optimizer, loss, metrics)`: the third argument is `loss_weights` in Keras 3."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method != "compile" or use.call in seen or not _is_keras(use) or has_stars(use.call):
            continue
        seen.add(use.call)
        count = sum(arg.keyword is None for arg in use.call.args)
        if 2 < count <= len(_COMPILE):
            edit = Revision(use.call, named=tuple((position, _COMPILE[position]) for position in range(2, count)))
            message = "the third argument of compile() is `loss_weights` in Keras 3: `metrics` is written with its name"
            yield CallChange(codes.COMPILE_ARGUMENTS, use.call.args[2], message, edit)
