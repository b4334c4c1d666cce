"""Deliberately wrong migrations. A verifier that cannot tell them from the right one proves nothing.

Each control is a pure function from the migrated script to a script with one well-known mistake, or None where the
mistake cannot be made in it, and the causes under which `cause.find` should name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst
import libcst.matchers as m

from .cause import OLD_DEFAULTS, Kind

Mutation = Callable[[cst.Module, int], cst.Module]
"""A tree and the number of replicas to a tree, the same object where the mistake cannot be made."""


@dataclass(frozen=True)
class Control:
    """One mistake; `mutation` is its name in the report, `{}` in it the number of replicas."""

    mutation: str
    mutate: Mutation
    expected: frozenset[Kind]
    kerases: frozenset[Literal[2, 3]] = frozenset({2, 3})
    """Where it is a mistake at all."""


@dataclass(frozen=True)
class Mutant:
    """A script with one mistake in it."""

    mutation: str
    source: str
    expected: frozenset[Kind]


def mutants(source: str | bytes, replicas: int, keras: Literal[2, 3]) -> Iterator[Mutant]:
    """Every control that applies to the migrated script, in the order of CONTROLS.

    Raises libcst.ParserSyntaxError when `source` is not Python.
    """
    module = cst.parse_module(source)
    for control in CONTROLS:
        if keras in control.kerases:
            mutated = control.mutate(module, replicas)
            if mutated.code != module.code:
                yield Mutant(control.mutation.format(replicas), mutated.code, control.expected)


# Parts of a script


def _is_compile(call: cst.Call) -> bool:
    named = {arg.keyword.value for arg in call.args if arg.keyword}
    is_method = m.matches(call.func, m.Attribute(attr=m.Name("compile")))
    return is_method and bool(named & {"optimizer", "loss"}) and not m.matches(call.func, m.Attribute(m.Name("re")))


def _is_fit(call: cst.Call) -> bool:
    return m.matches(call.func, m.Attribute(attr=m.Name("fit") | m.Name("fit_generator")))


def _argument(call: cst.Call, name: str, position: int) -> int | None:
    """Index of an argument given by name or, failing that, by position."""
    for i, arg in enumerate(call.args):
        if arg.keyword and arg.keyword.value == name:
            return i
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


def _times(value: cst.BaseExpression, factor: int) -> cst.BaseExpression:
    return cst.parse_expression(f"({cst.Module([]).code_for_node(value)}) * {factor}")


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


class _Calls(cst.CSTTransformer):
    """Replaces calls by what `change` makes of them."""

    def __init__(self, change: Callable[[cst.Call], cst.BaseExpression]) -> None:
        super().__init__()
        self.change = change

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return self.change(updated_node)


def _rewrite(module: cst.Module, change: Callable[[cst.Call], cst.BaseExpression]) -> cst.Module:
    """The module itself where no call changed."""
    changed = module.visit(_Calls(change))
    return module if changed.deep_equals(module) else changed


# The mistakes


def batch_times_replicas(module: cst.Module, replicas: int) -> cst.Module:
    """The batch size of multi_gpu_model taken for one GPU's and multiplied."""

    def change(call: cst.Call) -> cst.BaseExpression:
        if m.matches(call.func, m.Attribute(attr=m.Name("batch"))):
            index = _argument(call, "batch_size", 0)
        elif _is_fit(call):
            index = _argument(call, "batch_size", 2)
        else:
            return call
        return call if index is None else _with_value(call, index, _times(call.args[index].value, replicas))

    return _rewrite(module, change)


_SCALED_OPTIMIZER = """
def _tfmigrate_scaled(optimizer, factor):
    import tensorflow as tf
    optimizer = tf.keras.optimizers.get(optimizer)
    config = optimizer.get_config()
    rate = config["learning_rate"]
    if isinstance(rate, dict):
        rate["config"]["initial_learning_rate"] *= factor
    else:
        config["learning_rate"] = float(rate) * factor
    return type(optimizer).from_config(config)
"""


def learning_rate_times_replicas(module: cst.Module, replicas: int) -> cst.Module:
    """The learning rate scaled with the replicas, as one does when the global batch grows, which it did not."""

    def change(call: cst.Call) -> cst.BaseExpression:
        index = _argument(call, "optimizer", 0) if _is_compile(call) else None
        if index is None:
            return call
        return _with_value(call, index, _wrap("_tfmigrate_scaled", call.args[index].value, str(replicas)))

    changed = _rewrite(module, change)
    return module if changed is module else _after_imports_of_future(changed, _SCALED_OPTIMIZER)


def default_unwritten(module: cst.Module, replicas: int) -> cst.Module:
    """An old default that the migration wrote out because today's is another one, left to the library again."""

    def change(call: cst.Call) -> cst.BaseExpression:
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
        for index, arg in enumerate(call.args):
            if arg.keyword is None or not isinstance(name, str):
                continue
            default = OLD_DEFAULTS.get((name.lower(), arg.keyword.value))
            moved = name == "RMSprop" and arg.keyword.value == "epsilon"
            if (default and _literal(arg.value) == default[0]) or (moved and _literal(arg.value) == 1e-14):
                return _without(call, index)
        return call

    return _rewrite(module, change)


def _literal(value: cst.BaseExpression) -> float | None:
    return value.evaluated_value if isinstance(value, cst.Integer | cst.Float) else None


def shuffle_lost(module: cst.Module, replicas: int) -> cst.Module:
    """Keras shuffles arrays by default, tf.data does not."""

    def change(call: cst.Call) -> cst.BaseExpression:
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "shuffle" and _dataset(call.func.value):
            return call.func.value
        return call

    return _rewrite(module, change)


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
    name = optimizer.func.attr.value if isinstance(optimizer.func, cst.Attribute) else optimizer.func
    name = name.value if isinstance(name, cst.Name) else name
    momentum = any(arg.keyword and arg.keyword.value == "momentum" for arg in optimizer.args)
    return isinstance(name, str) and (name.lower() in _WITH_SLOTS or (name == "SGD" and momentum))


def _compiles_with_own_optimizer(line: cst.CSTNode) -> bool:
    if not m.matches(line, m.SimpleStatementLine(body=[m.Expr(m.Call())])):
        return False
    call = cst.ensure_type(
        cst.ensure_type(cst.ensure_type(line, cst.SimpleStatementLine).body[0], cst.Expr).value, cst.Call
    )
    index = _argument(call, "optimizer", 0) if _is_compile(call) else None
    return index is not None and _has_slots(call.args[index].value)


def compile_outside_scope(module: cst.Module, replicas: int) -> cst.Module:
    """The model in the scope, its compile after it: Keras 3 refuses, Keras 2 copes (SEMANTICS section 3)."""
    return module.visit(_CompileOut())


def weights_dropped(module: cst.Module, replicas: int) -> cst.Module:
    """class_weight, sample_weight or the third part of a dataset's elements forgotten."""

    def change(call: cst.Call) -> cst.BaseExpression:
        if _is_fit(call):
            for name in ("class_weight", "sample_weight"):
                index = next((i for i, a in enumerate(call.args) if a.keyword and a.keyword.value == name), None)
                if index is not None and not m.matches(call.args[index].value, m.Name("None")):
                    call = _without(call, index)
        elif m.matches(call.func, m.Attribute(attr=m.Name("from_tensor_slices"))) and len(call.args) == 1:
            value = call.args[0].value
            if isinstance(value, cst.Tuple) and len(value.elements) == 3:
                x, y = value.elements[:2]
                pair = value.with_changes(elements=[x, y.with_changes(comma=cst.MaybeSentinel.DEFAULT)])
                return _with_value(call, 0, pair)
        return call

    return _rewrite(module, change)


def wrong_validation(module: cst.Module, replicas: int) -> cst.Module:
    """The training data validates."""

    def change(call: cst.Call) -> cst.BaseExpression:
        index = next((i for i, a in enumerate(call.args) if a.keyword and a.keyword.value == "validation_data"), None)
        if not _is_fit(call) or index is None or m.matches(call.args[index].value, m.Name("None")):
            return call
        x, y = _argument(call, "x", 0), _argument(call, "y", 1)
        if x is None:
            return call
        training = call.args[x].value
        if y is not None:
            training = cst.Tuple([cst.Element(training), cst.Element(call.args[y].value)])
        return _with_value(call, index, training)

    return _rewrite(module, change)


_SCALAR_LOSS = """
def _tfmigrate_scalar(loss):
    import tensorflow as tf
    function = tf.keras.losses.get(loss)
    def mean_over_the_batch(y_true, y_pred):
        return tf.reduce_mean(function(y_true, y_pred))
    return mean_over_the_batch
"""


def scalar_loss(module: cst.Module, replicas: int) -> cst.Module:
    """A loss that takes the mean itself: Keras 3 scales it, and its gradient, by the replicas (SEMANTICS section 3)."""

    def change(call: cst.Call) -> cst.BaseExpression:
        index = _argument(call, "loss", 1) if _is_compile(call) else None
        if index is None or isinstance(call.args[index].value, cst.Dict | cst.List | cst.Tuple):
            return call
        return _with_value(call, index, _wrap("_tfmigrate_scalar", call.args[index].value))

    changed = _rewrite(module, change)
    return module if changed is module else _after_imports_of_future(changed, _SCALAR_LOSS)


def steps_divided(module: cst.Module, replicas: int) -> cst.Module:
    """Each replica taken to see its own data, and the steps of an epoch divided among them."""

    def change(call: cst.Call) -> cst.BaseExpression:
        index = next((i for i, a in enumerate(call.args) if a.keyword and a.keyword.value == "steps_per_epoch"), None)
        if not _is_fit(call) or index is None or m.matches(call.args[index].value, m.Name("None")):
            return call
        text = cst.Module([]).code_for_node(call.args[index].value)
        return _with_value(call, index, cst.parse_expression(f"max(1, int({text}) // {replicas})"))

    return _rewrite(module, change)


CONTROLS = (
    Control("batch x{}", batch_times_replicas, frozenset({"batch size"})),
    Control("learning rate x{}", learning_rate_times_replicas, frozenset({"learning rate"})),
    Control("changed default left unwritten", default_unwritten, frozenset({"learning rate", "update rule"})),
    Control("shuffle lost", shuffle_lost, frozenset({"shuffle"})),
    Control("scope missing", scope_missing, frozenset({"scope"})),
    Control("compile outside the scope", compile_outside_scope, frozenset({"scope"}), frozenset({3})),
    Control("class or sample weights dropped", weights_dropped, frozenset({"loss weights"})),
    Control("validated on the training data", wrong_validation, frozenset({"validation"})),
    # Under class weights a scalar loss is also weighed once more, and the ratio is no whole number.
    Control("loss that takes the mean itself", scalar_loss, frozenset({"loss scale", "unknown"}), frozenset({3})),
    Control("steps an epoch / {}", steps_divided, frozenset({"data"})),
)
"""Those that every verdict needs come first; a script offers at least the learning rate, the scope and the loss."""
