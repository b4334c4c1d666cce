"""Losses and metrics that read tensors of the model from outside, which only a graph of TensorFlow 1 let them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.compiled_functions import Shown, called, compiled, parameters_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import bindings_of, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import root_name
from tfmigrate.understand.values import FunctionValue, Items, Made, Method, Partial, Value, options
from tfmigrate.understand.values import Mapping as Known
from tfmigrate.walk import walk

_INPUT = "keras.layers.Input"
_ASKING = frozenset({"keras.backend.int_shape", "keras.backend.ndim", "keras.backend.dtype"})
_SIZES = frozenset({"keras.backend.shape", "tensorflow.shape"})
_KNOWN = frozenset({"shape", "get_shape", "_keras_shape", "dtype", "ndim", "name"})
"""Attributes of a tensor that are known when the model is built."""


def check(context: Context) -> Iterator[CallChange]:
    yield from outside_tensors(context.facts, context.modules, context.migration.scopes_of)
    yield from layers_over_tensors(context.facts, context.scopes)


def outside_tensors(
    facts: Facts, modules: Mapping[Module, Facts], scopes_of: Callable[[Module], Scopes]
) -> Iterator[CallChange]:
    """`def vae_loss(y_true, y_pred): ... z_mean ...`: reported where compile() names the loss or metric.

    `modules`: the facts of every module of the program.
    """
    for shown in compiled(facts):
        for function in _functions(shown.values):
            known = modules.get(function.module)
            if known is None:
                continue
            read = _reads(function, known, scopes_of(function.module))
            if read is not None:
                yield _warning(shown, f"{called(function)} reads `{read}`, a tensor of the model")
                break
        else:
            given = next(_partials(facts.options(shown.node)), None)
            if given is not None:
                yield _warning(shown, f"{called(given[0])} gets a tensor of the model as `{given[1]}`")


def _warning(shown: Shown, what: str) -> CallChange:
    message = (
        f"{what}, which TensorFlow 1 allowed in its graph: TensorFlow 2 fails at the first step; compute it in a "
        "layer that calls add_loss(), or make the tensor an output of the model"
    )
    return CallChange(codes.OUTSIDE_TENSORS, shown.node, message, action="warn")


def _partials(values: Iterable[Value]) -> Iterator[tuple[FunctionValue, str]]:
    """`partial(penalty, samples=mixed)`: a loss's function and the parameter that a tensor was bound to."""
    for value in ordered(tuple(values)):
        if isinstance(value, Items | Known):
            yield from _partials(part for inner in value.values for part in options(inner))
        elif isinstance(value, Partial):
            functions = _functions(frozenset(_bare(value)))
            for number, (keyword, argument) in enumerate(value.arguments):
                for function in functions if _are_tensors(options(argument)) else ():
                    parameters = parameters_of(function)
                    name = keyword or (parameters[number] if number < len(parameters) else "*")
                    yield function, name
            yield from _partials(options(value.callee))


def _bare(value: Value) -> Iterator[Value]:
    """What a partial() calls in the end."""
    for option in options(value):
        if isinstance(option, Partial):
            yield from _bare(option.callee)
        else:
            yield option.function or option if isinstance(option, Method) else option


def layers_over_tensors(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """`Lambda(lambda x: f(conv))(conv)`: Keras takes no tensor of the model in a layer that it is no input of.

    Where the tensor is the very one that the layer is called on, the parameter is written.
    """
    inputs = {call.func: call.args[0].value for call in facts.module.calls if len(call.args) == 1}
    described = _described(facts)
    for call in facts.module.calls:
        inner = call.args[0].value if call.args and facts.canonical(call.func) == "keras.layers.Lambda" else None
        if not isinstance(inner, cst.Lambda) or len(positional(inner.params)) != 1:
            continue
        outside = [name for name in _not_its_own(inner, scopes) if name not in described]
        read = [name for name in outside if _is_of_layers(name, facts, scopes)]
        size = next((name for name in outside if _is_size(name, facts, scopes)), None)
        if read:
            yield _layer_over(call, inner, read, inputs.get(call), scopes)
        elif size is not None:
            message = (
                f"this layer reads `{size.value}`, a size of a tensor of the model, from outside, which TensorFlow 2 "
                "rejects: compute it in the layer, as `tf.shape(t)[0]` of what the layer is called on"
            )
            yield CallChange(codes.OUTSIDE_TENSORS, call, message, action="warn")


def _layer_over(
    call: cst.Call, inner: cst.Lambda, read: Sequence[cst.Name], passed: cst.BaseExpression | None, scopes: Scopes
) -> CallChange:
    """What becomes of a layer that is called on `passed`, and whose function reads tensors from outside."""
    same = all(isinstance(passed, cst.Name) and name.value == passed.value for name in read)
    if not same or any(scopes.holding(name) is not scopes.by_node[inner] for name in read):
        message = (
            f"this layer reads `{read[0].value}`, a tensor of the model, from outside, which TensorFlow 2 rejects: "
            "call the layer on a list of all tensors that it reads"
        )
        return CallChange(codes.OUTSIDE_TENSORS, call, message, action="warn")
    message = f"the layer is called on `{read[0].value}` and reads it from outside, which Keras 3 rejects"
    own = positional(inner.params)[0].name.value
    edits = tuple(Replace(name, own) for name in read)
    return CallChange(codes.OUTSIDE_TENSORS, call, message, edits[0], more=edits[1:])


def _not_its_own(function: cst.Lambda, scopes: Scopes) -> Iterator[cst.Name]:
    """The names in a function that are not those of its parameters."""
    scope = scopes.by_node[function]
    for part in walk(function.body):
        if isinstance(part, cst.Name) and scopes.owner(part.value, scope) is not scope:
            yield part


def _described(facts: Facts) -> set[cst.BaseExpression]:
    """What is only asked for its static shape or type, which any code may read."""
    asked = {call.args[0].value for call in facts.module.calls if _asks(call, facts)}
    read = [node for node in facts.module.all_of(cst.Attribute) if node.attr.value in _KNOWN]
    return asked.union(read, (node.value for node in read))


def _asks(call: cst.Call, facts: Facts) -> bool:
    return len(call.args) == 1 and facts.canonical(call.func) in _ASKING


def _is_of_layers(node: cst.Name, facts: Facts, scopes: Scopes) -> bool:
    """Whether a name is bound to what layers give, and nothing else: the shape of a tensor may be read anywhere."""
    values = [value_of(binding) for binding in bindings_of(node, scopes)]
    return bool(values) and all(
        isinstance(call, cst.Call)
        and (isinstance(call.func, cst.Call) or facts.canonical(call.func) == _INPUT)
        and _is_tensor(call, facts)
        for call in values
    )


def _is_size(node: cst.Name, facts: Facts, scopes: Scopes) -> bool:
    """Whether a name is bound at the last to `K.shape(x)` or a part of it, where x is a tensor of the model."""
    bindings = bindings_of(node, scopes)
    value = value_of(bindings[-1]) if bindings else None
    while isinstance(value, cst.Subscript):
        value = value.value
    if not isinstance(value, cst.Call) or not value.args or facts.canonical(value.func) not in _SIZES:
        return False
    return _is_tensor(value.args[0].value, facts)


def _functions(values: frozenset[Value]) -> list[FunctionValue]:
    """The functions of the program among values, by their place."""
    functions = [value for value in values if isinstance(value, FunctionValue)]
    return sorted(functions, key=lambda value: (value.module.path, value.module.position(value.node)))


def _reads(function: FunctionValue, facts: Facts, scopes: Scopes) -> str | None:
    """The first tensor of Keras that a function reads without being given it."""
    node = function.node
    scope = scopes.by_node[node]
    parameters = [param.name.value for param in positional(node.params)]
    own = parameters[0] if function.owner is not None and parameters else None
    described = _described(facts)
    for part in walk(node.body):
        if not isinstance(part, cst.Name | cst.Attribute) or part in described or not _is_tensor(part, facts):
            continue
        root = root_name(part)
        if root is None:
            continue
        owner = scopes.owner(root.value, scopes.holding(root) or scope)
        outside = (
            owner is not None and owner.node is not node and not any(inner is owner.node for inner in walk(node.body))
        )
        if outside or (isinstance(part, cst.Attribute) and root.value == own):
            return facts.module.code(part)
    return None


def _is_tensor(node: cst.BaseExpression, facts: Facts) -> bool:
    return _are_tensors(facts.options(node))


def _are_tensors(values: Iterable[Value]) -> bool:
    """Whether values are tensors of Keras, and nothing else as far as is known."""
    tensors = [option for option in values if isinstance(option, Made)]
    return bool(tensors) and all(tensor.kind == "tensor" for tensor in tensors)
