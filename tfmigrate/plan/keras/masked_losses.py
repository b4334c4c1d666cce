"""Losses of outputs that carry a mask: Keras 2.3 divided by all time steps, today's divides by those that count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.old_keras import FIRST_WITH_MASKED_MEAN_OF_ALL
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_false, keywords
from tfmigrate.plan.change.model_outputs import outputs_given
from tfmigrate.plan.keras.flavours import flavour_of
from tfmigrate.plan.keras.last_layers import layers_behind, layers_listed
from tfmigrate.plan.keras.methods import keras_calls
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import ModelObject

_RECURRENT = frozenset({"RNN", "SimpleRNN", "GRU", "LSTM", "ConvLSTM2D"})
_PASSING = frozenset(
    {
        "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU",
        "GaussianDropout", "GaussianNoise", "LeakyReLU", "PReLU", "ReLU", "Softmax", "SpatialDropout1D",
        "ThresholdedReLU",
    }
)  # fmt: skip
"""Layers that hand the mask of their input on."""


def check(context: Context) -> Iterator[CallChange]:
    for use in keras_calls(context.facts, "compile"):
        masks = {mask for model in use.models for mask in _masks(model, context.migration)}
        if masks:
            yield from _told(use, context)


def _told(use: Use, context: Context) -> Iterator[CallChange]:
    flavour = flavour_of(use, context.facts)
    before = context.settings.written_before(flavour, FIRST_WITH_MASKED_MEAN_OF_ALL)
    if before:
        return
    package = "keras" if flavour == "keras" else "tensorflow"
    if before is None and flavour == "keras":
        when = (
            f"Keras 2.3 (pass --from {package}==VERSION if this was written for an older one, which worked as "
            "today's does)"
        )
    else:
        when = "Keras 2.3" if flavour == "keras" else "TensorFlow 1.15 to 2.3"
    message = (
        f"the output carries a mask: {when} divided the sum of its losses by all time steps, but today's Keras "
        "divides it by the unmasked ones, so the loss and its gradients are now larger if steps are masked; "
        "`tfmigrate explain TFM313` shows how to keep the old ones"
    )
    yield CallChange(codes.MASKED_LOSSES, use.call, message, action="warn")


def _masks(model: ModelObject, migration: Migration) -> Iterator[cst.BaseExpression]:
    """The layers whose masks surely reach an output of a model, as far as its layers are plain to see."""
    facts = migration.facts.modules.get(model.site.frame.module)
    if facts is None or model.instance is not None:
        return
    reader = _Reader(facts, migration)
    if names.canonical(model.maker) == "keras.models.Sequential":
        chains = [reader.of_sequential(model)]
    else:
        outputs = outputs_given(model, facts)
        outputs = settled(outputs, migration.scopes_of(facts.module)) if outputs is not None else None
        listed = isinstance(outputs, cst.List | cst.Tuple)
        tensors = [element.value for element in outputs.elements] if listed else [outputs]  # type: ignore[union-attr]
        chains = [
            [*layers_behind(tensor, facts.module, migration.scopes_of(facts.module))] for tensor in tensors if tensor
        ]
    for chain in chains:
        mask = reader.mask_at_the_end(chain)
        if mask is not None:
            yield mask


@dataclass(frozen=True)
class _Reader:
    """Reads the layers of one module."""

    facts: Facts
    migration: Migration

    def of_sequential(self, model: ModelObject) -> list[cst.BaseExpression]:
        """The layers of a Sequential, the last one first."""
        scopes = self.migration.scopes_of(self.facts.module)
        listed = layers_listed(model, scopes) or []
        added = [
            use.call.args[0].value
            for use in self.facts.uses
            if use.method == "add" and model in use.models and use.call.args
        ]
        return [*reversed([*listed, *added])]

    def mask_at_the_end(self, chain: list[cst.BaseExpression]) -> cst.BaseExpression | None:
        """The layer whose mask goes through all layers behind it; `chain`: the last layer first."""
        for layer in chain:
            call = settled(layer, self.migration.scopes_of(self.facts.module))
            room, _, kind = self._called(call).rpartition(".")
            if not isinstance(call, cst.Call) or room != "keras.layers":
                return None
            if self._makes(call, kind):
                return call
            if not self._passes(call, kind):
                return None
        return None

    def _called(self, node: cst.CSTNode) -> str:
        return self.facts.canonical(node.func) if isinstance(node, cst.Call) else ""

    def _makes(self, call: cst.Call, kind: str) -> bool:
        zero = keywords(call).get("mask_zero")
        return kind == "Masking" or (kind == "Embedding" and zero is not None and not is_false(zero.value))

    def _passes(self, call: cst.Call, kind: str) -> bool:
        if kind in _RECURRENT:
            sequences = keywords(call).get("return_sequences")
            return sequences is not None and not is_false(sequences.value)
        if kind == "Bidirectional" and call.args:
            inner = settled(call.args[0].value, self.migration.scopes_of(self.facts.module))
            kind = self._called(inner).rpartition(".")[2]
            return isinstance(inner, cst.Call) and kind in _RECURRENT and self._passes(inner, kind)
        return kind in _PASSING or kind == "TimeDistributed"
