"""Estimators: the fixtures' exact results, and what must be refused rather than guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import kit
from tests.conftest import ROOT
from tests.kit import actions, check_unchanged, codes, migrate
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
    return migrate(kit.changed(PROGRAM, *changes))


def refusal(*changes: tuple[str, str]) -> str:
    return kit.refusal(migrated(*changes))


@pytest.mark.layout
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
    [".map(lambda x, y: (x[:4], y))", ".shuffle(10)", ".unbatch()", ".batch(2)", ".take(3)"],
)
def test_what_works_on_batches_is_refused(after_batch: str) -> None:
    assert refusal((".batch(8)", ".batch(8)" + after_batch)).startswith("TFM116")


def test_a_function_shared_with_a_counted_evaluation_on_one_device_is_refused() -> None:
    told = refusal((", eval_distribute=strategy", ""), ("steps=10)\n", "steps=10)\nestimator.evaluate(input_fn, 5)\n"))
    assert told.startswith("TFM116")
    assert "an evaluation with a step count" in told


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
        ("mean_squared_error(labels, outputs)", "softmax_cross_entropy(tf.pad(labels, 3), outputs)", "TFM112"),
        ("(labels, outputs)", "(tf.one_hot(0, depth=labels), outputs)", "TFM112"),
        ("features, 1)", "tf.concat([features, features], 0), 1)", "TFM112"),
        ("estimator.train(input_fn, steps=10)", "keep(estimator)\nestimator.train(input_fn, steps=10)", "TFM110"),
        ("estimator.train(input_fn, steps=10)", "for _ in 1, 2:\n    estimator.train(input_fn, max_steps=1)", "TFM110"),
    ],
)
def test_what_is_not_provably_right_is_refused(old: str, new: str, code: str) -> None:
    reads_config = [("    outputs", "    path = config.model_dir\n    outputs")] if "mode, config" in new else []
    assert refusal((old, new), *reads_config).startswith(code)


@pytest.mark.parametrize(
    ("loss", "keras"),
    [
        ("tf1.losses.absolute_difference(labels, outputs)", "MeanAbsoluteError()"),
        ("tf1.losses.huber_loss(labels, outputs)", "Huber()"),
        ("tf1.losses.sparse_softmax_cross_entropy(labels, outputs)", "SparseCategoricalCrossentropy(from_logits=True)"),
        ("tf1.losses.softmax_cross_entropy(labels, outputs)", "CategoricalCrossentropy(from_logits=True)"),
        ("tf1.losses.sigmoid_cross_entropy(labels, outputs)", "BinaryCrossentropy(from_logits=True)"),
        (
            "tf1.losses.softmax_cross_entropy(tf.one_hot(labels, 3), outputs)",
            "SparseCategoricalCrossentropy(from_logits=True)",
        ),
        ("tf.reduce_mean(tf.square(labels - outputs))", "MeanSquaredError()"),
        ("tf.reduce_mean(tf.square(outputs - labels))", "MeanSquaredError()"),
        ("tf.reduce_mean(tf.squared_difference(labels, outputs))", "MeanSquaredError()"),
    ],
)
def test_a_loss_is_that_of_keras(loss: str, keras: str) -> None:
    after = migrated(("tf1.losses.mean_squared_error(labels, outputs)", loss)).after
    assert f"        loss=tf.keras.losses.{keras},\n" in after


@pytest.mark.parametrize(
    ("layer", "keras"),
    [
        ("dense(features, 1, tf.nn.relu, False)", 'Dense(1, activation="relu", use_bias=False)'),
        ("conv1d(features, 4, 3, 2)", "Conv1D(4, 3, strides=2)"),
        ("conv2d(features, 4, 3, 2)", "Conv2D(4, 3, strides=2)"),
        ("max_pooling1d(features, 2, 1, 'same')", "MaxPooling1D(2, 1, padding='same')"),
        ("max_pooling2d(features, 2, 1, 'same')", "MaxPooling2D(2, 1, padding='same')"),
        ("average_pooling2d(features, 2, 1, 'same')", "AveragePooling2D(2, 1, padding='same')"),
        ("flatten(features, 'flat')", "Flatten(name='flat')"),
        ("dropout(features, 0.5, None, 1, mode == tf.estimator.ModeKeys.TRAIN)", "Dropout(0.5, seed=1)"),
    ],
)
def test_arguments_without_names_get_those_of_keras(layer: str, keras: str) -> None:
    after = migrated(("    outputs", f"    features = tf1.layers.{layer}\n    outputs")).after
    assert f"    features = tf.keras.layers.{keras}(features)\n" in after


def test_replicas_are_not_counted_above_the_strategy() -> None:
    sized = (("input_fn():", "input_fn(size):"), (".batch(8)", ".batch(size)"), ("train(input_fn", "train(data"))
    imported = ("import tensorflow as tf\n", "from functools import partial\nimport tensorflow as tf\n")
    line = "data = partial(input_fn, 8)\n"
    assert "no name before this line" in refusal(*sized, imported, ("strategy = ", line + "strategy = "))
    run = PROGRAM[PROGRAM.index("strategy = ") :]
    indented = run.replace("input_fn", "data").rstrip().replace("\n", "\n    ")
    function = f"def main():\n    {indented}\n\n\n{line}main()\n"
    assert "no name before this line" in refusal(*sized[:2], imported, (run, function))
    after = migrated(*sized, imported, ("config = ", line + "config = ")).after
    assert "data = partial(input_fn, 8 * strategy.num_replicas_in_sync)\n" in after


def test_a_lambda_above_the_strategy_runs_below_it() -> None:
    sized = (("input_fn():", "input_fn(size):"), (".batch(8)", ".batch(size)"), ("train(input_fn", "train(data"))
    after = migrated(*sized, ("strategy = ", "data = lambda: input_fn(8)\nstrategy = ")).after
    assert "data = lambda: input_fn(8 * strategy.num_replicas_in_sync)\n" in after
    run = PROGRAM[PROGRAM.index("strategy = ") :]
    indented = run.replace("input_fn", "data").rstrip().replace("\n", "\n    ")
    function = f"data = lambda: input_fn(8)\n\n\ndef main():\n    {indented}\n\n\nmain()\n"
    assert "no name before this line" in refusal(*sized[:2], (run, function))


def test_dropout_that_is_never_told_to_train_is_none() -> None:
    after = migrated(("features, 1)", "tf1.layers.dropout(features, 0.5), 1)")).after
    assert "outputs = tf.keras.layers.Dense(1)(features)\n" in after


def test_one_without_a_name_is_made_under_the_strategy_too() -> None:
    made = "estimator = tf.estimator.Estimator(model_fn, config=config)\nestimator.train("
    after = migrated((made, "tf.estimator.Estimator(model_fn, config=config).train(")).after
    _, _, scoped = after.partition("with strategy.scope():\n")
    assert "        model_fn(input_fn().element_spec[0]).fit(train_data)\n" in scoped


def test_a_keras_model_made_an_estimator_is_told() -> None:
    told = refusal(
        ("tf.estimator.Estimator(model_fn,", "tf.keras.estimator.model_to_estimator(keras_model=model_fn,"),
    )
    assert told == "TFM110 this Estimator stays: its Keras model cannot be followed"


def test_a_config_that_nothing_takes_is_told() -> None:
    told = refusal(
        ("estimator = tf.estimator.Estimator(model_fn, config=config)\nestimator.train(input_fn, steps=10)\n", "")
    )
    assert told == "TFM110 no Estimator was found that uses this RunConfig"


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


TRAINS = "training=mode == tf.estimator.ModeKeys.TRAIN"


def in_keras(layer: str, call: str = "(features)", above: str = "") -> list[tuple[str, str]]:
    """The changes that put something of Keras before the last layer."""
    return [
        ("    outputs = tf1.layers.dense(features, 1)\n",
         f"    net = {layer}{call}\n    outputs = tf1.layers.dense(net, 1)\n"),
        ("\n\ndef input_fn", f"\n{above}\n\ndef input_fn"),
    ]  # fmt: skip


@pytest.mark.parametrize("call", ["(features)", "(features, training=False)", "(features, training=None)"])
@pytest.mark.parametrize("layer", ["Dropout(0.5)", "GaussianNoise(0.1)", "SpatialDropout1D(0.2)"])
def test_a_noise_of_keras_that_is_not_told_to_train_is_none(layer: str, call: str) -> None:
    file = migrated(*in_keras(f"tf.keras.layers.{layer}", call))
    assert "    net = features\n" in file.after
    assert [f.code for f in file.findings if "removed: without `training=" in f.message] == ["TFM014"]


def test_a_noise_of_keras_that_follows_the_mode_stays() -> None:
    after = migrated(*in_keras("tf.keras.layers.Dropout(0.5)", f"(features, {TRAINS})")).after
    assert "    net = tf.keras.layers.Dropout(0.5)(features)\n" in after


OWN = """
class Own(tf.keras.layers.Layer):
    def call(self, inputs{}):
        return inputs
"""


@pytest.mark.parametrize(
    ("layer", "above"),
    [
        ("tf.keras.layers.BatchNormalization()", ""),
        ("tf.keras.Sequential([tf.keras.layers.Dropout(0.5)])", ""),
        ("tf.keras.layers.LSTM(4, dropout=0.1)", ""),
        ("tf.keras.layers.TimeDistributed(tf.keras.layers.Dropout(0.1))", ""),
        ("tf.keras.applications.ResNet50()", ""),
        ("tf.keras.models.load_model('a.h5')", ""),
        ("Own()", OWN.format(", training=None")),
        ("tf.keras.layers.Lambda(lambda x: tf.keras.backend.in_train_phase(x, 2 * x))", ""),
        ("tf.keras.layers.Dropout(0.5)", "tf.keras.backend.set_learning_phase(1)\n"),
    ],
)
def test_what_was_in_inference_mode_all_the_time_is_refused(layer: str, above: str) -> None:
    assert refusal(*in_keras(layer, above=above)).startswith("TFM112")


@pytest.mark.parametrize(
    ("layer", "above"),
    [
        ("tf.keras.layers.Dense(4)", ""),
        ("tf.keras.layers.LSTM(4)", ""),
        ("tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Flatten()])", ""),
        ("Own()", OWN.format("")),
        ("tf.keras.layers.Dense(4, kernel_regularizer=None)", ""),
    ],
)
def test_layers_of_keras_that_do_not_ask_for_the_mode_stay(layer: str, above: str) -> None:
    assert f"    net = {layer}(features)\n" in migrated(*in_keras(layer, above=above)).after


def test_a_dropout_in_the_same_line_does_not_count_for_another_layer() -> None:
    after = migrated(*in_keras("tf.keras.layers.Dense(4)", "(tf.keras.layers.Dropout(0.5)(features))")).after
    assert "    net = tf.keras.layers.Dense(4)(features)\n" in after


@pytest.mark.parametrize("call", ["(features)", f"(features, {TRAINS})"])
@pytest.mark.parametrize(
    "layer",
    [
        "tf.keras.layers.Dense(4, kernel_regularizer=tf.keras.regularizers.l2(0.1))",
        "tf.keras.layers.Dense(4, activity_regularizer='l2')",
        "tf.keras.Sequential([tf.keras.layers.Dense(4, bias_regularizer='l2')])",
        "tf.keras.layers.ActivityRegularization(0.1)",
        "tf.keras.layers.Dense(4, **options)",
    ],
)
def test_a_regularizer_of_keras_that_was_in_no_loss_is_refused(layer: str, call: str) -> None:
    assert "regularizer" in refusal(*in_keras(layer, call))


def test_moving_averages_of_keras_are_updated_now() -> None:
    file = migrated(*in_keras("tf.keras.layers.BatchNormalization()", f"(features, {TRAINS})"))
    assert "    net = tf.keras.layers.BatchNormalization()(features)\n" in file.after
    assert [f.code for f in file.findings if "moving averages" in f.message] == ["TFM014"]


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ("net = tf1.layers.dense(features, 4, name='block/fc')", "Dense(4, name='block_fc')(features)"),
        ("net = tf1.layers.dense(features, 4, name='fc')", "Dense(4, name='fc')(features)"),
        ("net = tf1.layers.dense(features, 4, name='fc%d' % 1)", "Dense(4, name='fc%d' % 1)(features)"),
        ("net = tf1.layers.dense(features, 4, name='b%d/fc' % 1)", "Dense(4)(features)"),
        (
            "with tf1.variable_scope('a'):\n        net = tf1.layers.dense(features, 4, name='fc')\n"
            "    with tf1.variable_scope('b'):\n        net = tf1.layers.dense(net, 4, name='fc')",
            "Dense(4, name='b_fc')(net)",
        ),
        (
            "net = tf1.layers.flatten(features, name='f')\n    net = tf1.layers.flatten(net, name='f')",
            "Flatten(name='f_2')(net)",
        ),
        (
            "net = features\n    for i in range(2):\n        with tf1.variable_scope('block%d' % i):\n"
            "            net = tf1.layers.dense(net, 4, name='fc')",
            "Dense(4)(net)",
        ),
        ("net = tf1.layers.flatten(features)\n    net = block(block(net, 'a'), 'b')", "Dense(4)(x)"),
        ("net = block(features, 'a')", "Dense(4, name='fc')(x)"),
    ],
)
def test_the_names_of_layers_are_such_as_keras_takes(lines: str, kept: str) -> None:
    block = (
        "\n\ndef block(x, scope):\n    with tf1.variable_scope(scope):\n"
        "        return tf1.layers.dense(x, 4, name='fc')\n\n\ndef input_fn"
    )
    file = migrated(
        ("    outputs = tf1.layers.dense(features, 1)\n", f"    {lines}\n    outputs = tf1.layers.dense(net, 1)\n"),
        *([("\n\ndef input_fn", block)] if "block(" in lines else []),
    )
    assert kept.replace("'", '"') in file.after.replace("'", '"'), file.findings


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("labels, outputs)", "labels, outputs)\n    loss = tf.reduce_mean(loss)"),
        ("tf1.losses.mean_squared_error(labels, outputs)", "tf.reduce_mean(tf.square(outputs - labels), name='loss')"),
        (
            "tf1.train.AdamOptimizer().minimize(loss, ",
            "tf1.train.AdamOptimizer()\n    grads = train_op.compute_gradients(loss)\n"
            "    train_op = train_op.apply_gradients(grads, ",
        ),
        (
            "loss=loss, train_op=train_op)",
            "loss=loss, train_op=train_op, training_hooks=[tf1.train.LoggingTensorHook({'loss': loss}, 5)])",
        ),
        (
            "loss=loss, train_op=train_op)",
            "loss=loss, train_op=train_op, training_hooks=[tf1.train.LoggingTensorHook(['loss'], every_n_iter=5)])",
        ),
        ("estimator = ", "model = "),
    ],
)
def test_other_words_for_the_same_give_the_same_model(old: str, new: str) -> None:
    changes = [(old, new)]
    if new == "model = ":
        changes.append(("estimator.train(", "model.train("))
    assert migrated(*changes).after == migrated().after


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("minimize(loss, global_step=", "apply_gradients([], global_step=", "TFM115"),
        (
            "tf1.train.AdamOptimizer().minimize(loss, ",
            "tf1.train.AdamOptimizer()\n    grads = [(2 * g, v) for g, v in train_op.compute_gradients(loss)]\n"
            "    train_op = train_op.apply_gradients(grads, ",
            "TFM115",
        ),
        (
            "tf1.train.AdamOptimizer().minimize(loss, global_step=tf1.train.get_global_step())",
            "tf1.train.AdamOptimizer()\n    grads = train_op.compute_gradients(loss)\n"
            "    train_op = train_op.apply_gradients(grads)",
            "TFM115",
        ),
        ("labels, outputs)", "labels, outputs)\n    loss = tf.reduce_mean(outputs)", "TFM113"),
        (
            "loss=loss, train_op=train_op)",
            "loss=loss, train_op=train_op, training_hooks=[tf1.train.StopAtStepHook(3)])",
            "TFM117",
        ),
    ],
)
def test_other_gradients_means_and_hooks_are_refused(old: str, new: str, code: str) -> None:
    assert refusal((old, new)).startswith(code)


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("tf.reduce_mean(tf.square(labels - outputs))", True),
        ("tf.reduce_mean(tf.math.squared_difference(outputs, labels))", True),
        ("tf.reduce_mean(tf.square(labels - tf.squeeze(outputs)))", False),
        ("tf1.losses.mean_squared_error(labels, outputs)", False),
    ],
)
def test_a_difference_that_may_have_been_a_square_is_told(loss: str, told: bool) -> None:
    file = migrated(("tf1.losses.mean_squared_error(labels, outputs)", loss))
    assert "loss=tf.keras.losses.MeanSquaredError()" in file.after
    assert any("square of differences" in finding.message for finding in file.findings) == told


def test_inputs_have_no_slash_in_their_names() -> None:
    file = migrated(("([[1.0], [2.0]], ", '({"a/x": [[1.0], [2.0]]}, '), ("dense(features,", 'dense(features["a/x"],'))
    assert 'name=key.replace("/", "_")' in file.after


def test_an_input_function_in_the_function_that_makes_the_strategy_sees_its_name() -> None:
    text = PROGRAM.replace("\n\ndef input_fn", "\n\ndef main():\n    def input_fn")
    head, body = text.split("def main():\n")
    function, rest = body.split("\n\n\n", 1)
    model, run = rest.split("\n\n\n", 1)
    function = function.replace("\n    return", "\n        return")
    indented = "".join(f"    {line}\n" for line in run.splitlines())
    file = migrate(f"{head}{model}\n\n\ndef main():\n{function}\n\n{indented}")
    assert ".batch(8 * strategy.num_replicas_in_sync, drop_remainder=True)" in file.after
    assert "    train_data = input_fn().take(10)\n" in file.after
    assert "get_strategy" not in file.after


def test_with_one_of_its_codes_ignored_it_stays_and_says_so() -> None:
    file = migrate(PROGRAM, Settings(ignore=("TFM012",)))
    assert file.after == file.before
    assert [(f.code, f.action) for f in file.findings] == [("TFM110", "refuse")]
    file = migrate(PROGRAM, Settings(ignore=("TFM014",)))
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


MADE = "strategy = tf.distribute.MirroredStrategy()\n"


@pytest.mark.parametrize(
    ("made", "devices"),
    [
        ("tf.contrib.distribute.MirroredStrategy(num_gpus=4)", 'devices=["/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"]'),
        ("tf.contrib.distribute.MirroredStrategy(None, 4)", 'devices=["/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"]'),
        ("tf.contrib.distribute.MirroredStrategy(num_gpus_per_worker=n)", 'devices=[f"/gpu:{i}" for i in range(n)]'),
        ("tf.contrib.distribute.MirroredStrategy(num_gpus=None)", ""),
        ("tf.contrib.distribute.MirroredStrategy()", ""),
        ("tf.contrib.distribute.MirroredStrategy(['/gpu:1'])", "['/gpu:1']"),
    ],
)
@pytest.mark.parametrize("inline", [False, True], ids=["named", "in the RunConfig"])
def test_the_first_so_many_gpus_are_named(made: str, devices: str, inline: bool) -> None:
    where = ((MADE, "n = 4\n"), ("=strategy, eval_distribute=strategy", f"={made}")) if inline else (
        (MADE, f"n = 4\nstrategy = {made}\n"),)  # fmt: skip
    file = migrated(*where)
    assert f"strategy = tf.distribute.MirroredStrategy({devices})\n" in file.after
    assert "TFM501" not in {finding.code for finding in file.findings}


@pytest.mark.parametrize("option", ["num_gpus=0", "num_gpus=2, auto_shard_dataset=True", "num_gpus=2, other=1"])
def test_an_argument_that_the_strategy_lost_is_refused(option: str) -> None:
    told = refusal((MADE, f"ops = None\nstrategy = tf.contrib.distribute.MirroredStrategy({option})\n"))
    assert "no longer" in told or "cannot be read" in told


SOMETIMES = [
    pytest.param("if gpus > 1:\n    strategy = {made}\nelse:\n    strategy = None\n", "strategy", id="if and else"),
    pytest.param("strategy = None\nif gpus > 1:\n    strategy = {made}\n", "strategy", id="None to begin with"),
    pytest.param("strategy = {made} if gpus > 1 else None\n", "strategy", id="on one line"),
    pytest.param("", "{made} if gpus > 1 else None", id="in the RunConfig"),
]


@pytest.mark.parametrize(("lines", "given"), SOMETIMES)
def test_no_strategy_is_the_default_one(lines: str, given: str) -> None:
    made = "tf.distribute.MirroredStrategy()"
    file = migrated(
        (MADE, "gpus = 2\n" + lines.format(made=made)),
        ("=strategy, eval_distribute=strategy", "=" + given.format(made=made)),
    )
    assert "None" not in file.after
    assert file.after.count("tf.distribute.get_strategy()") == 1
    # One device took a last batch that is not full; several dropped a round that was not.
    assert ".batch(8 * strategy.num_replicas_in_sync, drop_remainder=strategy.num_replicas_in_sync > 1)" in file.after


@pytest.mark.parametrize("read", ["if strategy is None:\n    gpus = 1\n", "print(strategy)\n", "strategy = other\n"])
def test_none_that_something_else_reads_is_no_default_strategy(read: str) -> None:
    lines = "gpus, other = 2, 3\nstrategy = None\nif gpus > 1:\n    strategy = tf.distribute.MirroredStrategy()\n"
    assert "not always a MirroredStrategy" in refusal((MADE, lines + read))


def test_another_strategy_is_named_in_the_refusal() -> None:
    told = refusal((MADE, "strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()\n"))
    assert "it trains under a MultiWorkerMirroredStrategy" in told


@pytest.mark.parametrize(
    ("config", "action"),
    [("", "warn"), (", config=tf.estimator.RunConfig(model_dir='x')", "warn"), (", config=config", "refuse")],
)
@pytest.mark.parametrize(
    "made", ["tf.estimator.DNNClassifier([8], []{})", "tf.keras.estimator.model_to_estimator(keras_model{})"]
)
def test_what_is_canned_is_refused_only_where_it_is_distributed(made: str, config: str, action: str) -> None:
    text = (
        "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\n"
        f"config = tf.estimator.RunConfig(train_distribute=strategy)\nestimator = {made.format(config)}\n"
    )
    file = check_unchanged(text)
    assert action in {finding.action for finding in file.findings if finding.line == 5}
    assert ("TFM118" in {finding.code for finding in file.findings}) == (action == "warn")


def test_a_layer_with_a_name_keeps_it() -> None:
    file = migrated(
        (
            "    outputs = tf1.layers.dense(features, 1)\n",
            "    training = mode == tf.estimator.ModeKeys.TRAIN\n"
            "    hidden = tf1.layers.Dense(4, activation=tf.nn.relu)\n    drop = tf1.layers.Dropout(0.5)\n"
            "    never = tf1.layers.Dropout(0.5)\n"
            "    net = drop(hidden(features), training=training)\n    net = hidden(net)\n    net = never(net)\n"
            "    outputs = tf1.layers.dense(net, 1)\n",
        )
    )
    lines = [line.strip() for line in file.after.splitlines()]
    assert 'hidden = tf.keras.layers.Dense(4, activation="relu")' in lines
    assert "drop = tf.keras.layers.Dropout(0.5)" in lines
    assert "net = drop(hidden(features))" in lines
    assert "net = hidden(net)" in lines
    assert "net = net" in lines
    assert not any("training" in line for line in lines)


def test_a_mean_over_an_image_is_a_pooling() -> None:
    pooled = "    image = tf1.reshape(features, [-1, 1, 1, 1])\n    net = tf1.reduce_mean(image, {})\n"
    old = "    outputs = tf1.layers.dense(features, 1)\n"
    new = "    outputs = tf1.layers.dense(net, 1)\n"
    assert "GlobalAveragePooling2D()(image)" in migrated((old, pooled.format("[1, 2]") + new)).after
    assert 'data_format="channels_first")(image)' in migrated((old, pooled.format("axis=(2, 3)") + new)).after
    for other in ("[1]", "[1, 2], keepdims=True", "axes"):
        assert refusal((old, "    axes = [1, 2]\n" + pooled.format(other) + new)).startswith("TFM112")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf1.random_normal_initializer()", "RandomNormal(stddev=1.0)"),
        ("tf1.random_normal_initializer(0.5)", "RandomNormal(0.5, stddev=1.0)"),
        ("tf1.random_normal_initializer(0.5, 0.1)", "RandomNormal(0.5, 0.1)"),
        ("tf1.random_uniform_initializer(-1.0)", "RandomUniform(-1.0, maxval=1.0)"),
        ("tf1.variance_scaling_initializer()", "VarianceScaling()"),
        ("tf.keras.initializers.HeUniform()", "HeUniform()"),
    ],
)
def test_initializers_have_their_defaults_written_out(old: str, new: str) -> None:
    after = migrated(("dense(features, 1)", f"dense(features, 1, kernel_initializer={old})")).after
    assert f"kernel_initializer=tf.keras.initializers.{new})" in after


def test_each_of_the_datasets_that_are_zipped_has_its_batch() -> None:
    file = migrated(
        (
            "    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).batch(8)\n",
            "    x = tf.data.Dataset.from_tensors([1.0]).repeat(100).batch(8)\n"
            "    y = tf.data.Dataset.from_tensors([1.0]).repeat(100).batch(8)\n"
            "    return tf.data.Dataset.zip((x, y))\n",
        )
    )
    assert file.after.count("from_tensors([1.0]).repeat(100).batch(8 * strategy.num_replicas_in_sync, ") == 2


@pytest.mark.parametrize("after_batch", [".map(f)", ".shuffle(3)", ".take(2)"])
def test_what_works_on_zipped_batches_is_refused(after_batch: str) -> None:
    told = refusal(
        (
            "    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).batch(8)\n",
            "    x = tf.data.Dataset.from_tensors([1.0]).batch(8)\n    both = tf.data.Dataset.zip((x, x))\n"
            f"    return both{after_batch}\n",
        )
    )
    assert told.startswith("TFM116")


def test_what_only_the_estimator_read_goes_and_the_scopes_meet() -> None:
    file = migrated(
        (MADE, f"names = {{'loss': 'loss'}}\nsession = tf1.ConfigProto(allow_soft_placement=True)\n{MADE}"),
        ("eval_distribute=strategy", "session_config=session"),
        ("(input_fn, steps=10)", "(input_fn, steps=10, hooks=[hook])"),
        ("estimator.train", "hook = tf1.train.LoggingTensorHook(names, every_n_iter=10)\nestimator.train"),
    )
    assert "names" not in file.after
    assert "ConfigProto" not in file.after
    kept = migrated((MADE, f"names = {{'loss': 'loss'}}\nprint(names)\n{MADE}")).after
    assert "print(names)" in kept


def test_scopes_with_nothing_left_between_are_one() -> None:
    text = PROGRAM.replace(PROGRAM[PROGRAM.index("strategy =") :], "") + (
        "\ndef main():\n    strategy = tf.distribute.MirroredStrategy()\n"
        "    config = tf.estimator.RunConfig(train_distribute=strategy)\n"
        "    estimator = tf.estimator.Estimator(model_fn, config=config)\n"
        "    hook = tf1.train.LoggingTensorHook({}, every_n_iter=10)\n"
        "    estimator.train(input_fn, steps=10, hooks=[hook])\n"
    )
    file = migrate(text)
    assert file.after.count("with strategy.scope():") == 1
    assert "    with strategy.scope():\n        model = model_fn(" in file.after


def test_a_name_is_changed_once() -> None:
    lines = "def parse(record):\n    return tf.decode_raw(record, tf.float32)\n\n\n"
    file = migrated(("def model_fn", lines + "def model_fn"))
    assert "tf.io.decode_raw(record" in file.after


def said_of_the_batch(*changes: tuple[str, str]) -> str:
    return " / ".join(finding.message for finding in migrated(*changes).findings if finding.code == "TFM012")


UNKNOWN = ("([[1.0], [2.0]], [[0.5], [1.0]])", "(read())")
READ = ("def input_fn():", "def read():\n    return tuple(open('data'))\n\n\ndef input_fn():")


@pytest.mark.parametrize(
    "changes", [(), ((".batch(8)", ".batch(8, drop_remainder=True)"),), ((".batch(8)", ".repeat(3).batch(8)"),)]
)
def test_too_few_batches_for_the_replicas_are_mentioned_where_the_rows_are_not_known(
    changes: tuple[tuple[str, str], ...],
) -> None:
    said = said_of_the_batch(UNKNOWN, READ, *changes)
    assert (
        "fewer batches than there are replicas, Keras 3 ends with StopIteration, where the Estimator trained no" in said
    )


@pytest.mark.parametrize(
    "changes",
    [
        (),  # two rows that are written out: the call stands under a condition
        (UNKNOWN, READ, (".batch(8)", ".repeat().batch(8)")),
        (UNKNOWN, READ, (".batch(8)", ".batch(8, drop_remainder=False)")),
        (
            UNKNOWN,
            READ,
            ("(mode, loss", "(mode, predictions=outputs, loss"),
            ("steps=10)\n", "steps=10)\nprint(list(estimator.predict(input_fn)))\n"),
        ),
    ],
)
def test_nothing_is_said_of_too_few_batches_where_that_cannot_be(changes: tuple[tuple[str, str], ...]) -> None:
    said = said_of_the_batch(*changes)
    assert "global batch" in said
    assert "StopIteration" not in said


@pytest.mark.parametrize(("labels", "refused"), [("labels", False), ("features", True), ("[[0.5], [1.0]]", True)])
def test_a_metric_is_of_the_labels(labels: str, refused: bool) -> None:
    metric = f"{{'mse': tf1.metrics.mean_squared_error({labels}, outputs)}}"
    file = migrated(("loss=loss, train_op", f"loss=loss, eval_metric_ops={metric}, train_op"))
    assert codes(file, "refuse") == ["TFM114"] * refused


def test_a_named_lambda_that_makes_the_dataset_itself_has_the_batch_of_all_replicas() -> None:
    data = "tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]]))"
    changes = (f"def input_fn():\n    return {data}.batch(8)\n", f"input_fn = lambda: {data}.repeat().batch(8)\n")
    file = migrated(changes)
    assert f"input_fn = lambda: {data}.repeat().batch(8 * strategy.num_replicas_in_sync)\n" in file.after
    assert actions(file, "TFM012") == ["rewrite"]


@pytest.mark.parametrize(
    "calls",
    [
        "estimator.train(steps=10)",
        "estimator.train(input_fn, steps=10)\nestimator.evaluate(steps=1)",
        "estimator.train(input_fn, steps=10)\nestimator.predict(hooks=None)",
        "tf.estimator.train_and_evaluate(\n"
        "    estimator, tf.estimator.TrainSpec(max_steps=1), tf.estimator.EvalSpec(input_fn)\n)",
    ],
)
def test_a_call_without_an_input_function_is_refused(calls: str) -> None:
    assert refusal(("estimator.train(input_fn, steps=10)", calls)) == (
        "TFM110 this Estimator stays: it gets no input function"
    )
