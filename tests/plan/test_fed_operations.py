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
