"""Initializers that a session of Keras runs (TFM211)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{before}
model = Sequential([Dense(1, input_shape=(4,))])
{between}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
{after}
"""
RUN = "K.get_session().run(tf.global_variables_initializer())"
SETTINGS = "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\nsession = tf.Session(config=config)\n"


def program(before: str = "", between: str = "", after: str = "") -> str:
    return PROGRAM.format(before=before, between=between, after=after)


@pytest.mark.parametrize(
    "lines",
    [
        RUN,
        "K.get_session().run(tf.initialize_all_variables())",
        "K.get_session().run(tf.compat.v1.global_variables_initializer())",
        "K.get_session().run([tf.global_variables_initializer(), tf.tables_initializer()])",
        "K.get_session().run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))",
        "init = tf.global_variables_initializer()\nK.get_session().run(init)",
        "session = K.get_session()\nsession.run(tf.global_variables_initializer())",
        f"{SETTINGS}K.set_session(session)\nsession.run(tf.global_variables_initializer())",
        f"{SETTINGS}session.run(tf.global_variables_initializer())\nK.set_session(session)",
        f"{SETTINGS}init = tf.global_variables_initializer()\nsession.run(init)",
        f"def prepare():\n    {RUN}\n\n\nprepare()",
    ],
)
@pytest.mark.parametrize("place", ["before", "between"])
def test_what_only_draws_new_weights_again_goes(lines: str, place: str) -> None:
    file = check_migrated(program(**{place: lines}))
    assert set(actions(file, "TFM211")) == {"rewrite"}
    assert not actions(file, "TFM501")
    assert "initializ" not in file.after
    assert "session" not in file.after


@pytest.mark.parametrize(
    "text",
    [
        program(between=f"model.load_weights('old.h5')\n{RUN}"),
        program(between=RUN, after="model.load_weights('old.h5')"),
        program(before="base = VGG16(weights='imagenet')", between=RUN),
        program(between=f"for fold in range(5):\n    {RUN}\n    model.fit(data)"),
        program(between=f"def again():\n    {RUN}\n\n\nagain()\nmodel.fit(data)\nagain()"),
        program(after=RUN),
    ],
)
def test_what_may_undo_weights_is_reported(text: str) -> None:
    file = check_migrated(text)
    assert actions(file, "TFM211") == ["warn"]
    assert not actions(file, "TFM501")
    assert RUN in file.after


def test_what_a_session_undoes_that_was_given_to_keras_is_reported() -> None:
    lines = "session = tf.Session()\nK.set_session(session)\nsession.run(tf.global_variables_initializer())"
    file = check_migrated(program(before=f"base = VGG16(weights='imagenet')\n{lines}"))
    assert actions(file, "TFM211") == ["warn", "warn"]
    assert lines in file.after


def test_weights_that_another_module_loads_count() -> None:
    file = migrate(program(before="import net", between=RUN), net="def read(model):\n    model.load_weights('a.h5')\n")
    assert actions(file, "TFM211") == ["warn"]


@pytest.mark.parametrize(
    "lines",
    [
        "K.get_session().run(count)",
        "K.get_session().run([tf.global_variables_initializer(), count])",
        "K.get_session().run(tf.global_variables_initializer(), feed_dict=given)",
        "K.get_session().run(tf.variables_initializer([count]))",
        "done = K.get_session().run(tf.global_variables_initializer())",
        "session.run(tf.global_variables_initializer())",
        "with tf.Session() as session:\n    session.run(tf.global_variables_initializer())",
    ],
)
def test_other_runs_stay(lines: str) -> None:
    file = check_migrated(program(between=lines))
    assert lines in file.after
    assert not [finding for finding in file.findings if "initialises a variable when" in finding.message]


def test_a_session_that_keras_does_not_have_keeps_its_own_words() -> None:
    lines = "other = tf.Session()\nother.run(tf.global_variables_initializer())\nprint(other.run(count))"
    file = check_migrated(program(after=lines))
    assert lines in file.after
    assert not actions(file, "TFM211")
    assert actions(file, "TFM501") == ["warn", "warn"]
