"""Regular expressions that read the number of an epoch from the name of a checkpoint."""

from __future__ import annotations

import re

import pytest

from tests.kit import actions, check_migrated
from tfmigrate.result import FileResult


def program(pattern: str, name: str = '"run_{epoch:04d}.h5"', only: bool = True, before: str = "") -> FileResult:
    return check_migrated(
        f"""
import re

from tensorflow.keras.callbacks import ModelCheckpoint
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def epoch_of(path, tag="one"):
    found = re.match({pattern}, path)
    return int(found[1]) if found else 0


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
{before}
checkpoint = ModelCheckpoint({name}, save_weights_only={only})
parallel_model.fit(batches, initial_epoch=epoch_of(path), callbacks=[checkpoint])
"""
    )


@pytest.mark.parametrize(
    ("pattern", "name", "new"),
    [
        (r'r".*/run_(\d{4})\.h5"', '"run_{epoch:04d}.h5"', r'r".*/run_(\d{4})\.(?:weights\.h5|h5)"'),
        (r'r"run_(\d+)\.h5$"', '"run_{epoch:04d}.h5"', r'r"run_(\d+)\.(?:weights\.h5|h5)$"'),
        ('".*run_(\\\\d+)\\\\.h5"', '"run_{epoch}.h5"', '".*run_(\\\\d+)\\\\.(?:weights\\\\.h5|h5)"'),
        (r'r"run_(\d+)\.hdf5"', '"run_{epoch}.hdf5"', r'r"run_(\d+)\.(?:weights\.h5|hdf5)"'),
        (r'r".*[/\\]%s_(\d{4})\.h5" % tag', '"one_{epoch:04d}.h5"', r'r".*[/\\]%s_(\d{4})\.(?:weights\.h5|h5)" % tag'),
        (r'rf".*/{tag}_(\d{{4}})\.h5"', '"one_{epoch:04d}.h5"', r'rf".*/{tag}_(\d{{4}})\.(?:weights\.h5|h5)"'),
    ],
)
def test_a_pattern_finds_both_names(pattern: str, name: str, new: str) -> None:
    file = program(pattern, name)
    assert f"re.match({new}, path)" in file.after
    assert set(actions(file, "TFM205")) == {"rewrite"}


def test_a_pattern_of_folders_and_of_a_name_whose_gap_is_filled_later() -> None:
    pattern = r'r".*/\w+(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})/%s_(\d{4})\.h5" % tag'
    name = '"{}_*epoch*.h5".format(folder)'
    file = program(pattern, "saved_to").after
    assert f"re.match({pattern}, path)" in file
    lines = f"saved_to = {name}\nsaved_to = saved_to.replace('*epoch*', '{{epoch:04d}}')"
    file = program(pattern, "saved_to", before=lines).after
    assert r"(\d{4})\.(?:weights\.h5|h5)" in file


def test_the_new_pattern_reads_the_same_groups() -> None:
    (new,) = re.findall(r're\.match\(r"(.*)", path\)', program(r'r"run_(\d{4})\.h5$"').after)
    assert re.match(new, "run_0012.weights.h5")[1] == re.match(new, "run_0012.h5")[1] == "0012"  # type: ignore[index]
    assert re.match(new, "run_0012_h5") is None


@pytest.mark.parametrize(
    "pattern", [r'r"other_(\d{4})\.h5"', r'r"run_(\d{4})\.txt"', r'r"run_(\d{4})_h5"', r'r"(\.h5"']
)
def test_other_patterns_stay(pattern: str) -> None:
    assert f"re.match({pattern}, path)" in program(pattern).after


def test_a_name_that_stays_leaves_its_pattern() -> None:
    pattern = r'r"run_(\d{4})\.h5"'
    assert f"re.match({pattern}, path)" in program(pattern, only=False).after
