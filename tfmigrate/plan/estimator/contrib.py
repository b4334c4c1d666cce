"""Layers of tf.contrib.layers and tf.contrib.slim, and the Keras layers they become.

From contrib/layers/python/layers/layers.py of TensorFlow 1.15: a dense layer and a convolution have a ReLU unless
`activation_fn=None`, pooling has strides of 2, and dropout and batch normalization are in training unless told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_false, is_none, named_arguments, quoted, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.estimator import network, penalties
from tfmigrate.plan.estimator.reader import Reader
from tfmigrate.plan.estimator.things import Tensor, Thing
from tfmigrate.written import Code, Written, listed


@dataclass(frozen=True)
class _Layer:
    """A function: its parameters after `inputs`, in order, and what Keras calls those that it has."""

    keras: str
    parameters: tuple[str, ...]
    renamed: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Keras's parameter -> the code of a default that is another in Keras."""
    plain: int = 0
    """So many of the first are written without their names."""


_VARIABLES = (
    "weights_initializer", "weights_regularizer", "biases_initializer", "biases_regularizer", "reuse",
    "variables_collections", "outputs_collections", "trainable", "scope",
)  # fmt: skip
_RENAMED = {
    "num_outputs": "units",
    "activation_fn": "activation",
    "weights_initializer": "kernel_initializer",
    "biases_initializer": "bias_initializer",
    "trainable": "trainable",
}
_DENSE = _Layer(
    "Dense",
    ("num_outputs", "activation_fn", "normalizer_fn", "normalizer_params", *_VARIABLES),
    _RENAMED,
    {"activation": "relu"},
    plain=1,
)
_CONV = _Layer(
    "Conv2D",
    ("num_outputs", "kernel_size", "stride", "padding", "data_format", "rate", "activation_fn", "normalizer_fn",
     "normalizer_params", *_VARIABLES),
    {**_RENAMED, "num_outputs": "filters", "kernel_size": "kernel_size", "stride": "strides", "padding": "padding",
     "data_format": "data_format", "rate": "dilation_rate"},
    {"padding": "same", "activation": "relu"},
    plain=2,
)  # fmt: skip
_POOL = ("kernel_size", "stride", "padding", "data_format", "outputs_collections", "scope")
_POOLED = {"kernel_size": "pool_size", "stride": "strides", "padding": "padding", "data_format": "data_format"}
_NORM = _Layer(
    "BatchNormalization",
    ("decay", "center", "scale", "epsilon", "activation_fn", "param_initializers", "param_regularizers",
     "updates_collections", "is_training", "reuse", "variables_collections", "outputs_collections", "trainable",
     "batch_weights", "fused", "data_format", "zero_debias_moving_mean", "scope", "renorm", "renorm_clipping",
     "renorm_decay", "adjustment"),
    {"decay": "momentum", "center": "center", "scale": "scale", "epsilon": "epsilon", "trainable": "trainable"},
    {"momentum": "0.999", "scale": "False"},
)  # fmt: skip
_LAYERS: Mapping[str, _Layer] = {
    "fully_connected": _DENSE,
    "conv2d": _CONV,
    "convolution2d": _CONV,
    "max_pool2d": _Layer("MaxPooling2D", _POOL, _POOLED, {"strides": "2"}, plain=1),
    "avg_pool2d": _Layer("AveragePooling2D", _POOL, _POOLED, {"strides": "2"}, plain=1),
    "flatten": _Layer("Flatten", ("outputs_collections", "scope"), {}),
    "dropout": _Layer(
        "Dropout",
        ("keep_prob", "noise_shape", "is_training", "outputs_collections", "scope", "seed"),
        {"keep_prob": "rate", "seed": "seed"},
        {"rate": "0.5"},
        plain=1,
    ),
    "batch_norm": _NORM,
}
_WORDS = frozenset({"activation", "padding"})
"""Parameters of Keras whose defaults above are words."""
_TOLD = frozenset({"is_training", "scope", "activation_fn", "fused", "updates_collections"})
"""Parameters that the Keras layer may lack; they are read separately then."""
_FORMATS = {"NHWC": "channels_last", "NCHW": "channels_first"}


def layer_of(name: str) -> str | None:
    """The function that a name of TensorFlow, without `tensorflow.`, stands for; None for another name."""
    head, _, last = name.rpartition(".")
    return last if head in ("contrib.layers", "contrib.slim") and last in _LAYERS else None


def contrib_layer(reader: Reader, node: cst.Call, function: str) -> Thing:
    """Plan one call. Raises Unconvertible."""
    layer = _LAYERS[function]
    named = named_arguments(node, ("inputs", *layer.parameters))
    if named is None or "inputs" not in named or not set(named) <= {"inputs", *layer.parameters}:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "the arguments of this layer cannot be read")
    inputs = network.tensor(reader, named.pop("inputs").value)
    network.note_rank(reader, node, layer.keras, inputs)
    if layer.keras in ("Dropout", "BatchNormalization"):
        told = named.get("is_training")
        if told is None:
            message = f"without `is_training=` this {function} is in training mode even in evaluation"
            raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
        if not network.follows_mode(reader, node, told):
            if layer.keras == "BatchNormalization":
                message = "this batch normalization is not put in training mode"
                raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
            reader.edit(Replace(node, (inputs,)))
            return Tensor(node)
    written = _settings(reader, node, layer, named)
    code: Code = (f"{reader.tf}.keras.layers.{layer.keras}(", *listed(written), ")(", inputs, ")")
    if layer.keras == "BatchNormalization":
        reader.normalised = node
        updates = named.get("updates_collections")
        if updates is not None and is_none(updates.value):
            reader.updates_are_run = True
        activation = named.get("activation_fn")
        if activation is not None and not is_none(activation.value):
            word = network.setting(reader, "activation", activation.value) or Written.at(activation.value)
            code = (f"{reader.tf}.keras.layers.Activation(", *word.code, ")(", *code, ")")
    reader.edit(Replace(node, code))
    return Tensor(node)


def _settings(reader: Reader, node: cst.Call, layer: _Layer, named: Mapping[str, cst.Arg]) -> list[Code]:
    """The arguments of the Keras layer."""
    given = _renamed(reader, layer, named)
    if "bias_initializer" in given and given["bias_initializer"] is None:
        given["use_bias"] = Written.of("False")
    for name, default in layer.defaults.items():
        given.setdefault(name, Written.of(quoted(default, reader.quote) if name in _WORDS else default))
    scope = named["scope"].value if "scope" in named else None
    if scope is not None and text_of(scope) is not None:
        given["name"] = network.layer_name(reader, node, scope)
    called = scope if scope is not None and not is_none(scope) else None
    penalties.note_layer(reader, layer.keras, called, given.get("name"), contrib=True)
    plain = [layer.renamed[name] for name in layer.parameters[: layer.plain]]
    order = [*plain, *(name for name in given if name not in plain)]
    values = [(name, value) for name in order if (value := given.get(name)) is not None]
    return [(value if name in plain else Written.of(f"{name}=", value)).code for name, value in values]


def _renamed(reader: Reader, layer: _Layer, named: Mapping[str, cst.Arg]) -> dict[str, Written | None]:
    """What is given to the parameters that Keras has too; None for None. Raises Unconvertible for what it lacks."""
    given: dict[str, Written | None] = {}
    for name, arg in named.items():
        if name in layer.renamed:
            keras = layer.renamed[name]
            given[keras] = None if is_none(arg.value) else _value(reader, keras, arg.value)
        elif name in _TOLD or is_none(arg.value) or is_false(arg.value):
            continue
        elif name.endswith("regularizer"):
            penalties.leave_out(reader, arg.value)
        else:
            raise reader.refuse(codes.NO_KERAS_LAYER, arg.value, f"Keras has no `{name}=`")
    return given


def _value(reader: Reader, name: str, node: cst.BaseExpression) -> Written:
    """What a parameter of Keras is given."""
    text = text_of(node)
    if name == "data_format":
        if text not in _FORMATS:
            raise reader.refuse(codes.NO_KERAS_LAYER, node, "this `data_format=` is not a literal")
        return Written.of(quoted(_FORMATS[text], reader.quote))
    if name == "rate":
        return Written.of("1 - ", Written.at(node).apart())
    if name == "padding" and text is not None:
        return Written.of(quoted(text.lower(), reader.quote))
    return network.setting(reader, name, node) or Written.at(node)
