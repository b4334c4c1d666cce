"""Arguments that reach a method through `**` are changed in the dict that holds them, where it serves nothing else."""

from __future__ import annotations

import pytest

from tests.kit import migrate

CODE = """from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model
from data import batches, checks


def train(model):
    model = Sequential([Dense(3, input_shape=(2,))])
    model = multi_gpu_model(model, gpus=2)
    model.compile('sgd', 'mae')
{lines}

train(0.1)
"""


def migrated(*lines: str) -> tuple[str, list[str]]:
    """The migrated lines of the function, and the messages about them."""
    result = migrate(CODE.format(lines="".join(f"    {line}\n" for line in lines)))
    told = [finding.message for finding in result.findings if finding.action == "warn"]
    return result.after.split("'mae')\n")[1].split("\n\n")[0].replace("\n    ", "\n").strip(), told


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        (
            ["how = {'generator': batches, 'epochs': 3, 'workers': 4}", "model.fit_generator(**how)"],
            "how = {'x': batches, 'epochs': 3}\nmodel.fit(**how)",
        ),
        (
            ["how = dict(generator=batches, epochs=3, workers=4)", "model.fit_generator(verbose=2, **how)"],
            "how = dict(x=batches, epochs=3)\nmodel.fit(verbose=2, **how)",
        ),
        (
            ['how = {"epochs": 3}', 'how["generator"] = batches', "model.fit_generator(**how)"],
            'how = {"epochs": 3}\nhow["x"] = batches\nmodel.fit(**how)',
        ),
        (
            ["model.fit_generator(**{'generator': batches, 'pickle_safe': False})"],
            "model.fit(**{'x': batches})",
        ),
        (
            [
                "how = {'steps': 4, 'workers': 4}",
                "model.evaluate_generator(batches, **how)",
                "model.predict_generator(checks, **how)",
            ],
            "how = {'steps': 4}\nmodel.evaluate(batches, **how)\nmodel.predict(checks, **how)",
        ),
        (
            ["how = {'nb_epoch': 3}", "model.fit_generator(batches, **how)"],
            "how = {'epochs': 3}\nmodel.fit(batches, **how)",
        ),
        (
            ["rate = {'lr': 0.1, 'decay': 0.0}", "model.compile(SGD(**rate), 'mse')"],
            "rate = {'learning_rate': 0.1, 'decay': 0.0}\n    model.compile(SGD(**rate), 'mse')",
        ),
    ],
)
def test_a_dict_that_serves_such_calls_alone_is_changed(lines: list[str], after: str) -> None:
    assert migrated(*lines) == (after, [])


GONE = "workers no longer exists, and is passed through `**` here: remove it where it is passed"


@pytest.mark.parametrize(
    "lines",
    [
        ["how = {'workers': 4}", "model.fit_generator(batches, **how)", "print(how)"],
        ["how = {'workers': 4}", "train(**how)", "model.fit_generator(batches, **how)"],
        ["how = {'workers': 4}", "how['workers'] = 2", "model.fit_generator(batches, **how)"],
        ["how = {'epochs': 2}", "how['workers'] = 2", "model.fit_generator(batches, **how)"],
        ["how = {'workers': 4, 'steps_per_epoch': 8}", "model.fit_generator(batches, **how)"],
        ["how = {'workers': 4, 'validation_data': checks}", "model.fit_generator(batches, **how)"],
    ],
)
def test_another_is_left_and_told(lines: list[str]) -> None:
    after, told = migrated(*lines)
    assert "workers'" in after
    assert GONE in told or "how['workers'] = 2" in lines


def test_a_decay_is_told_where_it_is_given() -> None:
    _, (told,) = migrated("rate = dict(lr=0.1, decay=1e-4)", "model.compile(SGD(**rate), 'mse')")
    assert told.startswith("`decay` is ignored by Keras 3")


def test_what_is_said_of_it_goes_with_it() -> None:
    after, told = migrated(
        "how = {",
        "    # all rows",
        "    'generator': batches,",
        "    # more workers",
        "    'workers': 4,  # as many as cores",
        "    'epochs': 2,  # a few",
        "    'max_queue_size': 4,  # batches",
        "}",
        "model.fit_generator(**how)",
    )
    assert after.splitlines() == [
        "how = {", "    # all rows", "    'x': batches,", "    'epochs': 2,  # a few", "}", "model.fit(**how)"
    ]  # fmt: skip
    assert told == []
