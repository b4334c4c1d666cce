"""The Estimator guide with one line changed: what is migrated all the same, and what a call's result becomes."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.kit import migrate

FEW = (ROOT / "fixtures" / "estimator_guide" / "before" / "train.py").read_text(encoding="utf-8")
GUIDE = FEW.replace("labels)).batch(1)", "labels)).repeat().batch(1)")
LINEAR = (ROOT / "fixtures" / "estimator_linear" / "before" / "train.py").read_text(encoding="utf-8")
MLP = (ROOT / "fixtures" / "estimator_mlp" / "before" / "train.py").read_text(encoding="utf-8")
BOTH = "tf1.estimator.train_and_evaluate(estimator, train_spec, eval_spec)"
PREDICT = "mode == tf.estimator.ModeKeys.PREDICT"
FIT = "model.fit(_input_fn())\n"
STEP = '["global_step"] = model.optimizer.iterations.numpy()\n'


def migrated(text: str, *changes: tuple[str, str]) -> tuple[str, list[str]]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = migrate(text)
    refused = [finding.message for finding in file.findings if finding.action == "refuse"]
    assert file.changed != bool(refused)
    compile(file.after, "train.py", "exec")
    return file.after, refused


def after(text: str, *changes: tuple[str, str]) -> str:
    code, refused = migrated(text, *changes)
    assert not refused
    assert "tf1" not in code.replace("tf1.logging", "")
    assert "estimator." not in code.replace("estimator.fit", "").replace("estimator.evaluate", "").replace(
        "estimator.optimizer", ""
    )
    return code


MADE = f"results = model.evaluate(_eval_input_fn().take(100), return_dict=True)\nresults{STEP}"


@pytest.mark.parametrize(
    ("statement", "end"),
    [
        (f"result = {BOTH}\nprint(result)", f"{FIT}{MADE}result = (results, [])\nprint(result)\n"),
        (f"print({BOTH})", f"{FIT}{MADE}print((results, []))\n"),
        (
            f"results, exports = {BOTH}\nprint(results)",
            f"{FIT}{MADE.replace('results', 'results_2')}results, exports = (results_2, [])\nprint(results)\n",
        ),
        (f"loss = {BOTH}[0]['loss']", f"{FIT}{MADE}loss = (results, [])[0]['loss']\n"),
        (BOTH, f"{FIT}model.evaluate(_eval_input_fn().take(100), return_dict=True)\n"),
    ],
)
def test_the_result_of_train_and_evaluate(statement: str, end: str) -> None:
    assert after(GUIDE, (BOTH, statement)).endswith(end)


def test_the_result_is_returned() -> None:
    call = "tf.estimator.train_and_evaluate(classifier, "
    text = after(MLP, (f"    {call}", f"    return {call}"))
    assert f"    results{STEP}    return (results, [])\n" in text


@pytest.mark.parametrize("statement", [f"result = {BOTH} if ready else None", f"result = ready and {BOTH}"])
def test_a_result_that_is_not_always_computed_is_refused(statement: str) -> None:
    _, (message,) = migrated(GUIDE, (BOTH, "ready = True\n" + statement))
    assert "is part of a larger expression" in message


EVALUATED = "model.evaluate(_eval_input_fn(), return_dict=True)\n"


@pytest.mark.parametrize(
    ("statements", "end"),
    [
        ("estimator.evaluate(_eval_input_fn)", EVALUATED),
        ("print(estimator.evaluate(_eval_input_fn))", f"results = {EVALUATED}results{STEP}print(results)\n"),
        ("r = estimator.evaluate(_eval_input_fn)\nprint(r['loss'])", f"r = {EVALUATED}print(r['loss'])\n"),
        ("r = estimator.evaluate(_eval_input_fn)\nprint(r)", f"r = {EVALUATED}r{STEP}print(r)\n"),
        (
            'r = estimator.evaluate(_eval_input_fn)\nprint(r["global_step"])',
            f'r = {EVALUATED}r{STEP}print(r["global_step"])\n',
        ),
        ("r = estimator.evaluate(_eval_input_fn)", f"r = {EVALUATED}"),
        ("loss = estimator.evaluate(_eval_input_fn)['loss']", f"loss = {EVALUATED[:-1]}['loss']\n"),
        (
            "print('got', estimator.evaluate(_eval_input_fn))",
            "print('got', model.evaluate(_eval_input_fn(), return_dict=True) | "
            "{'global_step': model.optimizer.iterations.numpy()})\n",
        ),
        (
            "estimator.evaluate(_eval_input_fn, hooks=[], checkpoint_path=None, name='end')",
            EVALUATED,
        ),
    ],
)
def test_the_result_of_evaluate(statements: str, end: str) -> None:
    text = after(GUIDE, (BOTH, f"estimator.train(_input_fn)\n{statements}"))
    assert text.replace('"', "'").endswith((FIT + end).replace('"', "'"))


@pytest.mark.parametrize(
    ("statement", "end"),
    [
        ("trained = estimator.train(_input_fn)\ntrained.evaluate(_eval_input_fn)", f"{FIT}trained = model\ntrained."),
        (
            "estimator = estimator.train(_input_fn)\nestimator.evaluate(_eval_input_fn)",
            "estimator.fit(_input_fn())\nestimator.",
        ),
        ("estimator.train(_input_fn, hooks=[], saving_listeners=())\n", FIT),
        ("for _ in range(3):\n    estimator.train(_input_fn, max_steps=None)\n", f"for _ in range(3):\n    {FIT}"),
    ],
)
def test_train_returns_the_estimator(statement: str, end: str) -> None:
    assert end in after(GUIDE, (BOTH, statement))


@pytest.mark.parametrize(
    ("line", "refused"),
    [("sizes.append(4)", True), ("print(sizes)", False), ("noted(4)", False)],
)
def test_a_list_that_one_mode_changes_is_refused(line: str, refused: bool) -> None:
    training = "    if mode == tf.estimator.ModeKeys.TRAIN:\n"
    model = next(part for part in MLP.split("\n") if part.startswith("def ") and "mode" in part)
    _, messages = migrated(MLP, (f"{model}\n", f"{model}\n    sizes = [{{}}]\n{training}        {line}\n"))
    assert any("`sizes` may only be changed here for some modes" in message for message in messages) == refused


def test_specs_that_nothing_reads_go() -> None:
    text = after(GUIDE, (BOTH, "estimator.train(_input_fn)"))
    assert "Spec" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EvalSpec(input_fn=_eval_input_fn)", "EvalSpec(input_fn=_eval_input_fn, hooks=[], exporters=[], name='x')"),
        ("TrainSpec(input_fn=_input_fn)", "TrainSpec(hooks=(), input_fn=lambda: _input_fn())"),
        (BOTH, BOTH.replace("estimator, train_spec, eval_spec", "eval_spec=eval_spec, train_spec=train_spec, "
                            "estimator=estimator")),
        ("    logits = ", "    print('building', mode)\n    logits = "),
        ("    logits = ", "    tf1.logging.info('building %s', mode)\n    logits = "),
        ("    optimizer = ", "    assert mode in ('train', 'eval', 'infer')\n    optimizer = "),
    ],
)  # fmt: skip
def test_small_things_change_nothing(old: str, new: str) -> None:
    assert after(GUIDE, (old, new)) == after(GUIDE)


@pytest.mark.parametrize(
    "test",
    [
        "tf.estimator.ModeKeys.PREDICT == mode",
        "mode is tf.estimator.ModeKeys.PREDICT",
        "mode == 'infer'",
        "not mode != tf.estimator.ModeKeys.PREDICT",
        "mode not in (tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL)",
    ],
)
def test_the_mode_is_asked_for_in_any_way(test: str) -> None:
    assert after(LINEAR, (PREDICT, test)) == after(LINEAR)


@pytest.mark.parametrize("keyword", ["yield_single_examples=True", "hooks=[]", "predict_keys=None"])
def test_predict_with_the_defaults_written_out(keyword: str) -> None:
    call = "estimator.predict(predict_input_fn"
    assert after(LINEAR, (call, f"{call}, {keyword}")) == after(LINEAR)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (PREDICT, "tf.estimator.ModeKeys.PREDICT == labels", "is not understood"),
        ("(predict_input_fn)", "(predict_input_fn, yield_single_examples=False)", "returns whole batches"),
        ("    optimizer = ", "    assert mode == 'eval'\n    optimizer = ", "depends on the data or the mode"),
    ],
)
def test_a_refusal_says_what_is_so(old: str, new: str, reason: str) -> None:
    _, (message,) = migrated(LINEAR, (old, new))
    assert reason in message


GUARD = "if {0}.cardinality() != 0:"


def test_data_of_fewer_batches_than_replicas_trains_no_step() -> None:
    text = after(FEW)
    assert f"train_data = _input_fn()\n{GUARD.format('train_data')}" in text
    assert f"eval_data = _eval_input_fn().take(100)\n{GUARD.format('eval_data')}" in text
    metric = (
        "train_op=train_op)",
        'train_op=train_op, eval_metric_ops={"mae": tf1.metrics.mean_absolute_error(labels, logits)})',
    )
    text = after(FEW, (BOTH, f"print({BOTH})"), metric)
    assert 'results = dict.fromkeys(["loss", "mae"], 0.0)' in text
    assert "    results = model.evaluate(eval_data, return_dict=True)\nresults[" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".batch(1)", ".repeat(100).batch(1)"),
        ("[[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]", "[[1.0, 1.5]] * 100"),
        ("(features, labels))", "(read(), labels))"),
    ],
)
def test_data_that_may_be_enough_is_trained_on_as_it_is(old: str, new: str) -> None:
    text = after(FEW.replace("strategy = tf1", "def read():\n    return features\n\n\nstrategy = tf1"), (old, new))
    assert FIT in text
