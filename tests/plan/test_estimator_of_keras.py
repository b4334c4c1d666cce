"""Estimators of Keras models: the model trains by itself, in the scope of the strategy."""

from __future__ import annotations

import pytest

from tests import kit
from tests.kit import actions, migrate
from tfmigrate.result import FileResult

PROGRAM = """\
import tensorflow as tf


def input_fn(size):
    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).repeat().batch(size)


def build():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
    return model


net = build()
net.summary()
GPUS = 2
strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=GPUS)
config = tf.estimator.RunConfig(train_distribute=strategy)
estimator = tf.keras.estimator.model_to_estimator(net, config=config)
estimator.train(lambda: input_fn(8), steps=100)
print(estimator.evaluate(lambda: input_fn(8), steps=2)["loss"])
"""
MADE = "estimator = tf.keras.estimator.model_to_estimator(net, config=config)\n"
TRAINED = "estimator.train(lambda: input_fn(8), steps=100)\n"
STRATEGY = "strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=GPUS)\n"


def migrated(*changes: tuple[str, str]) -> FileResult:
    return migrate(kit.changed(PROGRAM, *changes))


def refusal(*changes: tuple[str, str]) -> str:
    return kit.refusal(migrated(*changes))


def test_the_model_is_made_in_the_scope_of_a_strategy_that_is_made_before_it() -> None:
    _, _, after = migrated().after.partition("return model\n\n\n")
    assert after.splitlines() == [
        "GPUS = 2",
        'strategy = tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(GPUS)])',
        "with strategy.scope():",
        "    net = build()",
        "net.summary()",
        "net.fit(input_fn(8 * strategy.num_replicas_in_sync).take(100))",
        'print(net.evaluate(input_fn(8).take(2), return_dict=True)["loss"])',
    ]


def test_a_strategy_without_a_name_gets_one_before_the_model() -> None:
    changes = ((STRATEGY, ""), ("train_distribute=strategy", "train_distribute=tf.distribute.MirroredStrategy()"))
    after = migrated(*changes).after
    assert "strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    net = build()\n" in after


def test_what_is_made_line_by_line_is_scoped_with_its_optimizer() -> None:
    lines = (
        "inputs = tf.keras.Input(shape=(1,))\noutputs = tf.keras.layers.Dense(1)(inputs)\n"
        "net = tf.keras.Model(inputs, outputs)\n\noptimizer = tf.train.AdamOptimizer(0.01)\n"
        "net.compile(optimizer=optimizer, loss='mse')\n"
    )
    after = migrated(("net = build()\n", lines)).after
    _, _, scoped = after.partition("with strategy.scope():\n")
    for line in (line for line in lines.splitlines() if line and "Adam" not in line):
        assert f"    {line}\n" in scoped
    assert "    optimizer = tf.keras.optimizers.Adam(0.01, epsilon=1e-8)\n" in scoped


@pytest.mark.parametrize(
    ("written", "divided"),
    [
        ("GradientDescentOptimizer(0.1)", "SGD(0.1 / tf.distribute.get_strategy().num_replicas_in_sync)"),
        (
            "MomentumOptimizer(learning_rate=0.2 + 0.1, momentum=0.9)",
            "SGD(learning_rate=(0.2 + 0.1) / tf.distribute.get_strategy().num_replicas_in_sync, momentum=0.9)",
        ),
    ],
)
def test_gradients_that_were_divided_twice_are_a_lower_rate(written: str, divided: str) -> None:
    file = migrated(('optimizer="sgd"', f"optimizer=tf.train.{written}"))
    assert divided in " ".join(file.after.split()).replace("( ", "(").replace(" )", ")")
    assert [f.line for f in file.findings if f.code == "TFM014"] == [10]


def test_a_loss_that_was_divided_by_the_replicas_is_told() -> None:
    file = migrated(("train_distribute=strategy", "train_distribute=strategy, eval_distribute=strategy"))
    assert "evaluate(input_fn(8 * strategy.num_replicas_in_sync).take(2)" in file.after
    assert actions(file, "TFM014") == ["warn"]


def test_an_estimator_that_a_function_returns_is_the_model() -> None:
    lines = (
        "def prepared():\n    net = build()\n    strategy = tf.distribute.MirroredStrategy()\n"
        "    config = tf.estimator.RunConfig(train_distribute=strategy)\n"
        "    return tf.keras.estimator.model_to_estimator(keras_model=net, config=config)\n\n\nestimator = prepared()\n"
    )
    start = PROGRAM.index("net = build()")
    file = migrated((PROGRAM[start : PROGRAM.index(TRAINED)], lines))
    assert "    with strategy.scope():\n        net = build()\n    return net\n" in file.after
    assert "estimator.fit(input_fn(8 * estimator.distribute_strategy.num_replicas_in_sync).take(100))" in file.after


def test_specs_are_fit_and_evaluate() -> None:
    specs = (
        "train_spec = tf.estimator.TrainSpec(lambda: input_fn(8), max_steps=9)\n"
        "eval_spec = tf.estimator.EvalSpec(lambda: input_fn(8), steps=3)\n"
        "tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)\n"
    )
    start = PROGRAM.index(TRAINED)
    after = migrated((PROGRAM[start:], specs)).after
    assert after.endswith(
        "net.fit(input_fn(8 * strategy.num_replicas_in_sync).take(9))\n"
        "net.evaluate(input_fn(8).take(3), return_dict=True)\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (TRAINED, f"{TRAINED}net.predict([[1.0]])\n", "predict() is also called on its Keras model"),
        (TRAINED, f"net.fit([[1.0]], [[1.0]])\n{TRAINED}", "fit() is also called on its Keras model"),
        (STRATEGY, f"tf.config.set_soft_device_placement(True)\n{STRATEGY}", "cannot be created before it"),
        ("GPUS = 2\n", "GPUS = int(input())\n", "cannot be created before it"),
        ("GPUS = 2\n", "GPUS = 2\nGPUS += 1\n", "cannot be created before it"),
        (
            STRATEGY,
            "devices = []\ndevices.append('/gpu:0')\nstrategy = tf.distribute.MirroredStrategy(devices)\n",
            "cannot be created before it",
        ),
        ('optimizer="sgd"', "optimizer=tf.train.AdagradOptimizer(0.1)", "divided twice by the number of replicas"),
        ('optimizer="sgd"', "optimizer=tf.keras.optimizers.SGD(0.1, clipnorm=1.0)", "each replica clipped"),
        ('optimizer="sgd"', "optimizer=chosen()", "its optimizer cannot be followed"),
        ('loss="mse"', 'loss=tf.keras.losses.MeanSquaredError(reduction="sum")', "an explicit reduction"),
        ("([[1.0], [2.0]], ", '({"x": [[1.0], [2.0]]}, ', "its features are named x"),
        ("net = build()\n", "net = made_elsewhere()\n", "its Keras model cannot be followed"),
        (TRAINED, f"{TRAINED}estimator.predict(lambda: input_fn(8))\n", "of a Keras model cannot be followed"),
        (TRAINED, "", "no call that trains it was found"),
        ("net, config=config", "keras_model_path='a.h5', config=config", "it is created from a file"),
    ],
)
def test_what_is_not_the_same_is_refused(old: str, new: str, told: str) -> None:
    assert told in refusal((old, new))


def test_two_estimators_of_one_model_both_stay() -> None:
    file = migrated((MADE, MADE + MADE.replace("estimator =", "other =")))
    assert file.after == file.before
    told = [finding.message for finding in file.findings if finding.action == "refuse"]
    assert len(told) == 2
    assert "another Estimator is created from the same Keras model" in told[0]


def test_a_model_that_is_passed_to_the_function_that_makes_the_strategy_is_refused() -> None:
    lines = (
        "def prepared(model):\n    strategy = tf.distribute.MirroredStrategy()\n"
        "    config = tf.estimator.RunConfig(train_distribute=strategy)\n"
        "    return tf.keras.estimator.model_to_estimator(model, config=config)\n\n\nestimator = prepared(build())\n"
    )
    start = PROGRAM.index("net = build()")
    change = (PROGRAM[start : PROGRAM.index(TRAINED)], lines)
    assert "before the call of the function that creates the strategy" in refusal(change)
    places = {finding.line for _ in range(8) for finding in migrated(change).findings}
    assert places == {PROGRAM[: PROGRAM.index("    model = ")].count("\n") + 1}


def test_what_train_returns_may_be_printed() -> None:
    after = migrated((TRAINED, f"trained = {TRAINED}print(trained)\n")).after
    assert "net.fit(input_fn(8 * strategy.num_replicas_in_sync).take(100))\ntrained = net\nprint(trained)\n" in after


def test_one_on_one_device_stays() -> None:
    file = migrated(("train_distribute=strategy", ""))
    assert file.after == file.before
    assert actions(file, "TFM118") == ["warn"]
