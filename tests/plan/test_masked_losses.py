"""Losses of outputs that carry a mask are reported (TFM313), and nothing else is."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_unchanged
from tfmigrate.settings import Settings

HEAD = """\
from keras.layers import *
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

"""
TAIL = """
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mean_squared_error")
parallel.train_on_batch(x, y)
"""
SEQUENCE = "model = Sequential([{}])"
EMBEDDING = "Embedding(8, 3, mask_zero=True)"


def told(model: str, **settings: str) -> list[str]:
    return actions(check_migrated(HEAD + model + TAIL, Settings(**settings)), "TFM313")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "layers",
    [
        f"{EMBEDDING}, LSTM(2, return_sequences=True), TimeDistributed(Dense(1))",
        f"{EMBEDDING}, Bidirectional(GRU(2, return_sequences=True)), Dropout(0.5), Dense(1)",
        "Masking(0.0, input_shape=(5, 2)), SimpleRNN(3, return_sequences=True)",
        "Masking(input_shape=(5, 2)), LSTM(3, return_sequences=True), Dense(1), Activation('softmax')",
    ],
)
def test_a_mask_that_reaches_the_output_is_told(layers: str) -> None:
    assert told(SEQUENCE.format(layers)) == ["warn"]


@pytest.mark.parametrize(
    "layers",
    [
        f"{EMBEDDING}, LSTM(2), Dense(1)",
        f"{EMBEDDING}, LSTM(2, return_sequences=False), Dense(1)",
        f"{EMBEDDING}, Bidirectional(LSTM(2)), Dense(1)",
        f"{EMBEDDING}, LSTM(2, return_sequences=True), Lambda(lambda t: t * 1.0), Dense(1)",
        f"{EMBEDDING}, LSTM(2, return_sequences=True), Flatten(), Dense(1)",
        f"{EMBEDDING}, LSTM(2, return_sequences=True), GlobalAveragePooling1D(), Dense(1)",
        f"{EMBEDDING}, LSTM(2, return_sequences=True), own.Attention(), Dense(1)",
        "Embedding(8, 3), LSTM(2, return_sequences=True), Dense(1)",
        "Embedding(8, 3, mask_zero=False), LSTM(2, return_sequences=True), Dense(1)",
        "Dense(3, input_shape=(4,)), Dense(1)",
    ],
)
def test_a_mask_that_ends_before_it_is_not(layers: str) -> None:
    assert told(SEQUENCE.format(layers)) == []


ADDED = f"""\
model = Sequential()
model.add({EMBEDDING})
model.add(LSTM(2, return_sequences={{}}))
model.add(Dense(1))
"""
CHAIN = f"""\
words = Input((5,))
steps = {EMBEDDING}(words)
steps = LSTM(2, return_sequences={{}})(steps)
model = Model(words, Dense(1)(steps))
"""


@pytest.mark.parametrize("model", [ADDED, CHAIN])
def test_layers_are_read_however_they_are_put_together(model: str) -> None:
    assert told(model.format(True)) == ["warn"]
    assert told(model.format(False)) == []


def test_one_of_several_outputs_may_have_it() -> None:
    two = CHAIN.replace("Model(words, Dense(1)(steps))", "Model(words, [Flatten()(steps), Dense(1)(steps)])")
    assert told(two.format(True)) == ["warn"]
    assert told(two.replace("Dense(1)(steps)]", "Flatten()(steps)]").format(True)) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [("keras==2.3.1", ["warn"]), ("keras==2.2.4", []), ("keras==2.1.6", []), ("tensorflow==1.14", ["warn"])],
)
def test_keras_up_to_2_2_did_as_today(version: str, expected: list[str]) -> None:
    assert told(ADDED.format(True), from_version=version) == expected


def test_tf_keras_is_told_of_any_version() -> None:
    text = (HEAD + ADDED.format(True) + TAIL).replace("from keras", "from tensorflow.keras")
    assert actions(check_migrated(text), "TFM313") == ["warn"]


def test_a_program_that_wraps_nothing_is_left_alone() -> None:
    text = HEAD.replace("from keras.utils import multi_gpu_model\n", "") + ADDED.format(True)
    text += "model.compile('sgd', 'mse')\n"
    assert actions(check_unchanged(text), "TFM313") == []
