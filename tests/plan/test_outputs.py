"""Metrics of several outputs (TFM233), and an only output in a list (TFM234)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

TWO = "i = Input((4,))\ntwo = Model(i, [Dense(1)(i), Dense(1)(i)])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("['accuracy']", "[['accuracy'], ['accuracy']]"),
        ("['acc', 'mse']", "[['acc', 'mse'], ['acc', 'mse']]"),
        ("'mae'", "['mae']"),
    ],
)
def test_each_output_has_its_metrics(before: str, after: str) -> None:
    lines = TWO + "two.compile('sgd', 'mse', metrics="
    assert migrated(f"{lines}{before})", "TFM233") == (f"{lines}{after})", ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        TWO + "two.compile('sgd', 'mse', metrics=[['mae'], ['mae']])",
        TWO + "two.compile('sgd', 'mse', metrics={'a': 'mae'})",
        TWO + "two.compile('sgd', 'mse', metrics=[own])",
        TWO + "two.compile('sgd', 'mse', metrics=[])",
        TWO + "two.compile('sgd', 'mse')",
        "i = Input((4,))\none = Model(i, Dense(1)(i))\none.compile('sgd', 'mse', metrics=['mae'])",
        "some = Model(i, outputs)\nsome.compile('sgd', 'mse', metrics=['mae'])",
        "other.compile(metrics=['mae'])",
    ],
)
def test_other_metrics_stay(lines: str) -> None:
    assert migrated(lines, "TFM233") == (lines, [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Model(inputs=[i], outputs=[o])", "Model(inputs=i, outputs=o)"),
        ("Model([i], [o, p])", "Model(i, [o, p])"),
        ("keras.Model(i, [Dense(1)(i)])", "keras.Model(i, Dense(1)(i))"),
    ],
)
def test_the_only_one_stands_alone(before: str, after: str) -> None:
    text, done = migrated(before, "TFM234")
    assert text == after
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize("lines", ["Model(i, o)", "Model([i, j], [o, p])", "Model(i, [*o])", "Model(i, outputs)"])
def test_other_lists_stay(lines: str) -> None:
    assert migrated(lines, "TFM234") == (lines, [])
