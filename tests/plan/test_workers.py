"""What `--strategy multi-worker` writes beside the strategy: who saves where, and what is refused."""

from __future__ import annotations

import os
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from tests.kit import migrate
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

SAVES = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=4)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.save_weights("model.weights.h5")
"""


def migrated(**files: str) -> dict[str, FileResult]:
    sources = {f"{name}.py": text for name, text in files.items()}
    return {file.path: file for file in migrate_sources(sources, Settings(strategy="multi-worker"))}


def helper() -> Callable[..., Callable[..., None]]:
    """The function that migration writes round save(), alone; test_on_a_strategy.py runs it on two workers."""
    (file,) = migrated(train=SAVES).values()
    (function,) = (one for one in cst.parse_module(file.after).body if isinstance(one, cst.FunctionDef))
    names: dict[str, Callable[..., Callable[..., None]]] = {}
    exec(cst.Module([function]).code, {"os": os, "tempfile": tempfile}, names)
    return names["by_chief"]


class Model:
    """A model under a strategy, which notes where it was saved, and that all workers waited."""

    def __init__(self, task: tuple[str | None, int | None] | None, *jobs: str) -> None:
        resolver = None
        if task is not None:
            resolver = types.SimpleNamespace(
                task_type=task[0], task_id=task[1], cluster_spec=lambda: types.SimpleNamespace(jobs=list(jobs))
            )
        self.events: list[str] = []
        arrived = types.SimpleNamespace(numpy=lambda: self.events.append("all are here"))
        self.distribute_strategy = types.SimpleNamespace(
            cluster_resolver=resolver, run=lambda step: None, experimental_local_results=lambda value: (arrived,)
        )

    def save(self, filepath: str, overwrite: bool = True) -> None:
        self.events.append(filepath)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(None), id="one machine's strategy"),
        pytest.param(Model((None, None)), id="no TF_CONFIG"),
        pytest.param(Model(("worker", 0), "worker"), id="the first worker"),
        pytest.param(Model(("chief", 0), "chief", "worker"), id="the chief"),
    ],
)
def test_the_chief_writes_to_the_path(model: Model) -> None:
    helper()(model.save)("out/model.keras")
    assert model.events[0] == "out/model.keras"
    several = bool(model.distribute_strategy.cluster_resolver and model.distribute_strategy.cluster_resolver.task_type)
    assert model.events[1:] == ["all are here"] * several


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(("worker", 1), "worker"), id="the second worker"),
        pytest.param(Model(("worker", 0), "chief", "worker"), id="the first worker beside a chief"),
    ],
)
def test_everyone_else_writes_to_a_scratch_folder(model: Model) -> None:
    helper()(model.save)(filepath="out/model.keras", overwrite=False)
    assert model.events[1:] == ["all are here"]
    written = Path(model.events[0])
    assert written.name == "model.keras"
    assert written.parent.is_dir()
    assert written.parent != Path("out")


def test_a_second_file_makes_no_second_strategy() -> None:
    one = SAVES.replace("model = ", "def first():\n    pass\n\n\nmodel = ", 1)
    two = f"import one\n{SAVES}\none.first()\n"
    files = migrated(one=one, two=two)
    made = sum(file.after.count("MultiWorkerMirroredStrategy()") for file in files.values())
    refused = [finding.code for file in files.values() for finding in file.findings if finding.action == "refuse"]
    assert made == 1
    assert "TFM107" in refused


TRAINS = """\
import random

import numpy as np
from sklearn.model_selection import train_test_split
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

x, y = np.load("x.npy"), np.load("y.npy")
{draws}
model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=4)
model.compile(loss="mse", optimizer="sgd")
model.fit(x, y, batch_size=8)
model.save_weights("last.h5")
model.load_weights("last.h5")
"""


@pytest.mark.parametrize(
    ("draws", "told"),
    [
        ("x = x[np.random.permutation(len(x))]", True),
        ("random.shuffle(x)", True),
        ("x, z, y, t = train_test_split(x, y, test_size=0.2)", True),
        ("rng = np.random.default_rng()", True),
        ("np.random.seed(1)\nx = x[np.random.permutation(len(x))]", False),
        ("np.random.seed(1)\nx, z, y, t = train_test_split(x, y, test_size=0.2)", False),
        ("np.random.seed(1)\nrandom.shuffle(x)", True),
        ("x, z, y, t = train_test_split(x, y, random_state=0)", False),
        ("rng = np.random.RandomState(0)\nx = x[rng.permutation(len(x))]", False),
        ("pass", False),
    ],
)
def test_random_numbers_that_each_worker_draws_for_itself_are_told(draws: str, told: bool) -> None:
    (file,) = migrated(train=TRAINS.format(draws=draws)).values()
    assert [finding.line for finding in file.findings if finding.code == "TFM423"] == [10 + draws.count("\n")] * told


def test_on_keras_2_names_of_weights_stay() -> None:
    (file,) = migrated(train=TRAINS.format(draws="pass")).values()
    assert file.after.endswith('by_chief(model.save_weights)("last.h5")\nmodel.load_weights("last.h5")\n')
    assert "TFM205" not in {finding.code for finding in file.findings}


@pytest.mark.parametrize("imports", ["import os\n", "import json\nimport os\n", "import os  # for paths\n"])
def test_nothing_is_imported_twice(imports: str) -> None:
    (file,) = migrated(train=f'"""Train."""\n{imports}{SAVES}print(os.sep)\n').values()
    assert file.after.count("import os\n") == 1
    assert file.after.startswith('"""Train."""\nimport os\nimport tempfile\n\nos.environ.setdefault(')
    assert file.after.count("# for paths") == imports.count("#")
    assert ("import json" in file.after) == ("json" in imports)


ESTIMATOR = """\
import tensorflow as tf
import tensorflow.compat.v1 as tf1


def input_fn():
    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).repeat().batch(8)


def model_fn(features, labels, mode):
    outputs = tf1.layers.dense(features, 1)
    loss = tf1.losses.mean_squared_error(labels, outputs)
    train_op = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


{strategy}config = tf.estimator.RunConfig(train_distribute={given})
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps=10)
"""
MIRRORED = "tf.distribute.MirroredStrategy()"


@pytest.mark.parametrize(
    ("strategy", "given"),
    [
        pytest.param(f"strategy = {MIRRORED}\n", "strategy", id="bound to a name"),
        pytest.param("strategy = tf.contrib.distribute.MirroredStrategy()\n", "strategy", id="of contrib"),
        pytest.param("", MIRRORED, id="made in the RunConfig"),
    ],
)
def test_an_estimator_goes_to_several_machines_in_one_run(strategy: str, given: str) -> None:
    (file,) = migrated(train=ESTIMATOR.format(strategy=strategy, given=given)).values()
    codes = [finding.code for finding in file.findings]
    assert {"TFM010", "TFM421", "TFM423", "TFM425"} <= set(codes)
    assert file.after.count("MultiWorkerMirroredStrategy()") == 1
    assert " tf.distribute.MirroredStrategy" not in file.after
    lines = file.after.splitlines()
    assert lines.index("strategy = tf.distribute.MultiWorkerMirroredStrategy()") < lines.index("with strategy.scope():")
    (again,) = migrated(train=file.after).values()
    assert again.after == file.after


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            ESTIMATOR.format(strategy=f"strategy = {MIRRORED}\n", given="strategy").replace(
                "steps=10", "steps=10, saving_listeners=listeners"
            ),
            id="refused",
        ),
        pytest.param(
            f"import tensorflow as tf\n\nconfig = tf.estimator.RunConfig(train_distribute={MIRRORED})\n"
            "estimator = tf.estimator.DNNClassifier([8], [], config=config)\n",
            id="canned",
        ),
    ],
)
def test_the_strategy_of_an_estimator_that_stays_stays_too(program: str) -> None:
    (file,) = migrated(train=program).values()
    assert file.after == program
    (told,) = [finding for finding in file.findings if finding.code == "TFM425"]
    assert told.action == "refuse"
    assert "an Estimator that stays trains under it" in told.message


HALFWAY = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
{unused}
model = Sequential([Dense(1, input_shape=(4,))])
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model.compile(loss="mse", optimizer=tf.keras.optimizers.Adam(lr=0.1))
model.fit(x, y)
model.save("model.keras")
"""


@pytest.mark.parametrize("strategy", ["mirrored", "multi-worker"])
@pytest.mark.parametrize("unused", ["", "from tensorflow.keras.utils import multi_gpu_model\n"])
def test_a_program_halfway_there_needs_one_run(strategy: str, unused: str) -> None:
    settings = Settings(strategy=strategy)
    file = migrate(HALFWAY.format(unused=unused), settings)
    assert "TFM411" in {finding.code for finding in file.findings}
    assert "multi_gpu_model" not in file.after
    assert ("MultiWorkerMirroredStrategy" in file.after) == (strategy == "multi-worker")
    made = file.after.index("MirroredStrategy()")
    assert made < file.after.index("model = Sequential") < file.after.index("model.compile")
    again = migrate(file.after, settings)
    assert again.after == file.after


def test_the_data_of_what_trains_is_spoken_of_and_of_nothing_else() -> None:
    program = (
        "import tensorflow as tf\n\nstrategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n"
        "    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\n"
        "    model.compile('sgd', 'mse')\nmodel.fit(data)\nmodel.predict(rows)\n"
    )
    file = migrate(program, Settings(strategy="multi-worker"))
    assert [finding.line for finding in file.findings if finding.code == "TFM423"] == [7]
