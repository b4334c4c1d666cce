"""`fit_generator(validation_data=(x, y))` of standalone Keras validated in batches of the training's size (TFM437)."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.settings import Settings

PROGRAM = """\
import sys
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import multi_gpu_model

SIZE = int(sys.argv[1])


def f1(y_true, y_pred):
    hits = K.sum(y_true * K.round(y_pred))
    return 2 * hits / (K.sum(y_true) + K.sum(K.round(y_pred)))


def mean(y_true, y_pred):
    return K.mean(y_pred)


def batches(path, batch_size=16):
    while True:
        yield read(path, batch_size)


def train(size):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse", metrics=["{metric}"])
    {lines}
    parallel.fit_generator({data}, 4, validation_data={validation})


train(8)
"""


def fitted(data: str, *, metric: str = "f1", lines: str = "pass", validation: str = "(a, b)") -> tuple[str, list[str]]:
    text = PROGRAM.replace('"{metric}"', metric).replace("{lines}", lines).replace("{data}", data)
    file = migrate(text.replace("{validation}", validation))
    call = file.after.partition(".fit(")[2].partition("\n\n\ntrain")[0]
    return " ".join(call.split()), [each.action for each in file.findings if each.code == "TFM437"]


@pytest.mark.parametrize(
    ("data", "lines", "size"),
    [
        ("ImageDataGenerator().flow(x, y, 8)", "pass", "8"),
        ("ImageDataGenerator().flow(x, y, batch_size=size)", "pass", "size"),
        ("ImageDataGenerator().flow(x, y)", "pass", "32"),
        ("rows", "rows = ImageDataGenerator().flow_from_directory('d', batch_size=2 * SIZE)", "2 * SIZE"),
        ("batches('d')", "pass", "16"),
        ("batches('d', SIZE)", "pass", "SIZE"),
        ("rows", "rows = batches('d', batch_size=8)", "8"),
    ],
)
def test_the_size_is_passed_where_it_is_seen(data: str, lines: str, size: str) -> None:
    call, actions = fitted(data, lines=lines)
    assert call.endswith(f"validation_data=(a, b), validation_batch_size={size})") or (
        f"validation_batch_size={size}" in call
    )
    assert actions == ["rewrite"]


@pytest.mark.parametrize(("data", "lines"), [("read()", "pass"), ("batches(*args)", "pass")])
def test_it_is_told_where_the_size_is_not_seen(data: str, lines: str) -> None:
    call, actions = fitted(data, lines=lines)
    assert "validation_batch_size" not in call
    assert actions == ["warn"]


@pytest.mark.parametrize(
    ("metric", "validation"),
    [("'acc'", "(a, b)"), ("mean", "(a, b)"), ("f1", "batches('v')"), ("f1", "None"), ("f1", "data")],
)
def test_nothing_is_said_where_it_does_not_matter(metric: str, validation: str) -> None:
    call, actions = fitted("batches('d')", metric=metric, validation=validation)
    assert "validation_batch_size" not in call
    assert not actions


def test_arrays_under_a_name_are_seen() -> None:
    call, actions = fitted("batches('d')", lines="data = (a, b)", validation="data")
    assert "validation_batch_size=16" in call
    assert actions == ["rewrite"]


@pytest.mark.parametrize(
    ("written_for", "passed"), [("tensorflow==1.15", True), ("tensorflow==2.3", False), (None, False)]
)
def test_tf_keras_did_so_in_tensorflow_1(written_for: str | None, passed: bool) -> None:
    text = PROGRAM.replace('"{metric}"', "f1").replace("{lines}", "pass").replace("{data}", "batches('d')")
    text = text.replace("{validation}", "(a, b)").replace("from keras", "from tensorflow.keras")
    file = migrate(text, Settings(from_version=written_for))
    assert ("validation_batch_size=16" in file.after) == passed
