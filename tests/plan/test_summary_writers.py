"""Summaries that a script writes by the writer of TensorBoard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forks
from tests.kit import check_migrated, migrate

HEAD = """\
import tensorflow as tf
from keras.callbacks import Callback, TensorBoard
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


{code}

model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
model.fit(batches)
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        (
            "def log(callback, n):\n    callback.writer.add_summary(summary, n)\n    callback.writer.flush()\n",
            "    writer_of(callback).add_summary(summary, n)\n    writer_of(callback).flush()\n",
        ),
        (
            "class Log(TensorBoard):\n    def on_epoch_end(self, epoch, logs=None):\n"
            "        self.writer.add_summary(logs)\n",
            "        writer_of(self).add_summary(logs)\n",
        ),
        (
            "class Log(Callback):\n    def on_epoch_end(self, epoch, logs=None):\n"
            "        if self.board.writer is not None:\n            self.board.writer.add_summary(logs)\n",
            "        if writer_of(self.board) is not None:\n            writer_of(self.board).add_summary(logs)\n",
        ),
    ],
)
def test_a_writer_is_made_the_first_time_it_is_asked_for(code: str, after: str) -> None:
    file = check_migrated(HEAD.format(code=code))
    assert after in file.after
    assert file.after.count("def writer_of(tensorboard):") == 1


@pytest.mark.parametrize(
    "code",
    [
        "class Log(TensorBoard):\n    def set_model(self, model):\n        self.writer = open('log')\n"
        "        self.writer.add_summary(model)\n",
        "class Log(Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        self.writer.add_summary(logs)\n",
        "def log(book, n):\n    book.writer.add_row(n)\n",
        "def log(book, n):\n    book.writer = made(book)\n    book.writer.add_summary(n)\n",
        "def log(writer, n):\n    writer.add_summary(n)\n",
    ],
)
def test_other_writers_are_left_alone(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert code in file.after
    assert "TFM276" not in {finding.code for finding in file.findings}


WRITTEN = """\
import sys
import tensorflow as tf
from tensorflow.keras.callbacks import TensorBoard

{helper}

board = TensorBoard(log_dir=sys.argv[1])
for epoch in range(3):
    summary = tf.compat.v1.Summary()
    summary.value.add(simple_value=0.25 * epoch, tag="mAP")
    writer_of(board).add_summary(summary, epoch)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_summaries_lie_in_the_folder_of_the_callback(keras: int, python: forks.Python, tmp_path: Path) -> None:
    code = "def log(callback, n):\n    callback.writer.add_summary(summary, n)\n"
    lines = check_migrated(HEAD.format(code=code)).after
    helper = lines[lines.index("def writer_of") : lines.index("def log")]
    read = """
import glob
found = [
    (value.tag, event.step, value.simple_value)
    for file in glob.glob(sys.argv[1] + "/events*")
    for event in tf.compat.v1.train.summary_iterator(file)
    for value in event.summary.value
]
print(found)
"""
    script = WRITTEN.format(helper=helper) + "writer_of(board).close()\n" + read
    done = python(keras, script, str(tmp_path / "logs"))
    assert done.stdout.strip().endswith("[('mAP', 0, 0.0), ('mAP', 1, 0.25), ('mAP', 2, 0.5)]"), done
