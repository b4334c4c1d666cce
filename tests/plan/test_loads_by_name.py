"""Weights that are loaded by names, and names that are taken apart, of layers that Keras named (TFM281)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from {keras}.callbacks import ModelCheckpoint
from {keras}.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten, LSTM, TimeDistributed
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

{code}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.train_on_batch(x, y)
"""
MODEL = "model = Sequential([Dense(4, input_shape=(4,)), Activation('relu'), Dense(4), Dense(1, name='out')])\n"
LOAD = "model.load_weights('start.h5', by_name=True)"
CLEAR = "from keras import backend\nbackend.clear_session()\n"
REPEATED = (
    "def block(model):\n    model.add(Conv2D(4, 3))\n    model.add(BatchNormalization())\n\n\n"
    "model = Sequential()\nfor _ in range(3):\n    block(model)\n"
)


def program(code: str, keras: str = "keras") -> str:
    return PROGRAM.format(code=code, keras=keras)


@pytest.mark.parametrize(
    "load",
    [
        LOAD,
        "model.load_weights('start.h5', True)",
        "model.load_weights(path, by_name=True, skip_mismatch=True)",
        "model.load_weights(path, by_name=by_name)",
    ],
)
def test_layers_with_weights_get_the_names_that_the_file_has(load: str) -> None:
    file = check_migrated(program(MODEL + load))
    after = file.after.replace("'", '"')
    assert [f'name="{name}' in after for name in ("dense_1", "dense_2", "activation")] == [True, True, False]
    assert actions(file, "TFM281") == ["rewrite", "rewrite"]


def test_one_more_is_made_before_layers_that_cannot_be_counted() -> None:
    file = check_migrated(program(REPEATED + LOAD))
    assert actions(file, "TFM281") == ["rewrite"]
    before, _, after = file.after.partition("def block(")
    assert "tf.keras.layers.BatchNormalization()  # takes the name batch_normalization: the next is" in before
    assert "tf.keras.layers.Conv2D(1, 1)  # takes the name conv2d: the next is conv2d_1\n" in before
    assert "name=" not in after.replace("by_name=", "")


def test_where_counting_begins_anew_they_are_told_where_it_is_loaded() -> None:
    file = check_migrated(program(CLEAR + REPEATED + LOAD))
    (finding,) = (finding for finding in file.findings if finding.code == "TFM281")
    assert (finding.action, file.before.splitlines()[finding.line - 1]) == ("warn", LOAD)
    assert "'batch_normalization_1'" in finding.message
    assert "Name each BatchNormalization and Conv2D" in finding.message


@pytest.mark.parametrize(
    "code",
    [
        MODEL + "model.load_weights('start.h5')",
        MODEL + "model.load_weights('start.h5', by_name=False)",
        MODEL + "model.load_weights('start.h5', False)",
        MODEL + "model.load_weights('start.h5', by_name=None)",
        MODEL + f"model.save_weights('start.h5')\n{LOAD}",
        MODEL + f"saver = ModelCheckpoint('start.h5', save_weights_only=True)\n{LOAD}",
        f"model = Sequential([Dense(4, name='a', input_shape=(4,)), Activation('relu'), Flatten()])\n{LOAD}",
        f"model = Sequential([TimeDistributed(Dense(4), name='a', input_shape=(4, 4)), LSTM(4, name='b')])\n{LOAD}",
        MODEL + "other.load_weights('start.h5', names=True)",
    ],
)
def test_other_loading_needs_no_names(code: str) -> None:
    assert not actions(check_migrated(program(code)), "TFM281")


def test_tf_keras_counts_as_it_did() -> None:
    for code in (MODEL + LOAD, REPEATED + LOAD):
        assert not actions(check_migrated(program(code, "tensorflow.keras")), "TFM281")


FOR = "for layer in model.layers:\n    "


@pytest.mark.parametrize(
    "read",
    [
        'print(int(layer.name.split("_")[1]))',
        'kind, number = layer.name.rsplit("_", 1)',
        "print(layer.name.rpartition('_')[0])",
        "print(layer.name[-1])",
        "print(layer.name[:-2])",
        "print(re.search(r'_\\d+$', layer.name))",
        "print(re.sub('_[0-9]', '', layer.name))",
    ],
)
def test_names_that_are_taken_apart_are_those_of_old_keras(read: str) -> None:
    file = check_migrated(program(f"import re\n{MODEL}{FOR}{read}"))
    assert actions(file, "TFM281") == ["rewrite"] * 3
    file = check_migrated(program(f"import re\n{REPEATED}{FOR}{read}"))
    assert actions(file, "TFM281") == ["rewrite"]
    assert "tf.keras.layers.Conv2D(1, 1)  # takes the name conv2d" in file.after
    file = check_migrated(program(f"import re\n{CLEAR}{REPEATED}{FOR}{read}"))
    (finding,) = (finding for finding in file.findings if finding.code == "TFM281")
    assert finding.action == "warn"
    assert "no number" in finding.message


@pytest.mark.parametrize(
    "read",
    [
        'print(layer.name.split("_")[0])',
        'print(layer.name.partition("_")[0])',
        'print(layer.name.split("/")[1])',
        "print(re.search('dense', layer.name))",
        "print(layer.name)",
        "print(person.name.split('_')[1])",
        "print(layer.weights[0].shape[-1])",
    ],
)
def test_what_is_the_same_today_is_left_alone(read: str) -> None:
    assert not actions(check_migrated(program(f"import re\n{MODEL}{FOR}{read}")), "TFM281")


def test_names_of_the_program_s_own_may_be_taken_apart() -> None:
    text = "model = Sequential([Dense(4, name='a_1', input_shape=(4,)), Dense(1, name='a_2')])\n"
    assert not actions(check_migrated(program(f"{text}{FOR}print(layer.name.split('_')[1])")), "TFM281")
