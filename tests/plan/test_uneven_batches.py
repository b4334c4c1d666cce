"""A batch that the replicas do not divide stops Keras 3 at its first step, and is reported."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """SIZE = 16
from keras.layers import Dense
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
        ("3", "fit(x, y, batch_size=SIZE)", True),
        ("3", "fit(x, y, batch_size=size)", False),
        ("gpus", "fit(x, y, batch_size=63)", False),
        ("3", "fit_generator(rows)", False),
        ("3", "predict(x, batch_size=64)", False),
    ],
)
def test_batches_that_are_not_shared_out_evenly(gpus: str, call: str, told: bool) -> None:
    file = migrate(PROGRAM.format(gpus=gpus, call=call))
    assert any(f.code == "TFM433" and f.action == "warn" and "evenly" in f.message for f in file.findings) == told


IMAGES = "from keras.preprocessing.image import ImageDataGenerator\n\nODD = 9\nimages = ImageDataGenerator()\n"
UNEVEN = "images.flow(x, y, batch_size=1)"
EVEN = "images.flow_from_directory('train', batch_size=16)"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (f"fit_generator({EVEN}, validation_data={UNEVEN})", ["batch of 1 ", "no result"]),
        (f"fit_generator({EVEN}, 3, 2, 1, None, {UNEVEN})", ["batch of 1 ", "no result"]),
        ("fit_generator(images.flow(x, y, 15))", ["batch of 15 "]),
        ("fit_generator(images.flow(x, y, batch_size=ODD))", ["batch of 9 "]),
        ("fit(images.flow_from_dataframe(table, 'images', batch_size=7))", ["batch of 7 "]),
        (f"evaluate_generator({UNEVEN})", ["batch of 1 ", "no result"]),
        (f"evaluate({UNEVEN})", ["batch of 1 ", "no result"]),
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


OWN = """from keras.utils import Sequence

COUNT = 3


class Rows(Sequence):
    def __init__(self, x, y, batch_size=32):
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[rows], self.y[rows]


def rows(x, y, batch_size):
    while True:
        yield x[:batch_size], y[:batch_size]


"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("fit_generator(Rows(x, y), validation_data=Rows(x, y, batch_size=1))", ["batch of 1 ", "no result"]),
        ("fit_generator(Rows(x, y, COUNT))", ["batch of 3 "]),
        ("fit_generator(rows(x, y, 5), 10)", ["batch of 5 "]),
        ("fit_generator(taken, 10)", ["batch of 7 "]),
    ],
)
def test_batches_of_classes_and_generators_of_the_program(call: str, told: list[str]) -> None:
    program = PROGRAM.format(gpus="2", call=call)
    file = migrate(OWN + "taken = rows(x, y, batch_size=7)\n" + program)
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM433"]
    assert all(words in message for words in told)


@pytest.mark.parametrize(
    "call",
    [
        "fit_generator(Rows(x, y), validation_data=Rows(x, y, batch_size=16))",
        "fit_generator(Rows(x, y, size))",
        "fit_generator(Rows(*both, batch_size=1))",
        "fit_generator(rows(x, y, 2 * size), 10)",
        "predict_generator(Rows(x, y, 1))",
    ],
)
def test_nothing_is_said_of_other_batches_of_the_program(call: str) -> None:
    file = migrate(OWN + PROGRAM.format(gpus="2", call=call))
    assert "TFM433" not in {finding.code for finding in file.findings}


def test_the_batches_of_images_are_of_32_where_nothing_is_said() -> None:
    file = migrate(IMAGES + PROGRAM.format(gpus="3", call="fit_generator(images.flow(x, y))"))
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM433"]
    assert "a batch of 32" in message
