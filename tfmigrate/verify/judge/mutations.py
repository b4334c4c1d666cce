"""Well-known mistakes of a migration, each a function of a tree and the number of replicas to a tree, the same object
where the mistake cannot be made."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from tfmigrate.verify.judge.causes.optimizer import changed_defaults
from tfmigrate.walk import calls_in


def _is_compile(call: cst.Call) -> bool:
    """`model.compile(...)` with an optimizer and a loss, by name or in their places, which `re.compile` has not."""
    if not m.matches(call.func, m.Attribute(attr=m.Name("compile"))) or m.matches(call.func, m.Attribute(m.Name("re"))):
        return False
    named = {arg.keyword.value for arg in call.args if arg.keyword}
    return bool(named & {"optimizer", "loss"}) or len(call.args) - len(named) >= 2


def _is_fit(call: cst.Call) -> bool:
    return m.matches(call.func, m.Attribute(attr=m.Name("fit") | m.Name("fit_generator")))


def _called(call: cst.Call) -> str:
    """The last word of what is called; "" where it is no name."""
    func = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return func.value if isinstance(func, cst.Name) else ""


def _keyword(call: cst.Call, name: str) -> int | None:
    """Index of an argument given by name."""
    return next((i for i, arg in enumerate(call.args) if arg.keyword and arg.keyword.value == name), None)


def _given_to_fit(call: cst.Call, name: str) -> int | None:
    """Index of an argument given by name to `fit`; None where that is None, or another function is called."""
    index = _keyword(call, name) if _is_fit(call) else None
    return index if index is not None and not m.matches(call.args[index].value, m.Name("None")) else None


def _argument(call: cst.Call, name: str, position: int | None) -> int | None:
    """Index of an argument given by name or, failing that, by position, where it has one."""
    named = _keyword(call, name)
    if named is not None or position is None:
        return named
    if position < len(call.args) and all(a.keyword is None and not a.star for a in call.args[: position + 1]):
        return position
    return None


def _with_value(call: cst.Call, index: int, value: cst.BaseExpression) -> cst.Call:
    args = list(call.args)
    args[index] = args[index].with_changes(value=value)
    return call.with_changes(args=args)


def _without(call: cst.Call, index: int) -> cst.Call:
    args = [arg for i, arg in enumerate(call.args) if i != index]
    if args:
        args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=args)


def _written(pattern: str, value: cst.BaseExpression, factor: int = 0) -> cst.BaseExpression:
    """The expression that is written so, with the code of a value and a number in it."""
    return cst.parse_expression(pattern.format(cst.Module([]).code_for_node(value), factor))


def _wrap(function: str, value: cst.BaseExpression, *more: str) -> cst.Call:
    return cst.Call(cst.Name(function), [cst.Arg(value), *(cst.Arg(cst.parse_expression(text)) for text in more)])


def _after_imports_of_future(module: cst.Module, code: str) -> cst.Module:
    """The module with `code` before its first statement that may follow other code."""
    body = list(module.body)
    at = 0
    for i, statement in enumerate(body):
        docstring = i == 0 and m.matches(statement, m.SimpleStatementLine([m.Expr(m.SimpleString())]))
        future = m.matches(statement, m.SimpleStatementLine([m.ImportFrom(module=m.Name("__future__"))]))
        if docstring or future:
            at = i + 1
    inserted = cst.parse_module(code, module.config_for_parsing).body
    return module.with_changes(body=[*body[:at], *inserted, *body[at:]])


MISTAKES = Path(__file__).parents[1] / "probe" / "mistakes.py"


def _with_mistake(module: cst.Module, name: str, call: str = "") -> cst.Module:
    """The module with one of the functions of probe/mistakes.py, and with a statement that calls it."""
    text = MISTAKES.read_text(encoding="utf-8")
    (function,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name)
    return _after_imports_of_future(module, f"\n{ast.get_source_segment(text, function)}\n{call}\n")


class _Calls(cst.CSTTransformer):
    """Replaces calls by what `change` makes of them."""

    def __init__(self, change: Callable[[cst.Call], cst.BaseExpression]) -> None:
        super().__init__()
        self.change = change

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self.change(updated_node)


def _rewrite(module: cst.Module, change: Callable[[cst.Call], cst.BaseExpression]) -> cst.Module:
    """The module itself where no call changed."""
    if all(change(call) is call for call in calls_in(module)):
        return module  # To visit it would copy all of it.
    changed = module.visit(_Calls(change))
    return module if changed.deep_equals(module) else changed


Mutation = Callable[[cst.Module, int], cst.Module]
Wrong = Callable[[cst.BaseExpression, int], cst.BaseExpression | None]
"""What is written in the place of a value, for so many replicas; None where that cannot be wrong."""


def _in_calls(change: Callable[[cst.Call, int], cst.BaseExpression]) -> Mutation:
    """The mistake that is made in each call for itself."""

    @wraps(change)
    def mutation(module: cst.Module, replicas: int) -> cst.Module:
        return _rewrite(module, lambda call: change(call, replicas))

    return mutation


def _in_argument(of: Callable[[cst.Call], bool], name: str, position: int | None = None) -> Callable[[Wrong], Mutation]:
    """The mistake that is made in one argument of such calls."""

    def of_argument(wrong: Wrong) -> Mutation:
        @_in_calls
        @wraps(wrong)
        def change(call: cst.Call, replicas: int) -> cst.BaseExpression:
            index = _argument(call, name, position) if of(call) else None
            value = wrong(call.args[index].value, replicas) if index is not None else None
            return call if index is None or value is None else _with_value(call, index, value)

        return change

    return of_argument


def _with_function(name: str) -> Callable[[Mutation], Mutation]:
    """A mistake that calls one of the functions of probe/mistakes.py, which comes with it."""

    def with_it(mutation: Mutation) -> Mutation:
        @wraps(mutation)
        def changed(module: cst.Module, replicas: int) -> cst.Module:
            mutated = mutation(module, replicas)
            return module if mutated is module else _with_mistake(mutated, name)

        return changed

    return with_it


# The mistakes


@_in_calls
def batch_times_replicas(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """The batch size of multi_gpu_model taken for one GPU's and multiplied."""
    if m.matches(call.func, m.Attribute(attr=m.Name("batch"))):
        index = _argument(call, "batch_size", 0)
    elif _is_fit(call):
        index = _argument(call, "batch_size", 2)
    else:
        return call
    return call if index is None else _with_value(call, index, _written("({}) * {}", call.args[index].value, replicas))


@_with_function("_tfmigrate_scaled")
@_in_argument(_is_compile, "optimizer", 0)
def learning_rate_times_replicas(optimizer: cst.BaseExpression, replicas: int) -> cst.BaseExpression:
    """The learning rate scaled with the replicas, as one does when the global batch grows, which it did not."""
    return _wrap("_tfmigrate_scaled", optimizer, str(replicas))


@_in_calls
def default_unwritten(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """An old default that the migration wrote out because today's is another one, left to the library again."""
    name = _called(call)
    for index, arg in enumerate(call.args):
        if arg.keyword is None:
            continue
        default = changed_defaults().get((name.lower(), arg.keyword.value))
        moved = name == "RMSprop" and arg.keyword.value == "epsilon"
        if (default and _literal(arg.value) == default[0]) or (moved and _literal(arg.value) == 1e-14):
            return _without(call, index)
    return call


def _literal(value: cst.BaseExpression) -> float | None:
    return value.evaluated_value if isinstance(value, cst.Integer | cst.Float) else None


@_in_calls
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
    name = _called(optimizer)
    momentum = any(arg.keyword and arg.keyword.value == "momentum" for arg in optimizer.args)
    return name.lower() in _WITH_SLOTS or (name == "SGD" and momentum)


def _compiles_with_own_optimizer(line: cst.CSTNode) -> bool:
    if not m.matches(line, m.SimpleStatementLine(body=[m.Expr(m.Call())])):
        return False
    call = cst.ensure_type(
        cst.ensure_type(cst.ensure_type(line, cst.SimpleStatementLine).body[0], cst.Expr).value, cst.Call
    )
    index = _argument(call, "optimizer", 0) if _is_compile(call) else None
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
        if _is_fit(call):
            for name in ("class_weight", "sample_weight"):
                index = _given_to_fit(call, name)
                if index is not None:
                    call = _without(call, index)
        elif call.args and m.matches(call.func, pipeline):
            value = call.args[0].value
            if isinstance(value, cst.Tuple) and len(value.elements) == 3:
                x, y = value.elements[:2]
                pair = value.with_changes(elements=[x, y.with_changes(comma=cst.MaybeSentinel.DEFAULT)])
                return _with_value(call, 0, pair)
        return call

    return _rewrite(module, change)


@_in_calls
def wrong_validation(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """The training data validates."""
    index = _given_to_fit(call, "validation_data")
    if index is None:
        return call
    x, y = _argument(call, "x", 0), _argument(call, "y", 1)
    if x is None:
        return call
    training = call.args[x].value
    if y is not None:
        training = cst.Tuple([cst.Element(training), cst.Element(call.args[y].value)])
    return _with_value(call, index, training)


@_with_function("_tfmigrate_scalar")
@_in_argument(_is_compile, "loss", 1)
def scalar_loss(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """A loss that takes the mean itself: Keras 3 scales it, and its gradient, by the replicas (docs/semantics.md)."""
    return None if isinstance(loss, cst.Dict | cst.List | cst.Tuple) else _wrap("_tfmigrate_scalar", loss)


@_in_argument(_is_fit, "steps_per_epoch")
def steps_divided(steps: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """Each replica taken to see its own data, and the steps of an epoch divided among them."""
    return None if m.matches(steps, m.Name("None")) else _written("max(1, int({}) // {})", steps, replicas)


@_with_function("_tfmigrate_divided")
@_in_argument(_is_compile, "loss", 1)
def loss_divided(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """The loss scaled by 1 / replicas, as a custom training loop must and `fit` must not."""
    # One that a string names is a function of Keras' own, with one value a sample.
    return _wrap("_tfmigrate_divided", loss, str(replicas)) if isinstance(loss, cst.SimpleString) else None


@_in_argument(_is_compile, "loss", 1)
def other_loss(loss: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """Another loss that fits the same targets."""
    name = str(loss.evaluated_value) if isinstance(loss, cst.SimpleString) else ""
    if name in ("mse", "mean_squared_error"):
        return cst.SimpleString("'mae'")
    if name in ("mae", "mean_absolute_error", "categorical_crossentropy", "binary_crossentropy"):
        return cst.SimpleString("'mse'")
    return None


@_in_argument(_is_fit, "epochs")
def epochs_divided(epochs: cst.BaseExpression, replicas: int) -> cst.BaseExpression | None:
    """The epochs divided by the replicas, as if each replica had seen all the data."""
    return None if m.matches(epochs, m.Integer("1")) else _written("-(-({}) // {})", epochs, replicas)


_STATE = {"momentum", "nesterov", "rho", "beta_1", "beta_2", "amsgrad", "clipnorm", "clipvalue"}


@_in_calls
def settings_dropped(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """An optimizer recreated in the scope with only its learning rate."""
    name = _called(call)
    if name.lower() not in {*_WITH_SLOTS, "sgd"}:
        return call
    arguments = [a for a in call.args if not (a.keyword and a.keyword.value in _STATE)]
    if len(arguments) == len(call.args):
        return call
    if arguments:
        arguments[-1] = arguments[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=arguments)


_REGULARIZER = m.Arg(keyword=m.Name(value=m.MatchIfTrue(lambda name: name.endswith("_regularizer"))))


@_in_calls
def regularizer_lost(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """A model rebuilt without its weight decay."""
    for index, arg in enumerate(call.args):
        nothing = m.matches(arg.value, m.Name("None") | m.Call(args=[m.Arg(m.Float("0.0"))]))
        if m.matches(arg, _REGULARIZER) and not nothing:
            return _without(call, index)
    return call


@_in_calls
def dropout_halved(call: cst.Call, replicas: int) -> cst.BaseExpression:
    """A dropout rate that is not the old one; dropout is off in an aligned run."""
    name = _called(call)
    if name != "Dropout" or not call.args or m.matches(call.args[0].value, m.Integer("0") | m.Float("0.0")):
        return call
    return _with_value(call, 0, _written("({}) / 2", call.args[0].value))


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
    if not any(_is_compile(cst.ensure_type(call, cst.Call)) for call in calls):
        return module
    return _with_mistake(module, "_tfmigrate_half_precision", "_tfmigrate_half_precision()")


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
        return _with_mistake(module, name, f"{name}()")

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
    return _with_mistake(module, "_tfmigrate_another_model", "_tfmigrate_another_model()")


def predicted_in_half_precision(module: cst.Module, replicas: int) -> cst.Module:
    """Mixed precision switched on in passing."""
    return _with_mistake(module, "_tfmigrate_half_precision", "_tfmigrate_half_precision()")
