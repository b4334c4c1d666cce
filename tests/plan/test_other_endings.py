"""Files whose names end in `.model`, or in anything else that old Keras took and Keras 3 refuses (TFM205, TFM216)."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """\
import glob
import os
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential, load_model, save_model
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mean_squared_error")
"""


def migrated(body: str) -> tuple[str, list[tuple[str, str]]]:
    """What stands behind the head, and what was done about the names of files."""
    file = migrate(HEAD + body)
    done = [(each.code, each.action) for each in file.findings if each.code in ("TFM205", "TFM216")]
    return file.after.partition("model.compile('sgd', 'mean_squared_error')\n")[2] or file.after, done


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("model.save('net.model')\n", "model.save('net.h5')\n"),
        ("save_model(model, 'net.hd5')\n", "save_model(model, 'net.h5')\n"),
        ("model.save('net.best')\n", "model.save('net.best.h5')\n"),
        ('model.save(r"net.best")\n', 'model.save(r"net.best.h5")\n'),
        ("best = ModelCheckpoint('{}/{}.model'.format(place, kind))\n", "'{}/{}.h5'.format(place, kind))"),
        ("best = ModelCheckpoint('net-{epoch:02d}-{loss:.2f}')\n", "ModelCheckpoint('net-{epoch:02d}-{loss:.2f}.h5')"),
        ("best = ModelCheckpoint('net-{epoch}')\n", "ModelCheckpoint('net-{epoch}.h5')"),
        ("model.save_weights('net.model')\n", "model.save_weights('net.weights.h5')\n"),
        ("model.save_weights('net.weights')\n", "model.save_weights('net.weights.h5')\n"),
        ("model.save(path + '/net.model')\nprint('in ' + path + '/net.model')\n", "path + '/net.h5')\nprint('in "),
        ("model.save('net.model')\nfound = glob.glob('*.model')\n", "'net.h5')\nfound = glob.glob('*.h5')\n"),
    ],
)  # fmt: skip
def test_a_name_that_keras_3_refuses_gets_an_ending(body: str, written: str) -> None:
    text, done = migrated(body)
    assert written in text
    assert {action for _, action in done} == {"rewrite"}


@pytest.mark.parametrize(
    "body",
    [
        "model.save('{}')\nmodel = load_model('{}')\n",
        "model = load_model('{}')\nmodel.save('{}')\n",
        "best = ModelCheckpoint('{}')\nif os.path.exists('{}'):\n    model = load_model('{}')\n",
        "name = '{}'\nsave_model(model, name)\nmodel = load_model(name)\nos.remove(name)\n",
    ],
)
def test_a_model_that_is_loaded_again_has_the_ending_keras(body: str) -> None:
    text, _ = migrated(body.replace("{}", "net.model"))
    assert ".model'" not in text
    assert text.count("'net.keras'") == body.count("{}")


def test_an_ending_that_is_written_apart_changes_once() -> None:
    text, _ = migrated("end = '.model'\nmodel.save(path + end)\nmodel = load_model(path + end)\n")
    assert "end = '.keras'\nmodel.save(path + end)" in text


def test_weights_of_a_whole_model_are_loaded_by_its_new_name() -> None:
    text, done = migrated("model.save('net.model')\nmodel.load_weights('net.model')\n")
    assert "model.load_weights('net.h5')" in text
    assert {action for _, action in done} == {"rewrite"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        # Nothing in the program writes it.
        ("model = load_model('net.model')\n", ["TFM216"]),
        ("model.load_weights('net.model')\n", ["TFM205"]),
        # It may be a folder, of a model that is to be served.
        ("model.save('models/1')\n", ["TFM216"]),
        ("model.save('net.model', save_format='tf')\n", ["TFM216"]),
        ("model.save('last')\n", ["TFM216"]),
        ("best = ModelCheckpoint('last')\n", ["TFM205"]),
        ("model.save('%s/%d' % (place, 3))\n", ["TFM216"]),
    ],
)
def test_what_stays_is_told(body: str, told: list[str]) -> None:
    text, done = migrated(body)
    assert text.endswith(body)
    assert done == [(code, "warn") for code in told]


@pytest.mark.parametrize(
    "body", ["model.save('net.hdf5')\n", "best = ModelCheckpoint('net.keras')\n", "net.save('a.model')\n"]
)
def test_what_keras_3_takes_stays(body: str) -> None:
    text, done = migrated(body)
    assert text.endswith(body)
    assert not done


def test_two_files_stay_two() -> None:
    text, _ = migrated("model.save('net.h5')\nother = ModelCheckpoint('net.model')\n")
    assert "model.save('net.h5')\nother = ModelCheckpoint('net.keras')\n" in text
    text, done = migrated("model.save_weights('net.h5')\nother.save_weights('net.weights.h5')\n")
    assert "'net.h5'" in text or ("TFM205", "warn") in done


def test_code_that_looks_for_the_old_ending_is_told() -> None:
    body = "model.save('net.model')\nfound = [name for name in os.listdir('.') if name.endswith('.model')]\n"
    assert ("TFM205", "warn") in migrated(body)[1]


def test_a_pattern_that_finds_files_of_two_endings_is_told() -> None:
    body = "model.save('net.model')\nmodel.save_weights('net2.model')\nfound = glob.glob('*.model')\n"
    text, done = migrated(body)
    assert "glob.glob('*.model')" in text
    assert ("TFM205", "warn") in done


def test_the_loss_of_a_checkpoint_in_hdf5_is_written_out() -> None:
    """Keras 3 cannot load a model with the loss 'mse' from such a file (TFM239)."""
    text = migrate(HEAD.replace('"mean_squared_error"', '"mse"') + "best = ModelCheckpoint('net.hdf5')\n").after
    assert "ModelCheckpoint('net.h5')" in text
    assert "mean_squared_error" in text


def test_a_checkpoint_of_tensorflow_is_one_of_weights() -> None:
    text, done = migrated("model.save_weights('net.ckpt', save_format='tf')\nmodel.load_weights('net.ckpt')\n")
    assert "model.save_weights('net.weights.h5')\nmodel.load_weights('net.weights.h5')\n" in text
    assert {action for _, action in done} == {"rewrite"}
