"""A line below the strategy that says how many GPUs there are goes up to it, and is not repeated."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """import os
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def train(args, rows):
    model = Sequential([Dense(1, input_shape=(4,))])
    model.summary()
{}
    model.compile("sgd", "mse")
    model.fit_generator(rows)
"""
WRAPPED = """    if gpus > 1:
        model = multi_gpu_model(model, gpus=gpus)
"""


def migrated(lines: str) -> str:
    file = migrate(PROGRAM.format(lines))
    assert file.status == "migrated"
    return file.after.partition("def train")[2]


@pytest.mark.parametrize(
    "lines",
    [
        '    gpus = len(args.ids.split(","))\n',
        '    # one for each id\n    gpus = len(args.ids.split(","))\n',
        '    ids = args.ids.split(",")\n    gpus = len([one for one in ids if one])\n',
        "    gpus = 4\n",
    ],
)
def test_it_goes_up_with_what_it_is_made_of(lines: str) -> None:
    after = migrated(lines + WRAPPED)
    assert after.startswith(f"(args, rows):\n{lines}    strategy = ")
    assert after.count("gpus = ") == 1


@pytest.mark.parametrize(
    "lines",
    [
        "    gpus = len(args.ids)\n    gpus = min(gpus, 4)\n",  # two values
        "    gpus = 2 if args.ids else 4; print(gpus)\n",  # not alone
        "    if args.many:\n        gpus = 4\n    else:\n        gpus = 2\n",
    ],
)
def test_other_lines_stay(lines: str) -> None:
    after = migrated(lines + WRAPPED)
    assert after.index("strategy = ") < after.index("gpus = ")


def test_a_line_that_reads_what_is_only_known_there_stays() -> None:
    lines = "    gpus = len(model.layers)\n" + WRAPPED
    file = migrate(PROGRAM.format(lines))
    assert file.status == "refused"


SESSION = """    options = tf.ConfigProto()
    options.gpu_options.allow_growth = True
    K.set_session(tf.Session(config=options))
"""


def test_it_goes_up_where_the_settings_of_a_session_do_too() -> None:
    head = "import tensorflow as tf\nfrom keras import backend as K\n"
    lines = "    gpus = 1  # set this\n" + SESSION + WRAPPED
    after = migrate(head + PROGRAM.format(lines)).after.partition("def train")[2]
    assert after.startswith("(args, rows):\n    gpus = 1  # set this\n    for gpu in ")
    assert "range(gpus)])\n        if gpus > 1\n" in after
