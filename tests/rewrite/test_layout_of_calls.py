"""The lines and comments of calls whose arguments change."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate
from tests.rewrite.files import one


def test_a_comma_at_the_end_of_the_arguments_becomes_one_between_two() -> None:
    file = one("""
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model
        from data import x, y

        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        model.compile("sgd", "mse")
        model.fit(x,
                  y,
                  validation_data=held(x),
                  epochs=3,)
    """)
    assert "          epochs=3,\n          validation_batch_size=32,)\n" in file.after


FITTED = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(4, input_shape=(4,))])
model = multi_gpu_model(model, gpus=2)
model.compile("sgd", "mse")
rows = np.zeros((8, 4))
"""


def test_comments_among_arguments_that_go_stay_in_the_call() -> None:
    fit = """\
# one pass
model.fit(rows, rows,
          batch_size=8,
          # validation_split=0.1,
          shuffle=False,
          # class_weight={0: 1},
          epochs=3)
"""
    file = check_migrated(FITTED + fit)
    assert file.after.index("# one pass\n") < file.after.index("train_dataset = (\n")
    kept = "          # validation_split=0.1,\n          # class_weight={0: 1},\n          epochs=3)\n"
    assert file.after.endswith("model.fit(train_dataset,\n" + kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rows, rows,\n          epochs=3, verbose=0", "train_dataset,\n          epochs=3, verbose=0"),
        ("rows,rows, batch_size=8, epochs=3", "train_dataset, epochs=3"),
        ("rows, rows, batch_size=8,\n          verbose=0", "train_dataset,\n          verbose=0"),
        ("rows, rows, epochs=3, batch_size=8,\n          verbose=0", "train_dataset, epochs=3,\n          verbose=0"),
        ("rows,  # what\n          rows, batch_size=8, epochs=3", "train_dataset,  # what\n          epochs=3"),
        ("rows,\n          rows, batch_size=8, epochs=3", "train_dataset,\n          epochs=3"),
    ],
)
def test_lines_of_arguments_end_where_they_did(before: str, after: str) -> None:
    file = migrate(f"{FITTED}model.fit({before})\n")
    assert f"\nmodel.fit({after})\n" in file.after


def test_a_scope_is_as_deep_as_the_block_round_it() -> None:
    text = FITTED[: FITTED.index("model =")] + "\n\ndef far(rows):\n        return rows\n\n\ndef ready():\n"
    text += "    model = Sequential([Dense(4, input_shape=(4,))])\n    model = multi_gpu_model(model, gpus=2)\n"
    file = migrate(text + "    model.compile('sgd', 'mse')\n    return model\n")
    assert "    with strategy.scope():\n        model = Sequential(" in file.after
