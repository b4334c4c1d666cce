"""Loops of the program's own round a parallel model: refused, and what only looks like one is not."""

from __future__ import annotations

import pytest

from tests.kit import check_refused

HEAD = """\
import tensorflow as tf
from scipy import optimize
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
other = Sequential([Dense(1, input_shape=(4,))])
net = multi_gpu_model(model, gpus=2)
optimizer = tf.keras.optimizers.SGD(0.1)
"""
FITTED = "net.compile(optimizer, 'mse')\nnet.fit(batches)\n"


@pytest.mark.parametrize(
    "code",
    [
        "optimizer.apply_gradients(zip(gradients, net.trainable_variables))\n",
        FITTED + "optimizer.apply_gradients(zip(gradients, net.trainable_variables))\n",
        FITTED + "net.optimizer.apply_gradients(zip(gradients, model.trainable_weights))\n",
        "weights = net.trainable_weights\nupdates = optimizer.get_updates(loss, weights)\n",
        "train = tf.train.AdamOptimizer().minimize(tf.reduce_mean(net(x) - y))\n",
    ],
)
def test_a_step_by_hand_is_refused(code: str) -> None:
    check_refused(HEAD + code, "TFM119")


@pytest.mark.parametrize(
    "code",
    [
        FITTED + "optimizer.apply_gradients(zip(gradients, other.trainable_variables))\n",
        "net.predict(x)\noptimizer.apply_gradients(zip(gradients, other.trainable_variables))\n",
        "optimize.minimize(cost, start)\n",
        "print(sum(weight.shape[0] for weight in net.trainable_weights))\n",
        "gradients = tf.gradients(net.output, net.input)\n",
        "class Slow(tf.keras.optimizers.SGD):\n    def get_updates(self, loss, params):\n"
        "        return self.inner.get_updates(loss, params)\n",
        FITTED + "class Own(tf.keras.Model):\n    def train_step(self, data):\n"
        "        self.optimizer.apply_gradients(zip(data, self.trainable_variables))\n",
    ],
)
def test_what_only_looks_like_a_loop_is_migrated(code: str) -> None:
    check_refused(HEAD + code)


@pytest.mark.parametrize("names", [1, 3, 8])
def test_a_model_handed_to_a_module_loaded_by_a_computed_name_is_refused(names: int) -> None:
    lines = ["import importlib", "step_0 = importlib.import_module('train_' + name)"]
    lines += [f"step_{number} = step_{number - 1}.part" for number in range(1, names)]
    check_refused(HEAD + "\n".join([*lines, f"step_{names - 1}.run(net)"]) + "\n", "TFM119")


def test_names_bound_to_each_other_end_the_search() -> None:
    check_refused(HEAD + FITTED + "one = other.a\nother = one.b\none.run(net)\n")
