"""The file of a parallel model -> the file of the plain one. Needs h5py and no TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py

from tfmigrate.checkpoint import architecture, layouts, parallel
from tfmigrate.checkpoint.assign import assigned
from tfmigrate.errors import UserError
from tfmigrate.files.regular import require
from tfmigrate.files.write import new_file

ENDING = ".weights.h5"


@dataclass(frozen=True)
class Converted:
    """What was written."""

    template: str
    layers: int
    """Layers of the plain model that have weights, counting a sub-model as one."""
    weights: int
    dropped_optimizer: bool
    """Whether the old file held an optimizer's state: for the variables of the old one, so it is left out."""


def convert(old: Path, new: Path, plain_model: Path | None = None) -> Converted:
    """Write to `new`, which must not exist yet, the weights in `old` as the plain model reads them.

    `plain_model`: a file with the plain model's architecture, for an `old` of weights alone. The file `new` has the
    layout of its name: `x.weights.h5` that of Keras 3 and of tf_keras, and each has the old one too, which a name that
    ends in plain `.h5` selects. Raises UserError; then `new` is not there.
    """
    if not new.name.endswith(".h5"):
        raise UserError(f"{new}: the name must end in {ENDING}, or in .h5 for the layout that both Keras versions read")
    model = architecture.of_file(plain_model) if plain_model else None
    require(old)
    try:
        source = h5py.File(old, "r")
    except OSError as error:
        raise UserError(f"{old}: is not an HDF5 file that can be read: {error.strerror or error}") from None
    with source, new_file(new) as unfinished:
        saved = parallel.read(source, old)
        plain = assigned(saved, model, old)
        with h5py.File(unfinished, "w") as target:
            layouts.write_by_layer(target, plain, saved.keras_version)
            if new.name.endswith(ENDING):
                try:
                    layouts.link_by_class(target, plain)
                except layouts.NoPlace as layer:
                    raise UserError(
                        f"{old}: the place in a {ENDING} file for the weights of the layer {layer} cannot be "
                        "determined; write to a name that ends in just .h5, which load_weights of both Keras "
                        "versions reads"
                        + ("" if saved.model or model else ", or pass the plain model's architecture with --model")
                    ) from None
    layers = sum(bool(plain.below(layer)) for layer in plain.model.inner)
    return Converted(saved.template, layers, len(saved.weights), saved.has_optimizer)
