"""What an Estimator passes to an input function by itself: the mode, its params, an input context."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

FUNCTION = "def input_fn():\n"
MANY = (".batch(8)", ".repeat().batch(8)")
ASKED = "    size = params['size']\n"


@pytest.mark.parametrize("parameter", ["mode", "mode=None", "mode='eval'"])
def test_the_mode_is_passed(parameter: str) -> None:
    evaluated = ("steps=10)", "steps=10)\nestimator.evaluate(input_fn, steps=1)")
    after = migrated((FUNCTION, f"def input_fn({parameter}):\n"), MANY, evaluated).after.replace("'", '"')
    assert '    model = model_fn(input_fn(mode="train").element_spec[0])\n' in after
    assert 'model.fit(input_fn(mode="train").take(10))\n' in after
    assert 'model.evaluate(input_fn(mode="eval").take(1), return_dict=True)\n' in after


def test_a_partial_that_leaves_the_mode_open_is_passed_it() -> None:
    imported = ("import tensorflow as tf\n", "from functools import partial\nimport tensorflow as tf\n")
    sized = ((FUNCTION, "def input_fn(size, mode=None):\n"), (".batch(8)", ".batch(size)"))
    file = migrated(imported, *sized, ("train(input_fn,", "train(partial(input_fn, 8),"))
    assert 'input_fn(8 * strategy.num_replicas_in_sync, mode="train").take(10)' in file.after
    assert 'input_fn(8, mode="train").element_spec[0]' in file.after
    bound = migrated(imported, *sized, ("train(input_fn,", "train(partial(input_fn, 8, mode='eval'),"))
    assert "input_fn(8 * strategy.num_replicas_in_sync, mode='eval').take(10)" in bound.after
    named = ("estimator.train(input_fn,", "data = partial(input_fn, 8)\nestimator.train(data,")
    assert 'data(mode="train").take(10)' in migrated(imported, *sized, named).after


@pytest.mark.parametrize(
    ("settings", "passed"),
    [
        ("settings = {'size': 4}\nestimator", "settings"),
        ("estimator", "{'size': 4}"),
    ],
)
@pytest.mark.parametrize("default", ["", "=None"])
def test_the_params_of_the_estimator_are_passed(settings: str, passed: str, default: str) -> None:
    file = migrated(
        (FUNCTION, f"def input_fn(params{default}):\n" + ASKED),
        (".batch(8)", ".batch(size)"),
        ("estimator = ", settings + " = "),
        ("config=config)", f"config=config, params={passed})"),
    )
    assert f"input_fn(params={passed}).element_spec[0]" in file.after
    assert f"input_fn(params={passed}).take(10)" in file.after


def test_without_params_they_are_empty() -> None:
    file = migrated((FUNCTION, "def input_fn(params=None):\n    print(params)\n"))
    assert "input_fn(params={}).take(10)" in file.after


def test_a_long_dict_of_params_wants_a_name() -> None:
    long = "params={'size': 4, " + ", ".join(f"'setting_{number}': {number}" for number in range(9)) + "})"
    told = refusal((FUNCTION, "def input_fn(params):\n"), ("config=config)", f"config=config, {long}"))
    assert told.startswith("TFM116")
    assert "give that dict a name" in told


SHARD = "data = data.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)"


@pytest.mark.parametrize("test", ["input_context", "input_context is not None"])
@pytest.mark.parametrize("shard", [SHARD, SHARD.replace("input_context.input", "index=input_context.input")])
def test_the_only_shard_of_one_machine_is_the_whole(test: str, shard: str) -> None:
    head = f"def input_fn(input_context=None):\n    data = load()\n    if {test}:\n        {shard}\n"
    assert "model.fit(input_fn().take(10))" in migrated((FUNCTION, head)).after


@pytest.mark.parametrize(
    "lines",
    [
        "size = input_context.get_per_replica_batch_size(8)",
        "if input_context:\n        size = 4",
        f"if input_context:\n        {SHARD.replace('data.shard', 'other.shard')}",
        "if input_context:\n        data = data.shard(input_context.num_input_pipelines, 0)",
        f"if not input_context:\n        {SHARD}",
        f"if input_context:\n        {SHARD}\n    else:\n        data = data.skip(1)",
        f"if input_context is None:\n        {SHARD}",
        SHARD,
    ],
)
def test_what_else_is_done_with_the_input_context_is_refused(lines: str) -> None:
    head = f"def input_fn(input_context=None):\n    data = load()\n    {lines}\n"
    if lines == "if input_context:\n        size = 4":
        head = head.replace("size = 4", "size = 4 if input_context else 8")
    told = refusal((FUNCTION, head))
    assert told.startswith("TFM116")
    assert "input_context" in told


def test_an_evaluation_on_one_device_is_passed_no_context() -> None:
    alone = ", eval_distribute=strategy", ""
    evaluated = ("steps=10)", "steps=10)\nestimator.evaluate(test_data)")
    text = "def test_data(input_context=None):\n    print(input_context)\n    return input_fn()\n\n\nstrategy = "
    file = migrated(alone, ("strategy = ", text), evaluated)
    assert "model.evaluate(test_data(), return_dict=True)" in file.after


@pytest.mark.parametrize(
    ("parameter", "told"),
    [("config=None", "RunConfig"), ("size", "`size`"), ("input_context", "`input_context`"), ("*, size", "`size`")],
)
def test_what_cannot_be_passed_is_refused(parameter: str, told: str) -> None:
    refused = refusal((FUNCTION, f"def input_fn({parameter}):\n"))
    assert refused.startswith("TFM116")
    assert told in refused


@pytest.mark.parametrize("parameter", ["mode", "params=None", "input_context=None", "size"])
def test_a_lambda_that_is_passed_something_is_refused(parameter: str) -> None:
    assert refusal(("train(input_fn,", f"train(lambda {parameter}: input_fn(),")).startswith("TFM116")


def test_other_parameters_with_defaults_are_not_passed() -> None:
    after = migrated((FUNCTION, "def input_fn(size=8, *, mode=None):\n"), MANY).after
    assert "model.fit(input_fn().take(10))" in after


@pytest.mark.parametrize("mode", ["tf.estimator.ModeKeys.TRAIN", "tf1.estimator.ModeKeys.TRAIN", "ModeKeys.TRAIN"])
def test_a_mode_that_an_input_function_asks_for_is_a_word(mode: str) -> None:
    head = f"def read(mode):\n    data = load()\n    if mode == {mode}:\n        data = data.repeat()\n"
    asked = f"{head}    return data.batch(8)\n\n\n"
    file = migrated(
        ("import tensorflow as tf\n", "import tensorflow as tf\nfrom tensorflow.estimator import ModeKeys\n"),
        ("strategy = ", asked + "strategy = "),
        ("train(input_fn,", f"train(lambda: read({mode}),"),
    )
    assert '    if mode == "train":\n' in file.after
    assert 'model.fit(read("train").take(10))' in file.after
    assert "ModeKeys" not in file.after


@pytest.mark.parametrize(("more", "told"), [("", False), ("print(ModeKeys)\n", True)])
def test_an_import_that_goes_is_not_reported(more: str, told: bool) -> None:
    imported = ("import tensorflow as tf\n", "import tensorflow as tf\nfrom tensorflow.estimator import ModeKeys\n")
    mode = "    if mode == ModeKeys.EVAL:\n        return tf.estimator.EstimatorSpec(mode, loss=loss)\n    train_op"
    file = migrated(imported, ("    train_op", mode), ("strategy = ", more + "strategy = "))
    assert ("import ModeKeys" in file.after) == told
    assert any(finding.code == "TFM501" for finding in file.findings) == told
