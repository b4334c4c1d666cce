"""Estimators: the fixtures' exact results, and what must be refused rather than guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAMS = sorted((ROOT / "fixtures").glob("estimator_*"))

PROGRAM = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1


def input_fn():
    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).batch(8)


def model_fn(features, labels, mode):
    outputs = tf1.layers.dense(features, 1)
    loss = tf1.losses.mean_squared_error(labels, outputs)
    train_op = tf1.train.AdamOptimizer().minimize(loss, global_step=tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps=10)
"""


def migrated(*changes: tuple[str, str]) -> FileResult:
    text = PROGRAM
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (file,) = migrate_sources({"train.py": text}, Settings())
    assert file.error is None
    return file


def refusal(*changes: tuple[str, str]) -> str:
    file = migrated(*changes)
    assert file.after == file.before
    (finding,) = [finding for finding in file.findings if finding.action == "refuse"]
    return f"{finding.code} {finding.message}"


@pytest.mark.parametrize("folder", PROGRAMS, ids=lambda folder: folder.name)
def test_a_fixture_becomes_its_after(folder: Path) -> None:
    sources = {file.name: file.read_text(encoding="utf-8") for file in sorted((folder / "before").glob("*.py"))}
    for file in migrate_sources(sources, Settings()):
        assert not [finding for finding in file.findings if finding.action == "refuse"]
        assert file.after == (folder / "after" / file.path).read_text(encoding="utf-8")


def test_all_six_programs_are_there() -> None:
    assert len(PROGRAMS) == 6


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("(8)", "(8, drop_remainder=True)", ".batch(8 * strategy.num_replicas_in_sync, drop_remainder=True)"),
        (".batch(8)", ".repeat().batch(8)", ".repeat().batch(8 * strategy.num_replicas_in_sync)"),
        (
            ".batch(8)",
            ".batch(8).repeat(3)",
            ".repeat(3).batch(8 * strategy.num_replicas_in_sync, drop_remainder=True)",
        ),
        (
            ".batch(8)",
            ".batch(4 + 4).prefetch(1)",
            ".batch((4 + 4) * strategy.num_replicas_in_sync, drop_remainder=True).prefetch(1)",
        ),
        (".batch(8)", ".batch(1)", ".batch(strategy.num_replicas_in_sync, drop_remainder=True)"),
    ],
)
def test_the_batch_is_multiplied(old: str, new: str, code: str) -> None:
    assert code in migrated((old, new)).after


@pytest.mark.parametrize(
    "after_batch",
    [".map(lambda x, y: (x, y))", ".shuffle(10)", ".unbatch()", ".batch(2)", ".take(3)"],
)
def test_what_works_on_batches_is_refused(after_batch: str) -> None:
    assert refusal((".batch(8)", ".batch(8)" + after_batch)).startswith("TFM116")


def test_a_function_shared_with_a_counted_evaluation_on_one_device_is_refused() -> None:
    told = refusal((", eval_distribute=strategy", ""), ("steps=10)\n", "steps=10)\nestimator.evaluate(input_fn, 5)\n"))
    assert told.startswith("TFM116")
    assert "counts its batches" in told


def test_an_undistributed_evaluation_of_its_own_keeps_its_batch() -> None:
    file = migrated(
        (", eval_distribute=strategy", ""),
        (
            "estimator.train(input_fn, steps=10)\n",
            "def other():\n    return tf.data.Dataset.from_tensor_slices(([[1.0]], [[1.0]])).batch(4)\n\n\n"
            "estimator.train(input_fn, steps=10)\nestimator.evaluate(other, 5)\n",
        ),
    )
    assert "[[1.0]])).batch(4)\n" in file.after
    assert "model.evaluate(other().take(5), return_dict=True)" in file.after


@pytest.mark.parametrize(
    ("optimizer", "keras"),
    [
        ("AdamOptimizer()", "Adam(learning_rate=0.001, epsilon=1e-8)"),
        ("AdamOptimizer(0.01, beta1=0.8, epsilon=1e-4)", "Adam(learning_rate=0.01, beta_1=0.8, epsilon=1e-4)"),
        ("MomentumOptimizer(0.1, 0.9, use_nesterov=True)", "SGD(learning_rate=0.1, momentum=0.9, nesterov=True)"),
        ("AdagradOptimizer(0.1)", "Adagrad(learning_rate=0.1, initial_accumulator_value=0.1, epsilon=1e-8)"),
        ("FtrlOptimizer(0.1)", "Ftrl(learning_rate=0.1, initial_accumulator_value=0.1)"),
    ],
)
def test_optimizers_have_their_defaults_written_out(optimizer: str, keras: str) -> None:
    settings = ", ".join(sorted(keras[keras.index("(") + 1 : -1].split(", ")))
    after = migrated(("AdamOptimizer()", optimizer)).after
    (line,) = [line for line in after.splitlines() if "optimizer=" in line]
    found = line.strip().removeprefix("optimizer=tf.keras.optimizers.").rstrip(",")
    assert found.startswith(keras[: keras.index("(")])
    assert ", ".join(sorted(found[found.index("(") + 1 : -1].split(", "))) == settings


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("AdamOptimizer()", "RMSPropOptimizer(0.1)", "TFM115"),
        ("tf1.train.AdamOptimizer()", "tf1.train.SyncReplicasOptimizer(tf1.train.AdamOptimizer(), 2)", "TFM115"),
        (", outputs)", ", outputs, weights=[[2.0]])", "TFM113"),
        ("outputs)\n    train", "outputs) + tf1.losses.get_regularization_loss()\n    train", "TFM11"),
        ("features, 1)", "tf.nn.sigmoid(features), 1)", "TFM112"),
        ("features, 1)", "features, 1, reuse=True)", "TFM112"),
        ("features, 1)", "tf1.layers.batch_normalization(features), 1)", "TFM112"),
        ("features, 1)", "tf1.layers.dropout(features, training=True), 1)", "TFM112"),
        (
            "mode):\n",
            "mode):\n    if mode == tf.estimator.ModeKeys.TRAIN:\n        features = features * 2\n",
            "TFM112",
        ),
        ("(features, labels, mode)", "(features, labels, mode, config)", "TFM110"),
        ("labels, outputs)", "labels * 2, outputs)", "TFM11"),
        ("config=config)", "config=config, warm_start_from='x')", "TFM110"),
        ("eval_distribute=strategy", "device_fn=print", "TFM110"),
        ("steps=10)", "steps=10, hooks=[print])", "TFM117"),
        (
            "estimator.train(input_fn, steps=10)",
            "if ready:\n    estimator.train(input_fn)\nestimator.evaluate(input_fn)",
            "TFM110",
        ),
        ("(labels, outputs)", "(tf.one_hot(labels, 3, on_value=0.9), outputs)", "TFM11"),
        ("features, 1)", "tf.concat([features, features], 0), 1)", "TFM112"),
        ("estimator.train(input_fn, steps=10)", "print(estimator)\nestimator.train(input_fn, steps=10)", "TFM110"),
        ("estimator.train(input_fn, steps=10)", "for _ in 1, 2:\n    estimator.train(input_fn, max_steps=1)", "TFM110"),
        ("estimator.train(input_fn, steps=10)", "estimator.train(input_fn, steps=10).evaluate(input_fn)", "TFM110"),
    ],
)
def test_what_is_not_provably_right_is_refused(old: str, new: str, code: str) -> None:
    reads_config = [("    outputs", "    print(config.model_dir)\n    outputs")] if "mode, config" in new else []
    assert refusal((old, new), *reads_config).startswith(code)


def test_dropout_that_is_never_told_to_train_is_none() -> None:
    after = migrated(("features, 1)", "tf1.layers.dropout(features, 0.5), 1)")).after
    assert "outputs = tf.keras.layers.Dense(1)(features)\n" in after


def test_a_keras_model_made_an_estimator_is_told() -> None:
    told = refusal(
        ("tf.estimator.Estimator(model_fn,", "tf.keras.estimator.model_to_estimator(keras_model=model_fn,"),
    )
    assert told.startswith("TFM110 model_to_estimator")


def test_a_config_that_nothing_takes_is_told() -> None:
    told = refusal(
        ("estimator = tf.estimator.Estimator(model_fn, config=config)\nestimator.train(input_fn, steps=10)\n", "")
    )
    assert told == "TFM110 no Estimator that takes this RunConfig is in sight"


def test_where_compat_v1_was_the_only_door_what_is_left_of_it_keeps_its_names() -> None:
    file = migrated(
        ("import tensorflow as tf\nimport tensorflow.compat.v1 as tf1\n", "import tensorflow.compat.v1 as tf\n"),
        ("tf1.", "tf."),
        ("\n\ndef input_fn", "\n\ntf.disable_v2_behavior()\ntf.logging.info(tf.trainable_variables)\n\n\ndef input_fn"),
    )
    assert file.after.startswith("\nimport tensorflow as tf\n")
    assert "disable_v2_behavior" not in file.after
    assert "tf.compat.v1.logging.info(tf.compat.v1.trainable_variables)\n" in file.after
    assert "strategy = tf.distribute.MirroredStrategy()\n" in file.after
    assert "return tf.data.Dataset" in file.after


def test_a_keras_model_in_the_model_function_stays() -> None:
    file = migrated(
        (
            "    outputs = tf1.layers.dense(features, 1)\n",
            "    net = tf.keras.Sequential([tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)])\n"
            "    outputs = net(features, training=mode == tf.estimator.ModeKeys.TRAIN)\n",
        )
    )
    assert "    outputs = net(features)\n    model = tf.keras.Model(features, outputs)\n" in file.after


def test_an_input_function_in_the_function_that_makes_the_strategy_sees_its_name() -> None:
    text = PROGRAM.replace("\n\ndef input_fn", "\n\ndef main():\n    def input_fn")
    head, body = text.split("def main():\n")
    function, rest = body.split("\n\n\n", 1)
    model, run = rest.split("\n\n\n", 1)
    function = function.replace("\n    return", "\n        return")
    indented = "".join(f"    {line}\n" for line in run.splitlines())
    (file,) = migrate_sources({"train.py": f"{head}{model}\n\n\ndef main():\n{function}\n\n{indented}"}, Settings())
    assert ".batch(8 * strategy.num_replicas_in_sync, drop_remainder=True)" in file.after
    assert "    model.fit(input_fn().take(10))\n" in file.after
    assert "get_strategy" not in file.after


def test_with_one_of_its_codes_ignored_it_stays_and_says_so() -> None:
    (file,) = migrate_sources({"train.py": PROGRAM}, Settings(ignore=("TFM012",)))
    assert file.after == file.before
    assert [(f.code, f.action) for f in file.findings] == [("TFM110", "refuse")]
    (file,) = migrate_sources({"train.py": PROGRAM}, Settings(ignore=("TFM014",)))
    assert file.changed


def test_dropout_has_its_rate_written_out() -> None:
    training = "training=mode == tf.estimator.ModeKeys.TRAIN"
    after = migrated(("features, 1)", f"tf1.layers.dropout(features, {training}), 1)")).after
    assert "outputs = tf.keras.layers.Dense(1)(tf.keras.layers.Dropout(0.5)(features))\n" in after


def test_features_that_are_named_anew_stay_the_inputs() -> None:
    after = migrated(("    outputs", '    features = features["x"]\n    outputs')).after
    assert "    inputs = {key: tf.keras.Input(" in after
    assert '    features = inputs\n    features = features["x"]\n' in after
    assert "tf.keras.Model(inputs, outputs)" in after


def test_an_argmax_over_the_batch_is_no_accuracy() -> None:
    metrics = "metrics = {'accuracy': tf1.metrics.accuracy(labels, tf.argmax(outputs))}\n    return"
    told = refusal(
        ("return tf.estimator", metrics + " tf.estimator"), ("loss=loss,", "loss=loss, eval_metric_ops=metrics,")
    )
    assert told.startswith("TFM114")


def test_without_a_strategy_it_is_left_alone_and_told() -> None:
    file = migrated(("train_distribute=strategy, eval_distribute=strategy", ""))
    assert file.after == file.before
    assert [(finding.code, finding.action) for finding in file.findings] == [("TFM118", "warn")]
