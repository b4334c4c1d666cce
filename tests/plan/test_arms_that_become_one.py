"""Arms of an `if` round the wrap that come to say the same: the condition goes on deciding about the strategy."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate

PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

gpus = read_number()


def build():
    return Sequential([Dense(1, input_shape=(4,))])


if {test}:
    model = build()
    parallel = multi_gpu_model(model, gpus={gpus})
    parallel.compile("sgd", "mse")
    parallel.train_on_batch(x, y)
else:
    {other}
"""
SAME = "model = build()\n    model.compile('sgd', 'mse')\n    model.train_on_batch(x, y)".replace("'", '"')
CHOICE = """\
strategy = (
    tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(gpus)])
    if gpus > 1
    else tf.distribute.get_strategy()
)
with strategy.scope():
    model = build()
    model.compile("sgd", "mse")
model.train_on_batch(x, y)
"""


def after(test: str, gpus: str = "gpus", other: str = SAME) -> str:
    return check_migrated(PROGRAM.format(test=test, gpus=gpus, other=other)).after


def test_one_gpu_and_none_are_left_to_the_default_strategy() -> None:
    text = after("gpus > 1")
    assert CHOICE in text
    assert "if gpus > 1:" not in text


@pytest.mark.parametrize(
    ("test", "gpus", "condition"),
    [
        ("gpus != 1", "gpus", "if gpus != 1 else"),
        ("gpus", "2", "if gpus else"),
        ("not several", "2", "if not several else"),
    ],
)
def test_any_condition_decides(test: str, gpus: str, condition: str) -> None:
    text = " ".join(after(test, gpus).split())
    assert f"{condition} tf.distribute.get_strategy()" in text
    assert "else:" not in text


def test_arms_that_differ_keep_the_condition_round_them() -> None:
    text = after("gpus > 1", other=SAME.replace('"mse"', '"mae"'))
    assert "if gpus > 1:\n    strategy = tf.distribute.MirroredStrategy(" in text
    assert "get_strategy" not in text


def test_one_arm_alone_keeps_it_too() -> None:
    text = after("gpus > 1", other="pass")
    assert "if gpus > 1:\n    strategy = tf.distribute.MirroredStrategy(" in text
    assert "get_strategy" not in text


def test_in_a_function_that_is_called() -> None:
    lines = PROGRAM.format(test="gpus > 1", gpus="gpus", other=SAME).split("\n\n\n")
    body = "def run(gpus):\n" + "".join(f"    {line}\n" for line in lines[-1].splitlines())
    text = check_migrated("\n\n\n".join([*lines[:-1], body, "run(gpus)\n"])).after
    assert "if gpus > 1\n        else tf.distribute.get_strategy()" in text
    assert "if gpus > 1:" not in text


def test_a_condition_of_unknown_names_is_written_as_it_stands() -> None:
    text = after("settings.several", "2").replace("\n    ", " ")
    assert "if settings.several else tf.distribute.get_strategy()" in text


ATTRIBUTE = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Trainer:
    def build(self, gpus):
        base = Sequential([Dense(1, input_shape=(4,))])
        if gpus > 1:
            print("several")
            self.model = multi_gpu_model(base, gpus=gpus)
        else:
            print("one")
            self.model = {other}
        self.model.compile("sgd", "mse")
"""


def test_an_attribute_that_both_arms_set_to_the_model_is_set_once() -> None:
    text = check_migrated(ATTRIBUTE.format(other="base")).after
    assert '        else:\n            print("one")\n        self.model = base\n' in text
    assert text.count("self.model = base") == 1


def test_an_attribute_that_is_another_model_in_one_arm_is_set_in_both() -> None:
    text = migrate(ATTRIBUTE.format(other="small()")).after
    assert "self.model = small()" in text
    assert text.count("self.model = ") == 2


def test_an_arm_may_stand_on_the_line_of_its_condition() -> None:
    body = "gpus = read_number()\nif gpus <= 1: model = Sequential([Dense(1, input_shape=(4,))])\nelse:\n"
    body += "    model = Sequential([Dense(1, input_shape=(4,))])\n    model = multi_gpu_model(model, gpus=gpus)\n"
    imports = PROGRAM.partition("\ngpus")[0]
    text = check_migrated(f'{imports}\n{body}model.compile("sgd", "mse")\nmodel.train_on_batch(x, y)\n').after
    assert "with strategy.scope():\n    model = Sequential([Dense(1, input_shape=(4,))])\n    model.compile" in text
    assert "if gpus <= 1:" not in text
