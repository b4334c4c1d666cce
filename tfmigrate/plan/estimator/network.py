"""The network of a model function: layers of TensorFlow 1, and the Keras layers they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, named_arguments, quoted, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator import penalties, things
from tfmigrate.plan.estimator.layers import (
    ACTIVATIONS,
    CALLABLE,
    INITIALIZERS,
    LAYER_CLASSES,
    POSITIONS,
    REGULARIZERS,
    UNKNOWN_TO_KERAS,
    Layer,
)
from tfmigrate.plan.estimator.reader import Reader, training_modes
from tfmigrate.plan.estimator.things import TRAIN, Reading, Tensor, Tensors, Thing
from tfmigrate.understand.scopes import numbered
from tfmigrate.walk import walk
from tfmigrate.written import Code, Written, listed


def tensor(reader: Reader, node: cst.BaseExpression) -> cst.BaseExpression:
    """A node that must be a tensor of a layer, or a feature. Raises Unconvertible."""
    thing = reader.read(node)
    if isinstance(thing, Reading):
        raise reader.refuse(
            codes.NO_KERAS_LAYER,
            node,
            "this computation is the input of a layer; write it as the `activation=` of the layer before",
        )
    if not isinstance(thing, Tensor | Tensors):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node)}` is not the output of a layer")
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
    chosen = rate is not None and drops_in_training_alone(reader, rate.value, 0)
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


def drops_in_training_alone(reader: Reader, node: cst.BaseExpression, idle: float) -> bool:
    """Whether a setting of a dropout is the one with which nothing is dropped, but for training."""
    thing = reader.read(node)
    others = [value for mode, value in thing.by_mode if mode in reader.modes - {TRAIN}] if isinstance(
        thing, things.Choice) else []  # fmt: skip
    return bool(others) and all(
        isinstance(value, cst.Integer | cst.Float) and value.evaluated_value == idle for value in others
    )


def _is_idle(reader: Reader, node: cst.Call, layer: Layer, training: cst.Arg | None) -> bool:
    """Whether a dropout never drops: that of tf.layers does nothing unless `training` says so."""
    if not layer.training or follows_mode(reader, node, training):
        return False
    if layer.keras != "Dropout":
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "this batch normalization has no `training` argument")
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
            raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{symbol} is not a Keras activation")
    if name.endswith("initializer"):
        call = node if isinstance(node, cst.Call) else None
        symbol = reader.symbol(call.func) if call is not None else symbol
        if symbol is not None and symbol in INITIALIZERS:
            return _initializer(reader, symbol, call.args if call is not None else ())
        if symbol is not None and not symbol.startswith("keras.initializers."):
            raise reader.refuse(codes.NO_KERAS_LAYER, node, f"tf.{symbol} is not a known initializer")
    if name != "rate" or not drops_in_training_alone(reader, node, 0):
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
