"""Settings that a compile() takes from a model which was compiled before."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential, clone_model, load_model
from keras.utils import multi_gpu_model

WEIGHTS = [0.5]


def build(weights):
    net = Sequential([Dense(2, input_shape=(4,))])
    net.compile("sgd", "mse", metrics=["mae"], loss_weights=weights)
    return net


"""


def code_of(lines: str) -> str:
    return f"{HEAD}{lines}\n"


def compiled(arguments: str, base: str = 'net.compile("sgd", "mse", metrics=["mae"], loss_weights=WEIGHTS)') -> str:
    return code_of(
        "net = Sequential([Dense(2, input_shape=(4,))])\n"
        f"{base}\n"
        "parallel = multi_gpu_model(net, gpus=2)\n"
        f"parallel.compile({arguments})"
    )


@pytest.mark.parametrize(
    ("code", "after"),
    [
        (compiled('"adam", net.loss, metrics=net.metrics'), 'net.compile("adam", net.loss, metrics=["mae"])'),
        (compiled('"adam", net.loss, net.metrics'), 'net.compile("adam", net.loss, metrics=["mae"])'),
        (compiled('"adam", "mae", loss_weights=net.loss_weights'), 'net.compile("adam", "mae", loss_weights=WEIGHTS)'),
        (compiled('"adam", "mae", loss_weights=net.loss_weights', 'net.compile("sgd", "mse")'), "loss_weights=None)"),
        (
            code_of(
                "net = build([0.1])\nparallel = multi_gpu_model(net, gpus=2)\n"
                'parallel.compile("sgd", "mse", metrics=net.metrics, loss_weights=net.loss_weights)'
            ),
            'net.compile("sgd", "mse", metrics=["mae"], loss_weights=[0.1])',
        ),
    ],
)
def test_what_it_was_compiled_with_is_written_out(code: str, after: str) -> None:
    file = check_migrated(code)
    assert after in file.after
    assert set(actions(file, "TFM283")) == {"rewrite"}


@pytest.mark.parametrize(
    "code",
    [
        compiled('"sgd", "mse", loss_weights=net.loss_weights', 'net = load_model("net.h5")'),
        compiled('"sgd", "mse", metrics=net.metrics', 'net.compile("sgd", "mse", metrics=[made()])'),
        compiled(
            '"sgd", "mse", metrics=net.metrics',
            'if deep:\n    net.compile("sgd", "mse")\nelse:\n    net.compile("sgd", "mse", metrics=["mae"])',
        ),
        compiled('"sgd", "mse"', 'net.compile("sgd", "mse", loss_weights=WEIGHTS)\nprint(net.loss_weights)'),
        compiled('"sgd", "mse", metrics=other_model.metrics'),
        compiled('"sgd", "mse", metrics=net.metrics', "net.compile(**settings)"),
    ],
)
def test_where_that_is_not_known_it_is_said(code: str) -> None:
    assert actions(migrate(code), "TFM283") == ["warn"]


@pytest.mark.parametrize(
    "code",
    [
        compiled("net.optimizer, net.loss"),
        compiled('"sgd", "mse", metrics=WEIGHTS'),
        compiled('"sgd", "mse"', 'net.compile("sgd", "mse")\nprint(net.metrics, net.loss)'),
        compiled('"sgd", "mse", loss_weights=net.loss_weights', "net.loss_weights = WEIGHTS"),
        compiled('"sgd", "mse", metrics=config.metrics, loss_weights=config.loss_weights'),
        compiled(
            '"sgd", "mse", metrics=mine.metrics, loss_weights=mine.loss_weights',
            "class Mine:\n    metrics = loss_weights = None\n\n\nmine = Mine()",
        ),
        compiled("config.optimizer, config.loss"),
        compiled("parallel.optimizer, parallel.loss"),
    ],
)
def test_other_settings_stay(code: str) -> None:
    file = migrate(code)
    assert actions(file, "TFM283") == []


@pytest.mark.parametrize(
    ("taken", "after"),
    [
        ("base_model.optimizer", "type(base_model.optimizer).from_config(base_model.optimizer.get_config())"),
        ("optimizer=model.optimizer", "optimizer=type(model.optimizer).from_config(model.optimizer.get_config())"),
    ],
)
def test_the_optimizer_of_another_model_is_made_anew(taken: str, after: str) -> None:
    name = taken.rpartition("=")[2].partition(".")[0]
    file = check_migrated(
        code_of(
            f"def spread({name}):\n    net = clone_model({name})\n    parallel = multi_gpu_model(net, gpus=2)\n"
            f'    parallel.compile({taken}, loss="mse")\n    return parallel'
        )
    )
    assert f"net.compile({after}, loss=" in "".join(file.after.split("\n        ")).replace(",loss", ", loss")
    assert actions(file, "TFM283") == ["rewrite"]


COPIED = """\
import numpy as np
from tensorflow import keras

base = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
base.compile(keras.optimizers.Adam(0.25), "mse", loss_weights=[0.5])
base.train_on_batch(np.ones((8, 4)), np.ones((8, 2)))
copy = keras.models.clone_model(base)
copy.compile({optimizer}, "mse")
copy.train_on_batch(np.ones((8, 4)), np.ones((8, 2)))
print(float(copy.optimizer.learning_rate.numpy()), hasattr(base, "loss_weights"))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_other_model_can_be_trained_with_its_own(keras: int, python: forks.Python) -> None:
    own = "type(base.optimizer).from_config(base.optimizer.get_config())"
    assert python(keras, COPIED.format(optimizer=own)).stdout.split() == ["0.25", "False"]
    assert "Error" in python(keras, COPIED.format(optimizer="base.optimizer")).stderr
