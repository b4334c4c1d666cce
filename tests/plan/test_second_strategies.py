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


def test_the_second_of_two_names_the_first_training() -> None:
    file = check_migrated(f"{IMPORTS}{FIRST}{SECOND}\n\nfirst(x, y)\nsecond(x, y)\n")
    (said,) = [finding for finding in file.findings if finding.code == "TFM414"]
    assert (said.action, said.line) == ("warn", 14)
    assert "as at line 10; make one strategy and use it for both" in said.message


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
