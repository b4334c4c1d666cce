"""The conversion on small files of the old layouts, made by hand as Keras wrote them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Tfmigrate
from tfmigrate.errors import UserError

h5py = pytest.importorskip("h5py", reason="checkpoints need h5py, which the verify extra brings")
convert = importlib.import_module("tfmigrate.checkpoint.convert").convert

Weights = Mapping[str, tuple[int, ...]]

DENSE: Weights = {
    "dense_1/kernel:0": (3, 4),
    "dense_1/bias:0": (4,),
    "dense_2/kernel:0": (4, 1),
    "dense_2/bias:0": (1,),
}


def names(group: Any, attribute: str, values: list[str], parts: int = 1) -> None:
    encoded = [value.encode() for value in values]
    for number, part in enumerate(np.array_split(np.array(encoded, dtype="S64"), parts)):
        group.attrs[attribute if parts == 1 else f"{attribute}{number}"] = part


def save_parallel(path: Path, weights: Weights, model: Any = None, template: str = "model_1", parts: int = 1) -> None:
    """What the parallel model of a template with one input and one output saved; each array holds its own number."""
    with h5py.File(path, "w") as file:
        group = file.create_group("model_weights") if model else file
        layers = ["input_1", "lambda_1", "lambda_2", template, "out"]
        names(group, "layer_names", layers)
        group.attrs["keras_version"] = b"2.2.4"
        for layer in layers:
            names(group.create_group(layer), "weight_names", [])
        del group[template].attrs["weight_names"]
        names(group[template], "weight_names", list(weights), parts)
        for number, (name, shape) in enumerate(weights.items()):
            group[template][name] = np.full(shape, number, "float32")
        if model:
            file.attrs["model_config"] = json.dumps(model)
            file.create_group("optimizer_weights")


def layer(class_name: str, name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": class_name, "name": name, "config": {"name": name, **config}, "inbound_nodes": [[]]}


def parallel(template: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the parallel model of a template."""
    slices = [layer("Lambda", f"lambda_{i + 1}", arguments={"i": i, "parts": 2}) for i in range(2)]
    inner = [
        layer("InputLayer", "input_1"),
        *slices,
        {**template, "inbound_nodes": [[], []]},
        layer("Concatenate", "out"),
    ]
    return layer("Model", "model_2", layers=inner)


def template_of(*layers: dict[str, Any]) -> dict[str, Any]:
    return layer("Model", "model_1", layers=list(layers))


def by_layer(path: Path) -> dict[str, list[str]]:
    """The old layout of a file: layer -> its weights."""
    with h5py.File(path) as file:
        return {
            name.decode(): [weight.decode() for weight in file[name.decode()].attrs["weight_names"]]
            for name in file.attrs["layer_names"]
        }


def arrays(path: Path) -> dict[str, int]:
    """Every place of an array in a file -> the number the array holds."""
    found: dict[str, int] = {}

    def note(name: str, thing: Any) -> None:
        if isinstance(thing, h5py.Dataset):
            found[name] = int(thing[()].flat[0])

    def visit(group: Any, above: str) -> None:
        for name, thing in group.items():  # visititems shows each array once, under one of its names.
            note(f"{above}{name}", thing)
            if isinstance(thing, h5py.Group):
                visit(thing, f"{above}{name}/")

    with h5py.File(path) as file:
        visit(file, "")
    return found


def test_weights_are_put_by_layer_and_where_keras_3_looks(tmp_path: Path) -> None:
    save_parallel(tmp_path / "old.h5", DENSE)
    convert(tmp_path / "old.h5", tmp_path / "new.weights.h5")
    assert by_layer(tmp_path / "new.weights.h5") == {
        "dense_1": ["dense_1/kernel:0", "dense_1/bias:0"],
        "dense_2": ["dense_2/kernel:0", "dense_2/bias:0"],
    }
    places = arrays(tmp_path / "new.weights.h5")
    assert places["dense_1/dense_1/kernel:0"] == 0
    assert [places[f"layers/{name}/vars/{n}"] for name in ("dense", "dense_1") for n in (0, 1)] == [0, 1, 2, 3]


def test_names_that_fill_several_attributes_are_read_and_written(tmp_path: Path) -> None:
    many = {f"dense_{n}/kernel:0": (n, n + 1) for n in range(1, 40)}
    save_parallel(tmp_path / "old.h5", many, parts=3)
    assert convert(tmp_path / "old.h5", tmp_path / "new.h5").weights == 39
    assert len(by_layer(tmp_path / "new.h5")) == 39


def test_a_whole_model_tells_where_frozen_layers_and_sub_models_belong(tmp_path: Path) -> None:
    # Trainable weights come first in the file, so the frozen layer stands behind those that follow it.
    weights = {"b/kernel:0": (2, 2), "c/kernel:0": (2, 2), "a/kernel:0": (2, 2), "d/kernel:0": (2, 2)}
    inner = layer("Sequential", "sequential_1", layers=[layer("Dense", "b"), layer("Dense", "d", trainable=False)])
    model = template_of(layer("InputLayer", "x"), layer("Dense", "a", trainable=False), inner, layer("Dense", "c"))
    save_parallel(tmp_path / "old.h5", weights, parallel(model))
    done = convert(tmp_path / "old.h5", tmp_path / "new.weights.h5")
    assert (done.layers, done.weights, done.dropped_optimizer) == (3, 4, True)
    assert by_layer(tmp_path / "new.weights.h5") == {
        "x": [],
        "a": ["a/kernel:0"],
        "sequential_1": ["b/kernel:0", "d/kernel:0"],
        "c": ["c/kernel:0"],
    }
    places = arrays(tmp_path / "new.weights.h5")
    assert places["layers/dense/vars/0"] == 2
    assert places["layers/sequential/layers/dense/vars/0"] == 0
    assert places["layers/sequential/layers/dense_1/vars/0"] == 3
    assert places["layers/dense_1/vars/0"] == 1


def test_a_sequential_of_old_keras_has_a_list_for_its_configuration(tmp_path: Path) -> None:
    inner = {
        "class_name": "Sequential",
        "name": "sequential_1",
        "config": [layer("Dense", "dense_1"), layer("Dense", "dense_2")],
    }
    save_parallel(tmp_path / "old.h5", DENSE, parallel(inner), "sequential_1")
    convert(tmp_path / "old.h5", tmp_path / "new.h5")
    assert list(by_layer(tmp_path / "new.h5")) == ["dense_1", "dense_2"]


def test_a_relocated_template_numbered_its_names_anew(tmp_path: Path) -> None:
    # cpu_relocation=True clones the template, and TensorFlow makes the names of its variables unique.
    weights = {"dense_2/kernel:0": (3, 4), "dense_1_1/kernel:0": (4, 1)}
    model = template_of(layer("Dense", "dense"), layer("Dense", "dense_1"))
    save_parallel(tmp_path / "old.h5", weights, parallel(model))
    convert(tmp_path / "old.h5", tmp_path / "new.h5")
    assert by_layer(tmp_path / "new.h5") == {"dense": ["dense_2/kernel:0"], "dense_1": ["dense_1_1/kernel:0"]}


def test_weights_alone_of_equal_layers_are_put_in_order_by_the_architecture(tmp_path: Path) -> None:
    weights = {"dense_2/kernel:0": (2, 2), "dense_3/kernel:0": (2, 1), "dense_1/kernel:0": (2, 2)}
    save_parallel(tmp_path / "old.h5", weights)
    with pytest.raises(UserError, match=r"dense_2 and dense_1 have the same shapes.*--model"):
        convert(tmp_path / "old.h5", tmp_path / "new.h5")
    today = template_of(layer("Dense", "dense"), layer("Dense", "dense_1"), layer("Dense", "dense_2"))
    (tmp_path / "plain.json").write_text(json.dumps(today))
    convert(tmp_path / "old.h5", tmp_path / "new.h5", tmp_path / "plain.json")
    assert by_layer(tmp_path / "new.h5") == {
        "dense": ["dense_1/kernel:0"], "dense_1": ["dense_2/kernel:0"], "dense_2": ["dense_3/kernel:0"],
    }  # fmt: skip


def test_an_architecture_of_another_model_is_refused(tmp_path: Path) -> None:
    save_parallel(tmp_path / "old.h5", DENSE)
    (tmp_path / "plain.json").write_text(json.dumps(template_of(layer("Dense", "dense"))))
    with pytest.raises(UserError, match="do not fit the layers"):
        convert(tmp_path / "old.h5", tmp_path / "new.h5", tmp_path / "plain.json")


def test_a_layer_that_holds_others_in_unknown_places_needs_the_old_layout(tmp_path: Path) -> None:
    save_parallel(tmp_path / "old.h5", {"attention/query/kernel:0": (2, 2)})
    with pytest.raises(UserError, match="layer attention cannot be determined"):
        convert(tmp_path / "old.h5", tmp_path / "new.weights.h5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.h5"]
    convert(tmp_path / "old.h5", tmp_path / "new.h5")


def save_plain(path: Path) -> None:
    with h5py.File(path, "w") as file:
        names(file, "layer_names", ["lambda_1", "lambda_2", "dense_1"])
        for name in ("lambda_1", "lambda_2"):
            names(file.create_group(name), "weight_names", [])
        names(file.create_group("dense_1"), "weight_names", ["dense_1/kernel:0"])
        file["dense_1/dense_1/kernel:0"] = np.zeros((2, 2))


def test_anything_else_is_refused_in_one_line_and_leaves_nothing(tmp_path: Path, tfmigrate: Tfmigrate) -> None:
    save_parallel(tmp_path / "good.h5", DENSE)
    save_plain(tmp_path / "plain.h5")
    with h5py.File(tmp_path / "today.weights.h5", "w") as file:
        file.create_group("layers")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = 1
    (tmp_path / "text.h5").write_text("no")
    (tmp_path / "taken.h5").write_text("mine")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for old, new, what in (
        ("plain.h5", "new.h5", "a parallel model did not save this"),
        ("today.weights.h5", "new.h5", "layout of .weights.h5"),
        ("foreign.h5", "new.h5", "holds no model or weights saved by Keras"),
        ("text.h5", "new.h5", "is not an HDF5 file"),
        ("absent.h5", "new.h5", "does not exist"),
        ("good.h5", "taken.h5", "already exists"),
        ("good.h5", "good.h5", "already exists"),
        ("good.h5", "new.keras", "must end in"),
        ("good.h5", "nowhere/new.h5", "cannot be written"),
    ):
        done = tfmigrate("checkpoint", tmp_path / old, tmp_path / new)
        assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1), done.err
        assert what in done.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_command_says_what_it_wrote_and_what_it_left_out(tmp_path: Path, tfmigrate: Tfmigrate) -> None:
    model = template_of(layer("Dense", "dense_1"), layer("Dense", "dense_2"))
    save_parallel(tmp_path / "old.h5", DENSE, parallel(model))
    before = (tmp_path / "old.h5").read_bytes()
    done = tfmigrate.exits(0, "checkpoint", tmp_path / "old.h5", tmp_path / "new.weights.h5")
    assert "4 weights of 2 layers, from model_1" in done.text
    assert "optimizer's state is left out" in done.text
    assert (tmp_path / "old.h5").read_bytes() == before
