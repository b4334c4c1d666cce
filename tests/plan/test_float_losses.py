"""What training answers is a float: methods of NumPy's numbers on it (TFM295)."""

from __future__ import annotations

import pytest

from tests import forks
from tests.plan.whole import migrated

LOSS = "loss = parallel.train_on_batch(x, y)\n"
NEW_LOSS = "loss = model.train_on_batch(x, y)\n"
TRAINED = "h = parallel.fit(batches)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LOSS + "a = loss.tolist()", NEW_LOSS + "a = float(loss)"),
        (LOSS + "a = loss.item()", NEW_LOSS + "a = float(loss)"),
        (LOSS + "a = loss.mean()", NEW_LOSS + "a = float(loss)"),
        (LOSS + "a = loss.round()", NEW_LOSS + "a = round(loss)"),
        (LOSS + "a = loss.round(3)", NEW_LOSS + "a = round(loss, 3)"),
        (LOSS + "a = loss[0].tolist()", NEW_LOSS + "a = float(loss[0])"),
        ("a = parallel.test_on_batch(x, y).item()", "a = float(model.test_on_batch(x, y))"),
        ("a = parallel.evaluate(x, y)[1].item()", "a = float(model.evaluate(x, y)[1])"),
        (
            TRAINED + "a = h.history['loss'][-1].item()",
            "h = model.fit(batches)\na = float(h.history['loss'][-1])",
        ),
        (
            "loss = 0\nfor i in range(2):\n    " + LOSS + "print(loss.item())",
            "loss = 0\nfor i in range(2):\n    " + NEW_LOSS + "print(float(loss))",
        ),
    ],
)
def test_a_float_is_asked_as_one(before: str, after: str) -> None:
    assert migrated(before, "TFM295") == (after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        NEW_LOSS + "a = np.mean(loss)",
        NEW_LOSS + "a = float(loss), '%f' % loss, loss + 1",
        NEW_LOSS + "a = np.array(loss).tolist()",
        NEW_LOSS + "a = loss.mean(axis=0)",
        "a = model.predict(x).mean()",
        "a = model.predict(x)[0].tolist()",
        "a = table['loss'][0].item()",
        "loss = trainer.train_on_batch(x, y)\na = loss.tolist()",
        "def mean(loss):\n    return loss.mean()",
    ],
)
def test_other_numbers_stay(lines: str) -> None:
    assert migrated(lines.replace("= model.", "= parallel."), "TFM295") == (lines, [])


ASKED = """\
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

x, y = np.ones((4, 2)), np.ones((4, 1))
model = Sequential([Input((2,)), Dense(1)])
model.compile("sgd", "mse")
history = model.fit(x, y, verbose=0).history["loss"]
print({type(n).__name__ for n in (model.train_on_batch(x, y), model.evaluate(x, y, verbose=0), history[0])})
model.compile("sgd", "mse", metrics=["mae"])
print({type(n).__name__ for n in (*model.train_on_batch(x, y), *model.test_on_batch(x, y))})
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_losses_are_floats(keras: int, python: forks.Python) -> None:
    assert python(keras, ASKED).stdout.split() == ["{'float'}", "{'float'}"]
