"""Lists of layers and models that a program changes in place: which changes no longer have an effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kit import SETTINGS, actions, check_migrated, with_model

CODE = """\
from keras.engine.topology import Layer
from keras.models import Model, load_model

layer = Dense(3)
small = Sequential([layer])
whole = Model(small.input, layer(small.output))


class Scaled(Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(1,), name="gamma", initializer="ones")
        {own}


class Notes:
    def __init__(self):
        self.trainable_weights, self.layers = [], []

    def note(self, name):
        self.trainable_weights.append(name)
        self.layers.pop()


Notes().note("a")
"""


def told(line: str, own: str = "pass", written_for: str | None = None) -> list[str]:
    settings = replace(SETTINGS, from_version=written_for)
    return actions(check_migrated(with_model(CODE.format(own=own) + line), settings), "TFM267")


@pytest.mark.parametrize(
    "line",
    [
        "layer.trainable_weights.pop(1)",
        "layer.trainable_weights.pop(layer.trainable_weights.index(layer.bias))",
        "layer.non_trainable_weights.append(layer.bias)",
        "del layer.trainable_weights[1]",
        "layer.trainable_weights[0] = other",
        "whole.layers[-1].trainable_weights.pop()",
        "unknown.trainable_weights.remove(weight)",
        "whole.layers.pop()",
        "whole.layers.remove(layer)",
        "del whole.layers[-1]",
        "load_model('a.h5').layers.pop()",
        "strange.layers.pop()\noutput = strange.layers[-1].output",
        "either = strange if fresh else load_model('a.h5')\neither.layers.pop()\nwidth = either.layers[-1].input_shape",
    ],
)
def test_a_change_without_effect_is_reported(line: str) -> None:
    assert told(line) == ["warn"]


def test_a_layer_may_change_its_own() -> None:
    assert told("", own="self.trainable_weights.append(self.gamma)") == ["warn"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "weights = list(layer.trainable_weights); weights.pop()",
        "print(layer.trainable_weights[0], whole.layers[-1])",
        "print(layer.trainable_weights.index(layer.bias))",
        "small.trainable_weights.pop()",
        "small.layers.pop()",
        "small.pop()",
        "unknown.layers.pop()",
        "layers.pop()",
        "trainable_weights.pop()",
    ],
)
def test_other_lists_are_left_alone(line: str) -> None:
    assert told(line) == []


@pytest.mark.parametrize(
    ("version", "line", "expected"),
    [
        ("keras==2.2.4", "layer.trainable_weights.pop()", ["warn"]),
        ("keras==2.3.1", "layer.trainable_weights.pop()", []),
        ("keras==2.3.1", "whole.layers.pop()", ["warn"]),
    ],
)
def test_the_version_that_a_program_is_for_decides(version: str, line: str, expected: list[str]) -> None:
    assert told(line, written_for=version) == expected


def test_a_program_of_tf_keras_never_changed_them() -> None:
    code = with_model(CODE.format(own="pass") + "layer.trainable_weights.pop()\nwhole.layers.pop()")
    code = code.replace("from keras.engine.topology", "from keras.layers").replace(
        "from keras", "from tensorflow.keras"
    )
    assert actions(check_migrated(code), "TFM267") == []


def test_a_loop_that_waits_for_the_list_never_ends() -> None:
    loop = "while 'dense' in whole.layers[-1].name:\n    whole.layers.pop()\n"
    (finding,) = [f for f in check_migrated(with_model(CODE.format(own="pass") + loop)).findings if f.code == "TFM267"]
    assert finding.message.endswith("a `while` that waits for it never ends; write which layer is meant")


@pytest.mark.parametrize("after", ["", "print(strange.layers[-1])", "width = other.layers[-1].output"])
def test_a_list_of_something_unknown_is_not_told(after: str) -> None:
    assert told(f"strange.layers.pop()\n{after}") == []
