"""Outputs of models that are one number wide, where the layers that make them are plain."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import has_stars, keywords, text_of
from tfmigrate.plan.change.model_outputs import outputs_given
from tfmigrate.plan.keras.last_layers import layers_behind, layers_listed
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled, value_above
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Literal, ModelObject, Parallel

_KEEPING = frozenset(
    {
        "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dropout", "ELU",
        "GaussianDropout", "GaussianNoise", "LeakyReLU", "PReLU", "ReLU", "Softmax", "SpatialDropout1D",
        "SpatialDropout2D", "ThresholdedReLU",
    }
)  # fmt: skip
"""Layers whose output is as wide as their input."""
_WIDE = frozenset(
    {
        "Dense", "Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D", "Conv2DTranspose",
        "SeparableConv1D", "SeparableConv2D", "LSTM", "GRU", "SimpleRNN",
    }
)  # fmt: skip
"""Layers whose first argument is the width of their output."""
_WIDTHS = ("units", "filters", "output_dim", "nb_filter")


@dataclass(frozen=True)
class Output:
    """One output of a model."""

    name: str | None
    """That of the layer that makes it, where it is written out."""
    is_one_wide: bool
    """Whether it surely is."""


def outputs_of(
    model: ModelObject, migration: Migration, around: frozenset[ModelObject] = frozenset()
) -> list[Output] | None:
    """The outputs of a model in their order; None where it does not show how many there are.

    `around`: models that end in this one.
    """
    facts = migration.facts.modules.get(model.site.frame.module)
    if facts is None or model.instance is not None or model in around:
        return None
    reader = _Reader(facts, migration, around | {model})
    if names.canonical(model.maker) == "keras.models.Sequential":
        return [Output(None, _ends_one_wide(model, migration, reader))]
    outputs = outputs_given(model, facts)
    if outputs is None:
        return None
    outputs = settled(outputs, reader.scopes)
    if isinstance(outputs, cst.List | cst.Tuple):
        return [reader.output(element.value) for element in outputs.elements]
    return [reader.output(outputs)]


def _ends_one_wide(model: ModelObject, migration: Migration, reader: _Reader) -> bool:
    """Whether the last layer of a Sequential is one wide, and each that may be it where `if` chooses."""
    listed = layers_listed(model, reader.scopes)
    if listed is None:
        return False
    always = set(reader.facts.module.arms(model.site.unit))
    added = [
        (use.site.frame.module, use.site.unit, use.call.args[0].value)
        for use in migration.facts.uses
        if use.method == "add" and model in use.models and use.call.args
    ]
    for module, unit, layer in reversed(added):
        facts = migration.facts.modules[module]
        width = _Reader(facts, migration).width(layer)
        if width is False:
            return False
        if width and set(module.arms(unit)) <= always:
            return True
    widths = [width for layer in reversed(listed) if (width := reader.width(layer)) is not None]
    return bool(widths) and widths[0]


@dataclass(frozen=True)
class _Reader:
    """Reads the expressions of one module."""

    facts: Facts
    migration: Migration
    around: frozenset[ModelObject] = frozenset()
    """The models whose outputs are read."""

    @property
    def scopes(self) -> Scopes:
        return self.migration.scopes_of(self.facts.module)

    def output(self, tensor: cst.BaseExpression) -> Output:
        made = value_above(tensor, self.facts.module, self.scopes)
        called = self.facts.options(made.func) if isinstance(made, cst.Call) else frozenset()
        if called and all(isinstance(option, ModelObject | Parallel) for option in called):
            return Output(None, all(self._ends_so(model) for option in called for model in models_of(option)))
        layers = list(layers_behind(tensor, self.facts.module, self.scopes))
        widths = [width for layer in layers if (width := self.width(layer)) is not None]
        name = keywords(layers[0]).get("name") if layers and isinstance(layers[0], cst.Call) else None
        return Output(text_of(name.value) if name is not None else None, bool(widths) and widths[0])

    def _ends_so(self, model: ModelObject) -> bool:
        """Whether a model that is called has one output, which is one wide."""
        outputs = outputs_of(model, self.migration, self.around)
        return outputs is not None and len(outputs) == 1 and outputs[0].is_one_wide

    def width(self, node: cst.BaseExpression) -> bool | None:
        """Whether the output of a layer is one wide, False where that is unknown; None where it is as the input is."""
        layer = settled(node, self.scopes)
        if not isinstance(layer, cst.Call) or has_stars(layer):
            return False
        room, _, kind = self.facts.canonical(layer.func).rpartition(".")
        if room != "keras.layers":
            return False
        if kind in _KEEPING:
            return None
        if kind == "TimeDistributed" and layer.args:
            return self.width(layer.args[0].value)
        named = keywords(layer)
        if kind not in _WIDE or "data_format" in named:
            return False
        first = [arg.value for arg in layer.args[:1] if arg.keyword is None]
        given = [*first, *(named[word].value for word in _WIDTHS if word in named)]
        return len(given) == 1 and self._is_one(given[0])

    def _is_one(self, node: cst.BaseExpression) -> bool:
        if isinstance(node, cst.Integer):
            return node.evaluated_value == 1
        return self.facts.options(node) == {Literal(1)}
