"""Layers that are frozen in a program with BatchNormalization (TFM445)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_unchanged, migrate
from tfmigrate.settings import Settings

PROGRAM = """\
from {keras}.layers import BatchNormalization, Dense
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

model = Sequential([Dense(8, input_shape=(4,)), {layer}, Dense(1)])
model.layers[1].trainable = {state}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("keras", "written_for", "layer", "state", "told"),
    [
        ("keras", None, "BatchNormalization()", "False", ["rewrite"]),
        ("tensorflow.keras", "tensorflow==1.14", "BatchNormalization()", "False", ["rewrite"]),
        ("tensorflow.keras", "tensorflow==2.1", "BatchNormalization()", "False", []),
        ("tensorflow.keras", None, "BatchNormalization()", "False", []),
        ("keras", None, "BatchNormalization()", "True", []),
        ("keras", None, "Dense(8)", "False", []),
    ],
)
def test_layers_that_had_the_old_meaning_keep_it(
    keras: str, written_for: str | None, layer: str, state: str, told: list[str]
) -> None:
    text = PROGRAM.format(keras=keras, layer=layer, state=state)
    if layer == "Dense(8)":
        text = text.replace("BatchNormalization, ", "")
    file = check_migrated(text, Settings(from_version=written_for))
    assert actions(file, "TFM445") == told
    assert ("class BatchNorm(tf.keras.layers.BatchNormalization):" in file.after) is bool(told)
    assert ("BatchNorm()" in file.after) is bool(told)


OTHERS = """\
from keras.applications import MobileNet, VGG16
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Norm(BatchNormalization):
    pass


model = Sequential([Dense(8, input_shape=(4,)), LAYER, Dense(1)])
model.layers[1].trainable = False
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("layer", "told"),
    [
        ("MobileNet(weights=None)", ["warn"]),
        ("VGG16(weights=None)", []),
        ("Norm()", ["warn"]),
        ("BatchNormalization()", ["rewrite"]),
    ],
)
def test_layers_that_are_made_otherwise_are_reported(layer: str, told: list[str]) -> None:
    """By a class that is derived from it, and by Keras itself; the networks of VGG have none."""
    text = OTHERS.replace("LAYER", layer)
    if layer != "Norm()":
        text = text.replace("class Norm(BatchNormalization):", "class Norm:")
    if not layer.startswith("MobileNet"):
        text = text.replace("MobileNet, ", "")
    assert actions(check_migrated(text), "TFM445") == told


def test_the_name_of_the_program_is_kept() -> None:
    text = PROGRAM.format(keras="keras", layer="BatchNormalization(), BatchNorm", state="False")
    after = check_migrated(text.replace("\n\n", "\nBatchNorm = Dense(3)\n", 1)).after
    assert "BatchNorm = Dense(3)" in after
    assert "class BatchNorm(" not in after


SAVED = """\
from keras.callbacks import ModelCheckpoint
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential, load_model, save_model
from keras.utils import multi_gpu_model

norm = Sequential([Dense(8, input_shape=(4,)), BatchNormalization(), Dense(1)])
plain = Sequential([Dense(8, input_shape=(4,))])
norm.trainable = False
whole = Sequential([norm, Dense(1)])
parallel = multi_gpu_model(whole, gpus=2)
parallel.compile("sgd", "mse")
{saving}
"""


@pytest.mark.parametrize(
    ("saving", "told"),
    [
        ("norm.save('net.h5')", 1),
        ("whole.save('net.h5')", 1),
        ("parallel.save('net.h5')", 1),
        ("save_model(norm, 'net.h5')", 1),
        ("text = whole.to_json()", 1),
        ("kept = ModelCheckpoint('net.h5')", 1),
        ("plain.save('net.h5')", 0),
        ("save_model(plain, 'net.h5')", 0),
        ("whole.save_weights('net.h5')", 0),
        ("kept = ModelCheckpoint('net.h5', save_weights_only=True)", 0),
        ("again = load_model('net.h5')", 0),
    ],
)
def test_where_a_model_is_saved_with_the_class_it_is_said(saving: str, told: int) -> None:
    assert actions(migrate(SAVED.format(saving=saving)), "TFM445").count("warn") == told


@pytest.mark.parametrize(("imported", "told"), [("import other", ["warn"]), ("import maker", []), ("import net", [])])
def test_what_loads_it_without_the_class_is_told_so(imported: str, told: list[str]) -> None:
    """What imports the module that has the class, or is imported by it, has the class."""
    loader = (
        f"from keras.models import load_model\nfrom keras.utils import multi_gpu_model\n{imported}\n\n"
        "model = load_model('net.h5')\nparallel = multi_gpu_model(model, gpus=2)\nparallel.compile('sgd', 'mse')\n"
    )
    file = migrate(loader, maker=SAVED.format(saving=""), net="import maker\n", other="kept = 1\n")
    assert actions(file, "TFM445") == told


def test_a_copy_of_the_definition_has_the_same_name_in_every_file() -> None:
    assert 'register_keras_serializable(package="frozen")' in migrate(SAVED.format(saving="")).after


def test_nothing_is_said_of_files_where_no_layer_has_the_class() -> None:
    text = SAVED.format(saving="whole.save('net.h5')").replace("norm.trainable = False\n", "")
    assert actions(migrate(text), "TFM445") == []


def test_a_program_on_a_strategy_that_freezes_layers_is_checked() -> None:
    file = check_unchanged(
        """\
import tensorflow as tf
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = Sequential([Dense(2, input_shape=(4,)), BatchNormalization()])
    model.layers[1].trainable = False
    model.compile("sgd", "mean_squared_error")
model.fit(x, y, batch_size=64)
model.save("a.h5")
"""
    )
    assert not actions(file, "TFM445")


def test_a_layer_in_the_head_of_a_loop_is_in_the_model_that_the_loop_adds_it_to() -> None:
    program = """\
from keras.layers import BatchNormalization, Dense, InputLayer
from keras.models import Sequential
from keras.utils import multi_gpu_model

part, other = Sequential([Dense(4, input_shape=(4,))]), Sequential([Dense(4, input_shape=(4,))])
for layer in [Dense(3), BatchNormalization(axis=-1)]:
    part.add(layer)
    other.add(BatchNormalization(axis=1))
{frozen}.trainable = False
parallel = multi_gpu_model(Sequential([part, other]), gpus=2)
parallel.compile("sgd", "mse")
"""
    frozen_part = check_migrated(program.format(frozen="part")).after
    assert "BatchNorm(axis=-1)" in frozen_part
    assert "BatchNorm(axis=1)" not in frozen_part
    frozen_other = check_migrated(program.format(frozen="other")).after
    assert "BatchNorm(axis=1)" in frozen_other
    assert "BatchNorm(axis=-1)" not in frozen_other


TWO_MODELS = """\
from keras.applications import VGG16
from keras.layers import BatchNormalization, Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

part = Sequential([Dense(4, input_shape=(4,)), BatchNormalization(axis=-1)])
other = Sequential([Dense(4, input_shape=(4,)), BatchNormalization(axis=1)])
x = Input(shape=(4,))
model = Model(x, Dense(1)(BatchNormalization(axis=(1,))(part(x))))
{line}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("VGG16().trainable = False", ""),
        ("other.trainable = False", "axis=1"),
        ("part.trainable = False", "axis=-1"),
        ("for layer in part.layers:\n    layer.trainable = False", "axis=-1"),
        ("model.trainable = False", "axis=-1 axis=(1,)"),
        ("for layer in model.layers[:2]:\n    layer.trainable = False", "axis=-1 axis=(1,)"),
        ("given.trainable = False", "axis=-1 axis=1 axis=(1,)"),
    ],
)
def test_the_layers_of_other_models_stay(line: str, changed: str) -> None:
    file = check_migrated(TWO_MODELS.format(line=line))
    for axis in ("axis=-1", "axis=1", "axis=(1,)"):
        assert (f"BatchNorm({axis})" in file.after) is (axis in changed.split())


SCRIPT = """\
from keras.utils import multi_gpu_model
from maker import build
{more}

def main():
    parallel = multi_gpu_model(build(), gpus=2)
    parallel.compile("sgd", "mse")
    parallel.fit(x, y)


if __name__ == "__main__":
    main()
"""
OWN = """
from keras.layers import BatchNormalization, Dense
from keras.models import Sequential


def build():
    return Sequential([Dense(8, input_shape=(4,)), BatchNormalization()])

"""
MAKER = "from keras.layers import Dense\nfrom keras.models import Sequential\n\n\ndef build():\n    pass\n"
FREEZING = SCRIPT.replace("    parallel.compile", "    parallel.layers[0].trainable = False\n    parallel.compile")


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        # Another script, which has only a module in common with this one.
        ({"maker": MAKER, "other": FREEZING.format(more="")}, []),
        ({"maker": MAKER, "other": FREEZING.format(more="import train")}, ["rewrite"]),
        ({"maker": MAKER + "build().trainable = False\n"}, ["rewrite"]),
        # Neither imported nor a script, or loaded by a computed name.
        ({"maker": MAKER, "other": "import maker\n\n\ndef freeze(layer):\n    layer.trainable = False\n"}, ["rewrite"]),
        (
            {
                "maker": MAKER,
                "other": FREEZING.format(more="import importlib\nnet = importlib.import_module(name)\n"),
            },
            ["rewrite"],
        ),
    ],
)
def test_what_a_run_does_not_load_freezes_nothing(modules: dict[str, str], told: list[str]) -> None:
    file = check_migrated(SCRIPT.format(more=OWN), **modules)
    assert actions(file, "TFM445") == told


FREEZER = "def freeze(net):\n    net.trainable = False\n"


@pytest.mark.parametrize(
    ("more", "modules", "told"),
    [
        (FREEZER, {"maker": MAKER}, ["warn"]),
        ("", {"maker": MAKER + FREEZER}, []),
        (FREEZER + "\n\ndef all_of(nets):\n    return map(freeze, nets)\n", {"maker": MAKER}, ["rewrite"]),
        (FREEZER + "\n\ngetattr(build(), 'freeze')()\n", {"maker": MAKER}, ["rewrite"]),
        ("import register\n\n\n@register.it\n" + FREEZER, {"maker": MAKER}, ["rewrite"]),
        (FREEZER, {"maker": MAKER, "other": "import train\n\ntrain.freeze(net)\n"}, ["rewrite"]),
        (FREEZER, {"maker": MAKER, "other": "from train import freeze as still\n"}, ["rewrite"]),
        ("class Net:\n    def freeze(self):\n        self.net.trainable = False\n", {"maker": MAKER}, ["rewrite"]),
    ],
)
def test_a_function_that_nothing_calls_freezes_nothing(more: str, modules: dict[str, str], told: list[str]) -> None:
    file = check_migrated(SCRIPT.format(more=OWN + "\n" + more), **modules)
    assert actions(file, "TFM445") == told


def test_a_function_of_a_module_that_trains_nothing_may_be_called_from_anywhere() -> None:
    text = SCRIPT.format(more=OWN + "\n" + FREEZER).partition("if __name__")[0]
    assert actions(check_migrated(text, maker=MAKER), "TFM445") == ["rewrite"]


@pytest.mark.parametrize("frozen", ["other", "another"])
def test_a_layer_made_for_two_scripts_follows_the_one_that_freezes(frozen: str) -> None:
    scripts = {name: FREEZING if name == frozen else SCRIPT for name in ("other", "another")}
    modules = {name: script.format(more="").replace("maker", "train") for name, script in scripts.items()}
    assert actions(migrate(OWN.lstrip(), **modules), "TFM445") == ["rewrite"]


@pytest.mark.parametrize(
    ("loader", "told"),
    [
        ("keras.models.load_model", ["warn"]),
        ("keras.models.Sequential", []),
        ("tensorflow.keras.models.load_model", []),
    ],
)
def test_a_model_from_a_file_may_have_such_layers(loader: str, told: list[str]) -> None:
    text = f"""\
from keras.utils import multi_gpu_model
from {loader.rpartition(".")[0]} import {loader.rpartition(".")[2]} as make

model = make("old.h5")
for layer in model.layers[:3]:
    layer.trainable = False
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(x, y)
"""
    assert actions(check_migrated(text), "TFM445") == told
