"""`decay=` of an optimizer whose rate something sets: the rate stays a number, and a callback of fit() divides it."""

from __future__ import annotations

import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
from tensorflow.keras import backend as K
from tensorflow.keras.callbacks import Callback, EarlyStopping, LearningRateScheduler, ReduceLROnPlateau
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import SGD, Adam
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
"""
COMPILED = HEAD + "parallel_model.compile(SGD(lr=0.1, decay=1e-3), 'mse')\n"
SCHEDULE = "InverseTimeDecay(0.1, 1, 1e-3)"


def migrated(**sources: str) -> tuple[FileResult, ...]:
    files = migrate_sources({f"{name}.py": text for name, text in sources.items()}, Settings())
    assert all(file.error is None for file in files)
    return files


def left(file: FileResult) -> list[str]:
    return [finding.message for finding in file.findings if finding.code == "TFM305"]


@pytest.mark.parametrize(
    "callbacks",
    ["", ", callbacks=[EarlyStopping()]", ", callbacks=None", ", callbacks=[]"],
)
def test_where_nothing_sets_the_rate_the_decay_is_a_schedule(callbacks: str) -> None:
    (file,) = migrated(main=f"{COMPILED}parallel_model.fit(batches{callbacks})\n")
    assert SCHEDULE in file.after
    assert "LearningRateDecay" not in file.after
    assert not left(file)


@pytest.mark.parametrize(
    ("fit", "new"),
    [
        ("callbacks=[ReduceLROnPlateau()]", "callbacks=[ReduceLROnPlateau(), LearningRateDecay(1e-3)]"),
        ("callbacks=[ReduceLROnPlateau(),]", "callbacks=[ReduceLROnPlateau(), LearningRateDecay(1e-3),]"),
        ("callbacks=[LearningRateScheduler(f)]", "callbacks=[LearningRateScheduler(f), LearningRateDecay(1e-3)]"),
        ("callbacks=watched", "callbacks=[*watched, LearningRateDecay(1e-3)]"),
        ("callbacks=given()", "callbacks=[*(given() or []), LearningRateDecay(1e-3)]"),
    ],
)
def test_where_a_callback_sets_it_or_may_the_decay_is_a_callback(fit: str, new: str) -> None:
    text = f"{COMPILED}watched = [ReduceLROnPlateau()]\nparallel_model.fit(batches, {fit})\n"
    (file,) = migrated(main=text)
    assert f"model.fit(batches, {new})" in file.after
    assert "SGD(learning_rate=0.1), " in file.after
    assert "class LearningRateDecay(tf.keras.callbacks.Callback):" in file.after
    assert not left(file)
    (again,) = migrated(main=file.after)
    assert not again.changed


def test_a_list_over_several_lines_keeps_its_layout() -> None:
    text = f"{COMPILED}parallel_model.fit(\n    batches,\n    callbacks=[\n        EarlyStopping(),\n"
    text += "        ReduceLROnPlateau(),  # halves\n    ],\n)\n"
    (file,) = migrated(main=text)
    assert (
        "        EarlyStopping(),\n        ReduceLROnPlateau(),  # halves\n        LearningRateDecay(1e-3),\n    ],\n"
        in (file.after)
    )


@pytest.mark.parametrize(
    "setting",
    [
        "K.set_value(parallel_model.optimizer.lr, 0.01)",
        "parallel_model.optimizer.lr = 0.01",
        "parallel_model.optimizer.learning_rate.assign(0.01)",
    ],
)
def test_a_rate_that_the_program_sets_itself_stays_a_number(setting: str) -> None:
    (file,) = migrated(main=f"{COMPILED}parallel_model.fit(batches)\n{setting}\nparallel_model.fit(batches)\n")
    assert file.after.count("model.fit(batches, callbacks=[LearningRateDecay(1e-3)])") == 2
    assert SCHEDULE not in file.after


def test_a_class_of_the_program_that_descends_from_the_plateau_sets_the_rate() -> None:
    text = "class Slower(ReduceLROnPlateau):\n    pass\n\n\nparallel_model.compile(SGD(lr=0.1, decay=1e-3), 'mse')\n"
    (file,) = migrated(main=f"{HEAD}{text}parallel_model.fit(batches, callbacks=[Slower()])\n")
    assert "callbacks=[Slower(), LearningRateDecay(1e-3)]" in file.after


def test_the_decay_comes_along_to_a_fit_in_another_function_or_file() -> None:
    train = "def train(model, callbacks):\n    model.fit(batches, callbacks=callbacks)\n"
    rate = "DECAY = 1e-3\n"
    main = f"from train import train\n{HEAD}{rate}parallel_model.compile(SGD(lr=0.1, decay=DECAY), 'mse')\n"
    main += "train(parallel_model, [ReduceLROnPlateau()])\n"
    one, other = migrated(main=main, train=f"import tensorflow as tf\n\n\n{train}")
    assert "SGD(learning_rate=0.1)" in one.after
    assert "class LearningRateDecay(tf.keras.callbacks.Callback):" in other.after
    assert "callbacks=[*callbacks, LearningRateDecay(1e-3)]" in other.after.replace("0.001", "1e-3")
    assert [finding.code for finding in other.findings] == ["TFM302"]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        # train_on_batch() calls no callback.
        (
            f"{COMPILED}parallel_model.train_on_batch(x, y)\nK.set_value(parallel_model.optimizer.lr, 0.1)\n",
            "sets it",
        ),
        (f"{COMPILED}parallel_model.fit(batches, **given)\n", "unknown"),
        (COMPILED, "no fit()"),
    ],
)
def test_where_no_callback_can_be_given_it_is_said_what_is_left(program: str, told: str) -> None:
    (file,) = migrated(main=program)
    assert SCHEDULE in file.after
    assert [told in message for message in left(file)] == [True]
    (again,) = migrated(main=file.after)
    assert [told in message for message in left(again)] == [True]


CHOSEN = """
def optimizer_of(kind, rate):
    if kind == "sgd":
        return SGD(lr=rate, decay=rate / 10)
    return Adam(lr=rate)


parallel_model.compile(optimizer_of(kind, 0.1), "mse")
parallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])
"""


@pytest.mark.parametrize(
    ("program", "kept", "fits"),
    [
        (f"{HEAD}{CHOSEN}", "return keep_decay(SGD(learning_rate=rate), rate / 10)", 1),
        (
            f"{HEAD}if kind:\n    parallel_model.compile(SGD(lr=0.1, decay=1e-3), 'mse')\n"
            "else:\n    parallel_model.compile(SGD(lr=0.1), 'mse')\n"
            "parallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\nparallel_model.fit(batches)\n",
            "keep_decay(SGD(learning_rate=0.1), 1e-3)",
            2,
        ),
        (
            f"{COMPILED}for _ in range(2):\n    parallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\n"
            "    parallel_model.compile(SGD(lr=0.1), 'mse')\n",
            "keep_decay(SGD(learning_rate=0.1), 1e-3)",
            1,
        ),
        (
            f"{HEAD}{CHOSEN}".replace("decay=rate / 10", "decay=rate / 10, clipnorm=1."),
            "return clipped_together(keep_decay(SGD(learning_rate=rate, clipnorm=1.), rate / 10))",
            1,
        ),
    ],
)
def test_where_a_model_may_have_another_optimizer_each_keeps_its_decay(program: str, kept: str, fits: int) -> None:
    (file,) = migrated(main=program)
    assert kept in file.after
    assert file.after.count("OptimizerDecay()]") == fits
    assert "def keep_decay(optimizer, decay):" in file.after
    assert "decay=" not in file.after
    assert not left(file)
    (again,) = migrated(main=file.after)
    assert not again.changed


@pytest.mark.parametrize("before", ["", "if ask():\n    parallel_model.fit(batches)\n"])
def test_a_stage_with_an_optimizer_of_its_own_has_its_decay_or_none(before: str) -> None:
    stages = (
        f"{HEAD}parallel_model.compile(SGD(lr=0.1), 'mse')\n{before}parallel_model.fit(first)\n"
        "parallel_model.compile(SGD(lr=0.01, decay=1e-3), 'mse')\n"
        "parallel_model.fit(second, callbacks=[ReduceLROnPlateau()])\n"
    )
    (file,) = migrated(main=stages)
    assert "model.fit(first)\n" in file.after
    assert "model.fit(second, callbacks=[ReduceLROnPlateau(), LearningRateDecay(1e-3)])" in file.after
    assert "keep_decay" not in file.after
    assert not left(file)


def test_a_function_that_compiles_one_way_or_another_leaves_it_open() -> None:
    program = (
        f"{HEAD}\n\ndef set_up(kind):\n    if kind:\n        parallel_model.compile(SGD(lr=0.1, decay=1e-3), 'mse')\n"
        "    else:\n        parallel_model.compile(SGD(lr=0.1), 'mse')\n\n\n"
        "set_up(kind)\nparallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\n"
    )
    (file,) = migrated(main=program)
    assert "keep_decay(SGD(learning_rate=0.1), 1e-3)" in file.after
    assert "callbacks=[ReduceLROnPlateau(), OptimizerDecay()]" in file.after


def test_an_optimizer_of_two_models_keeps_none() -> None:
    program = f"{HEAD}other = Sequential([Dense(1, input_shape=(4,))])\n{CHOSEN}"
    both = "best = optimizer_of(kind, 0.1)\nother.compile(best, 'mse')\nparallel_model.compile(best"
    program = program.replace("parallel_model.compile(optimizer_of(kind, 0.1)", both)
    (file,) = migrated(main=program)
    assert "keep_decay" not in file.after
    assert left(file)


def test_a_suppressed_decay_stays_and_no_callback_comes() -> None:
    text = COMPILED.replace("lr=0.1", "0.1").replace("'mse')", "'mse')  # tfmigrate: skip[TFM302]")
    (file,) = migrated(main=f"{text}parallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\n")
    assert "decay=1e-3" in file.after
    assert "LearningRateDecay" not in file.after


@pytest.mark.parametrize("decay", ["0", "0.0", "None"])
def test_a_decay_of_nothing_needs_no_callback(decay: str) -> None:
    text = f"{HEAD}parallel_model.compile(SGD(lr=0.1, decay={decay}), 'mse')\n"
    (file,) = migrated(main=f"{text}parallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\n")
    assert "LearningRateDecay" not in file.after


def test_a_number_that_callbacks_set_is_no_trap_on_a_strategy() -> None:
    text = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(tf.keras.optimizers.SGD({rate}), "mse")
model.fit(batches, callbacks=[tf.keras.callbacks.{callback}()])
"""
    schedule = "tf.keras.optimizers.schedules.CosineDecay(0.1, 100)"
    for rate, callback, told in [
        ("0.1", "ReduceLROnPlateau", 0),
        (schedule, "EarlyStopping", 0),
        (schedule, "ReduceLROnPlateau", 1),
    ]:
        (file,) = migrated(main=text.format(rate=rate, callback=callback))
        assert len(left(file)) == told


@pytest.mark.parametrize("order", [("watched.insert(0, LearningRateScheduler(f))", ""), ("", "watched = [Callback()]")])
@pytest.mark.parametrize("more", ["append(EarlyStopping())", "extend([EarlyStopping()])", "insert(0, EarlyStopping())"])
def test_a_list_that_is_one_of_two_keeps_both_when_it_grows(order: tuple[str, str], more: str) -> None:
    first, second = order
    lines = ["watched = [LearningRateScheduler(f)]" if second else "watched = []"]
    lines += ["if late:", f"    {first or second}", f"watched.{more}"]
    (file,) = migrated(main=COMPILED + "\n".join(lines) + "\nparallel_model.fit(batches, callbacks=watched)\n")
    assert left(file) or "LearningRateDecay(" in file.after


def test_a_model_that_is_one_of_two_is_one_model() -> None:
    text = HEAD.replace(
        "model = Sequential([Dense(1, input_shape=(4,))])\n",
        "if small:\n    model = Sequential([Dense(1, input_shape=(4,))])\n"
        "else:\n    model = Sequential([Dense(8, input_shape=(4,)), Dense(1)])\n"
        "optimizer = SGD(lr=0.1, decay=1e-3) if plain else Adam(lr=0.1)\n",
    )
    text += "parallel_model.compile(optimizer, 'mse')\nparallel_model.fit(batches, callbacks=[ReduceLROnPlateau()])\n"
    (file,) = migrated(main=text)
    assert not left(file)
    assert "keep_decay(SGD(learning_rate=0.1), 1e-3)" in file.after
    assert "callbacks=[ReduceLROnPlateau(), OptimizerDecay()]" in file.after


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("print(parallel_model.predict(x))", False),
        ("parallel_model.load_weights('w.h5')\nparallel_model.evaluate(x, y)", False),
        ("", True),
        ("trainer.train(parallel_model)", True),
        ("parallel_model.predict(x)\nother.fit(x, y)", True),
    ],
)
def test_a_program_that_only_predicts_has_no_rate_to_set(asked: str, told: bool) -> None:
    (file,) = migrated(train=f"{COMPILED}{asked}\n")
    assert SCHEDULE in file.after
    assert [message for message in left(file) if "no fit() of its model" in message] == left(file)
    assert bool(left(file)) is told
