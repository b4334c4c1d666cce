"""The word 'accuracy' beside binary_crossentropy: what old Keras computed for it is written out."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate
from tfmigrate.settings import Settings

HEAD = """\
import {keras}.losses
from {keras}.layers import Activation, Conv2D, Dense, Dropout, Input, Lambda, TimeDistributed
from {keras}.models import Model, Sequential
from {keras}.utils import multi_gpu_model

{model}
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", {compile})
"""
WIDE = "model = Sequential([Dense(3, input_shape=(4,))])"
PLAIN = '"binary_crossentropy", metrics=["accuracy"]'
TWO = """\
rows = Input((4,))
one, many = Dense({one}, name="one")(rows), Dense(9, name="many")(rows)
model = Model(rows, [one, many])"""


def written(model: str, arguments: str = PLAIN, keras: str = "keras", settings: Settings | None = None) -> str:
    file = migrate(HEAD.format(keras=keras, model=model, compile=arguments), settings or Settings())
    return file.after


def told(model: str, arguments: str = PLAIN, keras: str = "keras", settings: Settings | None = None) -> list[str]:
    return actions(migrate(HEAD.format(keras=keras, model=model, compile=arguments), settings or Settings()), "TFM312")


@pytest.mark.parametrize(
    ("arguments", "metrics"),
    [
        (PLAIN, '[tf.keras.metrics.BinaryAccuracy(name="accuracy")]'),
        ("'binary_crossentropy', ['acc', 'mse']", "[tf.keras.metrics.BinaryAccuracy(name='acc'), 'mse']"),
        ('"binary_crossentropy", metrics="accuracy"', '[tf.keras.metrics.BinaryAccuracy(name="accuracy")]'),
        ('"binary_crossentropy", metrics=["mse"] + ["acc"]', '["mse"] + [tf.keras.metrics.BinaryAccuracy(name="acc")]'),
        ('"binary_crossentropy", metrics=["ce"]', '[tf.keras.metrics.BinaryCrossentropy(name="ce")]'),
        ('"bce", weighted_metrics=["acc"]', 'weighted_metrics=[tf.keras.metrics.BinaryAccuracy(name="acc")]'),
        ('keras.losses.binary_crossentropy, metrics=["acc"]', '[tf.keras.metrics.BinaryAccuracy(name="acc")]'),
        ('keras.losses.BinaryCrossentropy(), metrics=["acc"]', '[tf.keras.metrics.BinaryAccuracy(name="acc")]'),
    ],
)
def test_a_wide_output_gets_the_metric_that_it_had(arguments: str, metrics: str) -> None:
    assert metrics in written(WIDE, arguments)
    assert told(WIDE, arguments) == ["rewrite"]


@pytest.mark.parametrize(
    "model",
    [
        "model = Sequential([Dense(width, input_shape=(4,))])",
        "model = Sequential(layers)",
        "model = Sequential()\nmodel.add(Dense(1))\nmodel.add(Dense(2))",
        "model = Sequential()\nif several:\n    model.add(Dense(2))\nelse:\n    model.add(Dense(1))",
        "model = Sequential([Dense(1), Lambda(spread)])",
        "model = Sequential([Dense(1), other])",
        "rows = Input((4,))\nx = Dense(1)(rows)\nx = Dense(5)(x)\nmodel = Model(rows, x)",
        "rows = Input((4,))\nx = Dense(5)(rows)\nif one:\n    x = Dense(1)(x)\nmodel = Model(rows, x)",
        "rows = Input((4,))\nx = Dense(1)(rows)\nfor _ in range(2):\n    x = Dense(5)(x)\nmodel = Model(rows, x)",
        "rows = Input((4,))\ninner = Sequential()\ninner.add(Dense(5))\nmodel = Model(rows, inner(rows))",
        "rows = Input((8, 8, 1))\nmodel = Model(rows, Conv2D(1, 1, data_format='channels_first')(rows))",
    ],
)
def test_so_does_one_that_is_not_surely_one_wide(model: str) -> None:
    assert told(model) == ["rewrite"]


@pytest.mark.parametrize(
    "model",
    [
        "model = Sequential([Dense(8, input_shape=(4,)), Dense(1), Activation('sigmoid')])",
        "width = 1\nmodel = Sequential([Dense(units=width, input_shape=(4,))])",
        "model = Sequential()\nmodel.add(Dense(8, input_shape=(4,)))\nmodel.add(Dense(1))\nmodel.add(Dropout(0.5))",
        "model = Sequential()\nif deep:\n    model.add(Dense(8))\nmodel.add(Dense(1))",
        "model = Sequential([TimeDistributed(Dense(1), input_shape=(5, 4))])",
        "rows = Input((4,))\nx = Dense(8)(rows)\nx = Dense(1)(x)\nmodel = Model(inputs=rows, outputs=x)",
        "rows = Input((4,))\nlast = Dense(1)\nmodel = Model(rows, Activation('sigmoid')(last(rows)))",
        "rows = Input((8, 8, 1))\nmodel = Model(rows, Conv2D(1, 1)(rows))",
        "def build():\n    rows = Input((4,))\n    return Model(rows, Dense(1)(rows))\n\nmodel = build()",
        "rows = Input((4,))\ninner = Sequential()\ninner.add(Dense(1))\nx = inner(rows)\nmodel = Model(rows, x)",
    ],
)
def test_an_output_that_is_one_wide_keeps_the_word(model: str) -> None:
    assert told(model) == []
    assert '"accuracy"' in written(model)


@pytest.mark.parametrize(
    "arguments",
    [
        '"categorical_crossentropy", metrics=["accuracy"]',
        '"mse", metrics=["acc"]',
        '"binary_crossentropy"',
        '"binary_crossentropy", metrics=["binary_accuracy", "mae"]',
        '"binary_crossentropy", metrics=["categorical_accuracy"]',
        'own, metrics=["accuracy"]',
        'lambda y, p: keras.losses.binary_crossentropy(y, p), metrics=["accuracy"]',
        'loss_of(3), metrics=["accuracy"]',
        'metrics=["accuracy"]',
        '["categorical_crossentropy"], metrics=["accuracy"]',
    ],
)
def test_another_loss_or_metric_is_left_alone(arguments: str) -> None:
    assert told(WIDE, arguments) == []


@pytest.mark.parametrize(
    ("one", "loss", "metrics", "what"),
    [
        (1, '["binary_crossentropy", "mse"]', '["accuracy"]', []),
        (1, '{"one": "binary_crossentropy", "many": "mse"}', '["accuracy"]', []),
        (2, '["binary_crossentropy", "mse"]', '["accuracy"]', ["warn"]),
        (2, '["binary_crossentropy", "mse"]', '[["accuracy"], ["accuracy"]]', ["rewrite"]),
        (2, '["mse", "mse"]', '[["accuracy"], ["accuracy"]]', []),
        (2, '{"one": "binary_crossentropy", "many": "mse"}', '{"one": "acc", "many": "acc"}', ["rewrite"]),
        (2, '{"one": "binary_crossentropy", "many": "mse"}', '{"many": "acc"}', []),
        (2, '["binary_crossentropy", "mse"]', '{"many": "acc"}', []),
        (2, '["mse", "binary_crossentropy"]', '{"many": ["acc", "mse"]}', ["rewrite"]),
        (1, '"binary_crossentropy"', '["accuracy"]', ["rewrite"]),
        (1, '["binary_crossentropy", "binary_crossentropy"]', '["accuracy"]', ["rewrite"]),
    ],
)
def test_each_output_has_a_loss_of_its_own(one: int, loss: str, metrics: str, what: list[str]) -> None:
    assert told(TWO.format(one=one), f"{loss}, metrics={metrics}") == what


def test_of_several_outputs_each_gets_an_object() -> None:
    after = written(TWO.format(one=2), PLAIN)
    assert after.count('[tf.keras.metrics.BinaryAccuracy(name="accuracy")]') == 2


def test_a_list_by_a_name_may_stand_outside_the_scope() -> None:
    model = f'{WIDE}\nwatched = ["mse", "accuracy"]'
    assert told(model, '"binary_crossentropy", metrics=watched') == ["warn"]
    assert told(model, '"mse", metrics=watched') == []


@pytest.mark.parametrize(
    ("option", "units", "what"),
    [
        ("default='binary_crossentropy'", 3, ["warn"]),
        ("default='mse', choices=['mse', 'binary_crossentropy']", 3, ["warn"]),
        ("default='binary_crossentropy'", 1, []),
        ("default='mse'", 3, []),
    ],
)
def test_an_option_chooses_the_loss(option: str, units: int, what: list[str]) -> None:
    parser = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--loss', {option})"
    model = f"{parser}\nargs = parser.parse_args()\nmodel = Sequential([Dense({units}, input_shape=(4,))])"
    assert told(model, 'args.loss, metrics=["accuracy"]') == what


@pytest.mark.parametrize(
    ("keras", "version", "what"),
    [
        ("keras", None, ["rewrite"]),
        ("keras", "keras==2.3.1", ["rewrite"]),
        ("keras", "keras==2.4.3", []),
        ("tensorflow.keras", None, ["warn"]),
        ("tensorflow.keras", "tensorflow==1.15", ["rewrite"]),
        ("tensorflow.keras", "tensorflow==2.1", ["rewrite"]),
        ("tensorflow.keras", "tensorflow==2.2", []),
    ],
)
def test_the_version_decides(keras: str, version: str | None, what: list[str]) -> None:
    assert told(WIDE, PLAIN, keras, Settings(from_version=version)) == what
