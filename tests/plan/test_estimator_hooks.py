"""Hooks of the program that ask nothing of the session are callbacks of Keras."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

IMPORT = "import tensorflow.compat.v1 as tf1\n"
TRAINED = "estimator.train(input_fn, steps=10)\n"
HOOK = """\
import time


class Watch(tf1.train.SessionRunHook):
    def __init__(self, every=1):
        self.every = every

    def begin(self):
        self.times = []

    def before_run(self, context):
        self.since = time.time()

    def after_run(self, context, values):
        self.times.append(time.time() - self.since)

    def end(self, session):
        print(len(self.times) * self.every)
"""
ENDLESS = (".batch(8)", ".repeat().batch(8)")
WITH_HOOK = (
    (IMPORT, f"{IMPORT}\n{HOOK}"),
    (TRAINED, "watch = Watch()\nestimator.train(input_fn, steps=10, hooks=[watch])\nprint(sum(watch.times))\n"),
)


def test_a_hook_that_takes_the_time_is_a_callback() -> None:
    after = migrated(ENDLESS, *WITH_HOOK).after
    assert [line.strip() for line in after.splitlines() if line.strip().startswith(("class", "def on", "def __"))] == [
        "class Watch(tf.keras.callbacks.Callback):",
        "def __init__(self, every=1):",
        "def on_train_begin(self, logs=None):",
        "def on_train_batch_begin(self, batch=None, logs=None):",
        "def on_train_batch_end(self, batch=None, logs=None):",
        "def on_train_end(self, logs=None):",
    ]
    assert "model.fit(input_fn().take(10), callbacks=[watch])\nprint(sum(watch.times))\n" in after


def test_hooks_in_a_list_of_their_own_are_followed_each_for_itself() -> None:
    hooks = "hooks = [tf1.train.LoggingTensorHook({}, 5), Watch(2)]\nestimator.train(input_fn, steps=10, hooks=hooks)\n"
    file = migrated(ENDLESS, WITH_HOOK[0], (TRAINED, hooks))
    assert "model.fit(input_fn().take(10), callbacks=[Watch(2)])\n" in file.after
    assert [f.message[:20] for f in file.findings if f.code == "TFM014"] == ["this hook is dropped"]


def test_hooks_of_a_spec_are_those_of_fit() -> None:
    specs = (
        "watch = Watch()\ntrain_spec = tf.estimator.TrainSpec(input_fn, max_steps=9, hooks=[watch])\n"
        "eval_spec = tf.estimator.EvalSpec(input_fn)\n"
        "tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)\n"
    )
    after = migrated(ENDLESS, WITH_HOOK[0], (TRAINED, specs)).after
    assert "model.fit(input_fn().take(9), callbacks=[watch])\n" in after


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("        self.times = []\n", "        self.step = tf1.train.get_global_step()\n", "uses the graph"),
        (
            "        self.since = time.time()\n",
            "        self.since = time.time()\n        return self.asked\n",
            "requests values from the session",
        ),
        ("self.times.append(", "self.times.append(values.results or ", "reads what the session returned"),
        ("def end(self, session)", "def after_create_session(self, session, coord)", "nothing like after_create"),
        ("self.every = every\n", "self.every = every\n        self.model = None\n", "Keras itself sets `model`"),
        ("def end(self, session)", "def on_train_end(self)", "Keras itself calls on_train_end()"),
        ("def begin(self)", "def begin(self, more=None)", "different parameters"),
        ("class Watch(tf1.train.SessionRunHook)", "class Watch(tf1.train.StepCounterHook)", "no known counterpart"),
    ],
)
def test_a_hook_that_does_more_is_refused(old: str, new: str, told: str) -> None:
    said = refusal((IMPORT, f"{IMPORT}\n{HOOK}".replace(old, new)), WITH_HOOK[1])
    assert said.startswith("TFM117")
    assert told in said


@pytest.mark.parametrize(
    ("trained", "told"),
    [
        ("estimator.train(input_fn, steps=10)\nestimator.evaluate(input_fn, hooks=[Watch()])\n", "of an evaluation"),
        ("watch = Watch()\nestimator.train(input_fn, steps=10, hooks=[watch])\nwatch.begin()\n", "by the program"),
    ],
)
def test_another_use_of_a_hook_is_refused(trained: str, told: str) -> None:
    assert told in refusal(WITH_HOOK[0], (TRAINED, trained))
