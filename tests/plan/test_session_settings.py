"""TFM211: sessions and settings that nothing else of the program needs."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{settings}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""
CONFIG = "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\n"
SESSION = "session = tf.Session(config=config)\n"


def migrated(settings: str, **modules: str) -> str:
    return check_migrated(PROGRAM.format(settings=settings), **modules).after


def test_a_name_that_another_script_has_too_is_another_one() -> None:
    other = PROGRAM.format(settings=CONFIG + SESSION)
    assert "Session" not in migrated(CONFIG + SESSION, test=other)


@pytest.mark.parametrize(
    "modules",
    [
        {"other": "from train import session\nsession.run(1)\n"},
        {"other": "import train\ntrain.session.run(1)\n"},
        {"middle": "from train import *\n", "other": "from middle import session\nsession.run(1)\n"},
    ],
)
def test_one_that_another_module_takes_from_this_one_stays(modules: dict[str, str]) -> None:
    assert "session = tf.Session(" in migrated(CONFIG + SESSION, **modules)


@pytest.mark.parametrize("given", ["map(str, ids)", "[str(one) for one in ids]", "str(n) for n in ids"])
def test_visible_devices_out_of_a_list(given: str) -> None:
    settings = f"{CONFIG}config.gpu_options.visible_device_list = ','.join({given})\n{SESSION}"
    after = migrated(f"ids = [1, 2]\n{settings}")
    assert 'tf.config.list_physical_devices("GPU")[int(gpu)] for gpu in ids' in after
    assert "Session" not in after


def test_visible_devices_out_of_anything_else_stay() -> None:
    settings = f"{CONFIG}config.gpu_options.visible_device_list = chosen\n{SESSION}"
    assert "visible_device_list = chosen" in migrated(settings)


def test_settings_that_no_session_is_given_go() -> None:
    file = check_migrated(PROGRAM.format(settings=CONFIG))
    assert "config" not in file.after
    assert actions(file, "TFM211") == ["rewrite"]


@pytest.mark.parametrize("more", ["use(config)", "config.gpu_options.allow_growth = asked()", "print(config)"])
def test_settings_that_something_reads_stay(more: str) -> None:
    assert "config = tf.ConfigProto()" in migrated(CONFIG + more)
