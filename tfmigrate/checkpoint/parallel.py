"""Reads a file that multi_gpu_model's model saved: the template's weights, which lie in it as those of one layer.

The layout, the same from Keras 2.0.9 to TensorFlow 2.3 (h5py shows it): the attribute `layer_names` lists inputs, one
Lambda for each input and replica, the template as ONE layer, and a Concatenate for each output; only the template's
group has weights: first the trainable ones of all its layers, then the others. A whole model has the same under
`model_weights`, the architecture as JSON in `model_config`, and the optimizer's state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py

from tfmigrate.checkpoint import architecture
from tfmigrate.checkpoint.architecture import Layer
from tfmigrate.errors import UserError


@dataclass(frozen=True)
class Weight:
    """One array of the file. `name` is the variable's, such as "dense_1/kernel:0"."""

    name: str
    data: h5py.Dataset

    @property
    def scope(self) -> str:
        """The first part of the name: the layer that made the variable."""
        return self.name.split("/", 1)[0]


@dataclass(frozen=True)
class Parallel:
    """What a parallel model saved."""

    template: str
    """The name of the template, as a layer."""
    weights: tuple[Weight, ...]
    model: Layer | None
    """The template's architecture; None in a file of weights alone."""
    keras_version: str
    has_optimizer: bool


def read(file: h5py.File, path: Path) -> Parallel:
    """What the open `file` holds. Raises UserError, about `path`, for anything but a parallel model's file."""
    group = file.get("model_weights", file)
    if "layer_names" not in group.attrs:
        raise UserError(f"{path}: {_what_else(file)}")
    layers = list(_names(group, "layer_names"))
    weights = {name: list(_names(group[name], "weight_names")) for name in layers}
    holding = [name for name in layers if weights[name]]
    model = architecture.of_json(file.attrs["model_config"], path) if "model_config" in file.attrs else None
    template = holding[0] if len(holding) == 1 else ""
    if not template or not (_is_parallel(model, template) if model else _looks_parallel(layers, template, weights)):
        raise UserError(
            f"{path}: a parallel model did not save this: {len(holding)} of its {len(layers)} layers hold weights, "
            "but in such a file a single layer, the template, holds them all; the plain model may be able to load it"
        )
    return Parallel(
        template=template,
        weights=tuple(Weight(name, group[template][name]) for name in weights[template]),
        model=next((layer for layer in model.inner if layer.name == template), None) if model else None,
        keras_version=_text(group.attrs.get("keras_version", "")),
        has_optimizer="optimizer_weights" in file,
    )


def _is_parallel(model: Layer, template: str) -> bool:
    slices = sum(layer.is_slice for layer in model.inner)
    return slices >= 2 and any(layer.name == template and layer.is_model and layer.calls >= 2 for layer in model.inner)


def _looks_parallel(layers: list[str], template: str, weights: dict[str, list[str]]) -> bool:
    slices = sum(bool(re.fullmatch(r"lambda(_\d+)?", name)) for name in layers)
    return slices >= 2 and all(name.split("/", 1)[0] != template for name in weights[template])


def _what_else(file: h5py.File) -> str:
    if "layers" in file or "_layer_checkpoint_dependencies" in file:
        return (
            "is in the layout of .weights.h5, which multi_gpu_model never wrote; the plain model may be able to load it"
        )
    return "is an HDF5 file, but holds no model or weights saved by Keras"


def _names(group: h5py.Group, attribute: str) -> Iterator[str]:
    """A list of names, which Keras splits (`weight_names0`, `weight_names1`, ...) where it is too long for a header."""
    if attribute in group.attrs:
        yield from map(_text, group.attrs[attribute])
        return
    part = 0
    while f"{attribute}{part}" in group.attrs:
        yield from map(_text, group.attrs[f"{attribute}{part}"])
        part += 1


def _text(value: bytes | str) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
