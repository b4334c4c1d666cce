"""One initializer object for several layers, which draws the same values for each today (TFM292)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.kit import actions, check_migrated, migrate
from tfmigrate.settings import Settings
from tfmigrate.verify.run.runtimes import KERAS_2, Runtime

PROGRAM = """\
import functools
import keras
from keras.initializers import Orthogonal, RandomNormal, VarianceScaling, Zeros, glorot_uniform, he_normal
from keras.layers import LSTM, Dense, Layer
from keras.models import Sequential
from keras.utils import multi_gpu_model

{code}
model = Sequential([Dense(1, input_shape=(4,)), *layers])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.train_on_batch(x, y)
"""
TWO = "layers = [Dense(4, kernel_initializer=init), Dense(4, kernel_initializer=init)]"


def program(code: str) -> str:
    return PROGRAM.replace("{code}", code)


def squeezed(text: str) -> str:
    """Without white space, and the commas that longer calls end with."""
    return "".join(text.split()).replace(",)", ")").replace(",]", "]")


@pytest.mark.parametrize(
    "made",
    [
        "RandomNormal(stddev=0.02)",
        "RandomNormal(0.0, -0.02 * 2, None)",
        "he_normal()",
        "glorot_uniform(seed=None)",
        "Orthogonal(1.4)",
        "VarianceScaling(scale=2.0, mode='fan_in')",
        "keras.initializers.TruncatedNormal(stddev=0.02)",
        "keras.initializers.get('he_normal')",
    ],
)
def test_each_layer_gets_an_initializer_of_its_own(made: str) -> None:
    file = check_migrated(program(f"init = {made}\n{TWO}"))
    assert actions(file, "TFM292") == ["rewrite", "rewrite"]
    assert squeezed(TWO.replace("=init", f"={made}")) in squeezed(file.after)
    assert "init = " not in file.after


@pytest.mark.parametrize(
    ("code", "after"),
    [
        (
            "init = he_normal()\nlayers = []\nfor width in (4, 4):\n"
            "    layers.append(Dense(width, kernel_initializer=init))",
            "layers.append(Dense(width, kernel_initializer=he_normal()))",
        ),
        (
            "init = he_normal()\nlayers = [Dense(4, kernel_initializer=init) for _ in range(3)]",
            "layers = [Dense(4, kernel_initializer=he_normal()) for _ in range(3)]",
        ),
        (
            "init = he_normal()\n\n\ndef layer():\n    return Dense(4, kernel_initializer=init)\n\n\n"
            "layers = [layer(), layer()]",
            "return Dense(4, kernel_initializer=he_normal())",
        ),
        (
            "def stack(deviation):\n    init = RandomNormal(stddev=deviation)\n"
            "    return [Dense(4, kernel_initializer=init), Dense(4, kernel_initializer=init)]\n\n\n"
            "layers = stack(0.02)",
            "    return [Dense(4, kernel_initializer=RandomNormal(stddev=deviation)), "
            "Dense(4, kernel_initializer=RandomNormal(stddev=deviation))]",
        ),
        (
            "init = he_normal()\nlayers = [LSTM(4, kernel_initializer=init, recurrent_initializer=init)]",
            "LSTM(4, kernel_initializer=he_normal(), recurrent_initializer=he_normal())",
        ),
        (
            "class Own(Layer):\n    def build(self, shape):\n        init = he_normal()\n"
            "        self.a = self.add_weight(name='a', shape=(4, 4), initializer=init)\n"
            "        self.b = self.add_weight(name='b', shape=(4, 4), initializer=init)\n\n\nlayers = [Own()]",
            "        self.b = self.add_weight(name='b', shape=(4, 4), initializer=he_normal())",
        ),
        (
            f"init = RandomNormal(mean=0.0,\n                    stddev=0.02); other = 3\n{TWO}",
            TWO.replace("=init", "=RandomNormal(mean=0.0, stddev=0.02)"),
        ),
        (
            "init = he_normal()\nlayers = [Dense(4, None, True, init), Dense(4, None, True, init)]",
            "layers = [Dense(4, None, True, he_normal()), Dense(4, None, True, he_normal())]",
        ),
        (
            "init = he_normal()\nlayers = [Dense(4, init=init), Dense(4, init=init)]",
            "layers = [Dense(4, kernel_initializer=he_normal()), Dense(4, kernel_initializer=he_normal())]",
        ),
    ],
)
def test_the_call_is_written_where_the_name_stood(code: str, after: str) -> None:
    file = check_migrated(program(code))
    assert set(actions(file, "TFM292")) == {"rewrite"}
    assert squeezed(after) in squeezed(file.after)
    assert "init = " not in file.after


def test_a_name_of_a_star_import_is_written() -> None:
    text = program(f"init = he_normal()\n{TWO}").replace("import Orthogonal,", "import *  #")
    assert "initializers import *  # RandomNormal" in text
    assert squeezed(TWO.replace("=init", "=he_normal()")) in squeezed(check_migrated(text).after)


def test_a_name_that_is_read_elsewhere_stays() -> None:
    file = check_migrated(program(f"init = he_normal()\n{TWO}\nprint(init)"))
    assert "init = he_normal()\n" in file.after
    assert squeezed(TWO.replace("=init", "=he_normal()")) in squeezed(file.after)
    assert "print(init)" in file.after


def test_a_name_that_another_module_reads_stays() -> None:
    text = program(f"init = he_normal()\n{TWO}")
    file = migrate(text, more="from train import init\n\nprint(init)\n")
    assert "init = he_normal()\n" in file.after
    assert actions(file, "TFM292") == ["rewrite", "rewrite"]


@pytest.mark.parametrize(
    "code",
    [
        # an attribute
        "class Net:\n    def __init__(self):\n        self.init = he_normal()\n\n    def layers(self):\n"
        "        return [Dense(4, kernel_initializer=self.init), Dense(4, kernel_initializer=self.init)]\n\n\n"
        "layers = Net().layers()",
        # a parameter, and a default
        "def layer(kernel):\n    return Dense(4, kernel_initializer=kernel)\n\n\n"
        "init = he_normal()\nlayers = [layer(init), layer(init)]",
        "def layer(kernel=he_normal()):\n    return Dense(4, kernel_initializer=kernel)\n\n\n"
        "layers = [layer(), layer()]",
        "dense = functools.partial(Dense, kernel_initializer=he_normal())\nlayers = [dense(4), dense(4)]",
        # a dict of arguments
        "settings = {'kernel_initializer': he_normal()}\nlayers = [Dense(4, **settings), Dense(4, **settings)]",
        "settings = dict(kernel_initializer=he_normal())\nlayers = [Dense(4, **settings), Dense(4, **settings)]",
        # what the initializer is made of may be another thing by then
        f"deviation = 0.1\ninit = RandomNormal(stddev=deviation)\ndeviation = 0.2\n{TWO}",
        f"settings = {{'deviation': 0.1}}\ninit = RandomNormal(stddev=settings['deviation'])\n{TWO}",
        "init = he_normal()\n\n\ndef stack(he_normal):\n"
        "    return [Dense(4, kernel_initializer=init), Dense(4, kernel_initializer=init)]\n\n\nlayers = stack(1)",
        # a name for one of two
        f"init = he_normal() if len(y) > 3 else Zeros()\n{TWO}",
        f"init = he_normal()\nif len(y) > 3:\n    init = RandomNormal()\n{TWO}",
    ],
)
def test_what_reaches_the_layers_another_way_is_reported(code: str) -> None:
    file = check_migrated(program(code))
    assert set(actions(file, "TFM292")) == {"warn"}
    assert all(squeezed(line) in squeezed(file.after) for line in code.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        f"init = 'he_normal'\n{TWO}",
        f"init = RandomNormal(stddev=0.02, seed=7)\n{TWO}",
        f"init = RandomNormal(0.0, 0.02, 7)\n{TWO}",
        f"init = he_normal(7)\n{TWO}",
        f"init = Orthogonal(1.0, 7)\n{TWO}",
        f"init = Zeros()\n{TWO}",
        f"init = keras.initializers.Constant(0.1)\n{TWO}",
        f"init = he_normal\n{TWO}",
        f"settings = {{'seed': 7}}\ninit = RandomNormal(**settings)\n{TWO}",
        # each has its own already
        "layers = [Dense(4, kernel_initializer=he_normal()), Dense(4, kernel_initializer=he_normal())]",
        "layers = [Dense(4, kernel_initializer=he_normal()) for _ in range(3)]",
        "init = he_normal()\nlayers = [Dense(4, kernel_initializer=init)]",
        "init = he_normal()\nother = he_normal()\n"
        "layers = [Dense(4, kernel_initializer=init), Dense(4, kernel_initializer=other)]",
        "layers = []\nfor _ in range(3):\n    init = he_normal()\n    layers.append(Dense(4, kernel_initializer=init))",
        "def layer():\n    init = he_normal()\n    return Dense(4, kernel_initializer=init)\n\n\n"
        "layers = [layer(), layer()]",
        "def initializer():\n    return he_normal()\n\n\n"
        "layers = [Dense(4, kernel_initializer=initializer()), Dense(4, kernel_initializer=initializer())]",
        "def layer(kernel):\n    return Dense(4, kernel_initializer=kernel)\n\n\n"
        "layers = [layer(he_normal()), layer(he_normal())]",
        "def layer(kernel_initializer):\n    return Dense(4, kernel_initializer=kernel_initializer)\n\n\n"
        "layers = [layer(kernel_initializer=he_normal())]",
        "class Wide(Dense):\n    def __init__(self, kernel_initializer):\n"
        "        super().__init__(4, kernel_initializer=kernel_initializer)\n\n\n"
        "init = he_normal()\nlayers = [Wide(kernel_initializer=init)]",
        "settings = {'kernel_initializer': he_normal()}\nlayers = [Dense(4, **settings), Dense(4)]",
        "settings = dict(kernel_initializer=he_normal())\nlayers = [Dense(4, **settings), Dense(4)]",
        f"init = keras.initializers.get('zeros')\n{TWO}",
        # no layer
        "init = he_normal()\nprint(init)\nkeras.initializers.serialize(init)\nlayers = []",
        "def note(initializer, init):\n    print(initializer, init)\n\n\n"
        "init = he_normal()\nnote(initializer=init, init=init)\nlayers = []",
    ],
)
def test_what_draws_as_it_did_stays(code: str) -> None:
    file = check_migrated(program(code))
    assert actions(file, "TFM292") == []


def test_a_migrated_program_is_left_alone() -> None:
    once = check_migrated(program(f"init = he_normal()\n{TWO}")).after
    assert migrate(once).after == once


FACT = """
import numpy as np
import tensorflow as tf

keras = tf.keras
for given in (keras.initializers.RandomNormal(), keras.initializers.he_normal(), "he_normal"):
    first, second = (keras.layers.Dense(4, kernel_initializer=given) for _ in range(2))
    rows = np.ones((1, 4), "float32")
    first(rows), second(rows)
    print(np.array_equal(first.get_weights()[0], second.get_weights()[0]))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("runtime", ["keras 3", "keras 2", "genuine tf.keras"])
def test_an_initializer_keeps_its_seed(runtime: str, runtime_for: Callable[[str], Runtime]) -> None:
    settings = {**os.environ, KERAS_2: "1" if runtime == "keras 2" else "0", "CUDA_VISIBLE_DEVICES": "-1"}
    python = runtime_for(runtime).python
    done = subprocess.run([python, "-c", FACT], env=settings, capture_output=True, text=True, check=False)
    shared = str(runtime != "genuine tf.keras")
    assert done.stdout.split() == [shared, shared, "False"], done.stderr[-2000:]


@pytest.mark.parametrize(("version", "told"), [("keras==2.3.1", ["warn"]), ("keras==2.2.4", []), (None, [])])
def test_a_seed_that_keras_2_3_counted_up_is_reported(version: str | None, told: list[str]) -> None:
    text = program(f"init = he_normal(7)\n{TWO}")
    file = check_migrated(text, Settings(from_version=version))
    assert actions(file, "TFM292") == told
    assert squeezed(TWO) in squeezed(file.after)
    assert not actions(check_migrated(program("layers = [Dense(4, kernel_initializer=he_normal(7))]")), "TFM292")
