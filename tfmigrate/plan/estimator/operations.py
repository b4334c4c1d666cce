"""Operations of TensorFlow 1 in a model function: those of the network become Keras layers, others are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator import penalties, things
from tfmigrate.plan.estimator.layers import ACTIVATIONS, CALLABLE, CROSS_ENTROPIES, INITIALIZERS, READINGS
from tfmigrate.plan.estimator.network import tensor
from tfmigrate.plan.estimator.reader import SQUARES, Reader
from tfmigrate.plan.estimator.things import PLAIN, Each, Export, Labels, Plain, Reading, Tensor, Tensors, Thing
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Written, listed

_ON_FEATURES = frozenset({"cast", "expand_dims", "squeeze", "transpose"})
"""Operations on the features that a layer may apply."""
_BETWEEN = CALLABLE | {"nn.avg_pool", "nn.max_pool", "pad"}
"""Operations between layers without a layer of Keras for all their arguments, the same in TensorFlow 1 and 2."""
_ALIKE = {"nn.avg_pool": 4, "nn.max_pool": 4, "pad": 3}
"""How many arguments have the same places in TensorFlow 1 and 2."""
_ARGUMENT = "values"
OF_GRAPH = frozenset(
    {
        "get_variable", "get_local_variable", "Variable", "placeholder", "placeholder_with_default",
        "add_to_collection", "get_default_graph", "get_variable_scope", "trainable_variables", "global_variables",
        "local_variables", "model_variables", "moving_average_variables", "train.init_from_checkpoint",
        "train.warm_start", "train.Saver", "train.ExponentialMovingAverage", "contrib.framework.init_from_checkpoint",
        "contrib.framework.assign_from_checkpoint", "contrib.framework.assign_from_checkpoint_fn",
        "contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore",
        "contrib.slim.assign_from_checkpoint_fn",
    }
)  # fmt: skip
"""What makes variables in the graph of TensorFlow 1, or finds those that are in it."""


def operation(reader: Reader, node: cst.Call, name: str) -> Thing:
    """What a call of any other function of TensorFlow gives. Raises Unconvertible."""
    first = node.args[0].value if node.args and not node.args[0].star else None
    if name in CROSS_ENTROPIES or name in SQUARES:
        return Each(node)
    if name.startswith("estimator.export."):
        return Export()
    if name.startswith("feature_column."):
        raise reader.refuse(codes.CANNED_ESTIMATOR, node, "feature columns: use Keras preprocessing layers instead")
    if name == "identity" and first is not None:
        return _identity(reader, node, first)
    read = [reader.read(arg.value) for arg in node.args]
    if _are(read, Plain):
        return _of_plain(reader, node, name)
    if first is None:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no layer in Keras")
    result = _of_model(reader, node, name, first, read)
    if result is not None:
        return result
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no known counterpart among Keras layers")


def _are(read: Sequence[Thing], *kinds: type[Thing]) -> bool:
    return all(isinstance(thing, kinds) for thing in read)


def _of_plain(reader: Reader, node: cst.Call, name: str) -> Thing:
    """What is made without anything of the model."""
    if name in OF_GRAPH:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no place in a Keras model")
    # One initializer of Keras would give layers of the same shape the same values.
    made = name in INITIALIZERS and name.startswith("contrib.")
    return things.Initializer(node) if made or name in penalties.REGULARIZERS else PLAIN


def _of_model(
    reader: Reader, node: cst.Call, name: str, first: cst.BaseExpression, read: Sequence[Thing]
) -> Thing | None:
    """An operation on what belongs to the model, with `read` for its arguments; None where it is not known."""
    subject, *others = read
    result: Thing | None = None
    if isinstance(subject, Tensor) and _are(others, Plain) and node.args[0].keyword is None:
        result = _applied(reader, node, name, first, subject)
    if result is None and _are(read, Labels, Plain):
        result = _of_labels(reader, node, name, subject)
    if result is None and _are(read, Tensor, Plain, Tensors):
        result = _tensor_operation(reader, node, name, first, subject)
    if result is None and _are(read, Tensor, Reading, Plain):
        result = _reading(reader, node, name, subject)
    return result


def _applied(reader: Reader, node: cst.Call, name: str, first: cst.BaseExpression, subject: Tensor) -> Tensor | None:
    """An operation that stays, in a Lambda layer; None for any other."""
    if subject.raw and name in _ON_FEATURES:
        return _in_lambda(reader, node, first, raw=True)
    rank = reader.ranks.get(subject.node) or 0
    axes = _axes(reader, node) if name == "squeeze" and rank > 2 else None
    renamed = "squeeze_dims" in {arg.keyword.value for arg in node.args if arg.keyword is not None}
    if axes and not renamed and not _drops_last(reader, node, rank):
        squeezed = _in_lambda(reader, node, first, raw=False)
        reader.ranks[node] = rank - len(axes)
        return squeezed
    if name in _BETWEEN and sum(arg.keyword is None for arg in node.args) <= _ALIKE.get(name, 2):
        return _in_lambda(reader, node, first, raw=False)
    return None


def _in_lambda(reader: Reader, node: cst.Call, first: cst.BaseExpression, *, raw: bool) -> Tensor:
    """An operation as a layer: Keras 3 takes no function of TensorFlow between its own."""
    changing = _changing(reader, node, first)
    if changing:
        message = f"`{min(changing)}` may have a different value when a Lambda layer reads it: write out that value"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    inside = Written.at(node, {first: Written.of(_ARGUMENT)}).apart()
    tensor(reader, first)
    reader.ranks[node] = reader.ranks.get(first) if reader.symbol_of_call(node) not in _ON_FEATURES else None
    layer = f"{reader.tf}.keras.layers.Lambda(lambda {_ARGUMENT}: "
    reader.edit(Replace(node, (layer, *inside.code, ")(", first, ")")))
    return Tensor(node, raw=raw)


def _changing(reader: Reader, node: cst.Call, first: cst.BaseExpression) -> set[str]:
    """The variables of the model function and its helpers that an operation reads beside its input, and that are bound
    in more than one place, or in a loop: a lambda reads them when the model runs, not when it is made."""
    own = set(walk(first))
    read = {name.value for name in nodes_in(node, cst.Name) if name not in own} & reader.names.keys()
    if reader.repeats:
        return read
    bound = Counter(
        name.value
        for function in reader.plan.functions
        for part in walk(function.body)
        for target in ([part.target] if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.For) else [])
        for name in nodes_in(target, cst.Name)
    )
    given = {name for function in reader.plan.functions for name in parameters_of(function)}
    return {name for name in read if bound[name] + (name in given) > 1}


def _identity(reader: Reader, node: cst.Call, argument: cst.BaseExpression) -> Thing:
    """`tf.identity(x)`: what is passed on; the call goes where it is a tensor."""
    thing = reader.read(argument)
    if not isinstance(thing, Tensor):
        return thing
    reader.edit(Replace(node, (argument,)))
    return Tensor(node)


def _of_labels(reader: Reader, node: cst.Call, name: str, subject: Thing) -> Thing | None:
    """An operation on the labels; None where it is not known what it makes of them."""
    if not isinstance(subject, Labels):
        return None
    if name == "reshape" and _is_flat(reader, node):
        return Labels(subject.form, flat=True)
    if name in ("cast", "to_int32", "to_int64", "to_float", "reshape", "squeeze", "expand_dims"):
        return subject
    if name == "one_hot":
        named = named_arguments(node, ("indices", "depth"))
        if named is not None and set(named) <= {"indices", "depth", "dtype", "name"}:
            return Labels("onehot")
    if name == "argmax":
        return Labels(f"{_argmax(reader, node)} of {subject.form}")
    return None


def _reading(reader: Reader, node: cst.Call, name: str, subject: Thing) -> Reading | None:
    """What is computed from the model's output, in a form that NumPy computes too."""
    if not isinstance(subject, Tensor | Reading) or not _is_reading(name):
        return None
    flat = name == "reshape" and _is_flat(reader, node)
    rank = reader.ranks.get(subject.node) or 0
    if isinstance(subject, Tensor) and rank > 2 and name == "squeeze" and not _drops_last(reader, node, rank):
        message = (
            f"it is unknown which of the {rank} dimensions are removed, and Keras would compare labels and output of "
            "different shapes: write `axis=`, or a Reshape layer"
        )
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    form = "squeezed" if name == "squeeze" or flat else name
    if name.removeprefix("math.") == "argmax":
        form = _argmax(reader, node)
    if isinstance(subject, Tensor):
        return Reading(node, subject, form, flat and rank > 2)
    return Reading(node, subject.of, form if subject.form in ("", "squeezed") else f"{name} of {subject.form}")


def _is_flat(reader: Reader, node: cst.Call) -> bool:
    """`tf.reshape(x, [-1])`."""
    named = named_arguments(node, ("tensor", "shape", "name")) or {}
    return "shape" in named and reader.module.code(named["shape"].value) in ("[-1]", "(-1,)", "-1")


def _axes(reader: Reader, node: cst.Call) -> set[int] | None:
    """The axes that `tf.squeeze` names; None where they are not written out."""
    given = named_arguments(node, ("input", "axis", "name", "squeeze_dims")) or {}
    axis = given.get("axis", given.get("squeeze_dims"))
    text = re.sub(r"[\s()\[\]]", "", reader.module.code(axis.value)) if axis is not None else ""
    numbers = text.strip(",").split(",")
    return {int(number) for number in numbers} if all(re.fullmatch(r"-?\d+", number) for number in numbers) else None


def _drops_last(reader: Reader, node: cst.Call, rank: int) -> bool:
    """Whether `tf.squeeze` takes the last dimension away and no other, as Keras does where labels have one less."""
    axes = _axes(reader, node)
    return axes is not None and {axis % rank for axis in axes} == {rank - 1}


def _argmax(reader: Reader, node: cst.Call) -> str:
    """ "argmax" where it runs over the classes; the default runs over the batch."""
    named = named_arguments(node, ("input", "axis")) or {}
    axis = named.get("axis", named.get("dimension"))
    over = reader.module.code(axis.value) if axis is not None else "0"
    return "argmax" if over in ("1", "-1") else f"argmax over axis {over}"


def _tensor_operation(
    reader: Reader, node: cst.Call, name: str, first: cst.BaseExpression, subject: Thing
) -> Thing | None:
    """An operation between layers as a layer; None where it is none."""
    layers = f"{reader.tf}.keras.layers"
    if name in ACTIVATIONS and name not in READINGS and isinstance(subject, Tensor):
        code = f"{layers}.Activation({reader.quote}{ACTIVATIONS[name]}{reader.quote})"
        reader.edit(Replace(node, (code, "(", first, ")")))
        reader.ranks[node] = reader.ranks.get(subject.node)
        return Tensor(node)
    if name == "reshape":
        return _reshape(reader, node, first)
    if name == "reduce_mean" and isinstance(subject, Tensor):
        return _global_average(reader, node, first)
    if name == "concat" and isinstance(subject, Tensors):
        passed = named_arguments(node, ("values", "axis", "name")) or {}
        axis = passed.get("axis")
        if axis is not None and reader.module.code(axis.value) != "0":
            reader.edit(Replace(node, (f"{layers}.Concatenate(axis=", axis.value, ")(", first, ")")))
            return Tensor(node)
    named = named_arguments(node, ("x", "y"))
    if name in ("add", "multiply", "subtract") and named is not None and set(named) == {"x", "y"}:
        operator = {"add": "+", "multiply": "*", "subtract": "-"}[name]
        reader.edit(Replace(node, ("(", named["x"].value, f" {operator} ", named["y"].value, ")")))
        return Tensor(node)
    return None


def _reshape(reader: Reader, node: cst.Call, tensor: cst.BaseExpression) -> Tensor | None:
    """`tf.reshape(x, [-1, ...])` as a layer; None for a shape that begins otherwise."""
    passed = named_arguments(node, ("tensor", "shape", "name")) or {}
    shape = passed.get("shape")
    listing = shape.value if shape is not None else None
    sizes = [element.value for element in listing.elements] if isinstance(listing, cst.List | cst.Tuple) else []
    if len(sizes) < 2 or not _is_minus_one(sizes[0]) or "tensor" not in passed:
        return None
    reader.ranks[node] = len(sizes)
    inside = (*listed([(size,) for size in sizes[1:]]), "," if len(sizes) == 2 else "")
    reader.edit(Replace(node, (f"{reader.tf}.keras.layers.Reshape((", *inside, "))(", tensor, ")")))
    return Tensor(node)


def _global_average(reader: Reader, node: cst.Call, tensor: cst.BaseExpression) -> Tensor | None:
    """`tf.reduce_mean(x, [1, 2])` as a layer; None for other axes."""
    passed = named_arguments(node, ("input_tensor", "axis", "keepdims", "name")) or {}
    axis = passed.get("axis", passed.get("reduction_indices"))
    over = re.sub(r"\s", "", reader.module.code(axis.value)).strip("()[]") if axis is not None else ""
    # Keras refuses a tensor of another rank, so a wrong guess fails loudly.
    form = {"1,2": "", "2,3": f"data_format={reader.quote}channels_first{reader.quote}"}.get(over)
    if form is None or not set(passed) <= {"input_tensor", "axis", "reduction_indices", "name"}:
        return None
    reader.ranks[node] = 2
    reader.edit(Replace(node, (f"{reader.tf}.keras.layers.GlobalAveragePooling2D({form})(", tensor, ")")))
    return Tensor(node)


def _is_reading(name: str) -> bool:
    """Operations on the model's output that NumPy values take as well."""
    return name in READINGS or name.removeprefix("math.") in {
        "argmax", "cast", "squeeze", "reshape", "round", "expand_dims", "reduce_max", "exp", "greater", "floor",
        "clip_by_value",
    }  # fmt: skip


def _is_minus_one(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.UnaryOperation)
        and isinstance(node.operator, cst.Minus)
        and isinstance(node.expression, cst.Integer)
        and node.expression.evaluated_value == 1
    )
