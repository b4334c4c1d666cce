"""predict() of one row under a strategy: which calls are seen to have one, and what becomes of them."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
import numpy as np
from keras.layers import Dense, Input, {layer}
from keras.models import Model, Sequential
from keras.preprocessing.sequence import pad_sequences
from keras.utils import multi_gpu_model

{before}
model = Sequential([{layer}(2, input_shape=(5, 4)), Dense(3)])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "categorical_crossentropy")
parallel.fit(x, y)
{after}
"""


def program(after: str, layer: str = "LSTM", before: str = "") -> str:
    return PROGRAM.format(after=after, layer=layer, before=before)


@pytest.mark.parametrize(
    "row",
    [
        "np.zeros((1, 5, 4))",
        "np.random.random((1, 5, 4))",
        "np.random.rand(1, 5, 4)",
        "np.expand_dims(x[i], 0)",
        "np.expand_dims(x[i], axis=0)",
        "np.reshape(x[i], (1, 5, 4))",
        "x[i].reshape(1, 5, 4)",
        "x[i].reshape((1, -1, 4))",
        "np.array([x[i]])",
        "pad_sequences([codes], maxlen=5)",
        "x[None]",
        "x[np.newaxis, :, :]",
        "x[i:i + 1]",
        "x[:1]",
        "x[0:1]",
        "x[-1:]",
        "x[[i]]",
        "x[np.array([i])]",
        "np.array([codes]) / 255.",
        "x[:1].astype('float32')",
    ],
)
@pytest.mark.parametrize("model", ["model", "parallel"])
def test_the_model_is_called(row: str, model: str) -> None:
    file = check_migrated(program(f"row = {row}\nprint({model}.predict(row, verbose=0)[0], {model}.predict({row}))"))
    assert f"print(model(row, training=False).numpy()[0], model({row}, training=False).numpy())" in file.after
    assert actions(file, "TFM449") == ["rewrite", "rewrite"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("predict_classes(x[:1])", "model(x[:1], training=False).numpy().argmax(axis=-1)"),
        ("predict_proba(x[:1])", "model(x[:1], training=False).numpy()"),
        ("predict_on_batch(x[:1])", "model(x[:1], training=False).numpy()"),
        ("predict(x[:1], batch_size=1, verbose=1)", "model(x[:1], training=False).numpy()"),
    ],
)
def test_other_methods(old: str, new: str) -> None:
    file = check_migrated(program(f"print(model.{old})"))
    assert f"print({new})" in file.after
    assert actions(file, "TFM449") == ["rewrite"]


@pytest.mark.parametrize(
    "rows",
    ["x", "x[:2]", "x[1:]", "x[i]", "x[::1]", "np.zeros((2, 5, 4))", "np.zeros(1)", "np.array([a, b])", "x[i:j]"],
)
def test_what_may_be_more_stays(rows: str) -> None:
    file = migrate(program(f"rows = {rows}\nprint(model.predict(rows), model.predict({rows}))"))
    assert f"print(model.predict(rows), model.predict({rows}))" in file.after
    assert actions(file, "TFM449") == []


@pytest.mark.parametrize("layer", ["GRU", "SimpleRNN", "Conv1D"])
def test_a_program_without_an_lstm_stays(layer: str) -> None:
    file = migrate(program("print(model.predict(x[:1]))", layer))
    assert "print(model.predict(x[:1]))" in file.after


def test_a_model_on_one_device_stays() -> None:
    single = "single = Sequential([LSTM(2, input_shape=(5, 4))])\nprint(single.predict(x[:1]))"
    file = migrate(program("", before=single))
    assert "print(single.predict(x[:1]))" in file.after


def test_a_model_of_several_outputs_is_reported() -> None:
    code = """
rows = Input((5, 4))
hidden = LSTM(2)(rows)
both = Model(rows, [Dense(1)(hidden), Dense(1)(hidden)])
spread = multi_gpu_model(both, gpus=2)
spread.compile("sgd", "mse")
spread.fit(x, [y, y])
print(both.predict(x[:1]))
"""
    file = migrate(program(code))
    assert "print(both.predict(x[:1]))" in file.after
    assert actions(file, "TFM449") == ["warn"]


@pytest.mark.parametrize(
    "before", ["print(model.predict(x, batch_size=1))", "n = 1\nprint(model.predict(x, batch_size=n))"]
)
def test_batches_of_one_row_become_longer(before: str) -> None:
    file = check_migrated(program(before))
    assert "print(model.predict(x))" in file.after
    assert actions(file, "TFM449") == ["rewrite"]


@pytest.mark.parametrize(
    ("code", "layer"),
    [
        ("print(model.predict(x, batch_size=2))", "LSTM"),
        ("print(model.predict(x, batch_size=n))", "LSTM"),
        ("print(model.predict(x, batch_size=1))", "GRU"),
        ("print(model.evaluate(x, y, batch_size=1))", "LSTM"),
        ("print(model.predict(x, batch_size=1), LSTM(2, stateful=True))", "LSTM"),
    ],
)
def test_other_batches_stay(code: str, layer: str) -> None:
    assert code in migrate(program(code, layer)).after


def test_a_batch_of_several_outputs_is_reported_and_predicted() -> None:
    code = """
rows = Input((5, 4))
both = Model(rows, [Dense(1)(rows), LSTM(1)(rows)])
spread = multi_gpu_model(both, gpus=2)
spread.compile("sgd", "mse")
spread.fit(x, [y, y])
print(both.predict_on_batch(x[:1]))
"""
    file = migrate(program(code))
    assert "print(both.predict(x[:1], verbose=0))" in file.after
    assert actions(file, "TFM449") == ["warn"]
