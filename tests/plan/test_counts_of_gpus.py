"""A guard that counts the machine's GPUs by a function that the file of the strategy does not have."""

from __future__ import annotations

from tests.kit import check_migrated, check_refused

TOOLS = """
from tensorflow.python.client import device_lib


def available():
    return len([x.name for x in device_lib.list_local_devices() if x.device_type == "GPU"])
"""
HEADS = """
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model

from tools import available


def with_head(base, gpus):
    x = Input((4,))
    model = Model(x, Dense(1)(base(x)))
    if 1 < gpus <= available():
        model = multi_gpu_model(model, gpus=gpus)
    model.compile("sgd", "mse")
    return model
"""
MAIN = """
from keras.layers import Dense
from keras.models import Sequential

from heads import with_head

gpus = int(input())
base = Sequential([Dense(3, input_shape=(4,))])
model = with_head(base, gpus)
model.train_on_batch(x, y)
"""


def test_the_number_of_gpus_is_asked_of_tensorflow() -> None:
    file = check_migrated(MAIN, heads=HEADS, tools=TOOLS)
    assert "if 1 < gpus <= len(tf.config.list_physical_devices(" in file.after
    assert "with strategy.scope():\n    base = Sequential(" in file.after


def test_the_function_is_called_where_its_name_is_known() -> None:
    main = MAIN.replace("from heads", "from tools import available\nfrom heads")
    main = main.replace("gpus = int(input())", "gpus = available()")
    file = check_migrated(main, heads=HEADS, tools=TOOLS)
    assert file.status == "migrated"


def test_another_function_stays_where_it_is() -> None:
    tools = "\ndef available():\n    return int(open('gpus.txt').read())\n"
    check_refused(HEADS, "TFM103", main=MAIN.replace("from heads", "from train"), tools=tools)
