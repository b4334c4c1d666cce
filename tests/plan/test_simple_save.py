"""tf.saved_model.simple_save() of a model becomes its export() (TFM275)."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("tf.saved_model.simple_save(K.get_session(), 'a', {'x': model.input}, {'y': model.output})",
         "model.export('a')"),
        ("tf.saved_model.simple_save(K.get_session(), export_dir=folder, inputs={'x': model.input},\n"
         "    outputs={t.name: t for t in model.outputs})", "model.export(folder)"),
        ("s = K.get_session()\ntf.saved_model.simple_save(s, 'a', {'x': model.input}, {'y': model.output})",
         "model.export('a')"),
    ],
)  # fmt: skip
def test_the_model_exports_itself(body: str, written: str) -> None:
    file = migrate(f"{HEAD}{body}\n")
    assert file.after.endswith(f"{written}\n")
    assert "get_session" not in file.after
    assert {f.code for f in file.findings} & {"TFM275", "TFM501"} == {"TFM275"}


@pytest.mark.parametrize(
    "body",
    [
        "tf.saved_model.simple_save(K.get_session(), 'a', {'x': x}, {'y': y})",
        "tf.saved_model.simple_save(K.get_session(), 'a', {'x': first.input}, {'y': other.output})",
        "tf.saved_model.simple_save(*args)",
    ],
)
def test_other_tensors_are_left_and_reported(body: str) -> None:
    file = migrate(f"{HEAD}{body}\n")
    assert body in file.after
    assert "TFM275" not in {f.code for f in file.findings}
    assert "TFM501" in {f.code for f in file.findings}


def test_a_session_that_something_else_reads_stays() -> None:
    save = "tf.saved_model.simple_save(s, 'a', {'x': model.input}, {'y': model.output})"
    file = migrate(f"{HEAD}s = K.get_session()\n{save}\ns.run(x)\n")
    assert "s = K.get_session()" in file.after
    assert "model.export('a')" in file.after
