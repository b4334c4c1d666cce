"""Parallel models that nothing uses: the model itself was trained, on one GPU."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

IMPORTS = """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
"""
TRAINING = """
model.compile("sgd", "mse")
model.fit(x, y, batch_size=16)
"""


@pytest.mark.parametrize(
    "wrap",
    [
        "parallel_model = multi_gpu_model(model, gpus=2)",
        "multi_gpu_model(model, gpus=2)",
        "if several:\n    parallel_model = multi_gpu_model(model, gpus=2)",
    ],
)
def test_such_a_wrap_goes_and_the_model_trains_as_it_did(wrap: str) -> None:
    file = check_migrated(f"{IMPORTS}several = len(x) > 3\n{wrap}\n{TRAINING}")
    assert "strategy" not in file.after
    assert "multi_gpu_model" not in file.after
    assert "parallel_model" not in file.after
    assert file.after.endswith(TRAINING)
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM001"]
    assert "nothing uses this parallel model: fit() at line" in message


def test_so_does_one_in_a_function() -> None:
    after = check_migrated(
        """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def train(x, y, gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel_model = multi_gpu_model(model, gpus=gpus)
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=16)
    return model
"""
    ).after
    assert "strategy" not in after
    assert "    model = Sequential([Dense(1, input_shape=(4,))])\n    model.compile(" in after


@pytest.mark.parametrize(
    "use",
    [
        "parallel_model.predict(x)",
        'parallel_model.compile("sgd", "mse")',
        "parallel_model(x)",
        "model = parallel_model",
        "models = [parallel_model]",
        "def show():\n    print(parallel_model.predict(x))",
        "print(globals())",
    ],
)
def test_one_that_something_uses_stays(use: str) -> None:
    after = check_migrated(f"{IMPORTS}parallel_model = multi_gpu_model(model, gpus=2)\n{use}\n{TRAINING}").after
    assert "tf.distribute.MirroredStrategy(" in after


def test_one_that_another_file_imports_stays() -> None:
    program = f"{IMPORTS}parallel_model = multi_gpu_model(model, gpus=2)\n{TRAINING}"
    after = check_migrated(program, other="from train import parallel_model\nparallel_model.predict(x)\n").after
    assert "tf.distribute.MirroredStrategy(" in after


def test_where_the_program_trains_nothing_itself_the_wrap_stays() -> None:
    after = check_migrated(f"{IMPORTS}parallel_model = multi_gpu_model(model, gpus=2)\n").after
    assert "tf.distribute.MirroredStrategy(" in after


def test_beside_another_that_is_used_it_is_reported() -> None:
    program = f"""{IMPORTS}parallel_model = multi_gpu_model(model, gpus=2)
{TRAINING}
second = Sequential([Dense(1, input_shape=(4,))])
parallel_second = multi_gpu_model(second, gpus=2)
parallel_second.compile("sgd", "mse")
parallel_second.fit(x, y, batch_size=16)
"""
    file = check_migrated(program)
    (finding,) = [finding for finding in file.findings if finding.code == "TFM429"]
    assert (finding.action, finding.line) == ("warn", 7)
    assert "nothing trains this parallel model: fit() at line 10 trained the model itself" in finding.message


def test_one_whose_summary_is_printed_is_reported() -> None:
    wrap = "parallel_model = multi_gpu_model(model, gpus=2)\nparallel_model.summary()"
    assert actions(check_migrated(f"{IMPORTS}{wrap}\n{TRAINING}"), "TFM429") == ["warn"]


def test_one_that_is_trained_is_not() -> None:
    program = (
        f"{IMPORTS}parallel_model = multi_gpu_model(model, gpus=2)\n{TRAINING.replace('model.', 'parallel_model.')}"
    )
    assert actions(check_migrated(program), "TFM429") == []
