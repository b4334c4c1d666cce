"""A script that reads what a migrated program writes under another name is named, though neither imports the other."""

from __future__ import annotations

import warnings
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


def test_an_escape_that_python_warns_of_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(WRITER + 'pattern = "best_(\\d+)"\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert migrate.check(["train.py"], Settings()).files[0].status == "migrated"


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
        # It writes another file.
        ("model.load_weights('best_{0}.hdf5')\nmodel.save_weights('last.hdf5')", True),
        ("path = 'best_{0}.hdf5'\nmodel.save_weights(path)\nmodel.load_weights('best_{0}.hdf5')", False),
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


SECOND = WRITER.replace("runs/best_{epoch:02d}", "runs/second") + "{line}\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("parallel.load_weights('runs/best_{0}.hdf5'.format(3))", [11]),
        ("parallel.load_weights('runs/best_{0}.hdf5'.format(3))  # tfmigrate: skip", []),
        ("parallel.load_weights('runs/second.hdf5')", []),
        ("print('runs/best_{0}.hdf5')", []),
    ],
)
def test_another_program_of_the_run_that_reads_a_renamed_file_is_told_of_it(
    line: str, told: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(WRITER)
    Path("tune.py").write_text(SECOND.replace("{line}", line))
    files = {file.path: file for file in migrate.check(["."], Settings(jobs=1)).files}
    found = [finding for finding in files["tune.py"].findings if "by train.py" in finding.message]
    assert [finding.line for finding in found] == told
    assert files["tune.py"].status == "migrated"
    assert not any("by tune.py" in finding.message for finding in files["train.py"].findings)


def test_one_sentence_names_all_that_write_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(f"{name}.py").write_text(WRITER)
    Path("evaluate.py").write_text("model.load_weights('best_{0}.hdf5')\n")
    result = migrate.check(["."], Settings(jobs=1))
    (message,) = (finding.message for file, finding in result.findings if file.path == "evaluate.py")
    assert "now, by one.py and two.py: this would" in message


SAVER = """
from keras.layers import {layer}
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(8, input_shape=(4,)), {made}])
model.layers[0].trainable = False
parallel = multi_gpu_model(model, 2)
parallel.compile("sgd", "mse")
parallel.fit_generator(rows)
{saved}
"""
FROZEN = {"layer": "BatchNormalization, Dense", "made": "BatchNormalization()"}
GATED = {"layer": "Activation, Dense", "made": "Activation('hard_sigmoid')"}
PLAIN = {"layer": "Dense", "made": "Dense(1)"}
SAVES = "model.save('runs/net.h5')"


@pytest.mark.parametrize(
    ("made", "saved", "line", "codes"),
    [
        (FROZEN, SAVES, "model = load_model('net.h5')", ["TFM445"]),
        (FROZEN, SAVES, "model = load_model('../runs/net.h5')", ["TFM445"]),
        (GATED, SAVES, "model = load_model('net.h5')", ["TFM303"]),
        # What the program loads again, too.
        (
            GATED,
            SAVES + "\nfrom keras.models import load_model\nload_model('runs/net.h5')",
            "model = load_model('net.h5')",
            ["TFM303"],
        ),
        (
            FROZEN,
            SAVES + "\nfrom keras.models import load_model\nload_model('runs/net.h5')",
            "model = load_model('net.h5')",
            ["TFM445"],
        ),
        (GATED, "open('net.json', 'w').write(model.to_json())", "model_from_json(open('net.json').read())", ["TFM303"]),
        (GATED, SAVES, "model = load_model('net.h5')  # tfmigrate: skip", []),
        (GATED, SAVES, "model = load_model('other.h5')", []),
        (GATED, SAVES, "model.load_weights('net.h5')", []),
        (GATED, SAVES, "model = load_model('net.h5')\nmodel.save('net.h5')", []),
        (GATED, "model.save_weights('net.h5')", "model = load_model('other.h5')", []),
        (GATED, "parameters = open('net.h5')", "model = load_model('net.h5')", []),
        (PLAIN, SAVES, "model = load_model('net.h5')", []),
    ],
)
def test_a_script_that_loads_a_model_with_a_class_of_the_program_is_named(
    made: dict[str, str], saved: str, line: str, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools").mkdir()
    Path("train.py").write_text(SAVER.format(saved=saved, **made))
    Path("tools/evaluate.py").write_text(f"from keras.models import load_model, model_from_json\n{line}\n")
    result = migrate.check(["."], Settings(jobs=1))
    assert [finding.code for file, finding in result.findings if "evaluate" in file.path] == codes
