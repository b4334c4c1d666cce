"""Features that a dataset gives and the model function does not read are left out of the model's inputs."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tests.plan.test_estimator import PROGRAM, migrated
from tests.plan.test_estimator_passing import MANY

READ = ("dense(features,", 'dense(features["x"],')
CHOOSER = "def read_features(features, *labels):\n    # Keras treats every feature"


def given(features: str) -> tuple[str, str]:
    return "([[1.0], [2.0]], ", f"({{{features}}}, "


@pytest.mark.parametrize("more", ['"name": ["a", "b"]', '"a": [1, 2], "b": [1, 2]'])
def test_features_that_are_not_read_are_left_out(more: str) -> None:
    evaluated = ("steps=10)", "steps=10)\nestimator.evaluate(input_fn, steps=1)")
    file = migrated(given('"x": [[1.0], [2.0]], ' + more), READ, MANY, evaluated)
    assert 'return ({"x": features["x"]}, *labels)\n\n\ndef model_fn(features):' in file.after
    assert "model_fn(input_fn().map(read_features).element_spec[0])" in file.after
    assert "model.fit(input_fn().map(read_features).take(10))" in file.after
    assert "model.evaluate(input_fn().map(read_features).take(1), return_dict=True)" in file.after


def test_several_features_are_chosen_by_their_names() -> None:
    both = ("dense(features,", 'dense(features["x"] + features["y"],')
    file = migrated(given('"x": [[1.0]], "y": [[1.0]], "z": [[1.0]]'), both, MANY)
    assert 'return ({key: features[key] for key in ("x", "y")}, *labels)' in file.after


def test_features_of_unknown_names_are_chosen_too() -> None:
    read = ("from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]]))", "experimental.make_csv_dataset(path, 1).unbatch()")
    assert CHOOSER in migrated(read, READ, MANY).after


@pytest.mark.parametrize("lines", ["", "other = {'z': 1}\n", "parts = {**other, 'y': 2}\n"])
def test_where_all_are_read_they_stay(lines: str) -> None:
    after = migrated(given('"x": [[1.0], [2.0]]'), READ, MANY, ("strategy = ", lines + "strategy = ")).after
    assert "read_features" not in after
    assert "model.fit(input_fn().take(10))" in after


def test_features_that_are_read_whole_stay() -> None:
    assert "read_features" not in migrated(MANY).after


def test_the_features_of_a_prediction_are_chosen() -> None:
    asked = (
        "    loss = ",
        "    if mode == tf.estimator.ModeKeys.PREDICT:\n"
        "        return tf.estimator.EstimatorSpec(mode, predictions={'value': outputs})\n    loss = ",
    )
    data = "def new_data():\n    return tf.data.Dataset.from_tensor_slices({'x': x, 'n': y}).batch(2)\n\n\nstrategy = "
    said = ("steps=10)", "steps=10)\nfor row in estimator.predict(new_data):\n    print(row)")
    rows = given('"x": [[1.0], [2.0]], "n": ["a", "b"]')
    file = migrated(rows, READ, MANY, asked, ("strategy = ", data), said)
    assert "predictions_of(model.predict(new_data().map(read_features)))" in file.after


def test_in_another_module_they_are_chosen_in_place() -> None:
    start = PROGRAM.index("strategy = ")
    end = PROGRAM.index("def model_fn")
    text = PROGRAM[:end] + "from network import model_fn\n\n" + PROGRAM[start:]
    for old, new in (given('"x": [[1.0], [2.0]], "n": ["a", "b"]'), MANY):
        text = text.replace(old, new)
    network = "import tensorflow as tf\nimport tensorflow.compat.v1 as tf1\n\n\n" + PROGRAM[end:start].replace(*READ)
    file = migrate(text, network=network)
    assert 'fit(input_fn().map(lambda features, *labels: ({"x": features["x"]}, *labels)).take(10))' in file.after


def test_a_name_that_is_taken_is_not_used() -> None:
    taken = ("strategy = ", "read_features = 1\nprint(read_features)\nstrategy = ")
    assert ".map(read_features_2)" in migrated(given('"x": [[1.0]], "n": ["a"]'), READ, MANY, taken).after


CLOSURE = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": [[1.0]], "n": ["a"]}, [[0.5]])).repeat().batch(8)


def new_data():
    return tf.data.Dataset.from_tensor_slices({"x": [[1.0]], "n": ["a"]}).batch(8)


def make(scale):
    def model_fn(features, labels, mode):
        outputs = tf1.layers.dense(features["x"], 1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"value": outputs * 2})
        loss = tf1.losses.mean_squared_error(labels, outputs)
        train_op = tf1.train.AdamOptimizer(scale).minimize(loss, global_step=tf1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy)
estimator = tf.estimator.Estimator(make(0.1), config=config)
estimator.train(input_fn, steps=10)
for row in estimator.predict(new_data):
    print(row)
"""


def test_beside_a_model_function_in_another_they_are_seen_where_they_are_called() -> None:
    file = migrate(CLOSURE.replace("outputs * 2", "outputs"))
    head, _, tail = file.after.partition("def make(scale):\n")
    assert "\ndef read_features(" in head
    assert "\ndef predictions_of(outputs):\n" in head
    assert "predictions_of(model.predict(new_data().map(read_features)))" in tail


def test_predictions_made_with_a_variable_of_the_function_around_are_refused() -> None:
    file = migrate(CLOSURE.replace('{"value": outputs * 2}', '{"value": tf.clip_by_value(outputs, 0, scale)}'))
    assert file.after == file.before
    assert ["`scale`, a variable of the function" in f.message for f in file.findings if f.action == "refuse"] == [True]


@pytest.mark.parametrize("other", ["spec = {'x': 1, 'y': 2}\n", "use({'x': 1, 'y': 2}, 3)\n"])
def test_a_dict_that_is_no_features_asks_for_no_choice(other: str) -> None:
    assert (
        "read_features"
        not in migrated(given('"x": [[1.0], [2.0]]'), READ, MANY, ("strategy = ", other + "strategy = ")).after
    )


@pytest.mark.parametrize(
    "other",
    [
        "def more():\n    found = {'x': 1, 'y': 2}\n    return found, 3\n\n\n",
        "more = lambda: ({'x': 1, 'y': 2}, 3)\n",
        "more = tf.data.Dataset.from_tensor_slices({'x': [1], 'y': [2]})\n",
    ],
)
def test_a_dict_of_more_features_does(other: str) -> None:
    assert (
        "read_features"
        in migrated(given('"x": [[1.0], [2.0]]'), READ, MANY, ("strategy = ", other + "strategy = ")).after
    )
