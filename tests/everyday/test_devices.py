"""GPUs are chosen and set up before a strategy starts them, in the file and across files: a machine without GPUs shows
nothing of this, so the stand-in has eight and refuses settings as TensorFlow does."""

from __future__ import annotations

import ast

import pytest

from tests.everyday.fake_tensorflow import Untrue, trace
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

IMPORTS = """import os
import sys
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
"""
BUILD = "model = Sequential([Dense(1, input_shape=(4,))])\n"
CHOOSE = 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n'
GROW = """config = tf.ConfigProto()
config.gpu_options.allow_growth = True
K.set_session(tf.Session(config=config))
"""
WRAP = "parallel = multi_gpu_model(model, gpus=2)\nparallel.compile('sgd', 'mse')\n"


def migrated(files: dict[str, str]) -> tuple[dict[str, str], set[tuple[str, str]]]:
    results = migrate_sources(files, Settings())
    assert all(one.error is None for one in results)
    return {one.path: one.after for one in results}, {(f.code, f.action) for one in results for f in one.findings}


def run(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What the migrated program does; raises Untrue where the GPUs are started too early."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    after, _ = migrated(files)
    return trace(after, "train.py", "new")


FUNCTION = "def main(names):\n" + "".join(f"    {line}\n" for line in (BUILD + CHOOSE + GROW + WRAP).splitlines())


@pytest.mark.parametrize(
    "program",
    [
        BUILD + CHOOSE + GROW + WRAP,
        CHOOSE + GROW + BUILD + WRAP,
        CHOOSE + BUILD + GROW + WRAP,
        BUILD + "if len(sys.argv) > 100:\n    " + CHOOSE + "else:\n    " + CHOOSE + GROW + WRAP,
        # What cannot be passed: the choice goes up instead.
        BUILD + "model.summary()\nos.makedirs('/tmp', exist_ok=True)\n" + CHOOSE + GROW + WRAP,
        FUNCTION + "\n\nmain([])\n",
        # A session after the wrap changed nothing, and may raise nothing now.
        BUILD + WRAP + GROW,
        "def grow():\n" + "".join(f"    {line}\n" for line in GROW.splitlines()) + "\n\ngrow()\n" + BUILD + WRAP,
    ],
)
def test_devices_are_set_up_before_the_strategy_is_made(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = run({"train.py": IMPORTS + program}, monkeypatch)
    assert "compile" in [entry[0] for entry in log]
    assert ("grows", 8) in log


NETS = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=gpus)
    parallel.compile('sgd', 'mse')
    return parallel
"""
TRAINER = "import os\nimport tensorflow as tf\nfrom keras import backend as K\nfrom nets import build\n"


@pytest.mark.parametrize("body", [CHOOSE + GROW + "net = build(2)\n", "net = build(2)\n" + GROW])
def test_devices_are_set_up_in_another_file(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = run({"nets.py": NETS, "train.py": TRAINER + body}, monkeypatch)
    assert ("grows", 8) in log


MADE = "from keras.layers import Dense\nfrom keras.models import Sequential\n" + BUILD
USER = IMPORTS.replace("import sys\n", "from net import model\n")


@pytest.mark.parametrize(
    ("files", "action"),
    [
        # The model is built where the module is imported; the GPUs are chosen after that.
        ({"net.py": MADE, "train.py": f"{USER}if len(sys.path) > 1:\n    {CHOOSE}{WRAP}"}, "refuse"),
        ({"net.py": MADE, "train.py": USER + CHOOSE + WRAP}, "rewrite"),
        ({"net.py": MADE, "train.py": "import os\n" + CHOOSE + USER + WRAP}, "rewrite"),
        # A choice that cannot go up, for what it needs is computed out of sight.
        (
            {"train.py": IMPORTS + "from mine import pick\n" + BUILD + CHOOSE.replace('"0,1"', "pick()") + WRAP},
            "refuse",
        ),
        (
            {"train.py": f"{IMPORTS}def choose():\n    {CHOOSE}\n\n{BUILD}choose()\n{WRAP}"},
            "refuse",
        ),
        ({"train.py": f"{IMPORTS}def choose():\n    {CHOOSE}\n\nchoose()\n{BUILD}{WRAP}"}, "rewrite"),
        # Another variable of the environment is nobody's business.
        ({"train.py": IMPORTS + BUILD + CHOOSE.replace("CUDA_VISIBLE_DEVICES", "HOME") + WRAP}, "rewrite"),
    ],
)
def test_gpus_that_cannot_be_chosen_before_are_refused(files: dict[str, str], action: str) -> None:
    _, found = migrated(files)
    assert (("TFM103", "refuse") in found) == (action == "refuse")
    assert (("TFM001", "rewrite") in found) == (action == "rewrite")


@pytest.mark.parametrize(
    "body", ["strategy = tf.distribute.MirroredStrategy()\n" + rest for rest in (
        "for gpu in tf.config.list_physical_devices('GPU'):\n    tf.config.experimental.set_memory_growth(gpu, True)\n",
        CHOOSE,
    )]
)  # fmt: skip
def test_the_stand_in_refuses_what_comes_after_the_gpus_were_started(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(Untrue, match=r"initialized|started"):
        trace({"train.py": "import os\nimport tensorflow as tf\n" + body}, "train.py", "new")


@pytest.mark.parametrize("name", ["gpu", "strategy", "train_dataset", "global_batch_size", "split_at", "train_arrays"])
def test_names_that_are_written_are_new_ones(name: str) -> None:
    fit = "parallel.fit(x * 2, y, batch_size=64, validation_split=0.1)\n"
    for bound in (f"{name} = 'mine'\n", f"from mine import {name}\n", "from mine import *\n"):
        text = IMPORTS + bound + GROW + BUILD + WRAP + fit + f"use({name})\n"
        (after,) = migrated({"train.py": text})[0].values()
        before_use, _, _ = after.rpartition("use(")
        written = before_use.replace(bound, "")
        assert name not in _bound(written)
    inside = IMPORTS + f"def main({name}):\n" + "".join(f"    {line}\n" for line in (GROW + BUILD + WRAP).splitlines())
    (after,) = migrated({"train.py": f"{inside}    return {name}\n"})[0].values()
    assert name not in _bound(after)


def _bound(text: str) -> set[str]:
    """The variables that a text binds, those of parameters left out."""
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
