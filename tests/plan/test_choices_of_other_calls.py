"""Functions that choose the GPUs, build a model and train it, one after the other in one run and alone in another."""

from __future__ import annotations

from tests.kit import check_migrated, check_refused

CONFIG = "GPUS = 4\n"
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
TASKS = """
import os

import config
from nets import build
from tensorflow.keras.optimizers import Adam


def one():
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    optimizer = Adam(0.1)
    model = build()
    model.compile(optimizer, "mse")
    model.train_on_batch(x, y)


def two():
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    optimizer = Adam(0.2)
    model = build()
    model.compile(optimizer, "mse")
    model.train_on_batch(x, y)
"""
MAIN = """
from tasks import one, two


def both():
    one()
    two()


if a:
    both()
if b:
    two()
else:
    one()
"""


def test_a_choice_that_came_too_late_for_the_wrap_before_it_does_not_hinder_the_strategy() -> None:
    file = check_migrated(TASKS, nets=NETS, config=CONFIG, main=MAIN.replace("tasks", "train"))
    assert file.after.count("for i in range(config.GPUS)]") == 2
    assert file.after.count('    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\n    strategy = ') == 2


def test_one_that_came_in_time_does() -> None:
    tasks = TASKS.replace('    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\n', "")
    nets = "import os\n" + NETS.replace("    if config", '    os.environ["CUDA_DEVICE_ORDER"] = order()\n    if config')
    check_refused(nets, "TFM103", tasks=tasks.replace("from nets", "from train"), config=CONFIG, main=MAIN)
