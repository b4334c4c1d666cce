"""K.clear_session() in functions that build models (TFM238)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

BUILDER = "def build():\n    {}\n    return Sequential([Dense(1, input_shape=(4,))])\n\n\n"
USE = "one = build()\ntwo = multi_gpu_model(one, gpus=2)\ntwo.compile('sgd', 'mse')"


@pytest.mark.parametrize(
    "call", ["K.clear_session()", "tf.reset_default_graph()", "tf.compat.v1.reset_default_graph()"]
)
def test_it_goes_from_a_builder(call: str) -> None:
    text, done = migrated(BUILDER.format(call) + USE, "TFM238")
    assert call.rpartition(".")[2] not in text
    assert done == ["rewrite"]


def test_one_between_models_is_in_another_place() -> None:
    text, done = migrated("tf.reset_default_graph()", "TFM204")
    assert text == "tf.compat.v1.reset_default_graph()"
    assert done == ["rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        "K.clear_session()",
        "def clean():\n    K.clear_session()\n\n\nclean()",
        BUILDER.format("other.clear_session()") + USE,
    ],
)
def test_other_calls_stay(lines: str) -> None:
    text, done = migrated(lines, "TFM238")
    assert "clear_session()" in text
    assert done == []
