"""A file outside the migrated program that takes a name which the migration removes is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmigrate import migrate
from tfmigrate.settings import Settings

UTILS = """
import tensorflow as tf
from keras import backend as K


def session():
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    return tf.Session(config=config)


def shown(values):
    return values


K.set_session(session())
"""
TRAIN = """
import utils
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, 2)
parallel.compile("sgd", "mse")
"""


def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> list[tuple[int, int]]:
    monkeypatch.chdir(tmp_path)
    Path("utils.py").write_text(UTILS)
    Path("train.py").write_text(TRAIN)
    Path("other.py").write_text(other)
    result = migrate.check(["."], Settings(jobs=1))
    assert "def session" not in next(file for file in result.files if file.path == "utils.py").after
    return [
        (finding.line, finding.column)
        for file, finding in result.findings
        if file.path == "other.py" and finding.code == "TFM027"
    ]


@pytest.mark.parametrize(
    ("other", "place"),
    [
        ("from utils import session\n\nsession().run(3)\n", (1, 19)),
        ("import utils\n\nutils.session().run(3)\n", (3, 7)),
        ("from utils import (\n    shown,\n    session,\n)\n", (3, 5)),
    ],
)
def test_one_that_takes_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, place: tuple[int, int]
) -> None:
    assert told(tmp_path, monkeypatch, other) == [place]


@pytest.mark.parametrize(
    "other",
    [
        "from utils import shown\n",
        "from elsewhere import session\n",
        "from utils import shown\n\nsession = shown(3)\n",
        "from utils import missing\n",
        "import utils\n\nprint(utils.shown(3))  # no session\n",
        "from utils import session  # tfmigrate: skip\n",
        "from utils import session:\n",
    ],
)
def test_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    assert told(tmp_path, monkeypatch, other) == []


def test_one_that_also_reads_a_file_of_another_name_is_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("utils.py").write_text(UTILS)
    Path("train.py").write_text(f"{TRAIN}parallel.save_weights('best.hdf5')\n")
    Path("other.py").write_text("from utils import session\n\nnet.load_weights('best.hdf5')\n")
    (file,) = [file for file in migrate.check(["."], Settings(jobs=1)).files if file.path == "other.py"]
    assert [finding.code for finding in file.findings] == ["TFM027", "TFM205"]
