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


SPREAD = """
import argparse

from tensorflow.config import list_physical_devices
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def spread(model, gpus=None):
    if gpus is None:
        gpus = {count}
    if gpus <= 1:
        return model
    return multi_gpu_model(model, gpus)


def main(gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    model = spread(model, gpus)
    model.compile("sgd", "mse")
    model.train_on_batch(x, y)


parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int)
main(parser.parse_args().gpus)
"""


def test_all_gpus_stand_in_for_a_number_that_is_not_given() -> None:
    file = check_migrated(SPREAD.format(count='len(list_physical_devices("GPU"))'))
    number = 'len(list_physical_devices("GPU")) if gpus is None else gpus'
    assert f"range({number})" in " ".join(file.after.split()).replace("range( ", "range(").replace(" )", ")")
    assert f"if ({number}) > 1" in file.after
    assert "replicated" not in file.after


def test_the_opposite_of_a_condition_keeps_its_sides_together() -> None:
    file = check_migrated(SPREAD.format(count="1"))
    assert "if (1 if gpus is None else gpus) > 1\n" in file.after


def test_what_counts_something_else_is_not_asked_twice() -> None:
    file = check_migrated(SPREAD.format(count="int(input())"))
    assert "input()" not in file.after.partition("def main")[2]


def test_a_number_that_is_none_where_the_model_is_made_is_not_written() -> None:
    file = check_migrated(SPREAD.format(count="4").replace("is None", "is not None").replace("().gpus", "() and None"))
    assert "range(None)" not in file.after
