"""How far values are followed: as far as the program goes, through names, functions and callers, and never round."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate
from tfmigrate.result import FileResult

HEAD = """\
import numpy as np
import keras
from keras import backend as K
from keras.utils import multi_gpu_model

"""
TRAIN = """\
model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", {loss})
parallel.{fit}
"""
FIT = TRAIN.format(loss='"mse"', fit="fit(x, y)")
LONG = 12
NET = "keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])"


def migrated(text: str) -> FileResult:
    return migrate(text)


def names(value: str) -> str:
    """A value under twelve names, one behind the other; the last is v12."""
    return f"v0 = {value}\n" + "".join(f"v{n + 1} = v{n}\n" for n in range(LONG))


def functions(body: str) -> str:
    """Twelve functions that call each other; f12 calls f0, which has the body."""
    calls = "".join(f"def f{n + 1}(*args):\n    return f{n}(*args)\n\n\n" for n in range(LONG))
    return f"def f0(*args):\n{body}\n\n\n{calls}"


def codes(file: FileResult) -> set[str]:
    return {finding.code for finding in file.findings}


def test_a_file_name_is_followed_through_every_name() -> None:
    file = migrated(HEAD + names('"weights.h5"') + FIT + "parallel.save_weights(v12)\n")
    assert 'v0 = "weights.weights.h5"\n' in file.after


def test_a_number_of_numpy_is_followed_through_every_name() -> None:
    file = migrated(HEAD + names("np.prod(shape)") + "layer = keras.layers.Dense(v12)\n" + FIT)
    assert "keras.layers.Dense(int(v12))" in file.after


def test_the_number_of_gpus_is_followed_through_every_name() -> None:
    first, rest = FIT.split("\n", 1)
    file = migrated(
        HEAD + first + "\n" + names("len(ids)") + rest.replace("gpus=2", "gpus=v12").replace("x, y", "x, y")
    )
    assert file.status == "refused"  # `ids` is bound by nothing
    file = migrated(HEAD + "from mine import ids\n" + first + "\n" + names("len(ids)") + rest.replace("2)", "v12)"))
    assert "for i in range(v12)]" in file.after
    assert file.after.count("len(ids)") == 1


def test_what_gpus_is_can_be_told_by_a_variable_of_the_module() -> None:
    program = "from mine import ids\nGPUS = ids\nfor gpu in GPUS:\n    print(gpu)\n\n\ndef train(model, x, y):\n"
    body = "".join(f"    {line}\n" for line in FIT.replace("gpus=2", "gpus=GPUS").splitlines())
    assert "for i in GPUS])" in migrated(HEAD + program + body).after


def test_a_loss_is_read_through_every_function() -> None:
    text = functions("    return K.mean(K.square(args[0] - args[1]))")
    told = migrated(HEAD + text + TRAIN.format(loss="lambda a, b: f12(a, b)", fit="fit(x, y)"))
    assert "TFM403" in codes(told)


def test_a_generator_is_read_through_every_function() -> None:
    text = functions("    return np.zeros((2, 4)), np.zeros((2, 1))")
    batches = "def batches():\n    while True:\n        yield f12()\n\n\n"
    fit = TRAIN.format(loss='"mse"', fit="fit_generator(batches(), steps_per_epoch=4)")
    assert "as_dataset(batches)" in migrated(HEAD + text + batches + fit).after


@pytest.mark.parametrize(
    "text",
    [
        "v0 = v1\nv1 = v0\nparallel.save_weights(v1)\n",
        "v0 = v1 + 'a'\nv1 = 'b' + v0\nparallel.save_weights(v1)\n",
        "v0 = v1 + 1\nv1 = v0 + 1\nkeras.layers.Dense(v1)\n",
        "v0 = (v1,)\nv1 = (v0,)\nkeras.layers.Dense(v1)\n",
    ],
)
def test_names_that_are_made_of_each_other_end(text: str) -> None:
    migrated(HEAD + FIT + text)


@pytest.mark.parametrize(
    "gpus", ["v0 = v1\nv1 = v0\n", "v0 = v1 + v1\nv1 = v0 + v0\n", "v1 = v1 + 1\n", "def v1():\n    return v1()\n"]
)
def test_a_number_that_is_made_of_itself_is_none(gpus: str) -> None:
    file = migrated(HEAD + gpus + FIT.replace("gpus=2", "gpus=v1"))
    assert "MirroredStrategy" not in file.after or "range(v1)" in file.after


def test_functions_that_call_themselves_end() -> None:
    loss = "def again(a, b):\n    return again(a, b)\n\n\n"
    migrated(HEAD + loss + TRAIN.format(loss="again", fit="fit(x, y)"))
    batches = "def batches():\n    yield from batches()\n\n\n"
    migrated(HEAD + batches + TRAIN.format(loss='"mse"', fit="fit_generator(batches(), 4)"))


def test_a_value_that_grows_too_long_to_read_stays_where_it_is() -> None:
    grows = "v0 = len(ids)\n" + "".join(f"v{n + 1} = v{n} + v{n}\n" for n in range(60))
    first, rest = FIT.split("\n", 1)
    file = migrated(HEAD + "from mine import ids\n" + first + "\n" + grows + rest.replace("gpus=2", "gpus=v60"))
    assert file.status == "refused" or "range(v60)" in file.after
    assert all(len(line) < 500 for line in file.after.splitlines())


def test_what_is_passed_by_name_is_known_beside_what_is_not() -> None:
    head = "def several(model, gpus, *rest, **more):\n    if gpus > 1:\n"
    head += "        model = multi_gpu_model(model, gpus=gpus)\n"
    body = '    model.compile("sgd", "mse")\n\n\n'
    call = f"several({NET}, {{}})\n"
    for given in ("gpus=4, **options", "4, *rows", "*rows, gpus=4", "**options, gpus=4"):
        after = migrated(HEAD + head + body + call.format(given)).after
        assert '"/gpu:3"]' in after, given
    for given in ("*rows", "**options"):
        assert '"/gpu:3"]' not in migrated(HEAD + head + body + call.format(given)).after


BASE = """\
class Trainer:
    def __init__(self, model, gpus):
        self.parallel = multi_gpu_model(model, gpus=gpus)
        self.parallel.compile("sgd", "mse")


class Special(Trainer):
    def __init__(self, model, count):
        {call}


Special(keras.Sequential([keras.layers.Dense(1, input_shape=(4,))]), 4)
"""


@pytest.mark.parametrize(
    "call",
    [
        "super().__init__(model, count)",
        "Trainer.__init__(self, model, count)",
        "super().__init__(gpus=count, model=model)",
    ],
)
def test_a_method_is_given_its_object_in_either_way(call: str) -> None:
    after = migrated(HEAD + BASE.format(call=call)).after
    assert '"/gpu:3"]' in after or "range(count)" in after, after


LATE = f"""\
from mine import ids
model = {NET}
{{count}}
parallel = multi_gpu_model(model, gpus=count)
parallel.fit(x, y)
"""
"""The number of GPUs is bound below the model, above which it is written."""


@pytest.mark.parametrize(
    "count",
    [
        "count: int = len(ids)",
        "count, batch = len(ids), 32",
        "[batch, count] = 32, len(ids)",
        "size = len(ids)\nbatch, count = 32, size",
    ],
)
def test_the_number_of_gpus_is_followed_through_every_form_of_assignment(count: str) -> None:
    file = migrated(HEAD + LATE.format(count=count))
    assert file.status == "migrated"
    assert file.after.index("range(len(ids))") < file.after.index("model =")


@pytest.mark.parametrize(
    "count",
    ["count: int", "count, *rest = ids", "count, *rest = len(ids), 2", "count, batch = ids", "count = ids()"],
)
def test_a_number_that_is_one_of_an_unknown_whole_is_not_followed(count: str) -> None:
    assert migrated(HEAD + LATE.format(count=count)).status == "refused"


CLOSURE = f"""\
def train(gpus):
    def spread(model):
        return multi_gpu_model(model, gpus=gpus)

{{between}}
    return spread


model = {NET}
parallel = train(2)(model)
parallel.fit(x, y)
"""


def test_the_number_of_gpus_is_followed_to_the_caller_of_an_outer_function() -> None:
    file = migrated(HEAD + CLOSURE.format(between=""))
    assert file.status == "migrated"
    assert 'strategy = tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"])\n' in file.after


def test_what_an_outer_function_binds_again_is_not_what_its_caller_passes() -> None:
    assert migrated(HEAD + CLOSURE.format(between="    gpus = ask()")).status == "refused"


@pytest.mark.parametrize(
    ("call", "done"),
    [
        ("train(kind=Adam if settings else SGD)", "rewrite"),
        ("train(kind=Adam if settings else known(settings))", "rewrite"),
        ("train(kind=known(settings))", "warn"),
        ("def again(kind=Adam):\n    train(kind)\n\n\nagain(kind=Adam)", "rewrite"),
        ("", "warn"),
        ("train(kind=make)", None),
        ("train(kind=lambda lr: SGD(0.1))", None),
    ],
)
def test_an_optimizer_of_a_class_that_a_caller_passes(call: str, done: str | None) -> None:
    text = f"""\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD, Adam
from keras.utils import multi_gpu_model
from elsewhere import known, settings, x, y


def make(lr):
    return SGD(lr)


def train(kind):
    model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    model.compile(kind(lr=0.5), "mse")
    model.fit(x, y)


{call}
"""
    file = migrate(text)
    assert ("kind(learning_rate=0.5)" in file.after) is (done == "rewrite")
    assert actions(file, "TFM202") == [done] * (done is not None)
