"""Optimizers that clip: on Keras 3 the gradients of all replicas are added up first (TFM310)."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD, Adam
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
"""


def migrated(body: str) -> tuple[str, list[str]]:
    file = migrate(HEAD + body)
    return file.after, [finding.action for finding in file.findings if finding.code == "TFM310"]


@pytest.mark.parametrize(
    ("made", "written", "clips"),
    [
        ("Adam(clipvalue=0.5)", "clipped_together(Adam(clipvalue=0.5))", "tf.clip_by_value"),
        ("Adam(lr=1e-5, clipnorm=c)", "clipped_together(Adam(learning_rate=1e-5, global_clipnorm=c))",
         "tf.clip_by_global_norm"),
    ],
)  # fmt: skip
def test_the_sum_is_clipped(made: str, written: str, clips: str) -> None:
    text, _ = migrated(f"optimizer = {made}\nparallel.compile(optimizer, 'mse')\nparallel.fit(batches)\n")
    assert f"optimizer = {written}" in text
    known = ("tf.clip_by_norm", "tf.clip_by_global_norm", "tf.clip_by_value")
    assert {name for name in known if name in text} == {clips}
    assert migrate(text).after == text
    assert not [finding for finding in migrate(text).findings if finding.code == "TFM310"]


def test_tf_keras_clips_each_gradient_by_itself() -> None:
    text = migrate(
        HEAD.replace("from keras", "from tensorflow.keras") + "parallel.compile(SGD(clipnorm=0.1), 'mse')\n"
    ).after
    assert "clipped_together(SGD(clipnorm=0.1))" in text
    assert "tf.clip_by_norm(" in text
    assert "global" not in text


@pytest.mark.parametrize("made", ["SGD(momentum=0.9)", "SGD(clipnorm=None)", "SGD(clipvalue=0.0)", "other(clipnorm=1)"])
def test_what_does_not_clip_stays(made: str) -> None:
    text, actions = migrated(f"parallel.compile({made}, 'mse')\n")
    assert "clipped_together" not in text
    assert actions == []


def test_two_bounds_are_left() -> None:
    text, actions = migrated("parallel.compile(SGD(clipnorm=0.1, clipvalue=0.5), 'mse')\n")
    assert "clipped_together" not in text
    assert sorted(actions) == ["rewrite", "warn"]


def test_where_nothing_is_spread_an_optimizer_clips_as_it_did() -> None:
    text = HEAD.replace("parallel = multi_gpu_model(model, gpus=2)\n", 'model.compile(Adam(clipvalue=0.5), "mse")\n')
    file = migrate(text)
    assert 'model.compile(Adam(clipvalue=0.5), "mse")\n' in file.after
    assert not [finding for finding in file.findings if finding.code == "TFM310"]
