"""Programs as they lie in their repositories, in real TensorFlows: modules, start folders, stand-ins, short runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import Cut
from tfmigrate.verify.run.world import Limits, Run, World

pytestmark = pytest.mark.runs_tensorflow

TRAIN = """
import os
import numpy as np
import cv2
from keras.applications.mobilenet import MobileNet
from keras.layers import Dense, GlobalAveragePooling2D
from keras.models import Model
{imports}
from . import settings

x = cv2.read("../data/pictures.npz")
y = np.arange(len(x)) % 3
{scope}
    base = MobileNet(weights="imagenet", include_top=False, input_shape=(128, 128, 3), alpha=0.25)
    model = Model(base.input, Dense(3, activation="softmax")(GlobalAveragePooling2D()(base.output)))
    model = {wrap}
    model.compile(optimizer=SGD({rate}=settings.RATE), loss="sparse_categorical_crossentropy")
history = model.fit(x, y, batch_size=settings.BATCH, epochs=70, verbose=0)
print(history.history["loss"][69])
"""
OLD = TRAIN.format(
    imports="from keras.optimizers import SGD\nfrom keras.utils.training_utils import multi_gpu_model",
    scope="if True:",
    wrap="multi_gpu_model(model, gpus=2)",
    rate="lr",
)
NEW = TRAIN.format(
    imports="from keras.optimizers import SGD\nimport tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()",
    scope="with strategy.scope():",
    wrap="model",
    rate="learning_rate",
)
SETUP = """
import os
import numpy as np
os.makedirs("../data")
np.savez("../data/pictures.npz", np.random.rand(24, 128, 128, 3).astype("float32"))
"""
STUB = """
import numpy as np
def read(path):
    with np.load(path) as stored:
        return stored["arr_0"]
"""


@pytest.fixture
def world(tmp_path: Path) -> Callable[[str, Runtime], World]:
    """A package below `src`, started in `src`; its data lies beside that, and OpenCV is not installed."""
    package = tmp_path / "repository" / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "settings.py").write_text("RATE = 0.01\nBATCH = 8\n")
    (package / "old.py").write_text(OLD)
    (package / "new.py").write_text(NEW)
    setup, stub = tmp_path / "make_data.py", tmp_path / "fake_cv2.py"
    setup.write_text(SETUP)
    stub.write_text(STUB)

    def make(script: str, runtime: Runtime) -> World:
        kind = "genuine" if script == "old" else "migrated"
        return World(
            role=kind,
            kind=kind,  # type: ignore[arg-type]
            runtime=runtime,
            source=tmp_path / "repository",
            script=f"src/package/{script}.py",
            start="src",
            module=f"package.{script}",
            setup=setup,
            stubs={"cv2": stub},
            replicas=2,
            standalone=True,
        )

    return make


def test_a_package_with_made_up_data_weights_and_dependencies(
    world: Callable[[str, Runtime], World], runtime_for: RuntimeFor, tmp_path: Path
) -> None:
    old = experiment.run(world("old", runtime_for("genuine keras")), Limits(budget=2), tmp_path / "old")
    assert old.ok, old.message
    assert old.trace.cut is not None
    assert (old.trace.cut.epochs, old.trace.cut.steps_per_epoch, old.trace.cut.steps) == (70, 3, 2)
    assert any("made-up weights" in note for note in old.notes), "or this machine has a network"
    new = experiment.run(world("new", runtime_for("keras 3")), Limits(budget=2), tmp_path / "new", old.trace)
    assert new.ok, new.message
    (model,) = new.trace.models
    assert sum(1 for one in model.own if one and one[2]) > 100, "all but the last layer come from the file"
    assert all(one[3] is not None and one[3] < 1e-6 for one in model.own if one and one[2])
    comparison = compare(old.trace, new.trace, 1e-3)
    assert len(comparison.steps) == 2
    assert comparison.steps[0].difference < 1e-4


def test_what_the_setup_file_says_when_it_fails(
    world: Callable[[str, Runtime], World], runtime_for: RuntimeFor, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("raise ValueError('no room for data')\n")
    run = experiment.run(replace(world("old", runtime_for("genuine keras")), setup=bad), Limits(), tmp_path / "out")
    assert run.outcome == "crashed"
    assert "--setup bad.py ended with exit code 1" in run.message
    assert "ValueError: no room for data" in run.message


KERAS_2017 = """
import numpy as np
from keras.layers import BatchNormalization, Dense, Flatten, Reshape
from keras.models import Sequential
from keras.optimizers import Adam
from keras.utils.training_utils import multi_gpu_model

x = np.random.RandomState(0).rand(64, 10).astype("float32")
y = x.sum(axis=1)
template = Sequential([Dense(8, activation="relu", input_shape=(10,)), BatchNormalization(), Reshape((2, 2, 2)),
                       BatchNormalization(), Flatten(), Dense(1)])
model = multi_gpu_model(template, gpus=2)
model.compile(optimizer=Adam(lr=0.01), loss="mse")
history = model.fit(x, y, batch_size=16, epochs=70, validation_split=0.25, verbose=0)
print(history.history["val_loss"][69])
"""


@pytest.mark.parametrize("keras", ["2.1", "2.2", "2.3"])
def test_standalone_keras_of_each_time_trains_genuinely(
    found_runtimes: tuple[Runtime, ...], tmp_path: Path, keras: str
) -> None:
    fitting = [one for one in found_runtimes if "genuine keras" in one.kinds and (one.keras or "").startswith(keras)]
    if not fitting:
        pytest.skip(f"no TensorFlow 1 with Keras {keras} here; see `tfmigrate runtimes`")
    program = tmp_path / "program"
    program.mkdir()
    (program / "train.py").write_text(KERAS_2017)
    run = run_of(fitting[0], program, tmp_path)
    assert run.ok, run.message
    assert len(run.trace.steps) == 6, "two whole epochs"
    assert run.trace.cut == Cut(fit=0, epochs=70, steps_per_epoch=3, steps=6)
    assert [model.replicas for model in run.trace.models] == [2]
    assert run.trace.steps[-1].loss < run.trace.steps[0].loss
    assert len(run.trace.epochs) == 2


def run_of(runtime: Runtime, program: Path, folder: Path) -> Run:
    world = World("genuine", "genuine", runtime, program, "train.py", replicas=2, standalone=True)
    return experiment.run(world, Limits(budget=7), folder / "run")
