"""TFM259: slashes in the names of layers."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.kit import actions, check_migrated, migrate
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.keras import layer_names

PROGRAM = """
from keras.applications import DenseNet121
from keras.layers import Dense, Input, Layer, concatenate
from keras.models import Model
from keras.utils import multi_gpu_model


class Own(Layer):
    pass


def dense(x, name=None):
    return Dense(4, name=name)(x)


def given(x, name):
    return given(x, name=name) if x is None else Dense(4, name=name)(x)


stage = "stage%d/" % 1
kind = "mean"
x = Input(shape=(4,))
{line}
model = Model(x, Dense(1)(x))
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(data, targets)
"""


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ('y = Dense(4, name="a/b")(x)', 'y = Dense(4, name="a_b")(x)'),
        ('y = Own(name="a/b")(x)', 'y = Own(name="a_b")(x)'),
        ('y = concatenate([x, x], name="a/b")', 'y = concatenate([x, x], name="a_b")'),
        ("y = Dense(4, name=f'{kind}/b')(x)", "y = Dense(4, name=f'{kind}_b')(x)"),
        ("y = Dense(4, name=f'{x[0]}/b')(x)", 'y = Dense(4, name=f\'{x[0]}/b\'.replace("/", "_"))(x)'),
        ('y = Dense(4, name="a/%s" % kind)(x)', 'y = Dense(4, name="a_%s" % kind)(x)'),
        ('y = Dense(4, name=kind + "/b")(x)', 'y = Dense(4, name=kind + "_b")(x)'),
        ('y = Dense(4, name="a/{}".format(kind))(x)', 'y = Dense(4, name="a_{}".format(kind))(x)'),
        ("y = [Dense(4, name=f'a/{i}')(x) for i in range(3)]", "y = [Dense(4, name=f'a_{i}')(x) for i in range(3)]"),
        ("y = given(x, name=f'a/{kind}')\n", "else Dense(4, name=name)(x)"),
        ('y = Dense(4, name=stage + "b")(x)', 'y = Dense(4, name=(stage + "b").replace("/", "_"))(x)'),
        (
            'y = Dense(4, name="{}b".format(stage))(x)',
            'y = Dense(4, name="{}b".format(stage).replace("/", "_"))(x)',
        ),
        ('y = dense(x, "a/b")\n', '    return Dense(4, name=name and name.replace("/", "_"))(x)'),
        ('y = given(x, "a/b")\n', 'else Dense(4, name=name.replace("/", "_"))(x)'),
        ('y = dense(x)\ny = dense(y, "a/b")', '    return Dense(4, name=name and name.replace("/", "_"))(x)'),
        (
            'y = DenseNet121().get_layer("conv1/bn")',
            'y = next(layer for layer in DenseNet121().layers if layer.name.replace("/", "_") == "conv1_bn")',
        ),
    ],
)
def test_an_underscore_stands_for_a_slash(line: str, written: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    flat = "".join(file.after.split())
    assert "".join(written.split()) in flat
    assert set(actions(file, "TFM259")) == {"rewrite"}


@pytest.mark.parametrize(
    "line",
    ['y = Dense(4, name=kind + "b")(x)', 'y = dense(x, "ab")', "y = dense(x, name_of(1))", 'y = f(name="a/b")'],
)
def test_other_names_stay(line: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert actions(file, "TFM259") == []
    assert line in file.after or "y = " in file.after


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ('y = Dense(4, name="")(x)', "y = Dense(4)(x)"),
        ('y = Input((4,), name="")', "y = Input((4,))"),
        ('y = Model(x, Dense(1)(x), name="")', "y = Model(x, Dense(1)(x))"),
        ('y = dense(x, "")\n', "    return Dense(4, name=name or None)(x)"),
        ('y = given(x, name="")\n', "else Dense(4, name=name or None)(x)"),
        ('y = given(x, name="")\nz = given(x, "a/b")', 'else Dense(4, name=name.replace("/", "_") or None)(x)'),
    ],
)
def test_an_empty_name_is_none(line: str, written: str) -> None:
    assert written in check_migrated(PROGRAM.format(line=line)).after


@pytest.mark.parametrize(
    "line",
    [
        'y = Dense(4, name="a b")(x)',
        'y = Dense(4, name="a")(x)',
        "y = Dense(4, name=None)(x)",
        'y = Dense(4, name=kind + "")(x)',
        'y = record(name="")',
        'y = tf.summary.create(name="")',
        'y = dense(x, "a")\n',
    ],
)
def test_names_that_are_not_empty_stay(line: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert actions(file, "TFM259") == []
    assert line in file.after


def test_a_name_that_is_handed_on_again_and_again_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def counting(node: cst.BaseExpression) -> str | None:
        nonlocal asked
        asked += 1
        return text_of(node)

    monkeypatch.setattr(layer_names, "text_of", counting)
    handed_on = "".join(
        f"\n\ndef d{n}(x, name):\n    return d{n - 1}(x, name) if x else d{n - 1}(x, name=name)\n" for n in range(1, 20)
    )
    program = PROGRAM.replace("\n\nstage", handed_on.replace("d0(", "given(") + "\n\nstage")
    file = check_migrated(program.format(line="y = d19(x, 'b')"))
    assert actions(file, "TFM259") == []
    assert 0 < asked < 1000


@pytest.mark.parametrize(
    ("base", "written"),
    [
        ("Model", "name=f'{self.name}_a-{i}'"),
        ("object", "name=f'{self.name}/a-{i}'.replace("),
    ],
)
def test_a_model_has_no_slash_in_its_own_name(base: str, written: str) -> None:
    program = f"""
from keras.layers import Dense
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


class Box({base}):
    def __init__(self, depth, **kwargs):
        super().__init__(**kwargs)
        self.parts = [Dense(3, name=f'{{self.name}}/a-{{i}}') for i in range(depth)]


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
"""
    assert written in migrate(program).after


def test_a_name_that_is_computed_is_looked_up_by_a_function() -> None:
    line = "def skip(net, name):\n    return net.get_layer(name).output\n\n\ny = skip(DenseNet121(), 'conv1/bn')"
    after = check_migrated(PROGRAM.format(line=line)).after
    assert "    return layer_called(net, name).output\n" in after
    assert after.count("def layer_called(model, name):") == 1


READ = """
import h5py
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


def fill(model, path):
    file = h5py.File(path, "r")
    for layer in model.layers:
        if layer.name in file:
            layer.set_weights([file[layer.name][key][()] for key in ("kernel", "bias")])


x = Input(shape=(4,))
model = Model(x, Dense(1, name="{name}")(x))
{line}
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(data, targets)
{last}
"""


@pytest.mark.parametrize(
    ("name", "line", "last", "told"),
    [
        ("head/dense", "fill(model, path)", "", 1),
        ("head/dense", "model.load_weights('old.h5', by_name=True)", "", 2),
        ("head_dense", "model.load_weights('old.h5', by_name=True)", "", 0),
        ("head/dense", "model.load_weights('old.h5')", "", 1),
        ("head/dense", "model.load_weights('own.h5', by_name=True)", "model.save_weights('own.h5')", 1),
    ],
)
def test_files_that_have_the_names_with_slashes_are_told(name: str, line: str, last: str, told: int) -> None:
    file = migrate(READ.replace("{name}", name).replace("{line}", line).replace("{last}", last))
    assert actions(file, "TFM259").count("warn") == told


def test_a_file_that_is_copied_by_hand_is_one_that_is_loaded_by_names() -> None:
    """Standalone Keras called the first layer without a name dense_1 (TFM281)."""
    text = READ.replace(', name="{name}"', "").replace("{line}", "fill(model, path)").replace("{last}", "")
    assert 'name="dense_1"' in migrate(text).after
    assert 'name="dense_1"' not in migrate(text.replace("set_weights", "show")).after
