"""Methods of models under other names, with their arguments in other places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, keywords, named_arguments, text_of, unchanged
from tfmigrate.plan.data.only_output import has_one_output
from tfmigrate.plan.edits import Argument, Arguments, Edit, Remove, Replace
from tfmigrate.plan.keras.one_row import METHODS_OF_ROWS, batches_of_one, called_directly, one_row_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import assigned
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Items, Literal, ModelObject, Value, options
from tfmigrate.understand.values import Mapping as Known

_CATEGORICAL = frozenset({"categorical_crossentropy", "sparse_categorical_crossentropy", "kullback_leibler_divergence"})
"""Losses of models with one output per class, so at least two."""
COMPILE = ("optimizer", "loss", "metrics", "loss_weights", "sample_weight_mode")
"""Parameters of compile() in order, in every Keras 2."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    rows = {
        use: data
        for use, data in one_row_calls(keras_calls(context.spread, *METHODS_OF_ROWS), context).items()
        if use.method != "predict_classes" or _is_categorical(use, facts)
    }
    direct = list(called_directly(rows, context))
    yield from direct
    called = {change.node for change in direct if change.action == "rewrite"}
    yield from batches_of_one(keras_calls(context.spread, "predict", "predict_proba"), context)
    yield from predicted_classes(replace(facts, uses=[use for use in facts.uses if use.call not in called]))
    spread = [use for use in context.spread.uses if use.call not in called]
    yield from predictions_on_batch(replace(context.spread, uses=spread))
    yield from positional_arguments(facts)
    yield from sample_weight_modes(facts)
    yield from class_weight_words(facts)
    yield from class_weights_of_outputs(facts, context.modules)
    yield from target_tensors(facts, context.scopes)


def predicted_classes(facts: Facts) -> Iterator[CallChange]:
    """`predict_classes(x)` is `predict(x).argmax(axis=-1)`, and `predict_proba` is `predict`.

    Keras's own `predict_classes` compares with 0.5 where a model has one output; which it is, the loss tells.
    """
    for use in keras_calls(facts, "predict_classes", "predict_proba"):
        predict = Arguments(use.call, unchanged(use.call.args), "predict")
        if use.method == "predict_proba":
            message = "predict_proba() was another name for predict() and was removed"
            yield CallChange(codes.PREDICT_CLASSES, use.call, message, predict)
        elif _is_categorical(use, facts):
            largest: tuple[Edit, ...] = (Replace(use.call, (use.call, ".argmax(axis=-1)")),)
            message = "predict_classes() was removed: it was the index of the largest output"
            yield CallChange(codes.PREDICT_CLASSES, use.call, message, predict, more=largest)
        else:
            yield CallChange(
                codes.PREDICT_CLASSES,
                use.call,
                "predict_classes() was removed: write predict(x).argmax(axis=-1), or for a model with one output "
                '(predict(x) > 0.5).astype("int32"), which cannot be determined here',
                action="warn",
            )


def predictions_on_batch(facts: Facts) -> Iterator[CallChange]:
    """`predict_on_batch(x)` of a model under a strategy answers once per replica on Keras 3; `predict` does not."""
    for use in keras_calls(facts, "predict_on_batch"):
        message = "predict_on_batch() under a strategy returns each row once per replica on Keras 3; predict() does not"
        predict = Arguments(use.call, (*unchanged(use.call.args), Argument("0", "verbose")), "predict")
        yield CallChange(codes.PREDICT_ON_BATCH, use.call, message, predict)


def keras_calls(facts: Facts, *methods: str) -> Iterator[Use]:
    """A use for each call of these methods of Keras's models."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method in methods and use.call not in seen and use.is_of_keras:
            seen.add(use.call)
            yield use


def _is_categorical(use: Use, facts: Facts) -> bool:
    """Whether every compile() of each model in question, or of one built on it, names such a loss."""
    losses = [_loss(other) for other in facts.uses if other.method == "compile" and _shared(other, use.models)]
    return bool(losses) and all(loss in _CATEGORICAL for loss in losses)


def _shared(other: Use, models: frozenset[ModelObject]) -> bool:
    return bool(other.models & models)


def _loss(use: Use) -> str | None:
    named = named_arguments(use.call, COMPILE)
    return text_of(named["loss"].value) if named is not None and "loss" in named else None


def positional_arguments(facts: Facts) -> Iterator[CallChange]:
    """`compile(optimizer, loss, metrics)`: the third argument is `loss_weights` in Keras 3."""
    for use in keras_calls(facts, "compile"):
        if has_stars(use.call):
            continue
        count = sum(arg.keyword is None for arg in use.call.args)
        if 2 < count <= len(COMPILE):
            edit = Revision(use.call, named=tuple((position, COMPILE[position]) for position in range(2, count)))
            message = "the third argument of compile() is `loss_weights` in Keras 3: `metrics` is passed by name"
            yield CallChange(codes.COMPILE_ARGUMENTS, use.call.args[2], message, edit)


def sample_weight_modes(facts: Facts) -> Iterator[CallChange]:
    """`compile(sample_weight_mode='temporal')`: TensorFlow 2 takes weights of either form without being told."""
    for use in keras_calls(facts, "compile"):
        argument = keywords(use.call).get("sample_weight_mode")
        values = [value for keyword, value in use.arguments if keyword == "sample_weight_mode"]
        if argument is not None and values and all(map(_says_no_more, values)):
            message = "`sample_weight_mode` is gone: weights per time step are recognised by their shape"
            edit = Revision(use.call, dropped=("sample_weight_mode",))
            yield CallChange(codes.COMPILE_ARGUMENTS, argument, message, edit)


def _says_no_more(value: Value) -> bool:
    """Whether it is 'temporal' or None, or these for each output."""
    return all(
        option in (Literal("temporal"), Literal(None))
        or (isinstance(option, Items | Known) and all(map(_says_no_more, option.values)))
        for option in options(value)
    )


def class_weight_words(facts: Facts) -> Iterator[CallChange]:
    """`fit(class_weight='auto')`: a word where a dict belongs was passed over, and is an error from TensorFlow 2.2."""
    for use in keras_calls(facts, "fit", "fit_generator", "train_on_batch"):
        argument = keywords(use.call).get("class_weight")
        value = next((value for keyword, value in use.arguments if keyword == "class_weight"), None)
        if argument is None or value is None:
            continue
        if all(isinstance(option, Literal) and isinstance(option.value, str) for option in options(value)):
            message = (
                f"`class_weight={facts.module.code(argument.value)}` did nothing: weights are a dict with an "
                "entry for each class"
            )
            yield CallChange(codes.CLASS_WEIGHT_WORDS, argument, message, Revision(use.call, dropped=("class_weight",)))


def class_weights_of_outputs(facts: Facts, modules: Mapping[Module, Facts]) -> Iterator[CallChange]:
    """`fit(class_weight={...})` of a model with several outputs, on which TensorFlow 2 raises a ValueError."""
    for use in keras_calls(facts, "fit", "fit_generator", "train_on_batch"):
        argument = keywords(use.call).get("class_weight")
        if argument is None or is_none(argument.value):
            continue
        one = has_one_output(use.models, facts, modules)
        if one is not False:
            yield from _listed_weights(use, argument, one is True, facts)
            continue
        if any(isinstance(option, Literal) for option in facts.options(argument.value)):
            continue
        message = (
            "TensorFlow 2 takes `class_weight` only for models with one output, and raises a ValueError here: pass "
            "`sample_weight` with an array for each output, its weights looked up by class"
        )
        yield CallChange(codes.CLASS_WEIGHT_WORDS, argument, message, action="warn")


def _listed_weights(use: Use, argument: cst.Arg, one_output: bool, facts: Facts) -> Iterator[CallChange]:
    """`class_weight=[{0: 1.0, 1: 3.0}, ...]`, as of several classes: one output's was passed over."""
    given = next((value for keyword, value in use.arguments if keyword == "class_weight"), None)
    values = facts.options(argument.value) or (options(given) if given is not None else frozenset())
    if not values or not all(isinstance(option, Items) for option in values):
        return
    if len(values) == 1 and all(isinstance(option, Items) and len(option.values) < 2 for option in values):
        return  # The only dict of such a list counted.
    if one_output:
        message = (
            "a list did nothing here: Keras took class weights from a dict, with an entry for each output; today a "
            "list raises AttributeError"
        )
        yield CallChange(codes.CLASS_WEIGHT_WORDS, argument, message, Revision(use.call, dropped=("class_weight",)))
    else:
        message = (
            "TensorFlow 2 takes one dict as `class_weight`, and raises AttributeError on a list, which did nothing "
            "for one output: remove it; for several outputs, pass `sample_weight` with an array for each"
        )
        yield CallChange(codes.CLASS_WEIGHT_WORDS, argument, message, action="warn")


def target_tensors(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """`compile(target_tensors=[placeholder])`: the targets are what the data brings; the placeholder goes with it."""
    targets_of: dict[cst.Call, list[cst.BaseExpression]] = {}
    for use in keras_calls(facts, "compile"):
        argument = keywords(use.call).get("target_tensors")
        if argument is not None:
            value = argument.value
            targets_of[use.call] = (
                [e.value for e in value.elements] if isinstance(value, cst.List | cst.Tuple) else [value]
            )
    mentioned = [node for targets in targets_of.values() for node in targets]
    removed: set[cst.CSTNode] = set()
    for call, targets in targets_of.items():
        placeholders = [_placeholder(node, facts, scopes, mentioned) for node in targets if not is_none(node)]
        if all(placeholders):
            gone = tuple(
                Remove(statement) for statement in placeholders if statement is not None and statement not in removed
            )
            removed.update(edit.node for edit in gone)
            message = (
                "target_tensors was removed: the targets arrive as they are in the data, and in a loss function as "
                "floats on Keras 3, no longer cast to the placeholder's type: cast them in a loss that needs integers"
            )
            edit = Revision(call, dropped=("target_tensors",))
            yield CallChange(codes.COMPILE_ARGUMENTS, keywords(call)["target_tensors"], message, edit, more=gone)


def _placeholder(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, mentioned: list[cst.BaseExpression]
) -> cst.Assign | None:
    """The assignment that makes a placeholder which nothing but `target_tensors` reads."""
    variable = scopes.mentions_of(node)
    bindings = [mention for mention in variable if mention.binds]
    if len(bindings) != 1 or any(not m.binds and m.node not in mentioned for m in variable):
        return None
    value = assigned(bindings[0])
    name = facts.canonical(value.func) if isinstance(value, cst.Call) else ""
    if name.rsplit(".", 1)[-1] != "placeholder" or not name.startswith(("tensorflow.", "keras.backend.")):
        return None
    small = getattr(bindings[0].unit, "body", ())
    return next(
        (statement for statement in small if isinstance(statement, cst.Assign) and statement.value is value), None
    )
