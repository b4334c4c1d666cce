"""The layers of a model, read off the configuration that Keras saves: of every version, old and new."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

from tfmigrate.errors import UserError
from tfmigrate.files.regular import read, require

MODELS = frozenset({"Model", "Functional", "Sequential"})
_PARTS = ("layer", "backward_layer", "cell", "cells")
"""Where the configuration of a layer holds other layers."""


@dataclass(frozen=True)
class Layer:
    """A layer as its model's configuration describes it."""

    name: str
    class_name: str
    trainable: bool = True
    inner: tuple[Layer, ...] = ()
    """The layers of a model, or those that a wrapper wraps."""
    calls: int = 0
    """How often the model calls it."""
    is_slice: bool = False
    """Whether it is a Lambda that takes one replica's part of a batch."""

    @property
    def is_model(self) -> bool:
        return self.class_name in MODELS

    def walk(self) -> Iterator[Layer]:
        """This layer and all inside it, in the order of the model."""
        yield self
        for layer in self.inner:
            yield from layer.walk()


def of_json(text: str | bytes, path: Path) -> Layer:
    """The model that a configuration describes. Raises UserError, about `path`, when it describes none."""
    try:
        model = _layer(json.loads(text))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UserError(f"{path}: its model's configuration cannot be read: {error}") from None
    if not model.is_model:
        raise UserError(
            f"{path}: holds a {model.class_name or 'thing'}, whose configuration lists no layers; "
            "only Sequential and functional models can be read"
        )
    return model


def of_file(path: Path) -> Layer:
    """The architecture in a file of `model.to_json()`, a .keras, or a whole .h5 file. Raises UserError."""
    require(path)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return of_json(archive.read("config.json"), path)
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                if "model_config" not in file.attrs:
                    raise UserError(f"{path}: holds only weights; give model.to_json(), a .keras or a whole .h5 file")
                return of_json(file.attrs["model_config"], path)
        return of_json(read(path).decode(), path)
    except UnicodeDecodeError:
        raise UserError(f"{path}: is neither model.to_json() nor a .keras or .h5 file") from None
    except (OSError, KeyError) as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _layer(entry: Mapping[str, Any]) -> Layer:
    config = entry["config"]
    class_name = str(entry["class_name"])
    if isinstance(config, list):  # Sequential, up to Keras 2.2.2.
        config = {"layers": config}
    if class_name in MODELS:
        inner = config["layers"]
    else:
        inner = [
            part
            for key in _PARTS
            for part in (config.get(key) if isinstance(config.get(key), list) else [config.get(key)])
            if isinstance(part, Mapping) and "class_name" in part
        ]
    return Layer(
        name=str(entry.get("name") or config.get("name") or ""),
        class_name=class_name,
        trainable=bool(config.get("trainable", True)),
        inner=tuple(map(_layer, inner)),
        calls=len(entry.get("inbound_nodes") or ()),
        is_slice={"i", "parts"} <= set(config.get("arguments") or ()),
    )


def snake_case(class_name: str) -> str:
    """`Conv2DTranspose` -> `conv2d_transpose`, as Keras numbers layers and as Keras 3 names their places in a file."""
    name = re.sub(r"\W+", "", class_name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
