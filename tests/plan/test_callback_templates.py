"""A callback that took the template out of the parallel model is given the model itself."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAM = """from keras.callbacks import Callback
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


class Saver(Callback):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def on_epoch_end(self, epoch, logs=None):
        {line}


inputs = Input((8,))
model = Model(inputs, Dense(3)(inputs))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
callbacks = [Saver(1)]
{trained}.fit_generator(rows, callbacks=callbacks)
"""


def migrated(line: str, trained: str = "parallel", head: str = "") -> tuple[str, list[str]]:
    file = migrate(head + PROGRAM.format(line=line, trained=trained))
    written = file.after.partition("logs=None):\n")[2].partition("\n")[0].strip()
    return written, actions(file, "TFM024")


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("self.model.layers[-2].save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.layers[-(self.count + 1)].save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.layers[-3].save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.layers[self.count].save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.get_layer('model_1').save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.get_layer(index=-2).save('a.h5')", "self.model.save('a.h5')"),
        ("self.model.get_layer(None, self.count + 2).save('a.h5')", "self.model.save('a.h5')"),
        ("template = self.model.layers[-2]", "template = self.model"),
        ("template = self.model.get_layer(index=-2)", "template = self.model"),
        ("template = self.model.layers[-(1 + self.count)]", "template = self.model"),
    ],
)
def test_the_model_itself_is_saved(line: str, written: str) -> None:
    assert migrated(line) == (written, [])


@pytest.mark.parametrize(
    ("base", "body", "written"),
    [
        ("ModelCheckpoint", "self.model = model.layers[-2]", "super().set_model(model)"),
        ("ModelCheckpoint", "super().set_model(model.layers[-(self.count + 1)])", "super().set_model(model)"),
        ("Callback", "self.kept = model.layers[-3]", "self.kept = model"),
        ("Callback", "self.other = model.layers[-3]", "self.other = model.layers[-3]"),
    ],
)
def test_what_is_saved_is_a_model_also_where_one_gpu_trains_the_plain_one(base: str, body: str, written: str) -> None:
    saver = f"""
    def on_epoch_end(self, epoch, logs=None):
        self.kept.save("a.h5")

    def set_model(self, model):
        {body}
"""
    head, _, rest = PROGRAM.replace("Callback", base).partition("    def on_epoch_end")
    wrap = "multi_gpu_model(model, gpus=n) if n > 1 else model"
    rest = rest.partition("{line}\n")[2].replace("multi_gpu_model(model, gpus=2)", wrap).format(trained="parallel")
    assert written in migrate(f"n = int(input())\n{head}{saver}{rest}").after


@pytest.mark.parametrize(
    "line",
    [
        "print(self.model.layers[0].get_weights())",
        "print(self.model.get_layer('dense_1').get_weights())",
        "print(self.model.get_layer(index=1).get_weights())",
        "print(len(self.model.layers))",
        "print(self.other.layers[-2].save('a.h5'))",
        "print([layer.name for layer in self.model.layers[1:]])",
    ],
)
def test_what_is_a_layer_stays(line: str) -> None:
    assert migrated(line) == (line, [])


@pytest.mark.parametrize("line", ["print(self.model.layers[-3])", "print(self.model.layers[self.count].get_weights())"])
def test_a_layer_counted_from_the_end_is_told(line: str) -> None:
    assert migrated(line) == (line, ["warn"])


@pytest.mark.parametrize("line", ["template = self.model.layers[-2]", "self.model.layers[-2].save('a.h5')"])
def test_another_model_keeps_its_layer(line: str) -> None:
    """A callback that only another model is trained with; one whose use is out of sight."""
    head = "from keras.models import load_model\nother = load_model('other')\n"
    assert migrated(line, "other", head) == (line, [])
    text = PROGRAM.replace("callbacks = [Saver(1)]\n", "").replace(", callbacks=callbacks", "")
    file = migrate(text.format(line=line, trained="parallel"))
    assert line in file.after
    assert ("TFM024", "warn") in {(finding.code, finding.action) for finding in file.findings}


def test_a_callback_of_another_file_and_set_model() -> None:
    saver, _, train = PROGRAM.partition("\n\ninputs")
    saver = saver.format(line="pass") + "\n    def set_model(self, model):\n        self.kept = model.layers[-2]\n"
    train = "from keras.layers import Dense, Input\nfrom keras.models import Model\n" + "inputs" + train
    train = "from keras.utils import multi_gpu_model\nfrom saver import Saver\n" + train.format(trained="parallel")
    files = migrate_sources({"saver.py": saver, "train.py": train}, Settings())
    assert "self.kept = model\n" in next(file.after for file in files if file.path == "saver.py")


TAKEN = """import sys
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

gpus = [0, 1]
model = Sequential([Dense(3, input_shape=(4,)), Dense(2), Dense(1)])
parallel = multi_gpu_model(model, gpus=len(gpus))
parallel.compile("sgd", "mse")
{line}
"""


def taken(line: str) -> tuple[str, list[str]]:
    file = migrate(TAKEN.format(line=line))
    return file.after.splitlines()[-1], actions(file, "TFM024")


@pytest.mark.parametrize("place", ["index=-2", "None, -2", "None, index=-2", "name=None, index=-2", "'given', -2"])
def test_the_layer_before_the_outputs_is_the_template_by_whatever_words(place: str) -> None:
    assert taken(f"print(parallel.get_layer({place}).get_weights())") == ("print(model.get_weights())", [])
    itself = migrate(TAKEN.format(line=f"parallel = parallel.get_layer({place})\nparallel.summary()"))
    assert "get_layer" not in itself.after


@pytest.mark.parametrize(
    "place", ["index=1 + len(gpus)", "index=0", "None, 3", "index=len(parallel.layers) - 2", "index=n"]
)
def test_a_layer_of_the_parallel_model_by_number_is_told(place: str) -> None:
    written, told = taken(f"n = 3\nprint(parallel.get_layer({place}).name)")
    assert written == f"print(parallel.get_layer({place}).name)".replace("parallel", "model")
    assert set(told) == {"warn"}


@pytest.mark.parametrize(
    "line",
    [
        "print(model.get_layer(index=-2).name)",
        "print(model.get_layer(index=1).name)",
        "other = Sequential([Dense(1)])\nprint(other.get_layer(index=-2).name)",
        "print(parallel.get_layer('dense_1').name)",
        "print(parallel.get_layer(name='dense_1', index=None).name)",
    ],
)
def test_a_layer_of_another_model_or_a_named_one_stays(line: str) -> None:
    written, told = taken(line)
    assert written == line.splitlines()[-1].replace("parallel", "model")
    assert told == []


def test_what_may_be_either_model_is_told_once() -> None:
    choice = "net = parallel if sys.argv[1:] else model\nprint(net.get_layer(index=-2).name)"
    assert taken(choice) == ("print(net.get_layer(index=-2).name)", ["warn"])
