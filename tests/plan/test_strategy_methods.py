"""Methods of strategies under their old names, and names that tf.distribute does not have."""

from __future__ import annotations

import pytest

from tests.forks import Done, Python
from tests.kit import check_unchanged, migrate
from tfmigrate import rules
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

LOOP = """\
class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy

    def train(self, batch):
        run = self.strategy.experimental_run_v2  # the method itself
        return run(self.step, args=(batch,)), get_strategy().experimental_run_v2(self.step)
"""


def test_the_old_name_goes_wherever_the_strategy_comes_from() -> None:
    file = migrate(LOOP)
    assert file.after == LOOP.replace("experimental_run_v2", "run")
    assert [(f.code, f.line, f.action) for f in file.findings] == [("TFM223", 6, "rewrite"), ("TFM223", 7, "rewrite")]


@pytest.mark.parametrize(
    "guarded",
    [
        "try:\n    strategy.experimental_run_v2(step)\nexcept AttributeError:\n    strategy.run(step)\n",
        "run = strategy.run if hasattr(strategy, 'run') else strategy.experimental_run_v2\n",
        "if tf.__version__ < '2.2':\n    strategy.experimental_run_v2(step)\n",
        "strategy.experimental_run_v2(step)  # tfmigrate: skip\n",
        "experimental_run_v2(step)\n",
    ],
)
def test_what_knows_better_is_left(guarded: str) -> None:
    program = "import tensorflow as tf\n" + guarded
    file = check_unchanged(program)
    assert all(finding.action == "suppressed" for finding in file.findings)


def test_a_class_of_the_program_may_have_the_name() -> None:
    own = "class Alone:\n    def experimental_run_v2(self, step, args=()):\n        return step(*args)\n"
    files = migrate_sources({"alone.py": own, "train.py": "from alone import Alone\n" + LOOP}, Settings())
    assert [(file.findings, file.before == file.after) for file in files] == [((), True)] * 2


def told(line: str, *more: str) -> list[tuple[str, str]]:
    program = "\n".join(("import tensorflow as tf", "# MirroredStrategy", line, *more, ""))
    file = check_unchanged(program)
    return [(finding.code, finding.message) for finding in file.findings]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("s = tf.distribute.experimental.MirroredStrategy()", "TFM502", "did you mean tensorflow.distribute.Mirror"),
        ("from tensorflow.distribute import MirorredStrategy", "TFM502", "did you mean tensorflow.distribute.Mirror"),
        ("s = tf.distribute.MirroredStrategy(num_gpus=2)", "TFM503", "has no argument `num_gpus`"),
        ("s = tf.contrib.distribute.MirroredStrategy(2)", "TFM501", "it is tensorflow.distribute, with other"),
    ],
)
def test_names_of_strategies_are_told_unasked(line: str, code: str, words: str) -> None:
    ((found, message),) = told(line)
    assert found == code
    assert words in message


def test_other_names_are_told_where_they_are_asked_for() -> None:
    assert told("s = tf.distribute.MirroredStrategy(['/gpu:0'])", "tf.placeholder(tf.float32)", "K = tf.keras.K") == []


def test_an_estimator_has_refusals_of_its_own() -> None:
    line = "config = tf.estimator.RunConfig(train_distribute=tf.contrib.distribute.MirroredStrategy(2))"
    (codes,) = [{code for code, _ in told(line, "e = tf.estimator.Estimator(model_fn, config=config)")}]
    assert "TFM501" not in codes


WORLD = """\
import numpy as np
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((16, 4), "float32")
y = x.sum(axis=1, keepdims=True)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_tensorflow_has_the_new_name_alone(keras: int, python: Python) -> None:
    def run(program: str) -> Done:
        return python(keras, WORLD + program.replace("MirroredStrategy()", "MirroredStrategy(['cpu:0', 'cpu:1'])"))

    example = rules.by_code()["TFM223"].examples[0]
    assert "no attribute 'experimental_run_v2'" in run(example.before).stderr
    assert run(example.after).stdout.count("tf.Tensor") == 2
