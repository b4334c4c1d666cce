"""Losses of the user's own: what they return decides whether a strategy computes the same number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, keywords, named_arguments, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Rank, Replace
from tfmigrate.plan.keras.compiled_functions import Shown, called, compiled, parameters_of
from tfmigrate.plan.keras.sample_shapes import REDUCTIONS, SampleShape, axes_of, is_whole_reduction, name_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import all_models
from tfmigrate.understand.lifecycle import TRAINING, Facts, Use
from tfmigrate.understand.program import Module
from tfmigrate.understand.reaching import bindings_of, default_of, is_parameter
from tfmigrate.understand.values import FunctionValue, ModelObject, ordered
from tfmigrate.walk import calls_in, values_returned, walk
from tfmigrate.written import Code


def check(context: Context) -> Iterator[CallChange]:
    if not context.migration.spreads:
        return
    yield from batch_losses(context.spread, context.modules, context.single, context.draft)
    yield from hidden_losses(context.spread)
    yield from loss_layers(context.facts, context.modules, context.single)


def batch_losses(
    facts: Facts, modules: Mapping[Module, Facts], single: Set[ModelObject], draft: Draft
) -> Iterator[CallChange]:
    """Losses and metrics that relate the samples of a batch, which multi_gpu_model computed once on the whole batch.

    `return K.mean(x)` becomes `return K.mean(x, axis=-1)` where x surely has one row a sample, because Keras takes the
    mean of what a loss returns. Any other is given the whole batch; where compile() does not show it, it is reported.
    `modules`: the facts of every module of the program; `single`: models that no strategy has to do with.
    """
    reader = Reader(modules)
    uses = [use for known in modules.values() for use in known.uses]
    trained_by_hand = {model for use in uses if use.method in _ON_BATCH for model in use.models}
    predicting = _only_predicting(modules)
    whole: dict[cst.BaseExpression, FunctionValue] = {}
    metrics: set[cst.BaseExpression] = set()
    for shown in compiled(facts, draft.scopes):
        mixing = [
            value for value in ordered(shown.values) if isinstance(value, FunctionValue) and reader.mixes_samples(value)
        ]
        means = [_as_rows(modules, function) for function in mixing]
        if not mixing or (shown.is_metric and all(map(reader.is_one_mean, mixing))):
            continue
        if shown.models and shown.models <= predicting:
            continue
        by_hand = shown.models & trained_by_hand
        if None not in means:
            continue  # Each is changed where it is defined.
        elif shown.is_metric and by_hand and not any(_in_batches(use) and use.models & shown.models for use in uses):
            continue  # Each replica computes it on the whole batch.
        elif len(mixing) < len(shown.values):
            yield _warning(shown, mixing[0], "`tfmigrate explain TFM403` shows how to give it the whole batch")
        elif by_hand and shown.is_metric:
            yield _warning(shown, mixing[0], "train_on_batch() alone gives each of them the whole batch")
        elif by_hand:
            yield _warning(
                shown, mixing[0], "train_on_batch() of Keras 3 gives each replica the whole batch: use fit()"
            )
        else:
            whole[shown.node] = mixing[0]
            metrics.update((shown.node,) if shown.is_metric else ())
    whole.update(_loaded(facts, set(whole.values())))
    yield from _means_of(facts.module, modules, single)
    helper = Helper.of(draft, _HELPER)
    changes = (
        CallChange(
            codes.BATCH_LOSS,
            node,
            f"{called(function)} computes over the whole batch, but each replica would see only its own part, and "
            f"{_OF_METRICS if node in metrics else _OF_LOSSES}: it is given the whole batch",
            Replace(node, (f"{helper}(", node, ")", *_unless_named(node, draft))),
        )
        for node, function in whole.items()
    )
    yield from helper.brought_by(whole, changes, Rank.LOSS)


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


def hidden_losses(facts: Facts) -> Iterator[CallChange]:
    """Losses from an unknown module: whether they compare the samples of a batch cannot be determined."""
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        if use.method != "compile" or not use.is_of_model:
            continue
        loss = (named_arguments(use.call, ("optimizer", "loss", "metrics", "loss_weights")) or {}).get("loss")
        words = {part for word in _words_in(loss.value) for part in walk(word)} if loss is not None else set()
        for part in walk(loss.value) if loss is not None else ():
            if part in words:
                continue
            name = facts.symbols.get(part, "") if isinstance(part, cst.Name | cst.Attribute) else ""
            if not is_out_of_sight(name) or part in seen:
                continue
            seen.update(walk(part))
            message = (
                f"the definition of {name} was not found beside this file, above it, or in a folder that it adds to "
                "sys.path: if it computes over the whole batch or returns one number, each replica would see only its "
                "own part, and Keras 3 would multiply the number; pass tfmigrate its file there too, or make sure that "
                "it returns one value for each sample"
            )
            yield CallChange(codes.BATCH_LOSS, part, message, action="warn")


def _words_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What only says which loss is taken: `name` in `getattr(losses, name)` and `LOSSES[name]`."""
    for part in walk(node):
        if isinstance(part, cst.Subscript):
            yield from part.slice
        elif isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value == "getattr":
            yield from part.args[1:2]


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
        for option in facts.options(function):
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
    node, parameters = function.node, parameters_of(function)
    returned = list(values_returned(node.body)) if isinstance(node, cst.FunctionDef) else [node.body]
    return len(parameters) == 2 and all(
        isinstance(result, cst.Name) and result.value == parameters[1] for result in returned
    )


def scalar_losses(facts: Facts, models: Set[ModelObject], modules: Mapping[Module, Facts]) -> Iterator[CallChange]:
    """Losses of models already under a strategy that return one number for their part of the batch.

    What Keras 2 took for the mean of the parts Keras 3 multiplies by the number of replicas.
    `modules`: the facts of every module of the program. A loss of another module is reported where compile() gets it.
    """
    for shown in compiled(facts):
        if shown.is_metric or not shown.models & models:
            continue
        for value in ordered(shown.values):
            owner = modules.get(value.module) if isinstance(value, FunctionValue) else None
            if isinstance(value, FunctionValue) and owner is not None and _is_scalar_loss(value, owner):
                mended = _as_rows(modules, value) if value.module is facts.module else None
                yield mended or CallChange(
                    codes.BATCH_LOSS,
                    shown.node,
                    f"{called(value)} returns one number for the batch, and Keras 3 multiplies it by the number of "
                    "replicas, in the gradient and in the report: return one value per sample",
                    action="warn",
                )


def _is_scalar_loss(function: FunctionValue, facts: Facts) -> bool:
    node = function.node
    returned = list(values_returned(node.body)) if isinstance(node, cst.FunctionDef) else [node.body]
    return bool(returned) and all(result is not None and _is_scalar(result, node, facts) for result in returned)


def _is_scalar(
    node: cst.BaseExpression,
    function: cst.FunctionDef | cst.Lambda,
    facts: Facts,
    seen: Set[cst.CSTNode] = frozenset(),
) -> bool:
    """Whether an expression is surely one number for the batch: made of whole reductions, and of nothing else.

    `seen`: names that it gives their value, which may be made of themselves.
    """
    if isinstance(node, cst.Call):
        return is_whole_reduction(node, facts)
    if isinstance(node, cst.UnaryOperation):
        return _is_scalar(node.expression, function, facts, seen)
    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not isinstance(side, cst.Integer | cst.Float)]
        return bool(sides) and all(_is_scalar(side, function, facts, seen) for side in sides)
    if isinstance(node, cst.Name) and node not in seen:
        values = [
            part.value
            for part in walk(function.body)
            if isinstance(part, cst.Assign)
            and any(
                isinstance(target.target, cst.Name) and target.target.value == node.value for target in part.targets
            )
        ]
        return len(values) == 1 and _is_scalar(values[0], function, facts, seen | {node})
    return False


_HELPER = "whole_batch"
_OF_LOSSES = "Keras 3 multiplies a scalar loss by the number of replicas"
_OF_METRICS = "the mean over those parts is reported"
_ON_BATCH = ("train_on_batch", "test_on_batch")
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


@dataclass(frozen=True)
class Reader:
    """Reads what a loss does with its batch, through the functions of the program that it calls."""

    modules: Mapping[Module, Facts]

    def is_one_mean(self, function: FunctionValue) -> bool:
        """Whether it returns one mean over everything, or a sum of such, which is the mean of those of equal parts."""
        facts, node = self.modules[function.module], function.node
        returned = list(values_returned(node.body)) if isinstance(node, cst.FunctionDef) else [node.body]
        over = [call for call in calls_in(node.body) if _is_over_batch(call, facts)]
        if len(returned) != 1 or returned[0] is None or any(_cuts_batch(function)):
            return False
        variables = _variables(node) if isinstance(node, cst.FunctionDef) else {}
        means = SampleShape(facts, frozenset(parameters_of(function)), variables).means_in(returned[0])
        return bool(means) and set(means or ()) == set(over)

    def mixes_samples(self, function: FunctionValue, read: set[cst.CSTNode] | None = None, *, cut: bool = True) -> bool:
        """Whether it reduces over the batch, or cuts the batch into parts, itself or in a function that it calls.

        `read`: functions that were read before; `cut`: whether cutting counts; what a layer is given may be a list of
        tensors.
        """
        facts = self.modules.get(function.module)
        if facts is None or function.is_generator or (read is not None and function.node in read):
            return False
        calls = calls_in(function.node.body)
        if any(_is_over_batch(call, facts) for call in calls) or (cut and any(_cuts_batch(function))):
            return True
        read = set() if read is None else read
        read.add(function.node)
        called = [option for call in calls for option in facts.options(call.func)]
        return any(self.mixes_samples(callee, read, cut=cut) for callee in called if isinstance(callee, FunctionValue))


def _is_over_batch(call: cst.Call, facts: Facts) -> bool:
    """A reduction over the batch's axis, alone or among others."""
    if is_whole_reduction(call, facts):
        return True
    if name_of(call.func, facts) not in REDUCTIONS or has_stars(call) or not call.args:
        return False
    return any(isinstance(axis, cst.Integer) and axis.evaluated_value == 0 for axis in axes_of(call))


def _cuts_batch(function: FunctionValue) -> Iterator[bool]:
    """`y_pred[:8]`, `y_pred[::3]`: some samples of a loss's argument."""
    parameters = set(parameters_of(function)[:2])
    for node in walk(function.node.body):
        if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value in parameters:
            first = node.slice[0].slice
            yield isinstance(first, cst.Slice) and any((first.lower, first.upper, first.step))


def _means_of(module: Module, modules: Mapping[Module, Facts], single: Set[ModelObject]) -> Iterator[CallChange]:
    """The losses of a module, wherever they are compiled with, that are one mean and become what it is the mean of."""
    reader, functions = Reader(modules), dict[FunctionValue, None]()
    for known in modules.values():
        for shown in compiled(known):
            if not shown.is_metric and not (shown.models and shown.models <= single):
                functions.update((value, None) for value in ordered(shown.values) if isinstance(value, FunctionValue))
    changes = (
        _as_rows(modules, function)
        for function in functions
        if function.module is module and reader.mixes_samples(function)
    )
    yield from {change.node: change for change in changes if change is not None}.values()


def _as_rows(modules: Mapping[Module, Facts], value: FunctionValue) -> CallChange | None:
    """A loss that is nothing but the mean of a value for each sample, or each of its elements, as these values."""
    function, facts = value.node, modules.get(value.module)
    if facts is None or not isinstance(function, cst.FunctionDef):
        return None
    reductions = [call for call in calls_in(function.body) if is_whole_reduction(call, facts)]
    returned, parameters = list(values_returned(function.body)), parameters_of(value)
    result = returned[0] if len(returned) == 1 else None
    if result is None or len(parameters) != 2 or _is_called(value, modules):
        return None
    shape = SampleShape(facts, frozenset(parameters), _variables(function))
    means = dict.fromkeys(shape.means_in(result) or ())
    if not means or means.keys() != set(reductions) or any(len(call.args) != 1 for call in means):
        return None
    lost = {call: shape.lost_axes(call.args[0].value) for call in means}
    left = {axes if axes is None else max(axes, 1) for axes in lost.values()}
    if None in left or len(left) > 1:
        return None  # Values that are added to each other must be of one shape.
    plain = {result, *shape.variables.values()}
    edits = [
        Replace(call, _values_of(call, plain) if axes else (call.func, "(", call.args[0].value, ", axis=-1)"))
        for call, axes in lost.items()
    ]
    return CallChange(
        codes.BATCH_LOSS,
        next(iter(means)),
        f"{function.name.value}() returned one mean for the batch, which Keras 3 multiplies by the number of "
        "replicas: it returns one value per sample, whose mean Keras takes itself",
        edits[0],
        more=tuple(edits[1:]),
    )


def _values_of(mean: cst.Call, plain: Set[cst.CSTNode]) -> Code:
    """What a mean is the mean of, in brackets where the arithmetic beside it binds more tightly. `plain`: has none."""
    value = mean.args[0].value
    weak = isinstance(value, cst.BinaryOperation | cst.UnaryOperation) and not value.lpar
    return ("(", value, ")") if weak and mean not in plain else (value,)


def _variables(function: cst.FunctionDef) -> dict[str, cst.BaseExpression]:
    """The variables of a function that one plain assignment binds, with their values."""
    bound = Counter(
        part.value
        for node in walk(function.body)
        for target in _targets(node)
        for part in walk(target)
        if isinstance(part, cst.Name)
    )
    return {
        part.targets[0].target.value: part.value
        for part in walk(function.body)
        if isinstance(part, cst.Assign) and len(part.targets) == 1 and isinstance(part.targets[0].target, cst.Name)
        if bound[part.targets[0].target.value] == 1
    }


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor | cst.NamedExpr):
        yield node.target
    elif isinstance(node, cst.AsName):
        yield node.name


def _is_called(value: FunctionValue, modules: Mapping[Module, Facts]) -> bool:
    """Whether the program itself calls a loss, and so may compute with the one number that it returns; a method by its
    name, of whatever object."""
    method = value.node.name.value if value.owner is not None and isinstance(value.node, cst.FunctionDef) else None
    return any(
        value in known.options(call.func)
        or (method is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == method)
        for known in modules.values()
        for call in known.module.calls
    )
