"""Which layer of the plain model each weight belongs to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tfmigrate.checkpoint.architecture import Layer, snake_case
from tfmigrate.checkpoint.parallel import Parallel, Weight
from tfmigrate.errors import UserError

_CLASSES = {
    snake_case(name): name
    for name in (
        "Dense", "Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "SeparableConv1D",
        "SeparableConv2D", "DepthwiseConv2D", "BatchNormalization", "LayerNormalization", "Embedding", "PReLU", "LSTM",
        "GRU", "SimpleRNN", "ConvLSTM2D",
    )
}  # fmt: skip
"""By the name that Keras gives a layer of the class: those with weights, and with no other layer inside."""


@dataclass(frozen=True)
class Plain:
    """The plain model with its weights, in the order of the file; `owners[weight name]` is the name of its layer."""

    model: Layer
    weights: tuple[Weight, ...]
    owners: Mapping[str, str]

    def below(self, layer: Layer) -> list[Weight]:
        """All weights of a layer and of those inside it, in the order of the file: trainable ones first."""
        names = {inner.name for inner in layer.walk()}
        return [weight for weight in self.weights if self.owners[weight.name] in names]


def assigned(parallel: Parallel, model: Layer | None, path: Path) -> Plain:
    """The weights of the file at `path`, each with its layer.

    `model` is the plain model's architecture as the user gave it. Without it the file's own counts; a file of weights
    alone then has the layers that the names of its weights tell, in their order. Raises UserError where that would be
    a guess.
    """
    scopes = list(dict.fromkeys(weight.scope for weight in parallel.weights))
    if model is not None:
        owners = _paired(sorted(scopes, key=_number), sorted(_makers(model), key=_number))
    elif parallel.model is not None:
        model = parallel.model
        makers = dict(_trainable_makers(model))
        in_order = sorted(makers, key=lambda name: not makers[name])  # The file has trainable weights first.
        owners = {name: name for name in scopes} if set(scopes) <= set(makers) else _paired(scopes, in_order)
    else:
        _refuse_equal_layers(parallel.weights, path)
        model = Layer(parallel.template, "", inner=tuple(Layer(name, _class_of(name)) for name in scopes))
        owners = {name: name for name in scopes}
    if owners is None:
        raise UserError(
            f"{path}: its weights are those of {', '.join(scopes)}, which do not fit the layers of the plain model: "
            f"{', '.join(_makers(model))}; pass the model that was trained as --model"
        )
    return Plain(model, parallel.weights, {weight.name: owners[weight.scope] for weight in parallel.weights})


def _makers(model: Layer) -> list[str]:
    return list(dict(_trainable_makers(model)))


def _trainable_makers(layer: Layer, trainable: bool = True) -> Iterator[tuple[str, bool]]:
    """The layers under whose names variables are made, and whether they are trained: in a wrapper it is the wrapper."""
    for inner in layer.inner:
        if layer.is_model or inner.is_model:
            if not inner.is_model:
                yield inner.name, trainable and inner.trainable
            yield from _trainable_makers(inner, trainable and inner.trainable)


def _paired(scopes: Sequence[str], makers: Sequence[str]) -> dict[str, str] | None:
    """The names of one run beside those of another, where Keras numbers on: the first `dense` is the first `dense`.

    None when there are not as many of each kind.
    """
    by_kind: dict[str, list[str]] = defaultdict(list)
    for name in makers:
        by_kind[_kind(name)].append(name)
    pairs: dict[str, str] = {}
    for kind in dict.fromkeys(map(_kind, scopes)):
        old = [name for name in scopes if _kind(name) == kind]
        if len(old) != len(by_kind[kind]):
            return None
        pairs.update(zip(old, by_kind[kind], strict=True))
    return pairs


def _kind(name: str) -> str:
    return re.sub(r"(_\d+)+$", "", name)


def _number(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name[len(_kind(name)) :]))


def _class_of(name: str) -> str:
    return _CLASSES.get(_kind(name), "")


def _refuse_equal_layers(weights: Iterable[Weight], path: Path) -> None:
    """Frozen layers lie behind the others in the file, so only names tell the order of layers of equal shapes."""
    shapes: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for weight in weights:
        shapes[weight.scope].append(weight.data.shape)
    equal: dict[tuple[tuple[int, ...], ...], list[str]] = defaultdict(list)
    for name, of_layer in shapes.items():
        equal[tuple(of_layer)].append(name)
    for names in equal.values():
        for first, other in pairwise(names):
            digits = [[int(number) for number in re.findall(r"\d+", name)] for name in (first, other)]
            if re.sub(r"_?\d+", "", first) != re.sub(r"_?\d+", "", other) or digits[0] >= digits[1]:
                raise UserError(
                    f"{path}: holds only weights, and the layers {first} and {other} have the same shapes, so "
                    "nothing tells which comes first; pass the architecture of the plain model with --model FILE "
                    "(what model.to_json() returns, a .keras or a whole .h5 file)"
                )
