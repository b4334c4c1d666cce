"""The layouts in which Keras reads weights, written into one file: each array once, with a link for each layout.

- The old one, which `load_weights("x.h5")` of Keras 2 and Keras 3 reads, in order or by name: the attribute
  `layer_names`, a group for each layer with the attribute `weight_names`.
- That of `x.weights.h5`, in Keras 3 and tf_keras: `layers/dense_1/vars/0`, numbered by class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import h5py
import numpy as np

from tfmigrate.checkpoint.architecture import Layer, snake_case
from tfmigrate.checkpoint.assign import Plain
from tfmigrate.checkpoint.parallel import Weight

_CELLS = frozenset({"LSTM", "GRU", "SimpleRNN", "ConvLSTM2D"})
_FUSED = frozenset({"CuDNNLSTM", "CuDNNGRU"})
"""Their weights have another shape than those of LSTM and GRU; load_weights("x.h5") of Keras 2 converts them."""
_HEADER_LIMIT = 64512
"""Bytes that an attribute may have; Keras splits longer ones the same way."""


class NoPlace(Exception):
    """The place of a layer's weights in the layout of Keras 3 is not known; the text says of which."""


def write_by_layer(file: h5py.File, plain: Plain, keras_version: str) -> None:
    """The old layout: the arrays themselves."""
    file.attrs["backend"] = b"tensorflow"
    file.attrs["keras_version"] = keras_version.encode()
    _write_names(file, "layer_names", [layer.name for layer in plain.model.inner])
    for layer in plain.model.inner:
        group = file.create_group(layer.name)
        weights = plain.below(layer)
        _write_names(group, "weight_names", [weight.name for weight in weights])
        for weight in weights:
            group.create_dataset(weight.name, data=weight.data[()])


def link_by_class(file: h5py.File, plain: Plain) -> None:
    """The layout of `.weights.h5`: links to the arrays that `write_by_layer` wrote. Raises NoPlace."""
    # Keras 3 and tf_keras count a layer that two models share differently.
    counted = Counter(layer.name for layer in plain.model.walk() if layer.name in plain.owners.values())
    for name, times in counted.items():
        if times > 1:
            raise NoPlace(f"{name} (shared by two models)")
    file.require_group("vars")  # tf_keras asks for those of the model itself, though there are none.
    where = {weight.name: f"{layer.name}/{weight.name}" for layer in plain.model.inner for weight in plain.below(layer)}
    for path, weights in _places(plain.model, plain, ""):
        for number, weight in enumerate(weights):
            file[f"{path}vars/{number}"] = file[where[weight.name]]


def _places(model: Layer, plain: Plain, path: str) -> Iterator[tuple[str, Sequence[Weight]]]:
    """Each group of Keras 3's layout and the weights in it."""
    used: Counter[str] = Counter()
    for layer in model.inner:
        name = "functional" if layer.class_name in ("Model", "Functional") else snake_case(layer.class_name)
        place = f"{path}layers/{name}_{used[name]}/" if used[name] else f"{path}layers/{name}/"
        used[name] += 1
        yield from _place(layer, plain, place)


def _place(layer: Layer, plain: Plain, place: str) -> Iterator[tuple[str, Sequence[Weight]]]:
    if layer.is_model:
        yield from _places(layer, plain, place)
        return
    own = [weight for weight in plain.weights if plain.owners[weight.name] == layer.name]
    if own:
        yield from _parts(layer, own, place)
    for inner in layer.inner:
        if inner.is_model:
            yield from _places(inner, plain, f"{place}layer/")


def _parts(layer: Layer, weights: Sequence[Weight], place: str) -> Iterator[tuple[str, Sequence[Weight]]]:
    """The weights that a layer made, by the layers inside it that Keras 3 keeps them in."""
    if layer.class_name in _CELLS:
        yield f"{place}cell/", weights
    elif layer.class_name == "Bidirectional" and len(layer.inner) in (1, 2):
        half = len(weights) // 2
        yield from _parts(layer.inner[0], weights[:half], f"{place}forward_layer/")
        yield from _parts(layer.inner[-1], weights[half:], f"{place}backward_layer/")
    elif layer.class_name == "TimeDistributed" and len(layer.inner) == 1:
        yield from _parts(layer.inner[0], weights, f"{place}layer/")
    elif layer.class_name in _FUSED:
        raise NoPlace(f"{layer.name} ({layer.class_name}, whose weights only tf_keras can read)")
    elif layer.class_name and not layer.inner and all(weight.name.count("/") == 1 for weight in weights):
        yield place, weights
    else:
        raise NoPlace(f"{layer.name} ({layer.class_name})" if layer.class_name else layer.name)


def _write_names(group: h5py.Group, attribute: str, names: Sequence[str]) -> None:
    encoded = np.array([name.encode() for name in names]) if names else np.array([], dtype="S1")
    parts = 1
    while any(part.nbytes > _HEADER_LIMIT for part in np.array_split(encoded, parts)):
        parts += 1
    for number, part in enumerate(np.array_split(encoded, parts)):
        group.attrs[attribute if parts == 1 else f"{attribute}{number}"] = part
