"""Trainings as the rules write them, on today's Keras 3 and Keras 2, against the losses of genuine old Keras.

`keras-2.3.1.json` was printed by `tools/measure_companions.py old` on standalone Keras 2.3.1 and TensorFlow 1.15.0.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forks import Python

OLD: dict[str, list[float]] = json.loads(Path(__file__).with_name("keras-2.3.1.json").read_text(encoding="utf-8"))
SAME = 1e-6
"""Largest relative difference of a loss that float32 explains; the largest measured is 4.4e-7."""
KERAS = {"Keras 3": 3, "Keras 2": 2}
Difference = Callable[[str, str, str], float]

pytestmark = [
    pytest.mark.runs_tensorflow,
    pytest.mark.skipif(
        not all(importlib.util.find_spec(name) for name in ("tensorflow", "tf_keras")), reason="needs the verify extra"
    ),
]


@pytest.fixture(scope="module")
def difference(python: Python) -> Difference:
    """The largest relative difference over all steps; losses below 1e-3 are compared as parts of 1e-3."""

    @cache
    def today(mode: str, keras: str) -> dict[str, list[float]]:
        """What tools/measure_companions.py prints on the installed TensorFlow."""
        done = python(KERAS[keras], ROOT / "tools" / "measure_companions.py", mode)
        line = next((line for line in done.stdout.splitlines() if line.startswith("LOSSES ")), None)
        assert line is not None, done.stderr[-2000:]
        found: dict[str, list[float]] = json.loads(line.removeprefix("LOSSES "))
        return found

    def largest(name: str, mode: str, keras: str) -> float:
        pairs = zip(OLD[name], today(mode, keras)[name], strict=True)
        return max(abs(old - new) / max(abs(old), 1e-3) for old, new in pairs)

    return largest


@pytest.mark.parametrize("keras", KERAS)
@pytest.mark.parametrize("name", sorted(set(OLD) - {"TFM306 Nadam"}))
def test_what_the_rules_write_trains_as_before(name: str, keras: str, difference: Difference) -> None:
    assert difference(name, "new", keras) < SAME


@pytest.mark.parametrize(
    ("name", "keras"),
    [
        ("TFM304 RMSprop", "Keras 3"),
        ("TFM304 Adagrad", "Keras 3"),
        ("TFM304 RMSprop", "Keras 2"),
        ("TFM304 Adagrad", "Keras 2"),
        ("TFM303 GRU", "Keras 3"),
        ("TFM303 LSTM", "Keras 3"),
        ("TFM207 Conv2D", "Keras 3"),
        ("TFM207 Conv2D", "Keras 2"),
    ],
)
def test_the_old_text_would_not(name: str, keras: str, difference: Difference) -> None:
    assert difference(name, "naive", keras) > 2 * SAME


@pytest.mark.parametrize("keras", KERAS)
def test_nadam_is_another_optimizer_today(keras: str, difference: Difference) -> None:
    # TFM306 only warns, so this must stay a difference: once it is none, the rule has nothing to warn of.
    assert difference("TFM306 Nadam", "new", keras) > 1e-3
