"""Settings of sessions that one function makes for several places of a program (TFM211)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


"""
MAKER = """\
def session():
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
{more}    return tf.Session(config=config)


"""
SETTER = MAKER.replace("session():", "limit():").replace("return tf.Session(config=config)", "K.set_session(SESSION)")
SETTER = SETTER.replace("SESSION", "tf.Session(config=config)")
TRAINING = """\
def {name}():
    {first}
    model = Sequential([Dense(1, input_shape=(4,))])
    {second}
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile(loss="mse", optimizer="sgd")
    parallel.fit(batches)


"""
BOTH = "if fine:\n    train()\nelse:\n    tune()\n"
GROWTH = 'for gpu in tf.config.list_physical_devices("GPU"):\n'
IN_FUNCTION = f"    {GROWTH}        tf.config.experimental.set_memory_growth(gpu, True)\n"


def program(maker: str, first: str = "pass", second: str = "pass", end: str = BOTH) -> str:
    functions = [TRAINING.format(name=name, first=first, second=second) for name in ("train", "tune")]
    return HEAD + maker + "".join(functions) + end


def test_a_function_that_makes_the_session_of_two_places_goes() -> None:
    file = check_migrated(program(MAKER.format(more=""), first="K.set_session(session())"))
    assert file.after.count(f"{IN_FUNCTION}    strategy = ") == 2
    assert "session" not in file.after


def test_one_that_does_more_is_called_in_both() -> None:
    maker = MAKER.format(more="    print(1)\n")
    file = check_migrated(program(maker, first="K.set_session(session())"))
    assert file.after.count(f"    {GROWTH}") == 1
    assert file.after.count("    session()\n    strategy = ") == 2


@pytest.mark.parametrize(
    ("more", "modules"),
    [
        ("session().run(ready)\n", {}),
        ("make = session\n", {}),
        ("K.set_session(session())  # tfmigrate: skip\n", {}),
        ("", {"other": "import keras\nfrom train import session\nprint(session().run(1))\n"}),
    ],
)
def test_one_that_makes_sessions_for_others_too_stays(more: str, modules: dict[str, str]) -> None:
    file = migrate(program(MAKER.format(more=""), first="K.set_session(session())", end=more + BOTH), **modules)
    assert "def session():\n    config = " in file.after
    assert actions(file, "TFM211").count("warn") >= 2


def test_settings_that_a_call_would_make_too_late_are_made_before_each_strategy() -> None:
    file = check_migrated(program(SETTER.format(more=""), second="limit()"))
    assert file.after.count(f"{IN_FUNCTION}    strategy = ") == 2
    assert f"def limit():\n{IN_FUNCTION}" in file.after, "whoever else calls it has them too"
    assert file.after.count("        limit()\n") == 2
    assert migrate(file.after).after == file.after


@pytest.mark.parametrize(
    ("setter", "called"),
    [
        (SETTER.format(more="").replace("    K.set", "    if fine:\n        K.set"), "limit()"),
        (SETTER.format(more="    config.gpu_options.visible_device_list = ','.join(map(str, ids))\n"), "limit()"),
    ],
)
def test_settings_that_hang_on_something_must_go_up_by_hand(setter: str, called: str) -> None:
    file = migrate(program(setter, second=called))
    assert "above that line" in " ".join(one.message for one in file.findings if one.code == "TFM103")
    assert file.status == "refused"
