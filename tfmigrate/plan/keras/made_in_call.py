"""Variables that a layer makes in its call(), or in the function of a Lambda, and models that a loss builds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, passed_as
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.compiled_functions import compiled
from tfmigrate.plan.keras.own_layers import calls_of_layers
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import sole_name, sole_target
from tfmigrate.understand.values import FunctionValue, Value
from tfmigrate.walk import walk
from tfmigrate.written import Code

_VARIABLE = frozenset({"tensorflow.Variable", "tensorflow.compat.v1.Variable"})
_MAKERS = _VARIABLE | {"keras.backend.variable"}
_WITH_WEIGHTS = frozenset(
    {"keras.models.load_model", "keras.models.model_from_json", "keras.models.Sequential"}
    | {f"keras.layers.{name}" for name in ("Dense", "Conv2D", "Conv2DTranspose", "Conv3D", "BatchNormalization")}
)
_HELPER = "made_once"
_IS_CONSTANT = (
    "this creates a variable each time it is traced, which TensorFlow 2 does not allow in training; nothing sets "
    "it, so it becomes a constant"
)
_SETS = re.compile(r"assign|update|set_value|moving_average|gradient|scatter|initializ|eval|get_value|function").search
_DRAWS = re.compile(r"rand(om|int|n)?\b|shuffle|permutation").search
_KEPT = frozenset({"initial_value", "dtype", "name"})


def check(context: Context) -> Iterator[CallChange]:
    yield from _in_layers(context)
    yield from _in_functions(context)


def _in_layers(context: Context) -> Iterator[CallChange]:
    """`seen = tf.Variable(0.)` in call(): a graph of TensorFlow 1 was built once, and held one variable."""
    facts = context.facts
    helper = Helper.of(context.draft, _HELPER)
    changed: dict[cst.Call, CallChange] = {}
    for method in _call_methods(facts):
        own = dict(_assigned(method))
        for node in _always_made(method.body):
            if facts.canonical(node.func) in _MAKERS and node not in changed:
                changed[node] = _in_call(node, own.get(node), method, helper, context)
    users = [node for node, change in changed.items() if isinstance(change.edit, Replace) and change.edit.node is node]
    yield from helper.brought_by(users, [changed[node] for node in users])
    yield from (change for node, change in changed.items() if node not in users)


def _call_methods(facts: Facts) -> Iterator[cst.FunctionDef | cst.Lambda]:
    """The call() of each class of layers or models, where this module defines it."""
    return (method.node for method in calls_of_layers(facts) if method.module is facts.module)


def _in_call(
    node: cst.Call, name: str | None, method: cst.FunctionDef | cst.Lambda, helper: Helper, context: Context
) -> CallChange:
    """What becomes of a variable that call() makes and assigns to a name, if to any."""
    constant = _constant(node, method, context.facts)
    if constant is not None:
        return CallChange(codes.MADE_IN_CALL, node, _IS_CONSTANT, constant)
    message = "call() creates a variable each time it is traced, which TensorFlow 2 does not allow in training"
    code = _made_once(node, name, method, helper.name, context)
    if code is None:
        message = f"{message}: create it once, in build(), and store it on self"
        return CallChange(codes.MADE_IN_CALL, node, message, action="warn")
    message = f"{message}: {helper}() creates it the first time, one per replica, as each GPU had its own"
    return CallChange(codes.MADE_IN_CALL, node, message, Replace(node, code))


def _in_functions(context: Context) -> Iterator[CallChange]:
    """What losses build, and the functions of Lambda layers."""
    facts = context.facts
    losses = [made for loss in context.migration.once(_losses) for made in _models_made(loss, context.modules)]
    for found, message in ((losses, _IN_LOSS), (context.migration.once(_made_in_lambdas), _IN_LAMBDA)):
        for node, function in {node: function for module, node, function in found if module is facts.module}.items():
            constant = _constant(node, function, facts)
            if constant is not None:
                yield CallChange(codes.MADE_IN_CALL, node, _IS_CONSTANT, constant)
            else:
                yield CallChange(codes.MADE_IN_CALL, node, message, action="warn")


_IN_LOSS = (
    "a loss builds this on each call, but TensorFlow 2 does not let a training step create variables: build it "
    "once, outside the function, and only call it in the loss"
)
_IN_LAMBDA = (
    "the function of a Lambda creates this variable on each call, which TensorFlow 2 does not allow: create it in "
    "build() of a layer of your own"
)
_Made = tuple[Module, cst.Call, cst.FunctionDef | cst.Lambda]
"""What is made, in which module and by which function."""


def _made_in_lambdas(migration: Migration) -> list[_Made]:
    """The variables that the functions of Lambda layers make."""
    functions: list[tuple[Module, cst.FunctionDef | cst.Lambda]] = []
    for facts in migration.facts.modules.values():
        for call in facts.module.calls:
            given = passed_as("function", 0, call) if facts.canonical(call.func) == "keras.layers.Lambda" else None
            if given is not None and isinstance(given.value, cst.Lambda):
                functions.append((facts.module, given.value))
            elif given is not None:
                functions += [(value.module, value.node) for value in _functions(facts.options(given.value))]
    return [
        (module, call, function)
        for module, function in functions
        for call in (_always_made(function.body) if module in migration.facts.modules else ())
        if migration.facts.modules[module].canonical(call.func) in _MAKERS
    ]


def _losses(migration: Migration) -> list[FunctionValue]:
    """The functions that the program compiles models with."""
    shown = (each for facts in migration.facts.modules.values() for each in compiled(facts))
    return _functions(value for each in shown for value in each.values)


def _functions(values: Iterable[Value]) -> list[FunctionValue]:
    return [value for value in ordered(frozenset(values)) if isinstance(value, FunctionValue)]


def _models_made(loss: FunctionValue, modules: Mapping[Module, Facts]) -> Iterator[_Made]:
    """What a loss makes that has variables, itself or in functions that it calls, and the function that does."""
    pending, seen = [loss], {loss.node}
    while pending:
        function = pending.pop()
        facts = modules.get(function.module)
        if facts is None:
            continue
        for call in _always_made(function.node.body):
            name = facts.called(call)
            if names.is_pretrained(name) or names.canonical(name) in _WITH_WEIGHTS | _MAKERS:
                yield function.module, call, function.node
            called = [value for value in _functions(facts.options(call.func)) if value.node not in seen]
            # What is decorated may remember what it gave: functools.lru_cache.
            called = [value for value in called if not getattr(value.node, "decorators", ())]
            pending += called
            seen.update(value.node for value in called)


def _constant(node: cst.Call, function: cst.FunctionDef | cst.Lambda, facts: Facts) -> Replace | None:
    """`K.constant` for a `K.variable` that is only read, and begins with the same value each time."""
    if facts.canonical(node.func) != "keras.backend.variable" or not isinstance(node.func, cst.Attribute):
        return None
    if not _says_what_constants_say(node) or _DRAWS(facts.module.code(function)):
        return None
    above = {child: part for part in walk(function) for child in part.children}
    reads = _reads(node, function, above)
    if reads is None or not all(_is_read(part, above, facts) for part in reads):
        return None
    return Replace(node.func.attr, "constant")


def _says_what_constants_say(node: cst.Call) -> bool:
    """Whether K.variable() is given nothing that K.constant() does not take, or takes in another place."""
    words = {arg.keyword.value for arg in node.args if arg.keyword is not None}
    places = [arg for arg in node.args if arg.keyword is None]
    return words <= {"value", "dtype", "name"} and len(places) <= 2 and not has_stars(node)


def _reads(
    node: cst.Call, function: cst.FunctionDef | cst.Lambda, above: Mapping[cst.CSTNode, cst.CSTNode]
) -> list[cst.CSTNode] | None:
    """Where a function reads what a call makes: by the name that it is assigned to, else there; None where it has
    several names, or none that can be followed."""
    statement = above.get(node)
    if not isinstance(statement, cst.Assign):
        return [node]
    target = sole_target(statement)
    if not isinstance(target, cst.Name):
        return None
    same = (part for part in walk(function.body) if isinstance(part, cst.Name) and part.value == target.value)
    return [part for part in same if part is not target and not _is_label(part, above)]


def _is_label(name: cst.Name, above: Mapping[cst.CSTNode, cst.CSTNode]) -> bool:
    """Whether a word is the name of an attribute or of an argument, and no variable."""
    part = above[name]
    return (isinstance(part, cst.Attribute) and part.attr is name) or (
        isinstance(part, cst.Arg) and part.keyword is name
    )


def _is_read(node: cst.CSTNode, above: Mapping[cst.CSTNode, cst.CSTNode], facts: Facts) -> bool:
    """Whether a value goes into arithmetic, or into a function of Keras or TensorFlow that sets nothing."""
    part = above[node]
    while isinstance(part, cst.Element | cst.List | cst.Tuple | cst.UnaryOperation):
        part = above[part]
    if isinstance(part, cst.Arg):
        call = above[part]
        name = facts.canonical(call.func) if isinstance(call, cst.Call) else ""
        return name.startswith(("keras.backend.", "tensorflow.")) and not _SETS(name)
    return isinstance(part, cst.BinaryOperation) or (isinstance(part, cst.Subscript) and part.value is node)


def _made_once(
    node: cst.Call, name: str | None, method: cst.FunctionDef | cst.Lambda, helper: str, context: Context
) -> Code | None:
    """What to write for `tf.Variable(0.)`; None where it is not assigned to a name, or does not begin with a number."""
    facts, tf, quote = context.facts, context.tf, context.quote
    receiver = parameters_of(method)[:1]
    if name is None or not receiver or facts.called(node) not in _VARIABLE or not _is_plain(node, facts):
        return None
    words: list[str | cst.BaseExpression] = []
    for arg in node.args:
        word = arg.keyword.value if arg.keyword is not None else ""
        if word in _KEPT | {""}:
            words += [f"{word}=" if word else "", arg.value, ", "]
    key = f"{quote}_{name}{quote}"
    if f"self._{name}" in facts.module.text:
        return None
    first = f"synchronization={tf}.VariableSynchronization.ON_READ"
    then = f"aggregation={tf}.VariableAggregation.ONLY_FIRST_REPLICA"
    variable = (f"lambda: {tf}.Variable(", *words, f"trainable=False, {first}, {then})")
    return (f"{helper}({receiver[0]}, {key}, ", *variable, ")")


def _is_plain(node: cst.Call, facts: Facts) -> bool:
    """Whether a variable begins with a number, and what else it is given means the same anywhere."""
    for position, arg in enumerate(node.args):
        word = arg.keyword.value if arg.keyword is not None else "initial_value" if position == 0 else ""
        value = arg.value.expression if isinstance(arg.value, cst.UnaryOperation) else arg.value
        if arg.star or word not in _KEPT | {"trainable"}:
            return False
        literal = isinstance(value, cst.Integer | cst.Float if word == "initial_value" else cst.SimpleString | cst.Name)
        if not literal and not facts.symbols.get(value, "").startswith("tensorflow."):
            return False
        if isinstance(value, cst.Name) and value.value not in ("True", "False"):
            return False
    return bool(node.args)


def _assigned(function: cst.FunctionDef | cst.Lambda) -> Iterator[tuple[cst.CSTNode, str]]:
    """The values that a method's own lines give to one name each."""
    for unit in units_of(function.body) if isinstance(function, cst.FunctionDef) else ():
        small = only_statement(unit)
        name = sole_name(small)
        if isinstance(small, cst.Assign) and name is not None:
            yield small.value, name


def _always_made(body: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that no `if` leaves out: a variable may well be made the first time alone."""
    guarded = {inner for part in walk(body) if isinstance(part, cst.If | cst.IfExp) for inner in walk(part)}
    for part in walk(body):
        if isinstance(part, cst.Call) and part not in guarded:
            yield part
