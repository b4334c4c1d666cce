"""Well-known mistakes of a migration, each a function of a tree and the number of replicas to a tree, the same object
where the mistake cannot be made."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from tfmigrate.verify.judge.causes.optimizer import changed_defaults
from tfmigrate.verify.judge.mistakes import (
    Mutation,
    argument_at,
    given_to_fit_at,
    in_argument,
    in_calls,
    is_compile,
    is_fit,
    last_word_called,
    with_calls_changed,
    with_function,
    with_mistake,
    with_value,
    without,
    wrapped,
    written_with,
)


@in_calls
def batch_times_replicas(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """The batch size of multi_gpu_model taken for one GPU's and multiplied."""
    if m.matches(call.func, m.Attribute(attr=m.Name("batch"))):
        index = argument_at(call, "batch_size", 0)
    elif is_fit(call):
        index = argument_at(call, "batch_size", 2)
    else:
        return call
    return (
        call if index is None else with_value(call, index, written_with("({}) * {}", call.args[index].value, replicas))
    )


@with_function("_tfmigrate_scaled")
@in_argument(is_compile, "optimizer", 0)
def learning_rate_times_replicas(optimizer: cst.BaseExpression, replicas: int) -> cst.BaseExpression:
    """The learning rate scaled with the replicas, as one does when the global batch grows, which it did not."""
    return wrapped("_tfmigrate_scaled", optimizer, str(replicas))


@in_calls
def default_unwritten(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """An old default that the migration wrote out because today's is another one, left to the library again."""
    name = last_word_called(call)
    for index, arg in enumerate(call.args):
        if arg.keyword is None:
            continue
        default = changed_defaults().get((name.lower(), arg.keyword.value))
        moved = name == "RMSprop" and arg.keyword.value == "epsilon"
        if (default and _literal(arg.value) == default[0]) or (moved and _literal(arg.value) == 1e-14):
            return without(call, index)
    return call


def _literal(value: cst.BaseExpression) -> float | None:
    return value.evaluated_value if isinstance(value, cst.Integer | cst.Float) else None


@in_calls
def shuffle_lost(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """Keras shuffles arrays by default, tf.data does not."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "shuffle" and _dataset(call.func.value):
        return call.func.value
    return call


def _dataset(value: cst.BaseExpression) -> bool:
    """`value` reads as a dataset: a call on something, or a name, but not a module such as `random` or `np.random`."""
    return not m.matches(value, m.Name("random") | m.Attribute(attr=m.Name("random")) | m.Name("np") | m.Name("rng"))


class _ScopeGone(cst.CSTTransformer):
    """`with strategy.scope():` becomes `if True:`, which keeps every line where it stood."""

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.BaseStatement:
        if not _is_scope(updated_node):
            return updated_node
        return cst.If(cst.Name("True"), updated_node.body, leading_lines=updated_node.leading_lines)


def _is_scope(statement: cst.With) -> bool:
    return len(statement.items) == 1 and m.matches(
        statement.items[0].item, m.Call(func=m.Attribute(attr=m.Name("scope")), args=[])
    )


def scope_missing(module: cst.Module, replicas: int) -> cst.Module:
    """The strategy is made and nothing is built in its scope: one replica trains."""
    return module.visit(_ScopeGone())


class _CompileOut(cst.CSTTransformer):
    """Ends a scope just before the compile that stands in it, where that compile makes its own optimizer."""

    def leave_With(
        self, original_node: cst.With, updated_node: cst.With
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        if not _is_scope(updated_node) or not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node
        lines = updated_node.body.body
        at = next((i for i, line in enumerate(lines) if _compiles_with_own_optimizer(line)), None)
        if at is None:
            return updated_node
        rest = [line for line in lines[at:] if isinstance(line, cst.SimpleStatementLine | cst.BaseCompoundStatement)]
        if at == 0:
            return cst.FlattenSentinel(rest)
        body = updated_node.body.with_changes(body=lines[:at])
        return cst.FlattenSentinel([updated_node.with_changes(body=body), *rest])


_WITH_SLOTS = {"adadelta", "adagrad", "adam", "adamax", "adamw", "ftrl", "nadam", "rmsprop"}


def _has_slots(optimizer: cst.BaseExpression) -> bool:
    """The optimizer is made here and keeps a variable for each weight, which is what cannot cross a strategy."""
    if isinstance(optimizer, cst.SimpleString):
        return str(optimizer.evaluated_value).lower() in _WITH_SLOTS
    if not isinstance(optimizer, cst.Call):
        return False
    name = last_word_called(optimizer)
    momentum = any(arg.keyword and arg.keyword.value == "momentum" for arg in optimizer.args)
    return name.lower() in _WITH_SLOTS or (name == "SGD" and momentum)


def _compiles_with_own_optimizer(line: cst.CSTNode) -> bool:
    if not m.matches(line, m.SimpleStatementLine(body=[m.Expr(m.Call())])):
        return False
    call = cst.ensure_type(
        cst.ensure_type(cst.ensure_type(line, cst.SimpleStatementLine).body[0], cst.Expr).value, cst.Call
    )
    index = argument_at(call, "optimizer", 0) if is_compile(call) else None
    return index is not None and _has_slots(call.args[index].value)


def compile_outside_scope(module: cst.Module, replicas: int) -> cst.Module:
    """The model in the scope, its compile after it: Keras 3 refuses, Keras 2 copes (docs/semantics.md)."""
    return module.visit(_CompileOut())


def weights_dropped(module: cst.Module, replicas: int) -> cst.Module:
    """class_weight, sample_weight or the third part of a dataset's elements forgotten."""
    own = [
        unit.name.value
        for unit in module.body
        if isinstance(unit, cst.FunctionDef) and m.findall(unit, m.Attribute(attr=m.Name("from_tensors")))
    ]
    pipeline = m.OneOf(m.Attribute(attr=m.Name("from_tensor_slices")), *map(m.Name, own))

    def change(call: cst.Call) -> cst.BaseExpression:
        if is_fit(call):
            for name in ("class_weight", "sample_weight"):
                index = given_to_fit_at(call, name)
                if index is not None:
                    call = without(call, index)
        elif call.args and m.matches(call.func, pipeline):
            value = call.args[0].value
            if isinstance(value, cst.Tuple) and len(value.elements) == 3:
                x, y = value.elements[:2]
                pair = value.with_changes(elements=[x, y.with_changes(comma=cst.MaybeSentinel.DEFAULT)])
                return with_value(call, 0, pair)
        return call

    return with_calls_changed(module, change)


@in_calls
def wrong_validation(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """The training data validates."""
    index = given_to_fit_at(call, "validation_data")
    if index is None:
        return call
    x, y = argument_at(call, "x", 0), argument_at(call, "y", 1)
    if x is None:
        return call
    training = call.args[x].value
    if y is not None:
        training = cst.Tuple([cst.Element(training), cst.Element(call.args[y].value)])
    return with_value(call, index, training)


@with_function("_tfmigrate_scalar")
@in_argument(is_compile, "loss", 1)
def scalar_loss(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """A loss that takes the mean itself: Keras 3 scales it, and its gradient, by the replicas (docs/semantics.md)."""
    return None if isinstance(loss, cst.Dict | cst.List | cst.Tuple) else wrapped("_tfmigrate_scalar", loss)


@in_argument(is_fit, "steps_per_epoch")
def steps_divided(steps: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """Each replica taken to see its own data, and the steps of an epoch divided among them."""
    return None if m.matches(steps, m.Name("None")) else written_with("max(1, int({}) // {})", steps, replicas)


@with_function("_tfmigrate_divided")
@in_argument(is_compile, "loss", 1)
def loss_divided(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """The loss scaled by 1 / replicas, as a custom training loop must and `fit` must not."""
    # One that a string names is a function of Keras' own, with one value a sample.
    return wrapped("_tfmigrate_divided", loss, str(replicas)) if isinstance(loss, cst.SimpleString) else None


@in_argument(is_compile, "loss", 1)
def other_loss(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """Another loss that fits the same targets."""
    name = str(loss.evaluated_value) if isinstance(loss, cst.SimpleString) else ""
    if name in ("mse", "mean_squared_error"):
        return cst.SimpleString("'mae'")
    if name in ("mae", "mean_absolute_error", "categorical_crossentropy", "binary_crossentropy"):
        return cst.SimpleString("'mse'")
    return None


@in_argument(is_fit, "epochs")
def epochs_divided(epochs: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """The epochs divided by the replicas, as if each replica had seen all the data."""
    return None if m.matches(epochs, m.Integer("1")) else written_with("-(-({}) // {})", epochs, replicas)


_STATE = {"momentum", "nesterov", "rho", "beta_1", "beta_2", "amsgrad", "clipnorm", "clipvalue"}


@in_calls
def settings_dropped(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """An optimizer recreated in the scope with only its learning rate."""
    name = last_word_called(call)
    if name.lower() not in {*_WITH_SLOTS, "sgd"}:
        return call
    arguments = [a for a in call.args if not (a.keyword and a.keyword.value in _STATE)]
    if len(arguments) == len(call.args):
        return call
    if arguments:
        arguments[-1] = arguments[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=arguments)


_REGULARIZER = m.Arg(keyword=m.Name(value=m.MatchIfTrue(lambda name: name.endswith("_regularizer"))))


@in_calls
def regularizer_lost(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """A model rebuilt without its weight decay."""
    for index, arg in enumerate(call.args):
        nothing = m.matches(arg.value, m.Name("None") | m.Call(args=[m.Arg(m.Float("0.0"))]))
        if m.matches(arg, _REGULARIZER) and not nothing:
            return without(call, index)
    return call


@in_calls
def dropout_halved(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """A dropout rate that is not the old one; dropout is off in an aligned run."""
    name = last_word_called(call)
    if name != "Dropout" or not call.args or m.matches(call.args[0].value, m.Integer("0") | m.Float("0.0")):
        return call
    return with_value(call, 0, written_with("({}) / 2", call.args[0].value))


class _StatementsGone(cst.CSTTransformer):
    """Every small statement that matches becomes `pass`."""

    def __init__(self, matcher: m.BaseMatcherNode) -> None:
        super().__init__()
        self.matcher = matcher

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> cst.CSTNodeT:
        if isinstance(original_node, cst.BaseSmallStatement) and m.matches(original_node, self.matcher):
            return cst.Pass()  # type: ignore[return-value]
        return updated_node


def load_skipped(module: cst.Module, replicas: int) -> cst.Module:
    """Weights that were loaded before training, not loaded."""
    load = m.Expr(m.Call(func=m.Attribute(attr=m.Name("load_weights"))))
    return module.visit(_StatementsGone(load))


def layers_thawed(module: cst.Module, replicas: int) -> cst.Module:
    """Frozen layers that learn."""
    frozen = m.Assign(targets=[m.AssignTarget(m.Attribute(attr=m.Name("trainable")))], value=m.Name("False"))
    return module.visit(_StatementsGone(frozen))


def half_precision(module: cst.Module, replicas: int) -> cst.Module:
    """Mixed precision switched on in passing."""
    calls = m.findall(module, m.Call(func=m.Attribute(attr=m.Name("compile"))))
    if not any(is_compile(cst.ensure_type(call, cst.Call)) for call in calls):
        return module
    return with_mistake(module, "_tfmigrate_half_precision", "_tfmigrate_half_precision()")


class _OneReplica(cst.CSTTransformer):
    """`strategy.num_replicas_in_sync` is 1."""

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return cst.Integer("1") if updated_node.attr.value == "num_replicas_in_sync" else updated_node


def batch_of_one_replica(module: cst.Module, replicas: int) -> cst.Module:
    """An input function's batch left as it was: in an Estimator each replica had one of its own."""
    return module.visit(_OneReplica())


def _in_predict(name: str) -> Mutation:
    """A mistake made in Keras' own `predict`, so that it holds whatever is given and whoever calls."""

    def mutation(module: cst.Module, replicas: int) -> cst.Module:
        if not m.findall(module, m.Attribute(attr=m.Name("predict"))):
            return module
        return with_mistake(module, name, f"{name}()")

    return mutation


rows_lost = _in_predict("_tfmigrate_rows_lost")
"""The last rows left out, as where only whole batches are taken."""
rows_in_another_order = _in_predict("_tfmigrate_rows_moved")
"""The data shuffled on its way in."""
predicted_on_batch = _in_predict("_tfmigrate_on_batch")
"""`predict_on_batch` in the place of `predict`: Keras 3 answers once for each replica (docs/semantics.md)."""


def another_model(module: cst.Module, replicas: int) -> cst.Module:
    """The loaded model rebuilt in the scope, without its weights."""
    if not m.findall(module, m.Name("load_model")):
        return module
    return with_mistake(module, "_tfmigrate_another_model", "_tfmigrate_another_model()")


def predicted_in_half_precision(module: cst.Module, replicas: int) -> cst.Module:
    """Mixed precision switched on in passing."""
    return with_mistake(module, "_tfmigrate_half_precision", "_tfmigrate_half_precision()")
