"""Losses and metrics of the user's own that relate the samples of a batch, of which each replica sees a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Rank, Replace
from tfmigrate.plan.keras.compiled_functions import Shown, called, called_by, compiled, parameters_of, returned_by
from tfmigrate.plan.keras.hidden_losses import HiddenParts, hidden_losses
from tfmigrate.plan.keras.mean_losses import as_rows, means_of
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.plan.keras.sample_shapes import name_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import all_models
from tfmigrate.understand.lifecycle import TRAINING, Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import bindings_of, default_of, is_parameter
from tfmigrate.understand.values import FunctionValue, ModelObject
from tfmigrate.written import Code


def check(context: Context) -> Iterator[CallChange]:
    if not context.migration.spreads:
        return
    yield from batch_losses(context.spread, context.modules, context.single, context.draft)
    hidden = HiddenParts(context.spread, context.modules)
    yield from hidden_losses(context.spread, hidden)
    yield from hidden.changes()
    yield from loss_layers(context.facts, context.modules, context.single)


def batch_losses(
    facts: Facts, modules: Mapping[Module, Facts], single: Set[ModelObject], draft: Draft
) -> Iterator[CallChange]:
    """Losses and metrics that relate the samples of a batch, which multi_gpu_model computed once on the whole batch.

    `return K.mean(x)` becomes `return K.mean(x, axis=-1)` where x surely has one row a sample, because Keras takes the
    mean of what a loss returns. Any other is given the whole batch; where compile() does not show it, it is reported.
    `modules`: the facts of every module of the program; `single`: models that no strategy has to do with.
    """
    reader, runs = Reader(modules), Runs.of(modules)
    whole: dict[cst.BaseExpression, FunctionValue] = {}
    metrics: set[cst.BaseExpression] = set()
    for shown in compiled(facts, draft.scopes):
        mixing = reader.mixing(shown.values)
        if not mixing or not runs.compute_in_parts(shown) or (shown.is_metric and all(map(reader.is_one_mean, mixing))):
            continue
        if all(as_rows(function, modules) for function in mixing):
            continue  # Each is changed where it is defined.
        advice = _advice(shown, mixing, runs)
        if advice is not None:
            yield _warning(shown, mixing[0], advice)
            continue
        whole[shown.node] = mixing[0]
        metrics.update((shown.node,) if shown.is_metric else ())
    whole.update(_loaded(facts, set(whole.values())))
    yield from means_of(facts.module, modules, single)
    helper = Helper.of(draft, _HELPER)
    changes = (
        CallChange(
            codes.BATCH_LOSS,
            node,
            f"{called(function)} computes over the whole batch, but each replica would see only its own part, and "
            f"{_OF_METRICS if node in metrics else _OF_LOSSES}: it gets the whole batch",
            Replace(node, (f"{helper}(", node, ")", *_unless_named(node, draft))),
        )
        for node, function in whole.items()
    )
    yield from helper.brought_by(whole, changes, Rank.LOSS)


@dataclass(frozen=True)
class Runs:
    """What a program does with its models, as far as it decides where their losses and metrics are computed."""

    by_method: Mapping[str, Set[ModelObject]]
    """The models that train_on_batch() and test_on_batch() are called on."""
    spread: Set[ModelObject]
    """Those of which methods spread batches over the replicas, and compute metrics."""
    predicting: Set[ModelObject]
    """Those that do nothing else."""

    @classmethod
    def of(cls, modules: Mapping[Module, Facts]) -> Runs:
        uses = [use for known in modules.values() for use in known.uses]
        return cls(
            {name: {model for use in uses if use.method == name for model in use.models} for name in _ON_BATCH},
            {model for use in uses if _in_batches(use) for model in use.models},
            _only_predicting(modules),
        )

    def compute_in_parts(self, shown: Shown) -> bool:
        """Whether a replica may compute it of its own part of a batch: of one by hand it is given the whole."""
        if shown.models and shown.models <= self.predicting:
            return False
        return not shown.is_metric or not self.by_hand(shown) or not self.spread.isdisjoint(shown.models)

    def gather(self, shown: Shown) -> bool:
        """Whether one that relates samples is given the batches of all replicas, as floats."""
        return self.compute_in_parts(shown) and self.by_hand(shown) is None

    def by_hand(self, shown: Shown) -> str | None:
        """The method that gives each replica the whole batch; None where none is called."""
        return next((name for name in _ON_BATCH if not self.by_method[name].isdisjoint(shown.models)), None)


def _advice(shown: Shown, mixing: Sequence[FunctionValue], runs: Runs) -> str | None:
    """What is left to do for whoever wrote the loss; None where it can be given the whole batch."""
    if len(mixing) < len(shown.values) or not shown.is_written:
        return "`tfmigrate explain TFM403` shows how to give it the whole batch"
    method = runs.by_hand(shown)
    if method is None:
        return None
    if shown.is_metric:
        return f"only {method}() gives each of them the whole batch"
    return f"{method}() of Keras 3 gives each replica the whole batch: use {_ON_BATCH[method]}()"


def _unless_named(node: cst.BaseExpression, draft: Draft) -> Code:
    """What keeps the name of a loss of Keras as it is: a parameter is given one where its default is one."""
    if not isinstance(node, cst.Name):
        return ()
    functions = [binding.unit for binding in bindings_of(node, draft.scopes) if is_parameter(binding)]
    defaults = (default_of(node.value, function) for function in functions if isinstance(function, cst.FunctionDef))
    named = any(default is not None and text_of(default) for default in defaults)
    return (f" if callable({node.value}) else ", node) if named else ()


def _only_predicting(modules: Mapping[Module, Facts]) -> set[ModelObject]:
    """Models that predict and do nothing else: what they were compiled with is not computed."""
    missing: dict[ModelObject, set[str]] = {}
    for known in modules.values():
        for use in known.uses:
            for model in use.models:
                missing.setdefault(model, set()).add(use.method)
    predicting = {m for m, methods in missing.items() if methods & _PREDICT and not methods - _PREDICT - _HARMLESS}
    for known in modules.values() if predicting else ():
        for call in known.module.calls:
            if is_out_of_sight(known.symbols.get(call.func, "")):
                predicting -= all_models(value for arg in call.args for value in known.options(arg.value))
    return predicting


def loss_layers(facts: Facts, modules: Mapping[Module, Facts], single: Set[ModelObject]) -> Iterator[CallChange]:
    """Lambda layers that make one loss of the batch, for a compile() whose loss is the prediction itself.

    `modules`: the facts of every module of the program; `single`: models that no strategy has to do with.
    """
    calls = [call for call in facts.module.calls if name_of(call.func, facts) == "keras.layers.Lambda" and call.args]
    shown = (
        loss_argument
        for known in modules.values()
        for loss_argument in compiled(known)
        if not loss_argument.models or loss_argument.models - single
    )
    losses = (value for loss_argument in shown for value in ordered(loss_argument.values))
    if not calls or not any(isinstance(loss, FunctionValue) and _is_prediction(loss) for loss in losses):
        return
    reader = Reader(modules)
    for call in calls:
        function = keywords(call).get("function", call.args[0]).value
        for option in (run for value in facts.options(function) for run in called_by(value)):
            if isinstance(option, FunctionValue) and reader.mixes_samples(option, cut=False):
                yield CallChange(
                    codes.BATCH_LOSS,
                    call,
                    f"{called(option)} computes over the whole batch in a layer, but each replica "
                    "sees only its own part, and Keras 3 multiplies a scalar loss by the number of replicas: "
                    "`tfmigrate explain TFM403` shows how to give the layer the whole batch",
                    action="warn",
                )
                break


def _is_prediction(function: FunctionValue) -> bool:
    """`lambda y_true, y_pred: y_pred`: the loss is made in the model."""
    parameters = parameters_of(function)
    return len(parameters) == 2 and all(
        isinstance(result, cst.Name) and result.value == parameters[1] for result in returned_by(function)
    )


_HELPER = "whole_batch"
_OF_LOSSES = "Keras 3 multiplies a scalar loss by the number of replicas"
_OF_METRICS = "the mean over those parts is reported"
_ON_BATCH = {"train_on_batch": "fit", "test_on_batch": "evaluate"}
_PREDICT = {"predict", "predict_generator", "predict_on_batch"}
_HARMLESS = {"compile", "load_weights", "summary"}


def _warning(shown: Shown, function: FunctionValue, by_hand: str) -> CallChange:
    return CallChange(
        codes.BATCH_LOSS,
        shown.call,
        f"{called(function)} computes over the whole batch, but each replica sees only its own part, and "
        f"{_OF_METRICS if shown.is_metric else _OF_LOSSES}: {by_hand}",
        action="warn",
    )


def _in_batches(use: Use) -> bool:
    """Whether a method spreads batches over the replicas and computes metrics."""
    return use.method in TRAINING | {"evaluate", "evaluate_generator"} and use.method not in _ON_BATCH


def _loaded(facts: Facts, wrapped: Set[FunctionValue]) -> Iterator[tuple[cst.BaseExpression, FunctionValue]]:
    """`load_model(..., custom_objects={"dice": dice})` of wrapped losses: training goes on with the same loss."""
    own = {function.node.name.value: function for function in wrapped if isinstance(function.node, cst.FunctionDef)}
    for call in facts.module.calls if own else ():
        if facts.canonical(call.func) != "keras.models.load_model":
            continue
        custom_objects = keywords(call).get("custom_objects")
        for element in (
            custom_objects.value.elements
            if custom_objects is not None and isinstance(custom_objects.value, cst.Dict)
            else ()
        ):
            if isinstance(element.value, cst.Name) and element.value.value in own:
                yield element.value, own[element.value.value]
