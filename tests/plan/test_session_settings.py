"""TFM211: sessions and settings that nothing else of the program needs."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_refused, migrate

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


def test_settings_that_are_made_twice_go_both() -> None:
    file = check_migrated(PROGRAM.format(settings=f"config = tf.ConfigProto()\n{CONFIG}{SESSION}"))
    assert "ConfigProto" not in file.after
    assert actions(file, "TFM211") == ["rewrite"]


def test_settings_that_are_read_before_they_are_made_again_stay() -> None:
    first = "config = tf.ConfigProto()\nprint(config)\n"
    assert first in migrated(f"{first}{CONFIG}{SESSION}")


def test_visible_devices_out_of_anything_else_stay() -> None:
    settings = f"{CONFIG}config.gpu_options.visible_device_list = chosen()\n{SESSION}"
    assert "visible_device_list = chosen()" in migrated(settings)


@pytest.mark.parametrize("chosen", ["gpu", "args.gpu"])
def test_visible_devices_out_of_a_text(chosen: str) -> None:
    after = migrated(f"{CONFIG}config.gpu_options.visible_device_list = {chosen}\n{SESSION}")
    devices = f'tf.config.list_physical_devices("GPU")[int(gpu)] for gpu in {chosen}.split(",")'
    devices = devices.replace("int(gpu)] for gpu in", "int(gpu_2)] for gpu_2 in") if chosen == "gpu" else devices
    assert f'if {chosen}:\n    tf.config.set_visible_devices([{devices}], "GPU")' in after
    assert "Session" not in after


def test_settings_that_no_session_is_given_go() -> None:
    file = check_migrated(PROGRAM.format(settings=CONFIG))
    assert "config" not in file.after
    assert actions(file, "TFM211") == ["rewrite"]


@pytest.mark.parametrize("more", ["use(config)", "config.gpu_options.allow_growth = asked()", "print(config)"])
def test_settings_that_something_reads_stay(more: str) -> None:
    assert "config = tf.ConfigProto()" in migrated(CONFIG + more)


MAKER = """
def get_session():
    import os

    {more}
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    return tf.Session(config=config)

tf.keras.backend.set_session(get_session())
"""
GROWTH = 'for gpu in tf.config.list_physical_devices("GPU"):\n    tf.config.experimental.set_memory_growth(gpu, True)\n'
SET = "tf.keras.backend.set_session(tf.Session(config=config))\n"


def check_one_warning(settings: str, reason: str) -> None:
    """The session stays, and one warning speaks for all its names."""
    file = check_migrated(PROGRAM.format(settings=settings))
    assert settings in file.after
    told = [finding for finding in file.findings if finding.action == "warn"]
    assert [finding.code for finding in told] == ["TFM211"], told
    assert reason in told[0].message


@pytest.mark.parametrize(
    "more", ["os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'", "print('starts')", "if x:\n        print(x)"]
)
def test_a_function_that_makes_the_session_keeps_what_else_it_does(more: str) -> None:
    after = migrated(MAKER.format(more=more))
    assert "Session(" not in after
    assert "ConfigProto" not in after
    assert "set_session" not in after
    function = after[after.index("def get_session") : after.index("\nget_session()\n")]
    assert more in function
    assert "        tf.config.experimental.set_memory_growth(gpu, True)" in function
    assert "return" not in function


def test_the_call_of_such_a_function_stays_where_it_was() -> None:
    settings = MAKER.format(more="print(1)").replace(
        "tf.keras.backend.set_session(get_session())",
        "session = get_session()\nprint(2)\ntf.keras.backend.set_session(session)",
    )
    assert "\nget_session()\nprint(2)\n\n" in migrated(settings)


def test_such_a_function_keeps_the_rest_where_its_settings_go_up() -> None:
    text = PROGRAM.format(settings="") + MAKER.format(more="print(1)")
    after = check_migrated(text).after
    assert GROWTH + "strategy = tf.distribute.MirroredStrategy(" in after
    assert "    print(1)\n\nget_session()\n" in after


@pytest.mark.parametrize(
    "more",
    ["if x:\n        return None", "yield 1", "global config", "sessions = lambda: (yield)"],
)
def test_one_that_gives_something_else_too_stays(more: str) -> None:
    file = check_migrated(PROGRAM.format(settings=MAKER.format(more=more)))
    assert "set_session(get_session())" in file.after
    assert actions(file, "TFM211") == ["warn"]
    assert not actions(file, "TFM501")


def test_one_that_calls_another_that_does_more_stays() -> None:
    outer = MAKER.format(more="print(1)").replace("set_session(get_session())", "set_session(outer())")
    check_one_warning(outer.replace("\ntf.keras", "\ndef outer():\n    return get_session()\n\ntf.keras"), "outer()")


@pytest.mark.parametrize(
    "settings", [CONFIG + "{0}\n" + SET, MAKER.format(more="pass").replace("return", "{0}\n    return")]
)
def test_settings_stand_below_a_choice_of_devices(settings: str) -> None:
    """Listing GPUs starts them."""
    chosen = "os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'"
    after = migrated("import os\n" + settings.format(chosen))
    assert after.index(chosen) < after.index("list_physical_devices")
    assert "Session(" not in after


def test_settings_stand_above_anything_else() -> None:
    after = migrated(CONFIG + "print(1)\n" + SET)
    assert GROWTH + "print(1)\n" in after


@pytest.mark.parametrize(
    "condition",
    ["if x < 1:\n    {0}\n", "if x:\n    if y:\n        {0}\n    print(1)\n", "if x:\n    if y:\n        {0}\n"],
)
def test_a_limit_under_a_condition_adds_nothing_to_growth(condition: str) -> None:
    limit = "config.gpu_options.per_process_gpu_memory_fraction = x"
    file = check_migrated(PROGRAM.format(settings=CONFIG + condition.format(limit) + SET))
    assert "fraction" not in file.after
    assert "config." not in file.after.replace("tf.config.", "")
    assert file.after.count("set_memory_growth") == 1
    assert ("if x" in file.after) == ("print" in condition)
    assert "pass" not in file.after
    assert "if y" not in file.after
    told = [finding.message for finding in file.findings if finding.code == "TFM211"]
    assert len(told) == 1
    assert "the limit of x of the memory becomes growth on demand" in told[0]


def test_a_condition_that_decides_stays() -> None:
    settings = (
        "config = tf.ConfigProto()\nif grow:\n    config.gpu_options.allow_growth = True\n"
        "elif log:\n    print(1)\n    config.log_device_placement = True\n"
    )
    after = migrated(settings + SET)
    assert "if grow:\n    for gpu in tf.config.list_physical_devices" in after
    assert "elif log:\n    print(1)\n    tf.debugging.set_log_device_placement(True)\n" in after
    assert "ConfigProto" not in after


def test_a_choice_between_two_that_are_the_same_now_goes() -> None:
    settings = (
        "config = tf.ConfigProto()\nif x:\n    config.gpu_options.per_process_gpu_memory_fraction = x\n"
        "else:\n    config.gpu_options.allow_growth = True\n"
    )
    after = migrated(settings + SET)
    assert "if x" not in after
    assert "\n" + GROWTH in after


@pytest.mark.parametrize(
    "condition",
    [
        "if x:\n    config.gpu_options.allow_growth = False\n",
        "if x():\n    config.gpu_options.per_process_gpu_memory_fraction = 0.5\n",
        "if x:\n    config.gpu_options.allow_growth = True\nelse:\n    print(1)\n",
        "for x in y:\n    config.gpu_options.allow_growth = True\n",
        "try:\n    config.gpu_options.allow_growth = True\nexcept ValueError:\n    print(1)\n",
    ],
)
def test_a_condition_that_is_not_understood_stays(condition: str) -> None:
    check_one_warning(CONFIG + condition + SET, "its settings depend on a condition")


def test_a_condition_above_a_choice_of_devices_stays() -> None:
    chosen = "os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'\n"
    growth = "config = tf.ConfigProto()\nif x:\n    config.gpu_options.allow_growth = True\n"
    check_one_warning("import os\n" + growth + chosen + SET, "its settings depend on a condition")


def test_a_condition_does_not_go_up() -> None:
    growth = "config = tf.ConfigProto()\nif x:\n    config.gpu_options.allow_growth = True\n"
    model, wrap = PROGRAM.format(settings="").split("parallel_model =", 1)
    check_refused(model + "from options import x\n" + growth + SET + "parallel_model =" + wrap, "TFM103")


@pytest.mark.parametrize(
    "settings",
    [
        "from tensorflow import ConfigProto, Session\nconfig = ConfigProto(device_count=x)\n"
        "session = Session(config=config)\ntf.keras.backend.set_session(session)\n",
        "config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=x))\nsession = tf.Session(config=config)\n",
    ],
)
def test_one_warning_speaks_for_a_session(settings: str) -> None:
    check_one_warning(settings, "is not understood")


def test_the_names_of_another_session_are_told() -> None:
    settings = "config = tf.ConfigProto(device_count=x)\n" + SET + "with tf.Session() as session:\n    print(session)\n"
    file = check_migrated(PROGRAM.format(settings=settings))
    assert actions(file, "TFM211") == ["warn"]
    assert actions(file, "TFM501") == ["warn"]


@pytest.mark.parametrize(
    ("imported", "lines"),
    [
        ("from keras import backend as K", "K.set_session(K.get_session())\n"),
        ("from keras.backend import get_session, set_session", "set_session(get_session())\n"),
        ("import keras.backend.tensorflow_backend as KTF", "KTF.set_session(KTF.get_session())\n"),
        ("from keras import backend as K", "own = K.get_session()\nK.set_session(own)\n"),
        ("from keras import backend as K", "K.set_session(session=K.get_session())\n"),
    ],
)
def test_the_session_that_keras_has_need_not_be_given_to_it(imported: str, lines: str) -> None:
    file = check_migrated(f"{imported}\n{PROGRAM.format(settings=lines)}")
    assert "session" not in file.after
    assert actions(file, "TFM211") == ["rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        "own = K.get_session()\nK.set_session(own)\nown.run(fetches)\n",
        "K.set_session(made())\n",
        "K.set_session(K.get_session)\n",
    ],
)
def test_other_sessions_of_keras_are_told(lines: str) -> None:
    file = check_migrated(f"from keras import backend as K\n{PROGRAM.format(settings=lines)}")
    assert lines in file.after
    assert actions(file, "TFM211") == ["warn"]


@pytest.mark.parametrize(
    "made", ["tf.Session(config=config)", "tf.Session('', config=config)", "tf.Session(target='')"]
)
@pytest.mark.parametrize("kept", ["", "K.set_session(session)\n"])
@pytest.mark.parametrize(
    "last", ["session.close()\n", "try:\n    parallel_model.predict(x)\nfinally:\n    session.close()\n"]
)
def test_closing_it_goes_with_the_session(made: str, kept: str, last: str) -> None:
    settings = f"from keras import backend as K\n{CONFIG}session = {made}\n{kept}"
    after = check_migrated(PROGRAM.format(settings=settings) + last).after
    assert "session" not in after


@pytest.mark.parametrize("last", ["session.close(1)", "done = session.close()", "session.reset()", "other(session)"])
def test_any_other_use_of_a_session_is_told(last: str) -> None:
    settings = f"from keras import backend as K\n{CONFIG}{SESSION}K.set_session(session)\n"
    file = migrate(PROGRAM.format(settings=settings) + f"{last}\n")
    assert "warn" in actions(file, "TFM211")
