"""Generated programs are migrated and run: what is trained, on what, and over how many replicas must stay the same.

TFMIGRATE_PROGRAMS says how many; `make reliability` asks for 2000.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.everyday.fake_tensorflow import Untrue, trace
from tests.everyday.programs import MAIN, generate
from tfmigrate import migrate
from tfmigrate.result import Result
from tfmigrate.settings import Settings

PROGRAMS = int(os.environ.get("TFMIGRATE_PROGRAMS", "60"))
SETTINGS = Settings(from_version="keras==2.3.1, tensorflow==2.3.1")


def migrated(folder: Path, files: dict[str, str]) -> tuple[Result, dict[str, str]]:
    """What `tfmigrate fix` says about a program, and its files afterwards."""
    for name, text in files.items():
        (folder / name).write_text(text)
    result = migrate.fix([str(folder)], SETTINGS)
    return result, {name: (folder / name).read_text() for name in files}


def outcome(seed: int, folder: Path) -> str:
    """ "true", "refused", or what is wrong with the migration of one program."""
    before = generate(seed)
    old = trace(before, MAIN, "old")
    result, after = migrated(folder, before)
    if result.errors:
        return f"crash: {result.errors[0].error}"
    if migrated(folder, after)[1] != after:
        return "not idempotent"
    if any(file.status == "refused" for file in result.files):
        return "refused"
    try:
        new = trace(after, MAIN, "new")
    except Untrue as error:
        return f"untrue: {error}"
    except Exception as error:
        return f"raises: {type(error).__name__}: {error}"
    for one, other in zip(old, new, strict=False):
        if one != other:
            return f"differs: {one} {other}"
    return "true" if len(old) == len(new) else "differs: another number of steps"


def test_no_untruth(tmp_path: Path) -> None:
    outcomes = {}
    for seed in range(PROGRAMS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcomes[seed] = outcome(seed, folder)
    wrong = {seed: told for seed, told in outcomes.items() if told not in ("true", "refused")}
    assert not wrong
    assert Counter(outcomes.values())["true"] > 0.7 * PROGRAMS


def test_a_file_without_a_finding_of_its_own_is_written_with_its_program(tmp_path: Path) -> None:
    """The finding stands at the wrap; the scope may stand in another file, which no needle is in."""
    build = "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n\n\n"
    build += "class Base:\n    def build(self):\n        self.model = Sequential([Dense(1, input_shape=(4,))])\n"
    train = "from tensorflow.keras.utils import multi_gpu_model\nfrom build import Base\n\n\nclass Net(Base):\n"
    train += "    def spread(self):\n        self.model = multi_gpu_model(self.model, 2)\n"
    train += "\n\nnet = Net()\nnet.build()\nnet.spread()\n"
    result, after = migrated(tmp_path, {"build.py": build, "train.py": train})
    assert "multi_gpu_model" not in after["train.py"]
    assert "MirroredStrategy" in after["build.py"]
    changed = {name for name, text in (("build.py", build), ("train.py", train)) if after[name] != text}
    assert {Path(file.path).name for file in result.files if file.changed} == changed == {"build.py", "train.py"}


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("with strategy.scope():\n    model.compile(", "if True:\n    model.compile(", "compile"),
        ("with strategy.scope():\n    layer = ", "if True:\n    layer = ", "layer"),
        ("optimizer = SGD()", "optimizer = SGD(lr=1)", "lr"),
        (".shuffle(256)", ".shuffle(255)", "shuffle"),
    ],
)
def test_the_stand_in_is_as_strict_as_keras_3(right: str, wrong: str, why: str) -> None:
    program = """import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import SGD
strategy = tf.distribute.MirroredStrategy()
optimizer = SGD()
with strategy.scope():
    layer = Dense(1)
with strategy.scope():
    model = Sequential([layer])
with strategy.scope():
    model.compile('sgd', 'mse')
x = np.zeros((256, 4))
model.fit(tf.data.Dataset.from_tensor_slices((x, x)).shuffle(256).batch(32))
"""
    _, (what, _, replicas, *_) = trace({MAIN: program}, MAIN, "new")
    assert (what, replicas) == ("fit", 8)
    assert right in program
    with pytest.raises(Untrue, match=why):
        trace({MAIN: program.replace(right, wrong)}, MAIN, "new")
