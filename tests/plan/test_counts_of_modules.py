"""A number of GPUs that a module of settings holds, and that is asked where another file makes the optimizer."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_refused, migrate_files

CONFIG = "GPUS = 4\n\n\ndef change():\n    global GPUS\n    GPUS = int(input())\n"
NETS = """
import config
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def build():
    model = Sequential([Dense(1, input_shape=(4,))])
    if config.GPUS > 1:
        return multi_gpu_model(model, gpus=config.GPUS)
    return model
"""
TRAIN = """
import config
from nets import build
from tensorflow.keras.optimizers import Adam


def train(x, y):
    optimizer = Adam(0.1)
    model = build()
    model.compile(optimizer, "mse")
    model.train_on_batch(x, y)


def again(x, y):
    optimizer = Adam(0.2)
    model = build()
    model.compile(optimizer, "mae")
    model.train_on_batch(x, y)
"""


@pytest.mark.parametrize("imported", ["import config", "from . import config"])
def test_a_module_that_both_files_import_is_asked(imported: str) -> None:
    file = check_migrated(TRAIN.replace("import config", imported), nets=NETS, config=CONFIG)
    assert file.after.count("for i in range(config.GPUS)]") == 2
    assert file.after.count("if config.GPUS > 1") == 2


@pytest.mark.parametrize("imported", ["import os as config", "config = object()", "import json"])
def test_another_module_of_that_name_is_not(imported: str) -> None:
    main = TRAIN.replace("import config", imported).replace("nets", "train")
    check_refused(NETS, "TFM103", main=main, config=CONFIG)


def test_one_that_is_imported_too_late_is_not() -> None:
    late = """
optimizer = Adam(0.1)
import config
model = build()
model.compile(optimizer, "mse")
model.train_on_batch(x, y)
"""
    main = TRAIN.partition("def train")[0].replace("import config\n", "").replace("nets", "train") + late
    check_refused(NETS, "TFM103", main=main, config=CONFIG)


@pytest.mark.parametrize("line", ["config.change()", "config.GPUS = 2", "if x:\n        config.GPUS += 2"])
def test_nor_one_that_changes_before_the_wrap(line: str) -> None:
    nets = NETS.replace("    model = Seq", f"    {line}\n    model = Seq").replace("build()", "build(x=0)")
    check_refused(nets, "TFM103", main=TRAIN.replace("nets", "train"), config=CONFIG)


STARRED = """from keras.utils import multi_gpu_model
from setup import *

model = None
if kind == "small":
    from nets import *
    model = small()
    model.summary()

if mode == "plain":
    model.compile("sgd", "mse")
elif mode == "spread":
    parallel = multi_gpu_model(model, gpus=gpus)
    parallel.compile("sgd", "mse")
"""
SET_UP = "import sys\n\nkind, mode, gpus = 'small', sys.argv[1], int(sys.argv[2])\n"
STARRED_NETS = (
    "from keras.layers import *\nfrom keras.models import *\n{more}\n\n"
    "def small():\n    return Sequential([Dense(1, input_shape=(4,))])\n"
)


@pytest.mark.parametrize("more", ["", "from sizes import *\n", "from nets import *\n"])
def test_a_star_that_cannot_bring_a_name_is_not_waited_for(more: str) -> None:
    nets = STARRED_NETS.format(more=more)
    sources = {"train.py": STARRED, "setup.py": SET_UP, "nets.py": nets, "sizes.py": "wide = 4\n"}
    file = migrate_files(sources)["train.py"]
    assert file.status == "migrated"
    assert file.after.index("strategy = ") < file.after.index("if kind == ")


@pytest.mark.parametrize(
    ("more", "sizes"),
    [
        ("mode = 'plain'\n", "wide = 4\n"),  # of its own
        ("from sizes import *\n", "gpus = 4\n"),  # of another one
        ("from somewhere import *\n", "wide = 4\n"),  # nobody knows
    ],
)
def test_one_that_may_bring_it_is(more: str, sizes: str) -> None:
    files = {"train.py": STARRED, "setup.py": SET_UP, "nets.py": STARRED_NETS.format(more=more), "sizes.py": sizes}
    found = [finding for finding in migrate_files(files)["train.py"].findings if finding.action == "refuse"]
    assert [finding.code for finding in found] == ["TFM103"]
