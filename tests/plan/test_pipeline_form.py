"""What fit() on arrays is given: a shuffled dataset, batches gathered by index, or the arrays."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from tests.everyday import fake_tensorflow
from tests.kit import check_migrated, migrate
from tfmigrate.plan.helpers import definition
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

HEAD = """import h5py
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import HDF5Matrix, multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
DATASET = """train_dataset = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .shuffle(len(x))
    .batch(global_batch_size)
    .prefetch(tf.data.AUTOTUNE)
)
"""
GATHER = "= shuffled_batches((x, y), len(x), global_batch_size)\n"
ARRAYS = "\nmodel.fit(x, y, batch_size=64)\n"


def migrated(data: str, settings: Settings | None = None) -> FileResult:
    text = f"{HEAD}{data}\nparallel.fit(x, y, batch_size=64)\n"
    return migrate(text, settings or Settings())


@pytest.mark.parametrize(
    ("data", "form"),
    [
        ("x, y = load()", DATASET),
        ('x, y = np.load("x.npy"), np.load("y.npy", mmap_mode=None)', DATASET),
        ("x = np.random.rand(60000, 784)\ny = np.zeros((60000, 10))", DATASET),
        ('x = np.zeros((40000, 100, 100, 3), "uint8")\ny = x[:, 0]', GATHER),  # 8 bytes each where no dtype= says else
        ('x = np.zeros((30000, 100, 100, 3), dtype="uint8")\ny = x[:, 0]', DATASET),
        ("rows = 10 ** 5\nx = np.random.rand(rows, 784).astype(np.float32)\ny = np.ones(rows)", DATASET),
        ("side = 224\nx = np.random.normal(size=(2000, side, side, 3))\ny = x[:, 0]", GATHER),
        ('x = np.random.rand(2000, 224, 224, 3).reshape(-1, 3).astype("float32")\ny = x[:, 0]', GATHER),
        ('file = h5py.File("x.h5")\nx, y = file["x"], np.array(file["y"])', ARRAYS),
        ('x, y = np.load("x.npy", mmap_mode="r"), np.load("y.npy")', ARRAYS),
        ('x, y = HDF5Matrix("x.h5", "x"), HDF5Matrix("x.h5", "y")', ARRAYS),
        ('def load():\n    file = h5py.File("x.h5")\n    return file["x"], file["y"]\n\n\nx, y = load()', ARRAYS),
        ('file = h5py.File("x.h5")\nx = file["x"][:]\ny = file["y"][:1000]', DATASET),
        ('file = h5py.File("x.h5")\nx, y = file["x"][...], file["y"]', ARRAYS),
        ('x = np.load("x.npy", mmap_mode="r")[:1000]\ny = np.load("y.npy")', ARRAYS),
        ('x = np.memmap("x", shape=(9, 4))[:5]\ny = np.load("y.npy")', ARRAYS),
    ],
)
def test_the_form_suits_the_data(data: str, form: str) -> None:
    assert form in migrated(data).after


@pytest.mark.parametrize(
    ("asked", "form"), [("dataset", DATASET), ("gather", GATHER), ("arrays", ARRAYS), ("auto", DATASET)]
)
def test_a_setting_decides(asked: str, form: str) -> None:
    file = migrated("x, y = load()", Settings(pipeline=asked))  # type: ignore[arg-type]
    assert form in file.after
    assert any(finding.code == "TFM002" for finding in file.findings) == (asked != "arrays")


@pytest.mark.parametrize(("width", "lines"), [(90, 1), (91, 5)])
def test_a_long_call_has_an_argument_a_line(width: int, lines: int) -> None:
    y = "y" * (1 + width - len("train_dataset = shuffled_batches((x, y), len(x), global_batch_size)"))
    text = f"{HEAD}x, {y} = load()\nparallel.fit(x, {y}, batch_size=64)\n"
    file = migrate(text, Settings(pipeline="gather"))
    call = file.after.partition("in_sync\n")[2].partition("model.fit(")[0]
    assert call.startswith("train_dataset = shuffled_batches(")
    assert call.count("\n") == lines


def test_arrays_in_a_file_are_reported() -> None:
    file = migrated('x, y = HDF5Matrix("x.h5", "x"), HDF5Matrix("x.h5", "y")')
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM002"]
    assert message.endswith("they are in a file, which a dataset would load completely")


@pytest.mark.parametrize("asked", ["dataset", "gather"])
def test_several_workers_read_rows_in_the_same_order(asked: str) -> None:
    after = migrated("x, y = load()", Settings(pipeline=asked, strategy="multi-worker")).after  # type: ignore[arg-type]
    assert "seed=0)" in after.replace("seed=None", "").replace("batch(64)", "")


def test_workers_that_keep_arrays_shuffle_each_in_its_own_order() -> None:
    file = migrated("x, y = load()", Settings(pipeline="arrays", strategy="multi-worker"))
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM002"]
    assert "every worker shuffles" in message


def test_the_function_is_written_in_the_style_of_the_module() -> None:
    text = definition("shuffled_batches", {"tf": "tf_1", "shuffled_batches": "shuffled_1"}, "  ", "'")
    assert text.startswith('def shuffled_1(arrays, count, batch_size, seed=None):\n  """Batches of all rows')
    assert "\n  with tf_1.device('/cpu:0'):" in text
    assert "import" not in text


@pytest.mark.parametrize("count", [6, 7])
def test_the_function_gathers_all_rows(count: int) -> None:
    modules, _ = fake_tensorflow.build("new")
    names: dict[str, object] = {"tf": modules["tensorflow"]}
    exec(definition("shuffled_batches", {}), names)
    function = names["shuffled_batches"]
    assert inspect.isfunction(function)
    arrays = (np.arange(count), 2 * np.arange(count))
    batches = function(arrays, count, 3)
    assert (batches.size, batches.shuffle_buffer, len(batches)) == (3, count, count)
    assert list(batches.columns[1]) == list(2 * batches.columns[0])


def _in_arms(single: str, parallel: str) -> str:
    return f"""
import sys
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

gpus = int(sys.argv[1])
model = Sequential([Dense(1, input_shape=(4,))])
if gpus == 1:
    model.compile("sgd", "mse")
    {single}
else:
    parallel_model = multi_gpu_model(model, gpus=gpus)
    parallel_model.compile("sgd", "mse")
    {parallel}
"""


def test_the_arm_for_one_gpu_keeps_its_arrays() -> None:
    single = "model.fit(x, y, batch_size=16)"
    after = check_migrated(_in_arms(single, "parallel_model.fit(x, y, batch_size=16 * gpus)")).after
    assert f'if gpus == 1:\n    model.compile("sgd", "mse")\n    {single}\nelse:\n' in after
    assert after.count("tf.data.Dataset") == 1


def test_so_does_one_that_returns() -> None:
    after = check_migrated(
        """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def train(x, y, gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    if gpus == 1:
        model.compile("sgd", "mse")
        return model.fit(x, y, batch_size=16)
    parallel_model = multi_gpu_model(model, gpus=gpus)
    parallel_model.compile("sgd", "mse")
    history = parallel_model.fit(x, y, batch_size=16)
    return history
"""
    ).after
    assert "        return model.fit(x, y, batch_size=16)\n" in after
    assert "    history = model.fit(train_dataset)\n" in after


def test_arms_that_train_on_the_same_data_become_one() -> None:
    after = check_migrated(_in_arms("model.fit(x, y, batch_size=16)", "parallel_model.fit(x, y, batch_size=16)")).after
    assert "if gpus == 1:\n" not in after
    assert after.count("tf.data.Dataset") == 1


def test_a_training_behind_both_arms_is_on_the_strategy() -> None:
    after = check_migrated(
        """
import sys
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

gpus = int(sys.argv[1])
model = Sequential([Dense(1, input_shape=(4,))])
trained = model if gpus == 1 else multi_gpu_model(model, gpus=gpus)
trained.compile("sgd", "mse")
if verbose:
    trained.fit(x, y, batch_size=16, verbose=1)
else:
    trained.fit(x, y, batch_size=32)
"""
    ).after
    assert after.count("tf.data.Dataset") == 2


def test_over_several_machines_both_arms_are_on_the_strategy() -> None:
    program = _in_arms("model.fit(x, y, batch_size=16)", "parallel_model.fit(x, y, batch_size=16 * gpus)")
    assert check_migrated(program, Settings(strategy="multi-worker")).after.count("tf.data.Dataset") == 2


def test_a_condition_round_the_call_of_all_is_no_other_arm() -> None:
    after = check_migrated(
        """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def main(x, y):
    parallel_model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    parallel_model.compile("sgd", "mse")
    parallel_model.fit(x, y, batch_size=16)


if __name__ == "__main__":
    main(x, y)
"""
    ).after
    assert after.count("tf.data.Dataset") == 1


@pytest.mark.parametrize("batch", ["64", "(64)", "0x40", "0b100_0000"])
def test_a_batch_size_is_divided_however_its_number_is_written(batch: str) -> None:
    text = f"{HEAD}x, y = load()\nparallel.fit(x, y, batch_size={batch})\n"
    assert "global_batch_size = 32 * strategy.num_replicas_in_sync\n" in check_migrated(text).after
