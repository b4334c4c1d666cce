"""Targets under the name of the only output (TFM224)."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.kit import actions, migrate
from tfmigrate.result import FileResult

SCRIPT = """\
from keras.layers import Dense, Input
from keras.models import Model, Sequential, load_model
from keras.utils import multi_gpu_model

rows = Input((4,), name="rows")
one, two = Dense(1, name="one")(rows), Dense(1, name="two")(rows)
pair = [one, two]
model = {model}
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.{call}
"""
ONE = "Model(rows, one)"


def migrated(model: str, call: str) -> tuple[str, list[str]]:
    """The last statement, and what was done of TFM224."""
    result = migrate(SCRIPT.format(model=model, call=call))
    return last_of(result), actions(result, "TFM224")


def last_of(result: FileResult) -> str:
    return cst.Module(cst.parse_module(result.after).body[-1:]).code.strip()


@pytest.mark.parametrize(
    "model", [ONE, "Model(inputs=[rows], outputs=[one])", "Model(input=rows, output=one)", "Sequential([Dense(1)])"]
)
def test_the_name_of_the_only_output_goes(model: str) -> None:
    assert migrated(model, 'evaluate(x, {"one": y})') == ("model.evaluate(x, y)", ["rewrite"])


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ('train_on_batch(x, {"one": y}, {"one": w})', "train_on_batch(x, y, w)"),
        ('test_on_batch(x, y={"one": load()})', "test_on_batch(x, y=load())"),
        (
            'fit_generator(feed, steps_per_epoch=3, validation_data=(x, {"one": y}))',
            "fit(feed, steps_per_epoch=3, validation_data=(x, y))",
        ),
    ],
)
def test_wherever_targets_and_weights_stand(call: str, new: str) -> None:
    last, done = migrated(ONE, call)
    assert last == f"model.{new}"
    assert set(done) == {"rewrite"}


def test_a_pipeline_is_made_without_it() -> None:
    call = 'fit({"rows": x}, {"one": y}, 8, sample_weight={"one": w}, validation_data=(x, {"one": y}, {"one": w}))'
    result = migrate(SCRIPT.format(model=ONE, call=call))
    assert 'from_tensor_slices(({"rows": x}, y, w))' in result.after
    assert "from_tensor_slices((x, y, w))" in result.after
    assert '"one": ' not in result.after


@pytest.mark.parametrize(
    ("model", "call"),
    [
        ("Model(rows, [one, two])", 'evaluate(x, {"one": y})'),
        ("Model(rows, pair)", 'evaluate(x, {"one": y})'),
        ("Model(rows, pair)", 'fit(x, {"one": y}, 8)'),
        (ONE, 'evaluate({"rows": x}, y)'),
        (ONE, 'evaluate(x, {"one": y, **more})'),
        (ONE, "evaluate(x, {**targets})"),
        (ONE, "evaluate(x, targets)"),
        (ONE, "fit_generator(feed, 3, class_weight={0: 2.0})"),
    ],
)
def test_other_dicts_stay(model: str, call: str) -> None:
    last, done = migrated(model, call)
    assert done == []
    if "fit" not in call:
        assert last == f"model.{call}"


def test_a_model_out_of_sight_is_told() -> None:
    assert migrated('load_model("digits.h5")', 'evaluate(x, {"one": y})') == ('model.evaluate(x, {"one": y})', ["warn"])
