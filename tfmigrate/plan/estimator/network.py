"""The network of a model function: layers and operations of TensorFlow 1, and the Keras layers they become."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, named_arguments, quoted, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator import penalties, things
from tfmigrate.plan.estimator.layers import (
    ACTIVATIONS,
    CALLABLE,
    CROSS_ENTROPIES,
    INITIALIZERS,
    LAYER_CLASSES,
    POSITIONS,
    READINGS,
    REGULARIZERS,
    UNKNOWN_TO_KERAS,
    Layer,
)
from tfmigrate.plan.estimator.reader import SQUARES, Reader, training_modes
from tfmigrate.plan.estimator.things import (
    PLAIN,
    TRAIN,
    Each,
    Export,
    Labels,
    Plain,
    Reading,
    Tensor,
    Tensors,
    Thing,
)
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.scopes import numbered
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Code, Written, listed

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


def tensor(reader: Reader, node: cst.BaseExpression) -> cst.BaseExpression:
    """A node that must be a tensor of a layer, or a feature. Raises Unconvertible."""
    thing = reader.read(node)
    if isinstance(thing, Reading):
        raise reader.refuse(
            codes.NO_KERAS_LAYER,
            node,
            "a layer takes the result of this computation; write it as the `activation=` of the layer before",
        )
    if not isinstance(thing, Tensor | Tensors):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` is not a layer's tensor")
    if isinstance(thing, Tensor):
        reader.ranks.setdefault(node, reader.ranks.get(thing.node))
    return node


def note_rank(reader: Reader, node: cst.BaseExpression, keras: str, inputs: cst.BaseExpression) -> None:
    """Note how many dimensions the result of a layer has, `keras` being its class."""
    ranks = {"1D": 3, "2D": 4, "3D": 5, "2DTranspose": 4}
    own = next((rank for end, rank in ranks.items() if keras.endswith(end)), None)
    reader.ranks[node] = 2 if keras == "Flatten" else own or reader.ranks.get(inputs)


def layer_function(reader: Reader, node: cst.Call, layer: Layer) -> Thing:
    named = named_arguments(node, ("inputs", *layer.parameters))
    if named is None or "inputs" not in named:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "the arguments of this layer cannot be read")
    inputs = named.pop("inputs").value
    tensor(reader, inputs)
    return _layer(reader, node, layer, named, named.get("training"), inputs)


def layer_class(reader: Reader, node: cst.Call, creation: cst.Call, layer: Layer) -> Thing:
    """A layer called where it is made: `tf.layers.Dense(1)(x)`."""
    named = _class_arguments(reader, creation, layer)
    training, inputs = _called(reader, node)
    return _layer(reader, node, layer, named, training, inputs)


def layer_object(reader: Reader, creation: cst.Call, layer: Layer) -> Thing:
    """A layer made to be called further down, under the name that it is given."""
    reader.edit(Replace(creation, _layer_code(reader, creation, layer, _class_arguments(reader, creation, layer))))
    return things.Layer(creation, layer.keras)


def layer_call(reader: Reader, node: cst.Call, creation: cst.Call) -> Thing:
    """A call of a layer that was made before."""
    layer = LAYER_CLASSES[(reader.symbol(creation.func) or "").rpartition(".")[2]]
    training, inputs = _called(reader, node)
    if _is_idle(reader, node, layer, training):
        reader.edit(Replace(node, (inputs,)))
    else:
        reader.edit(Replace(node, (node.func, "(", inputs, ")")))
    note_rank(reader, node, layer.keras, inputs)
    if layer.keras == "BatchNormalization":
        reader.normalised = node
    return Tensor(node)


def _class_arguments(reader: Reader, creation: cst.Call, layer: Layer) -> dict[str, cst.Arg]:
    named = named_arguments(creation, tuple(p for p in layer.parameters if p != "training"))
    if named is None:
        raise reader.refuse(codes.NO_KERAS_LAYER, creation, "the arguments of this layer cannot be read")
    return named


def _called(reader: Reader, node: cst.Call) -> tuple[cst.Arg | None, cst.BaseExpression]:
    """`training=` and the input of a call of a layer."""
    called = named_arguments(node, ("inputs", "training"))
    if called is None or "inputs" not in called or not set(called) <= {"inputs", "training"}:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "the arguments of this layer cannot be read")
    return called.get("training"), tensor(reader, called["inputs"].value)


def _layer(
    reader: Reader,
    node: cst.Call,
    layer: Layer,
    named: Mapping[str, cst.Arg],
    training: cst.Arg | None,
    inputs: cst.BaseExpression,
) -> Thing:
    note_rank(reader, node, layer.keras, inputs)
    rate = named.get("rate") if layer.keras == "Dropout" else None
    chosen = rate is not None and _is_chosen(reader, rate.value, 0)
    told = training_modes(reader, training.value) if training is not None else None
    if not (chosen and told is not None and TRAIN in told) and _is_idle(reader, node, layer, training):
        reader.edit(Replace(node, (inputs,)))
        return Tensor(node)
    if layer.keras == "Dropout":
        reader.dropouts.add(node)
    reader.edit(Replace(node, (*_layer_code(reader, node, layer, named), "(", inputs, ")")))
    if layer.keras == "BatchNormalization":
        reader.normalised = node
    return Tensor(node)


def _is_chosen(reader: Reader, node: cst.BaseExpression, idle: float) -> bool:
    """Whether a setting of a dropout is the one with which nothing is dropped, but for training."""
    thing = reader.read(node)
    others = [value for mode, value in thing.by_mode if mode in reader.modes - {TRAIN}] if isinstance(
        thing, things.Choice) else []  # fmt: skip
    return bool(others) and all(
        isinstance(value, cst.Integer | cst.Float) and value.evaluated_value == idle for value in others
    )


def nn_dropout(reader: Reader, node: cst.Call) -> Tensor:
    """`tf.nn.dropout`, where it drops in training alone: it is passed what it keeps, or in an arm for training."""
    named = named_arguments(node, ("x", "keep_prob", "noise_shape", "seed", "name", "rate"))
    keep, rate = (named or {}).get("keep_prob"), (named or {}).get("rate")
    known = {"x", "keep_prob", "rate", "seed", "name"}
    given = keep if keep is not None else rate
    if named is None or not set(named) <= known or "x" not in named or given is None or (keep and rate):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "the arguments of this dropout cannot be read")
    symbols = reader.program.modules[reader.module].symbols
    both = any(symbol.startswith("tensorflow.compat.v1") for symbol in symbols.values())
    if given.keyword is None and both and "compat.v1" not in symbols.get(node.func, ""):
        message = "whether this number is kept or dropped depends on the version of TensorFlow: write `rate=`"
        raise reader.refuse(codes.NO_KERAS_LAYER, given.value, message)
    inputs = tensor(reader, named["x"].value)
    note_rank(reader, node, "Dropout", inputs)
    in_arm = reader.modes == {TRAIN} and isinstance(reader.read(given.value), Plain)
    if not in_arm and not _is_chosen(reader, given.value, 0 if keep is None else 1):
        message = "this dropout drops in evaluation too, and Keras's in training alone"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    value = given.value
    chosen = reader.read(value)
    if isinstance(chosen, things.Choice) and isinstance(value, cst.IfExp):
        value = chosen.of(frozenset({TRAIN})).get(TRAIN) or value
    simple = isinstance(value, cst.Name | cst.Float | cst.Integer | cst.Attribute | cst.Subscript | cst.Call)
    kept = Written.at(value) if simple else Written.of("(", value, ")")
    settings = [Written.at(value) if keep is None else Written.of("1 - ", kept)]
    if "seed" in named:
        reader.needs_plain(named["seed"].value)
        settings.append(Written.of("seed=", named["seed"].value))
    reader.dropouts.add(node)
    inside = Written.joined(settings, ", ")
    reader.edit(Replace(node, (f"{reader.tf}.keras.layers.Dropout(", *inside.code, ")(", inputs, ")")))
    return Tensor(node)


def _is_idle(reader: Reader, node: cst.Call, layer: Layer, training: cst.Arg | None) -> bool:
    """Whether a dropout never drops: that of tf.layers does nothing unless `training` says so."""
    if not layer.training or follows_mode(reader, node, training):
        return False
    if layer.keras != "Dropout":
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "this batch normalization gets no `training` argument")
    return True


def _layer_code(reader: Reader, node: cst.Call, layer: Layer, given: Mapping[str, cst.Arg]) -> Code:
    """The Keras layer, with the settings that stay as the nodes that they are."""
    written: list[Code] = []
    named = False
    called: Written | None = None
    for name in layer.parameters:
        arg = given.get(name)
        if arg is None or name in layer.dropped:
            named = True
            continue
        if is_none(arg.value):
            named = True
            continue
        if name in REGULARIZERS:
            penalties.leave_out(reader, arg.value)
            named = True
            continue
        if name in UNKNOWN_TO_KERAS:
            raise reader.refuse(codes.NO_KERAS_LAYER, arg.value, f"Keras has no `{name}=`")
        code = setting(reader, name, arg.value)
        if name == "name":
            code = layer_name(reader, node, arg.value)
            if code is None:
                continue
        if name == "name":
            called = code
        plain = layer.parameters.index(name) < layer.plain and arg.keyword is None and not named
        written.append(Written.of("" if plain else f"{name}=", arg.value if code is None else code).code)
        named = named or not plain
    unknown = set(given) - set(layer.parameters)
    if unknown:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"the argument {min(unknown)} is unknown")
    if layer.keras == "Dropout" and "rate" not in given:
        written.insert(0, ("0.5",))
    own = given["name"].value if "name" in given and not is_none(given["name"].value) else None
    penalties.note_layer(reader, layer.keras, own, called)
    return (f"{reader.tf}.keras.layers.{layer.keras}(", *listed(written), ")")


def layer_name(reader: Reader, node: cst.Call, given: cst.BaseExpression) -> Written | None:
    """A name that Keras accepts: without `/`, and given to one layer of a model only; None where it has to be Keras's
    own. The scopes of variables told such layers apart."""
    text = text_of(given)
    slashes = any("/" in (text_of(part) or "") for part in walk(given) if isinstance(part, cst.SimpleString))
    if text is None:
        return None if slashes else Written.at(given)
    if reader.repeats:
        return None
    wanted = text.replace("/", "_")
    if reader.layer_names.get(wanted, node) is not node and reader.scope_names:
        wanted = f"{reader.scope_names[-1]}_{wanted}".replace("/", "_")
    wanted = numbered(wanted, lambda name: reader.layer_names.get(name, node) is not node)
    reader.layer_names[wanted] = node
    return Written.at(given) if wanted == text else Written.of(quoted(wanted, reader.quote))


def follows_mode(reader: Reader, node: cst.Call, training: cst.Arg | None) -> bool:
    if training is None:
        return False
    told = training_modes(reader, training.value)
    if told is not None and told & reader.modes == {TRAIN} & reader.modes:
        return True
    if told is not None and not told & reader.modes:
        return False
    raise reader.refuse(codes.NO_KERAS_LAYER, training.value, "`training=` is something other than mode == TRAIN")


def setting(reader: Reader, name: str, node: cst.BaseExpression) -> Written | None:
    """Keras's word for a setting of a layer; None where it stays as it is."""
    thing = reader.names.get(node.value) if isinstance(node, cst.Name) else None
    if isinstance(thing, things.Initializer):
        node = thing.made
    symbol = reader.symbol(node)
    if name == "activation":
        if symbol is not None and symbol in ACTIVATIONS:
            return Written.of(f"{reader.quote}{ACTIVATIONS[symbol]}{reader.quote}")
        if symbol is not None and symbol not in CALLABLE:
            raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{symbol} is not an activation of Keras")
    if name.endswith("initializer"):
        call = node if isinstance(node, cst.Call) else None
        symbol = reader.symbol(call.func) if call is not None else symbol
        if symbol is not None and symbol in INITIALIZERS:
            return _initializer(reader, symbol, call.args if call is not None else ())
        if symbol is not None and not symbol.startswith("keras.initializers."):
            raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{symbol} is not a known initializer")
    if name != "rate" or not _is_chosen(reader, node, 0):
        reader.needs_plain(node)
    return None


def _initializer(reader: Reader, symbol: str, args: Sequence[cst.Arg]) -> Written:
    """Keras's initializer, with the defaults of TensorFlow 1 written out."""
    keras, defaults = INITIALIZERS[symbol]
    named = {arg.keyword.value if arg.keyword else str(n): arg for n, arg in enumerate(args)}
    positional = sum(arg.keyword is None for arg in args)
    inside = [
        Written.of(f"{key}=" if arg.keyword else "", arg.value)
        for key, arg in named.items()
        if key not in ("dtype", "uniform")
    ]
    inside += [
        Written.of(f"{key}={code}")
        for key, code in defaults.items()
        if key not in named and POSITIONS[key] >= positional
    ]
    return Written.of(f"{reader.tf}.keras.initializers.{keras}(", Written.joined(inside, ", "), ")")


def _in_lambda(reader: Reader, node: cst.Call, first: cst.BaseExpression, *, raw: bool) -> Tensor:
    """An operation as a layer: Keras 3 takes no function of TensorFlow between its own."""
    changing = _changing(reader, node, first)
    if changing:
        message = f"`{min(changing)}` may have another value when a Lambda layer reads it: write that value out"
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


def operation(reader: Reader, node: cst.Call, name: str) -> Thing:
    args = node.args
    first = args[0].value if args and not args[0].star else None
    if name in CROSS_ENTROPIES or name in SQUARES:
        return Each(node)
    if name.startswith("estimator.export."):
        return Export()
    if name.startswith("feature_column."):
        raise reader.refuse(codes.CANNED_ESTIMATOR, node, "feature columns: use Keras preprocessing layers instead")
    if name == "identity" and first is not None:
        return _identity(reader, node, first)
    read = [reader.read(arg.value) for arg in args]
    if all(isinstance(thing, Plain) for thing in read):
        if name in OF_GRAPH:
            raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no place in a Keras model")
        # One initializer of Keras would give layers of the same shape the same values.
        made = name in INITIALIZERS and name.startswith("contrib.")
        return things.Initializer(node) if made or name in penalties.REGULARIZERS else PLAIN
    if first is None:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no layer in Keras")
    subject = read[0]
    plain = all(isinstance(thing, Plain) for thing in read[1:])
    result: Thing | None = None
    if isinstance(subject, Tensor) and plain and args[0].keyword is None:
        result = _applied(reader, node, name, first, subject)
    if result is None and all(isinstance(thing, Labels | Plain) for thing in read):
        result = _of_labels(reader, node, name, subject)
    if result is None and all(isinstance(thing, Tensor | Plain | Tensors) for thing in read):
        result = _tensor_operation(reader, node, name, first, subject)
    if result is None and all(isinstance(thing, Tensor | Reading | Plain) for thing in read):
        result = _reading(reader, node, name, subject)
    if result is not None:
        return result
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{name} has no known counterpart among Keras layers")


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
            f"which of the {rank} dimensions go is not known here, and Keras would compare labels and output of other "
            "shapes: write `axis=`, or a Reshape layer"
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
