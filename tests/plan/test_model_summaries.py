"""print_summary(model), which is a method of the model (TFM243)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

FROM = "from keras.utils import print_summary\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{FROM}print_summary(model)", "model.summary()"),
        (f"{FROM}print_summary(model, 80, print_fn=say)", "model.summary(80, print_fn=say)"),
        (f"{FROM}print_summary(line_length=80, model=model)", "model.summary(line_length=80)"),
        (f"{FROM}print_summary(parallel)", "model.summary()"),
        ("keras.utils.print_summary(model.layers[0], line_length=None)", "model.layers[0].summary(line_length=None)"),
    ],
)
def test_the_model_prints_its_summary(before: str, after: str) -> None:
    assert migrated(before, "TFM243") == (after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        "from mine import print_summary\nprint_summary(model)",
        "def print_summary(model):\n    return model\n\n\nprint_summary(model)",
        "print_summary(model)",
    ],
)
def test_another_function_stays(lines: str) -> None:
    assert migrated(lines, "TFM243") == (lines, [])


@pytest.mark.parametrize("call", ["print_summary(*models)", "print_summary(model or parallel)", "print(print_summary)"])
def test_what_is_not_a_call_of_one_model_is_reported(call: str) -> None:
    assert migrated(FROM + call, "TFM243")[1] == []
    assert migrated(FROM + call, "TFM501")[1] == ["warn"]
