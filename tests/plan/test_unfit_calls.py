"""Activations that no run reaches keep no other one from being migrated."""

from __future__ import annotations

from tests.kit import check_migrated, check_refused

BUILD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(size, gpus):
    model = Sequential([Dense(size, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=gpus)
    parallel.compile("sgd", "mse")
    return parallel


def train_it():
    build(1, 2).fit(x, y, batch_size=8)
"""
UNFIT = """\


def show_it():
    return build(1).predict(x)
"""


def test_a_call_that_python_refuses_counts_only_where_there_is_no_other() -> None:
    check_migrated(BUILD + UNFIT)
    check_refused(BUILD.replace("build(1, 2)", "build(1)"), "TFM106")


TRAINER = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Trainer:
    def __init__(self, size, num_gpu=1):
        self.num_gpu = num_gpu
        self.model = self.build(size)

    def build(self, size):
        model = Sequential([Dense(size, input_shape=(4,))])
        if self.num_gpu > 1:
            model = multi_gpu_model(model, gpus=self.num_gpu)
        model.compile("sgd", "mse")
        return model


def trainer(**config):
    return Trainer(**config)


if __name__ == "__main__":
    Trainer(3).model.summary()
"""


def test_an_object_that_is_made_for_one_gpu_in_the_call_wraps_nothing() -> None:
    after = check_migrated(TRAINER).after
    assert "if num_gpu > 1" in after or "if self.num_gpu > 1" in after
    assert after.endswith("    Trainer(3).model.summary()\n")
