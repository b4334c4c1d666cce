"""export_saved_model(): which receiver functions are followed, and what is written."""

from __future__ import annotations

import pytest

from tests.kit import codes, migrate

PROGRAM = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": [[1.0]], "y": [[1.0]]}, [[0.5]])).repeat().batch(8)


def model_fn(features, labels, mode):
    outputs = tf1.layers.dense(features["x"] + features["y"], 1)
    predictions = {"value": outputs, "sign": tf.sigmoid(outputs)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf1.losses.mean_squared_error(labels, outputs)
    train_op = tf1.train.AdamOptimizer().minimize(loss, global_step=tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def serving():
    inputs = {"x": tf1.placeholder(tf.float32, [None, 1]), "y": tf1.placeholder(tf.float32, [None, 1])}
    return tf.estimator.export.ServingInputReceiver(inputs, inputs)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps=10)
estimator.export_saved_model("out", serving)
"""
START, END = PROGRAM.index("def serving"), PROGRAM.index("strategy = ")
SIGNATURE = (
    '    @tf.function(input_signature=[{"x": tf.TensorSpec([None, 1], tf.float32, "x"), '
    '"y": tf.TensorSpec([None, 1], tf.float32, "y")}])\n'
)


def changed(*changes: tuple[str, str]) -> str:
    text = PROGRAM
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def with_receiver(code: str) -> str:
    return PROGRAM[:START] + code + "\n\n" + PROGRAM[END:]


def signature(after: str) -> str:
    """The decorator in one line."""
    return " ".join(after.split()).replace("[ ", "[").replace("{ ", "{").replace(" }", "}").replace(" ]", "]")


@pytest.mark.parametrize("method", ["export_saved_model", "export_savedmodel"])
@pytest.mark.parametrize(
    "arguments", ['"out", serving', '"out", serving_input_receiver_fn=serving', 'export_dir_base="out", '
                  'serving_input_receiver_fn=serving']
)  # fmt: skip
def test_the_predictions_are_saved_for_the_received_tensors(method: str, arguments: str) -> None:
    file = migrate(changed(('export_saved_model("out", serving)', f"{method}({arguments})")))
    compile(file.after, "train.py", "exec")
    assert SIGNATURE.strip() in signature(file.after)
    assert (
        "        outputs = model(features, training=False)\n"
        '        predictions = {"value": outputs, "sign": tf.sigmoid(outputs)}\n'
        "        return predictions\n"
    ) in file.after
    assert file.after.endswith('export_model(model, "out")\n')
    assert "serving()" not in file.after
    assert "placeholder" not in file.after


@pytest.mark.parametrize(
    "receiver",
    [
        "def serving():\n    x = tf1.placeholder(tf.float32, shape=[None, 1], name='x')\n"
        "    inputs = {'x': x, 'y': tf1.placeholder(dtype=tf.float32, shape=[None, 1])}\n"
        "    return tf.estimator.export.ServingInputReceiver(features=inputs, receiver_tensors=inputs)\n",
        "inputs = {'x': tf1.placeholder(tf.float32, [None, 1]), 'y': tf1.placeholder(tf.float32, [None, 1])}\n"
        "serving = tf.estimator.export.build_raw_serving_input_receiver_fn(inputs)\n",
    ],
)
def test_other_words_for_the_same(receiver: str) -> None:
    assert SIGNATURE.strip() in signature(migrate(with_receiver(receiver)).after).replace("'", '"')


def test_what_it_returns_may_be_read() -> None:
    file = migrate(changed(("estimator.export_saved_model(", "path = estimator.export_saved_model(")))
    assert file.after.endswith('path = export_model(model, "out")\n')


def test_predictions_without_names_are_the_output() -> None:
    file = migrate(changed(("predictions=predictions", "predictions=outputs")))
    assert '        return {"output": outputs}\n' in file.after


def test_a_receiver_function_that_is_mentioned_elsewhere_stays() -> None:
    file = migrate(changed(("strategy = ", "print(serving)\nstrategy = ")))
    assert "def serving():\n" in file.after


def test_names_of_the_program_are_not_bound_anew() -> None:
    file = migrate(changed(('"value": outputs', '"value": outputs, "path": tf.clip_by_value(outputs, path, 1)')))
    assert "    path_2 = tf.io.gfile.join(folder, str(int(tf.timestamp())))\n" in file.after


@pytest.mark.parametrize(
    "text",
    [
        changed(('("out", serving)', '("out", serving, as_text=True)')),
        changed(('("out", serving)', '("out", make(serving))')),
        changed(('("out", serving)', '("out", lambda: serving())')),
        changed(("Receiver(inputs, inputs)", "Receiver({'x': inputs['x'], 'y': inputs['x']}, inputs)")),
        changed(("(inputs, inputs)", "(inputs, {'a': inputs['x']})")),
        changed((', "y": tf1.placeholder(tf.float32, [None, 1])', "")),
        changed(("tf1.placeholder(tf.float32, [None, 1])", "tf1.placeholder(tf.float32)")),
        changed(('{"x": tf1.placeholder(tf.float32, [None, 1])', '{"x": tf.zeros([4, 1])')),
        changed(("    inputs = ", "    size = 1\n    inputs = "), ("[None, 1]", "[None, size]")),
        changed(("predictions=predictions", "predictions=predictions, export_outputs={}")),
        changed(("predictions=predictions", "predictions={'double': outputs, 'x': features['x']}")),
        changed(('features["x"] + features["y"]', "features")),
    ],
)
def test_what_is_not_the_same_is_refused(text: str) -> None:
    file = migrate(text)
    assert file.after == file.before
    assert codes(file, "refuse") in (["TFM110"], ["TFM112"])
