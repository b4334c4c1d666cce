"""Two strategies that a migration writes into one process, under which models of different shapes train."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

IMPORTS = """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model
"""


def training(name: str, layers: str) -> str:
    return f"""

def {name}(x, y):
    model = multi_gpu_model(Sequential([{layers}]), gpus=2)
    model.compile(loss="mse", optimizer="sgd")
    model.fit(x, y)
"""


FIRST = training("first", "Dense(1, input_shape=(4,))")
SECOND = training("second", "Dense(3, input_shape=(4,)), Dense(1)")


BOTH = "print(1)\nfirst(x, y)\nsecond(x, y)\n"


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        (BOTH, "first(x, y)"),
        (f"if __name__ == '__main__':\n    {BOTH.replace(chr(10), chr(10) + '    ').strip()}\n", "if __name__"),
        ("def main():\n    first(x, y)\n    second(x, y)\n\n\nmain()\n", "main()"),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '2,3'\n" + BOTH, "first(x, y)"),
    ],
)
def test_functions_that_would_fail_with_two_share_one(calls: str, place: str) -> None:
    file = check_migrated(f"{IMPORTS}{FIRST}{SECOND}\n\n{calls}")
    assert actions(file, "TFM414") == []
    made = "strategy = tf.distribute.MirroredStrategy(devices=['/gpu:0', '/gpu:1'])\n"
    assert file.after.replace('"', "'").count(made) == 1
    assert f"{made}{place}" in file.after.replace('"', "'")
    assert file.after.count("    with strategy.scope():\n        model = ") == 2


def test_a_function_with_other_sizes_shares_one_with_itself() -> None:
    program = """
G = 2


def train(width):
    model = Sequential([Dense(width, input_shape=(4,)), Dense(1)])
    if G > 1:
        model = multi_gpu_model(model, gpus=G)
    model.compile(loss="mse", optimizer="sgd")
    model.fit(x, y)


for width in (3, 5):
    train(width)
train(7)
"""
    file = check_migrated(IMPORTS + program)
    assert actions(file, "TFM414") == []
    assert file.after.count("strategy = (\n") == 1
    assert file.after.index("strategy = (\n") < file.after.index("for width in")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def first(x, y):\n", "def first(x, y):\n    strategy = 1\n"),
        ("def first(x, y):\n", "def first(x, y):\n    os.environ['CUDA_VISIBLE_DEVICES'] = '2,3'\n"),
        ("Dense(1)]), gpus=2", "Dense(1)]), gpus=4"),
        ("gpus=2", "gpus=y[0]"),
        ("gpus=2", "gpus=number"),
        ("print(1)", "strategy = 1"),
    ],
)
def test_what_cannot_be_made_once_stays_two(old: str, new: str) -> None:
    program = f"import os\n{IMPORTS}{FIRST}{SECOND}\n\n{BOTH}number = 2\n"
    file = check_migrated(program.replace(old, new))
    assert "\nstrategy = tf.distribute" not in file.after


def test_the_second_of_two_names_the_first_training() -> None:
    second = SECOND.replace("gpus=2", "gpus=4")
    file = check_migrated(f"{IMPORTS}{FIRST}{second}\n\nfirst(x, y)\nsecond(x, y)\n")
    (said,) = [finding for finding in file.findings if finding.code == "TFM414"]
    assert (said.action, said.line) == ("warn", 14)
    assert "as at line 10; create one strategy and use it for both" in said.message


@pytest.mark.parametrize(
    "calls",
    ["first(x, y)", "first(x, y)\nfirst(x, y)", "if wide:\n    second(x, y)\nelse:\n    first(x, y)"],
    ids=["one alone", "the same model twice", "one of two"],
)
def test_one_strategy_at_a_time_is_not_reported(calls: str) -> None:
    assert actions(check_migrated(f"{IMPORTS}{FIRST}{SECOND}\n\n{calls}\n"), "TFM414") == []


def test_two_programs_that_import_nothing_of_each_other() -> None:
    file = check_migrated(f"{IMPORTS}{FIRST}\n\nfirst(x, y)\n", other=f"{IMPORTS}{SECOND}\n\nsecond(x, y)\n")
    assert actions(file, "TFM414") == []
