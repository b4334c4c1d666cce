"""Operations that a class feeds in a session: which become functions, and which are left."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


class Best:
    def __init__(self, count):
        self.rows = K.placeholder(shape=(None, 2))
        self.scores = tf.placeholder(tf.int32)
        self.best = tf.gather(self.rows, tf.nn.top_k(self.scores, count).indices)
        self.session = K.get_session()
        {more}

    def of(self, rows, scores):
        return {run}


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.predict(x)
"""
RUN = "self.session.run(self.best, feed_dict={self.scores: scores, self.rows: rows + 1})"


def test_an_operation_becomes_a_function_of_what_it_is_fed() -> None:
    file = check_migrated(PROGRAM.format(more="self.count = count", run=RUN))
    assert "self.best = lambda rows, scores: tf.gather(" in file.after
    assert 'tf.cast(rows, "float32")' in file.after
    assert 'tf.nn.top_k(tf.cast(scores, "int32"), count).indices' in file.after
    assert "return self.best(rows + 1, scores).numpy()" in file.after
    assert "session" not in file.after
    assert actions(file, "TFM501") == []


@pytest.mark.parametrize(
    ("more", "run"),
    [
        ("self.session.run(self.rows)", RUN),
        ("self.rows = None", RUN),
        ("pass", f"{RUN}, self.best"),
        ("pass", "self.session.run([self.best, self.best], feed_dict={self.scores: scores, self.rows: rows})"),
        ("pass", "self.session.run(self.best, feed_dict={self.rows: rows})"),
        ("pass", "self.session.run(self.best, feed_dict={self.scores: scores, rows: rows})"),
        ("pass", "self.session.run(self.best, feed_dict=feeds)"),
    ],
)
def test_what_is_read_or_fed_otherwise_is_left(more: str, run: str) -> None:
    file = check_migrated(PROGRAM.format(more=more, run=run))
    assert "lambda" not in file.after
    assert "K.placeholder" in file.after


DETECTOR = """\
import numpy as np
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


def network():
    x = Input((4,))
    return Model(x, [Dense(3, name="first")(x), Dense(2, name="second")(x)])


def best(outputs, size, limit):
    return outputs[0] * size, K.max(outputs[1], axis=-1), K.shape(outputs[0]) * limit


class Detector:
    def __init__(self, gpus):
        self.gpus = gpus
        self.session = K.get_session()
        {keep}

    def {build}(self):
        self.network = network()
        limit = 2
        self.size = K.placeholder(shape=(1,))
        if self.gpus >= 2:
            self.network = multi_gpu_model(self.network, gpus=self.gpus)
        {made}

    def detect(self, rows):
        boxes, scores, counts = self.session.run({fetched}, feed_dict={{
            {fed}: rows,
            self.size: [rows[0, 0]],
            K.learning_phase(): {phase}
        }})
        return boxes, scores, counts

    def close(self):
        self.session.close()


def main(gpus):
    detector = Detector(gpus)
    print(detector.detect(np.ones((8, 4), "float32")))
    detector.close()


main(2)
"""
RETURNED = {
    "keep": "self.boxes, self.scores, self.counts = self.build()",
    "build": "build",
    "made": (
        "# What is found.\n        boxes, scores, counts = best(self.network.output, self.size, limit)\n"
        "        return boxes, scores, counts"
    ),
    "fetched": "[self.boxes, self.scores, self.counts]",
    "fed": "self.network.input",
    "phase": "0",
}
CALL = "best(self.network(inputs), tf.cast(size, 'float32'), limit)".replace("'", '"')


def test_outputs_of_a_model_that_a_method_returns_become_one_function() -> None:
    file = check_migrated(DETECTOR.format(**RETURNED))
    assert "self.boxes_scores_counts = self.build()" in file.after
    lines = ("# What is found.", f"evaluate = lambda inputs, size: {CALL}", "return evaluate")
    assert "\n".join(f"        {line}" for line in lines) in file.after
    assert "[each.numpy() for each in self.boxes_scores_counts(rows, [rows[0, 0]])]" in file.after
    assert "def close(self):\n        pass\n" in file.after
    assert "placeholder" not in file.after
    assert "session" not in file.after
    assert actions(file, "TFM501") == []


def test_outputs_of_a_model_that_are_set_at_once_become_one_function() -> None:
    made = "self.boxes, self.scores, self.counts = best(self.network.get_output_at(0), self.size, limit)"
    values = {**RETURNED, "keep": "self.build()", "made": made, "fed": "self.network.get_input_at(0)"}
    file = check_migrated(DETECTOR.format(**values))
    assert f"self.boxes_scores_counts = lambda inputs, size: {CALL}\n" in file.after
    assert actions(file, "TFM501") == []


@pytest.mark.parametrize("made", ["made = {}\n        return made", "return {}"])
def test_what_a_method_returns_as_a_whole_becomes_one_function(made: str) -> None:
    made = made.format("best(self.network.output, self.size, limit)")
    after = check_migrated(DETECTOR.format(**{**RETURNED, "made": made})).after
    assert f"lambda inputs, size: {CALL}\n" in after


def test_the_learning_phase_that_is_fed_is_kept() -> None:
    file = check_migrated(DETECTOR.format(**{**RETURNED, "phase": "True"}))
    assert "best(self.network(inputs, training=True), " in file.after


def test_classes_below_it_are_changed_with_it() -> None:
    below = (
        "class Timed(Detector):\n    def twice(self, rows):\n        self.detect(rows)\n"
        "        return self.session.run([self.boxes, self.scores, self.counts],\n"
        "                                feed_dict={self.network.input: rows, self.size: [2]})\n\n\nmain(2)\n"
    )
    file = check_migrated(DETECTOR.format(**RETURNED).replace("main(2)\n", below))
    assert "return [each.numpy() for each in self.boxes_scores_counts(rows, [2])]" in file.after
    assert actions(file, "TFM501") == []


def test_the_whole_output_of_a_model_is_predicted() -> None:
    more = (
        "    def raw(self, rows):\n        return self.session.run(self.network.output, feed_dict={\n"
        "            self.network.input: rows, K.learning_phase(): 0})\n\n    def close(self):"
    )
    file = check_migrated(DETECTOR.format(**RETURNED).replace("    def close(self):", more))
    assert "return self.network.predict(rows, verbose=0)" in file.after


@pytest.mark.parametrize(
    "values",
    [
        {"fed": "self.other.input"},
        {"fed": "K.learning_phase()"},
        {"phase": "phase"},
        {"fetched": "[self.boxes, self.scores]"},
        {"fetched": "[self.scores, self.boxes, self.counts]"},
        {"keep": "self.boxes, self.scores, self.counts = self.build()\n        self.first = self.boxes"},
        {"keep": "self.boxes, self.scores, self.counts = self.build()\n        self.build()"},
        {"keep": "self.boxes, self.scores, self.counts = self.build()\n        K.set_session(self.session)"},
        {
            "made": "boxes, scores, counts = best(self.network.output, self.size, limit)\n"
            "        return boxes, counts, scores"
        },
        {
            "made": "boxes, scores, counts = best([self.network.output[0], self.network.output[1]], self.size, limit)\n"
            "        return boxes, scores, counts"
        },
        {
            "made": "boxes, scores, counts = best(self.network.output, self.size, limit)\n        limit = 3\n"
            "        return boxes, scores, counts"
        },
    ],
)
def test_what_is_made_fed_or_fetched_otherwise_is_left(values: dict[str, str]) -> None:
    file = check_migrated(DETECTOR.format(**{**RETURNED, **values}))
    assert "lambda" not in file.after
    assert "K.placeholder" in file.after


def test_a_part_that_other_code_reads_is_left() -> None:
    text = DETECTOR.format(**RETURNED).replace("    detector.close()", "    print(detector.boxes)")
    assert "lambda" not in check_migrated(text).after


def test_a_model_that_is_set_anew_elsewhere_is_left() -> None:
    text = DETECTOR.format(**RETURNED).replace("        self.session.close()", "        self.network = None")
    assert "lambda" not in check_migrated(text).after
