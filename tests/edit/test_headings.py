"""A function that is inserted stands above the heading of what follows, and below what a comment goes on from."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

IMPORTS = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model
"""
ROWS = """\
def rows():
    while True:
        yield x, y
"""
TRAINING = """

# ---- Training ----


def train():
    parallel_model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    parallel_model.compile("sgd", "mse")
    parallel_model.fit_generator(rows(), steps_per_epoch=2)
"""
END = "    return tf.data.Dataset.from_generator(batches, output_signature=signature)\n"


@pytest.mark.parametrize(
    "above",
    [
        "# ---- Data ----\n\n\n",
        "# ---- Data ----\n",
        "# Makes rows.\n# For ever.\n",
        "#########\n# Data\n#########\n\n# Makes rows.\n",
        "# ---- Data ----\n\n# Rows, for ever.\n\n",
        "",
    ],
)
def test_it_stands_above_all_that_heads_the_next(above: str) -> None:
    after = check_migrated(f"{IMPORTS}\n{above}{ROWS}{TRAINING}").after
    assert f"{END}\n\n{above}{ROWS}" in after


@pytest.mark.parametrize("between", ["\n\n", "\n\n# ---- Data ----\n\n\n"])
def test_it_stands_below_a_comment_that_goes_on_from_the_line_above(between: str) -> None:
    after = check_migrated(f"{IMPORTS}\nlimit = 3\n# At most.\n{between}{ROWS}{TRAINING}").after
    assert "limit = 3\n# At most.\n\n\ndef as_dataset(" in after
    heading = between.strip()
    assert (f"{END}\n\n{ROWS}" if not heading else f"\n\n{heading}\n\n\n{ROWS}") in after


def test_the_heading_of_the_function_that_trains_stays() -> None:
    after = check_migrated(f"{IMPORTS}\n{ROWS}{TRAINING}").after
    assert "\n\n# ---- Training ----\n\n\ndef train():\n" in after
