"""A script that reads what a migrated program writes under another name is named, though neither imports the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmigrate import migrate
from tfmigrate.settings import Settings

WRITER = """
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, 2)
parallel.compile("sgd", "mse")
parallel.fit_generator(rows, callbacks=[ModelCheckpoint("runs/best_{epoch:02d}.hdf5", save_weights_only=True)])
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model.load_weights('best_{0}.hdf5'.format(3))", True),
        ("model.load_weights('../runs/best_%02d.hdf5' % 3)", True),
        ("h5py.File('best_{0}.hdf5'.format(3))", True),
        ("model.load_weights('best_{0}.hdf5'.format(3))  # tfmigrate: skip", False),
        ("model.load_weights('other_{0}.hdf5'.format(3))", False),
        ("model.load_weights('best_{0}.hdf5')\nmodel.save_weights('best_{0}.hdf5')", False),
        ("print('best_{0}.hdf5')", False),
    ],
)
def test_a_script_that_reads_a_renamed_file_is_named(
    line: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools").mkdir()
    Path("train.py").write_text(WRITER)
    Path("tools/evaluate.py").write_text(f"from elsewhere import model\n{line}\n")
    result = migrate.check(["."], Settings(jobs=1))
    found = [file.path for file, finding in result.findings if "evaluate" in file.path and finding.code == "TFM205"]
    assert found == (["tools/evaluate.py"] if told else [])
