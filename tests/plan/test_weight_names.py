"""Names of weights: paths are written as keys and where a layer's name is looked for; others stay or are reported."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
import re
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(3, input_shape=(4,), name="first"), Dense(1)])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.train_on_batch(x, y)
{line}
"""
PATH = 'getattr(w, "path", w.name)'


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("d = {w.name: w.shape for w in model.weights}", f"d = {{{PATH}: w.shape for w in model.weights}}"),
        ("for w in model.layers[0].trainable_weights: d[w.name] = w",
         f"for w in model.layers[0].trainable_weights: d[{PATH}] = w"),
        ("a = [w for w in model.trainable_variables if 'first' in w.name]",
         f"a = [w for w in model.trainable_variables if 'first' in {PATH}]"),
        ("a = [w for l in model.layers for w in l.weights if part not in w.name]",
         f"a = [w for l in model.layers for w in l.weights if part not in {PATH}]"),
        ("all = model.weights\nfor i, w in enumerate(all): d.get(w.name, i)",
         f"all = model.weights\nfor i, w in enumerate(all): d.get({PATH}, i)"),
        ("held = {'all': model.weights}\nfor ws in held.values():\n    for w in ws: d[w.name] = w",
         f"held = {{'all': model.weights}}\nfor ws in held.values():\n    for w in ws: d[{PATH}] = w"),
        ("for w, g in zip(model.weights[2:], changes): d[w.name] = g",
         f"for w, g in zip(model.weights[2:], changes): d[{PATH}] = g"),
    ],
)  # fmt: skip
def test_the_path_is_written(line: str, new: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert f"\n{new}\n" in file.after
    assert actions(file, "TFM252") == ["rewrite"]


def test_a_list_that_a_callback_keeps() -> None:
    line = (
        "from keras.callbacks import Callback\nclass Own(Callback):\n    def on_train_begin(self, logs=None):\n"
        "        self.kept = self.model.trainable_weights\n    def on_epoch_end(self, epoch, logs=None):\n"
        "        print({w.name: K.get_value(w) for w in self.kept})"
    )
    file = check_migrated(PROGRAM.format(line=line))
    assert f"print({{{PATH}: K.get_value(w) for w in self.kept}})" in file.after
    file = check_migrated(
        PROGRAM.format(line=f"{line}\n    def on_batch_end(self, batch, logs=None):\n        self.kept = []")
    )
    assert actions(file, "TFM252") == []


@pytest.mark.parametrize(
    "line",
    [
        "a = [w for w in model.weights if w.name == 'first/kernel:0']",
        "a = [w for w in model.weights if w.name.startswith('first')]",
        "a = {w.name.split('/')[0] for w in model.weights}",
        "a = [w for w in model.weights if 'kernel:0' in w.name]",
        "a = [w for w in model.weights if re.match('first', w.name)]",
        "a = [w for w in model.weights if w.name in names]",
    ],
)
def test_a_name_that_is_asked_for_more_is_told(line: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert f"\n{line}\n" in file.after
    assert actions(file, "TFM252") == ["warn"]


@pytest.mark.parametrize(
    "line",
    [
        "a = [w for w in model.trainable_weights if 'gamma' not in w.name and 'bias' not in w.name]",
        "for w in model.weights: print(w.name, K.int_shape(w))",
        "a = {layer.name: layer for layer in model.layers if 'first' in layer.name}",
        "a = {w.name: w for w in words}",
        "a = [w for w in words if w.name.startswith('first')]",
    ],
)
def test_others_stay(line: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert f"\n{line}\n" in file.after
    assert actions(file, "TFM252") == []
