"""Programs on a strategy that train on arrays get a tf.data pipeline where TFM002 itself is selected, not otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.kit import actions, migrate
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

PROGRAM = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

x, y = np.random.rand(96, 4), np.random.rand(96, 1)
strategy = tf.distribute.MirroredStrategy()
batch = 8 * strategy.num_replicas_in_sync
with strategy.scope():
    model = Sequential([Input((4,)), Dense(1)])
    model.compile(loss="mse", optimizer="sgd")
history = model.fit(x, y, batch_size=batch, epochs=2, validation_split=0.25)
"""


def migrated(text: str, *select: str, ignore: tuple[str, ...] = ()) -> FileResult:
    return migrate(text, Settings(select=select, ignore=ignore, unsafe_fixes=True))


@pytest.mark.parametrize("select", [(), ("TFM",), ("TFM0",), ("TFM00",), ("TFM411",)], ids=str)
def test_fit_on_arrays_is_left_unless_the_rule_itself_is_selected(select: tuple[str, ...]) -> None:
    file = migrated(PROGRAM, *select)
    assert not file.changed
    assert not file.findings


def test_it_is_given_a_pipeline_where_the_rule_is_selected() -> None:
    file = migrated(PROGRAM, "TFM002")
    assert [(finding.code, finding.action) for finding in file.findings] == [("TFM002", "rewrite")]
    assert "history = model.fit(train_dataset, epochs=2, validation_data=validation_dataset)\n" in file.after
    assert ".shuffle(split_at)" in file.after
    assert not migrated(file.after, "TFM002").changed
    assert not migrated(PROGRAM, "TFM002", ignore=("TFM0",)).changed


def test_the_file_imports_tensorflow_where_it_did_not() -> None:
    text = PROGRAM.replace("import tensorflow as tf\n", "from tensorflow.distribute import MirroredStrategy\n")
    after = migrated(text.replace("tf.distribute.Mirrored", "Mirrored"), "TFM002").after
    assert "import tensorflow as tf\n" in after


def test_a_model_that_is_put_into_the_scope_at_the_same_time() -> None:
    head, built = PROGRAM.split("with strategy.scope():\n")
    outside = head + built.replace("\n    ", "\n").removeprefix("    ")
    after = migrated(outside, "TFM002", "TFM427").after
    assert "with strategy.scope():\n    model = " in after
    assert "model.fit(train_dataset" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("with strategy.scope():", "if True:"),
        ("tf.distribute.MirroredStrategy()", "tf.distribute.get_strategy()"),
        ("tf.distribute.MirroredStrategy()", "tf.distribute.TPUStrategy()"),
        ("x, y, batch_size=batch, ", "tf.data.Dataset.from_tensor_slices((x, y)).batch(batch), "),
        ("with strategy.scope():", "with elsewhere():"),
    ],
)
def test_what_trains_under_no_mirrored_strategy_keeps_its_arrays(old: str, new: str) -> None:
    assert not migrated(PROGRAM.replace(old, new).replace("8 * strategy.num_replicas_in_sync", "8"), "TFM002").changed


def test_a_call_without_an_exact_equal_says_why_it_keeps_them() -> None:
    file = migrated(PROGRAM.replace("epochs=2", "epochs=2, shuffle=order"), "TFM002")
    assert [(finding.code, finding.action) for finding in file.findings] == [("TFM002", "warn")]


RUN = """
import json, sys
import numpy as np, tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
found = []
for program in json.load(sys.stdin):
    tf.keras.utils.set_random_seed(1)
    space = {}
    exec(program, space)
    history = {key: [float(value) for value in values] for key, values in space["history"].history.items()}
    found.append((space["model"].distribute_strategy.num_replicas_in_sync, history))
print(json.dumps(found))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2], ids=["Keras 3", "Keras 2"])
def test_arrays_and_pipeline_train_alike(keras: int) -> None:
    ordered = PROGRAM.replace("epochs=2", "epochs=2, verbose=0, shuffle=False")
    ordered = ordered.replace("MirroredStrategy()", 'MirroredStrategy(["cpu:0", "cpu:1"])')
    after = migrated(ordered, "TFM002").after
    assert after != ordered
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1" if keras == 2 else "0", "CUDA_VISIBLE_DEVICES": "-1"}
    given = json.dumps([ordered, after])
    done = subprocess.run([sys.executable, "-c", RUN], input=given, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (replicas, arrays), (same, pipeline) = json.loads(done.stdout.splitlines()[-1])
    assert replicas == same == 2
    assert arrays.keys() == pipeline.keys() == {"loss", "val_loss"}
    for key, values in arrays.items():
        assert pipeline[key] == pytest.approx(values, rel=1e-5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("whole = batch * strategy.num_replicas_in_sync", ["warn"]),
        ("whole = strategy.num_replicas_in_sync * batch", ["warn"]),
        ("whole = batch * 2", []),
        ("whole = batch * strategy.extended", []),
        ("batch = batch * strategy.num_replicas_in_sync", []),
    ],
)
def test_a_batch_that_is_multiplied_by_the_replicas_elsewhere_is_reported(line: str, said: list[str]) -> None:
    program = (
        "import tensorflow as tf\n\nbatch = 32\nstrategy = tf.distribute.MirroredStrategy()\n"
        f"{line}\nwith strategy.scope():\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\n"
        "    model.compile('sgd', 'mse')\nmodel.fit(x, y, batch_size=batch)\n"
    )
    assert actions(migrate(program), "TFM417") == said


@pytest.mark.parametrize("call", ["evaluate(x, y, batch_size=batch)", "predict(x, batch_size=batch)"])
def test_only_the_batch_that_is_trained_on_is_reported(call: str) -> None:
    program = (
        "import tensorflow as tf\n\nbatch = 32\nstrategy = tf.distribute.MirroredStrategy()\n"
        "whole = batch * strategy.num_replicas_in_sync\nwith strategy.scope():\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\n"
        f"    model.compile('sgd', 'mse')\nmodel.fit(x, y, batch_size=whole)\nmodel.{call}\n"
    )
    assert actions(migrate(program), "TFM417") == []
