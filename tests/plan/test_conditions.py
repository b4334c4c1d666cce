"""Conditions under which there are several GPUs, in as few words as say the same."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate
from tfmigrate.plan.strategy.conditions import any_of
from tfmigrate.written import Written


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ([["g > 1"]], "g > 1"),
        ([["(g <= 1) or merged", "g > 1"], ["not ((g <= 1) or merged)"]], "g > 1"),
        ([["g < 2 or merged", "not g < 2"], ["not (g < 2 or merged)"]], "g >= 2"),
        ([["a or b", "a"]], "a"),
        ([["(g > 1)", "g > 1 or merged"]], "g > 1"),
        ([["a and b"], ["a and not b"]], "a"),
        ([["not a", "b or not a"]], "not a"),
        ([["a", "g > 1"]], "a and g > 1"),
        ([["a or b", "g > 1"]], "(a or b) and g > 1"),
        ([["a"], ["b"]], "a or b"),
        ([["a", "b"], ["c", "b"]], "(a or c) and b"),
        ([["a and b"], ["a and -b"]], "a and b or a and -b"),
        ([["a", "not a"]], "a and not a"),
        ([["g != 1", "g > 1"]], "g > 1"),
        ([["g != 2", "g > 1"]], "g != 2 and g > 1"),
        ([["g != 1", "g >= 2"]], "g >= 2"),
        ([["g != 2", "g >= 2"]], "g != 2 and g >= 2"),
        ([["g != 4", "g < 4"]], "g < 4"),
        ([["g != 4", "g <= 4"]], "g != 4 and g <= 4"),
        ([["g != 1", "h > 1"]], "g != 1 and h > 1"),
        ([["kind != 'a'", "kind == 'b'"]], "kind == 'b'"),
        ([["a or b", "c or d", "e", "a"]], "(a or b) and (c or d) and e and a"),
    ],
)
def test_a_condition_says_what_decides(ways: list[list[str]], said: str) -> None:
    written = [tuple(Written.of(part) for part in way) for way in ways]
    assert any_of(written).text == said


def test_a_wrap_in_both_arms_of_another_choice_is_asked_for_once() -> None:
    after = migrate(
        "import argparse\n\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
        "args = argparse.ArgumentParser().parse_args()\n"
        "if args.gpus <= 1 or args.merge:\n"
        "    model = build()\n"
        "    parallel = model if args.gpus <= 1 else keras.utils.multi_gpu_model(model, gpus=args.gpus)\n"
        "else:\n"
        "    with tf.device('/cpu:0'):\n"
        "        model = build()\n"
        "    parallel = keras.utils.multi_gpu_model(model, gpus=args.gpus)\n"
        "parallel.compile('sgd', 'mse')\n"
        "parallel.fit(batches)\n"
    ).after
    assert "\n    if args.gpus > 1\n    else tf.distribute.get_strategy()\n" in after
    assert "merge" not in after


ASKED = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from tensorflow.python.client import device_lib


def available():
    return [device.name for device in device_lib.list_local_devices() if device.device_type == 'GPU']


def build(parallel=False):
    model = Sequential([Dense(1, input_shape=(4,))])
    if {test}:
        model = multi_gpu_model(model, len(available()))
    model.compile('sgd', 'mse')
    return model


build(True).fit(x, y)
"""


@pytest.mark.parametrize("test", ["parallel and len(available()) > 1", "parallel and (len(available()) > 1)"])
def test_a_guard_that_asks_for_gpus_beside_other_things_goes_with_its_wrap(test: str) -> None:
    after = check_migrated(ASKED.format(test=test)).after
    assert f"if {test}:" not in after
    assert "        model.compile('sgd', 'mse')\n    return model\n" in after
    assert after.count("with strategy.scope():") == 1


def test_a_long_condition_has_a_line_for_each_part() -> None:
    after = check_migrated(
        """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def train(several_cards_wanted, on_this_machine, number_of_graphics_cards, everywhere):
    model = Sequential([Dense(1, input_shape=(4,))])
    if several_cards_wanted and (on_this_machine or everywhere) and number_of_graphics_cards > 1:
        model = multi_gpu_model(model, number_of_graphics_cards)
    model.compile("sgd", "mse")
    model.train_on_batch(x, y)
"""
    ).after
    lines = (
        "        if (",
        "            several_cards_wanted",
        "            and (on_this_machine or everywhere)",
        "            and number_of_graphics_cards > 1",
        "        )",
        "        else tf.distribute.get_strategy()",
    )
    assert "\n".join(lines) in after


AGAIN = """import os
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
model.summary()
{first}
while True:
    saved = os.listdir("saved")
    if saved:
        model.load_weights("saved/" + saved[-1])
        parallel = multi_gpu_model(model, gpus={gpus})
    parallel.compile("sgd", "mse")
    parallel.fit_generator(batches)
"""


def test_a_wrap_that_always_runs_needs_no_condition_of_another_one() -> None:
    text = AGAIN.format(first="parallel = multi_gpu_model(model, gpus=4)", gpus=4)
    after = check_migrated(text).after
    assert "strategy = tf.distribute.MirroredStrategy(devices=['/gpu:0'" in after.replace('"', "'")
    assert "get_strategy()" not in after


@pytest.mark.parametrize(
    ("first", "gpus"),
    [
        ("parallel = model", 4),
        ("parallel = multi_gpu_model(model, gpus=2)", 4),
        ("parallel = multi_gpu_model(model, gpus=4) if input() else model", 4),
        ("parallel = multi_gpu_model(model, gpus=4)", "len(saved)"),
    ],
)
def test_any_other_does(first: str, gpus: object) -> None:
    file = migrate(AGAIN.format(first=first, gpus=gpus))
    assert {finding.code for finding in file.findings if finding.action == "refuse"} <= {"TFM103", "TFM107"}
    assert file.status == "refused"
