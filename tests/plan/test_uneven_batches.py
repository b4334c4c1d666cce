"""A batch that the replicas do not divide stops Keras 3 at its first step, and is reported."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus={gpus})
parallel.compile("sgd", "mse")
parallel.{call}
"""


@pytest.mark.parametrize(
    ("gpus", "call", "told"),
    [
        ("3", "fit(x, y, batch_size=64)", True),
        ("3", "fit(x, y)", True),
        ("[0, 1, 2]", "fit(x, y, batch_size=64)", True),
        ("2", "evaluate(x, y, batch_size=1)", True),
        ("2", "fit(x, y, batch_size=64)", False),
        ("4", "fit(x, y)", False),
        ("3", "fit(x, y, batch_size=size)", False),
        ("gpus", "fit(x, y, batch_size=63)", False),
        ("3", "fit_generator(rows)", False),
        ("3", "predict(x, batch_size=64)", False),
    ],
)
def test_batches_that_are_not_shared_out_evenly(gpus: str, call: str, told: bool) -> None:
    file = migrate(PROGRAM.format(gpus=gpus, call=call))
    assert any(f.code == "TFM433" and f.action == "warn" and "evenly" in f.message for f in file.findings) == told


IMAGES = "from keras.preprocessing.image import ImageDataGenerator\n\nimages = ImageDataGenerator()\n"
UNEVEN = "images.flow(x, y, batch_size=1)"
EVEN = "images.flow_from_directory('train', batch_size=16)"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (f"fit_generator({EVEN}, validation_data={UNEVEN})", ["1 cannot", "no result"]),
        (f"fit_generator({EVEN}, 3, 2, 1, None, {UNEVEN})", ["1 cannot", "no result"]),
        ("fit_generator(images.flow(x, y, 15))", ["15 cannot"]),
        ("fit(images.flow_from_dataframe(table, 'images', batch_size=7))", ["7 cannot"]),
        (f"evaluate_generator({UNEVEN})", ["1 cannot", "no result"]),
        (f"evaluate({UNEVEN})", ["1 cannot", "no result"]),
    ],
)
def test_images_in_batches_that_are_not_shared_out_evenly(call: str, told: list[str]) -> None:
    file = migrate(IMAGES + PROGRAM.format(gpus="2", call=call))
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM433"]
    assert all(words in message for words in told)
    assert ("no result" in message) == ("no result" in told)


@pytest.mark.parametrize(
    "call",
    [
        f"fit_generator({EVEN}, validation_data={EVEN})",
        "fit_generator(images.flow(x, y))",
        "fit_generator(images.flow(x, y, batch_size=size))",
        "fit_generator(images.flow(*both, batch_size=size))",
        "fit_generator(images.flow_from_dataframe(table, 'images', 'x', 'y', 1))",
        f"predict_generator({UNEVEN})",
        "fit_generator(rows(x, y, batch_size=1))",
    ],
)
def test_nothing_is_said_of_other_images(call: str) -> None:
    file = migrate(IMAGES + PROGRAM.format(gpus="2", call=call))
    assert "TFM433" not in {finding.code for finding in file.findings}


def test_one_call_of_images_is_told_once_for_each_of_its_data() -> None:
    call = f"fit_generator({UNEVEN}, validation_data={UNEVEN})"
    file = migrate(IMAGES + PROGRAM.format(gpus="2", call=call))
    assert [finding.code for finding in file.findings].count("TFM433") == 2
