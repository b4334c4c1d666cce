"""Names of layers that Keras gives itself."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests import forks
from tests.kit import SETTINGS, actions, check_migrated, migrate, migrate_files
from tfmigrate.plan.keras import creation_order
from tfmigrate.plan.keras.names_depended_on import snake
from tfmigrate.plan.keras.one_more import ARGUMENTS, layer_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.result import FileResult
from tfmigrate.understand.interpreter import interpret
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program

HEAD = """\
from {keras}.layers import BatchNormalization, Conv2D, Flatten, LeakyReLU
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

model = Sequential([{layers}, Flatten()])
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
"""
CLEAR = "from keras import backend\nbackend.clear_session()\n"
"""Counting begins anew there."""
FIRST = "Conv2D(4, 3, input_shape=(8, 8, 3)), BatchNormalization(), LeakyReLU()"


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (f"{FIRST}, Conv2D(4, 3, name='conv2d')", 1),
        (f"{FIRST}, BatchNormalization(name='batch_normalization')", 1),
        (f"{FIRST}, LeakyReLU(name='leaky_re_lu')", 1),
        (f"{FIRST}, Conv2D(4, 3, name='conv2d_1')", 0),
        (f"{FIRST}, Conv2D(4, 3, name='first')", 0),
        (f"{FIRST}, Conv2D(4, 3, name=name)", 0),
        ("Conv2D(4, 3, **settings), Conv2D(4, 3, name='conv2d')", 0),
        ("Conv2D(4, 3, name='a', input_shape=(8, 8, 3)), Conv2D(4, 3, name='conv2d')", 0),
    ],
)
def test_a_name_that_the_first_unnamed_layer_gets_is_taken_by_another_one(layers: str, told: int) -> None:
    text = HEAD.format(keras="keras", layers=layers)
    file = check_migrated(text)
    assert actions(file, "TFM281") == ["rewrite"] * told
    assert file.after.count("  # takes the name ") == told
    assert actions(migrate(f"{CLEAR}{text}"), "TFM281") == ["warn"] * told


@pytest.mark.parametrize(("version", "told"), [("keras==2.3.1", ["rewrite"]), ("keras==3.0.0", [])])
def test_keras_3_counted_as_it_does_today(version: str, told: list[str]) -> None:
    text = HEAD.format(keras="keras", layers=f"{FIRST}, LeakyReLU(name='leaky_re_lu')")
    assert actions(migrate(text, replace(SETTINGS, from_version=version)), "TFM281") == told


TWO = """\
from keras.layers import Concatenate, Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


{code}
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
"""
OTHER = "def other():\n    rows = Input((4,))\n    return Model(rows, Dense(2)(rows))\n\n\n"
BUILD = "def build():\n    rows = Input((4,))\n    return Model(rows, Dense(1, name='dense')({}))\n\n\nmodel = build()"
PART = "def part(x):\n    return Dense(2)(x)\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        OTHER + BUILD.format("rows"),
        "other = Sequential([Dense(2, input_shape=(4,))])\nmodel = Sequential([Dense(1, name='dense')])",
        "other = Sequential()\nother.add(Dense(2))\nmodel = Sequential()\nmodel.add(Dense(1, name='dense'))",
        f"{OTHER}{BUILD.format('rows')}\nprint(other().predict(x))",
    ],
)
def test_layers_of_different_models_do_not_meet(code: str) -> None:
    assert actions(migrate(TWO.format(code=code)), "TFM281") == []


@pytest.mark.parametrize(
    "code",
    [
        PART + BUILD.format("part(rows)"),
        "shared = Dense(2)\n" + BUILD.format("shared(rows)"),
        "base = Sequential([Dense(2)])\nmodel = Model(base.input, Dense(1, name='dense')(base.output))",
        "model = Sequential()\nif deep:\n    model.add(Dense(2))\nmodel.add(Dense(1, name='dense'))",
        f"{OTHER}{BUILD.format('Concatenate()([rows, Dense(3)(rows)])')}",
        "layers = read([Dense(2), Dense(1, name='dense')])\nmodel = make(layers)",
    ],
)
def test_layers_that_may_be_in_one_model_may_meet(code: str) -> None:
    file = migrate(TWO.format(code=code))
    assert actions(file, "TFM281") == ["rewrite"]
    assert file.after.count("tf.keras.layers.Dense(1)  # takes the name dense: the next is dense_1\n") == 1
    assert actions(migrate(CLEAR + TWO.format(code=code)), "TFM281") == ["warn"]


def test_tf_keras_always_began_so() -> None:
    file = migrate(HEAD.format(keras="tensorflow.keras", layers=f"{FIRST}, Conv2D(4, 3, name='conv2d')"))
    assert actions(file, "TFM281") == []


PROGRAM = """\
from keras import backend as K
from keras.layers import Concatenate, Conv2D, Dense, Dropout, Flatten, Input, add
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

{code}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(x, y)
{text}
"""
THREE = "model = Sequential([Dense(8, input_shape=(4,)), Dense(4), Dense(1)])"
BUILT = """\
def build():
    rows = Input((4,))
    hidden = Dense(8)(Dense(16)(rows))
    return Model(rows, [Dense(1)(hidden), Dense(2)(hidden)])


model = build()"""
IN_ARMS = """\
rows = Input((4,))
if deep:
    hidden = Dense(8)(rows)
else:
    hidden = Dense(16)(rows)
model = Model(rows, Dense(1)(hidden))"""
IN_OBJECT = """\
class Network:
    def __init__(self):
        self.rows = Input((4,))
        self.model = self.build()

    def build(self):
        return Model(self.rows, self.head(Dense(8)(self.rows)))

    def head(self, hidden):
        return Dense(1)(hidden)


model = Network().model"""
AGAIN = """\
def build():
    return Sequential([Dense(8, input_shape=(4,)), Dense(1)])


build()
K.clear_session()
model = build()"""


def names_in(file: FileResult) -> list[str]:
    """The names of layers that were written, in order."""
    return re.findall(r'(?<!get_layer\()name="([a-z0-9_]+)"', file.after)


@pytest.mark.parametrize(
    ("code", "text", "names"),
    [
        (THREE, 'print(model.get_layer("dense_3").units)', ["dense_3"]),
        (THREE, 'print(model.get_layer(name="dense_2").units)', ["dense_2"]),
        (THREE, 'print([each for each in model.layers if each.name == "dense_2"])', ["dense_2"]),
        (BUILT, 'print(history["dense_3_loss"], history["val_dense_4_acc"])', ["dense_3", "dense_4"]),
        (BUILT, 'parallel.fit({"input_1": x}, {"dense_3": y, "dense_4": y})', ["input_1", "dense_3", "dense_4"]),
        (BUILT, 'print("dense_1" in model.layers[1].name)', ["dense_1", "dense_3", "dense_4"]),
        (IN_ARMS, 'print(model.get_layer("dense_2").units)', ["dense_2"]),
        (IN_ARMS, 'print(model.get_layer("dense_1").units)', ["dense_1", "dense_1"]),
        (IN_OBJECT, 'print(model.get_layer("dense_2").units)', ["dense_2"]),
        (THREE, "for i in (1, 2, 3):\n    model.get_layer('dense_%d' % i)", ["dense_1", "dense_2", "dense_3"]),
        (THREE, "for i in (1, 2, 3):\n    model.get_layer('dense_' + str(i))", ["dense_1", "dense_2", "dense_3"]),
        (THREE, "for i in (1, 2, 3):\n    model.get_layer(f'dense_{i}')", ["dense_1", "dense_2", "dense_3"]),
        ("a = Input((4,))\nmodel = Model(a, add([a, Dense(4)(a)]))", 'model.get_layer("add_1")', ["add_1"]),
    ],
)  # fmt: skip
def test_a_layer_that_the_program_mentions_keeps_its_name(code: str, text: str, names: list[str]) -> None:
    file = check_migrated(PROGRAM.format(code=code, text=text))
    assert names_in(file) == names
    assert actions(file, "TFM281") == ["rewrite"] * len(names)


def test_others_get_their_names_where_they_would_clash() -> None:
    file = check_migrated(PROGRAM.format(code=THREE, text='model.get_layer("dense_1")'))
    assert 'Dense(8, input_shape=(4,), name="dense_1"), Dense(4), Dense(1, name="dense_3")' in file.after


TWICE = (
    "def build():\n    return Sequential([Dense(8, input_shape=(4,)), Dense(1)])\n\n\nmodel, other = build(), build()"
)
REPEATED = "model = Sequential()\nfor units in sizes:\n    model.add(Dense(units))\nmodel.add(Dense(1))"


@pytest.mark.parametrize(
    "code",
    [
        TWICE,
        REPEATED,
        "model = Sequential([Dense(units) for units in sizes])",
        "model = Sequential([Dense(8)])\nif deep:\n    model.add(Dense(4))\nmodel.add(Dense(1))",
        f"from parts import prepare\n\nprepare()\n{THREE}",
        "def build(name=None):\n    return Sequential([Dense(8, name=name), Dense(1)])\n\n\nmodel = build()",
        f"spare = list(map(lambda units: Dense(units), sizes))\n{THREE}",
        "def build():\n    return Sequential([Dense(8), Dense(1)])\n\n\nsearch(build)\nmodel = build()",
    ],
)
def test_one_more_is_made_before_layers_that_cannot_be_counted(code: str) -> None:
    text = PROGRAM.format(code=code, text='print(model.get_layer("dense_2").units)')
    file = migrate(text)
    assert names_in(file) == []
    assert actions(file, "TFM281") == ["rewrite"]
    before, made, _ = file.after.partition("tf.keras.layers.Dense(1)  # takes the name dense: the next is dense_1\n")
    assert made
    assert "Dense(" not in before
    assert migrate(file.after).after == file.after
    told = migrate(CLEAR + text)
    assert actions(told, "TFM281") == ["warn"], "what tells is where it is mentioned"
    assert "takes the name" not in told.after


LSTM = "model = Sequential()\nfor units in sizes:\n    model.add(LSTM(units, return_sequences=True))"
POOLED = "from keras.applications import InceptionV3\n\nbase = InceptionV3()\nmodel = Sequential()\nmodel.add(base)\n"


@pytest.mark.parametrize(
    ("code", "name", "modules"),
    [
        (LSTM, "lstm_2", {}),  # makes a variable
        (f"{POOLED}for _ in sizes:\n    model.add(BatchNormalization())", "batch_normalization_2", {}),
        (REPEATED, "dense_2", {"parts": "from keras.layers import Dense\n\n\ndef more():\n    return Dense(3)\n"}),
        (f"{REPEATED}  # tfmigrate: skip[TFM281]", "dense_2", {}),
    ],
)
def test_where_one_more_cannot_be_made_it_is_told(code: str, name: str, modules: dict[str, str]) -> None:
    heading = "from keras.layers import BatchNormalization, LSTM\n" + "".join(f"import {each}\n" for each in modules)
    file = migrate(heading + PROGRAM.format(code=code, text=f"print(model.get_layer({name!r}))"), **modules)
    assert "warn" in actions(file, "TFM281")
    assert "takes the name" not in file.after


OWN = """\
from keras.layers import Layer


class PlainLayer(Layer):
    pass


model = Sequential([PlainLayer(input_shape=(4,)), Dense(1)])"""
PRETRAINED = """\
from keras.applications import VGG16

base = VGG16(weights=None)
model = Model(base.input, Dense(1)(base.output))"""


@pytest.mark.parametrize(("code", "name"), [(OWN, "plain_layer_1"), (PRETRAINED, "input_1")])
def test_so_is_one_that_cannot_be_given_a_name(code: str, name: str) -> None:
    file = migrate(PROGRAM.format(code=code, text=f"print(model.get_layer({name!r}))"))
    assert actions(file, "TFM281") == ["warn"]


def test_the_head_of_a_pretrained_network_is_counted() -> None:
    file = check_migrated(PROGRAM.format(code=PRETRAINED, text='model.get_layer("dense_1").trainable = False'))
    assert names_in(file) == ["dense_1"]


def test_counting_begins_anew_in_a_cleared_session() -> None:
    file = check_migrated(
        PROGRAM.format(code=THREE.replace("model", "K.clear_session()\nmodel"), text="dense('dense_3')")
    )
    assert names_in(file) == ["dense_3"]
    file = migrate(PROGRAM.format(code=AGAIN, text='print(model.get_layer("dense_2").units)'))
    assert names_in(file) == ["dense_2"]


def test_the_name_of_a_tensor_is_told_beside() -> None:
    text = 'graph.get_tensor_by_name("dense_3/BiasAdd:0")'
    assert actions(migrate(PROGRAM.format(code=THREE, text=text)), "TFM281") == ["warn"]


@pytest.mark.parametrize(
    "text",
    [
        'print("dense_9")',
        'print("conv2d_1", "activation_1", "dense", "dense_a", "my_dense_1", "dense_1.h5")',
        'sizes = {"dense_1": 3}\nprint(sizes["dense_1"])',
        'parser.add_argument("--units", dest="dense_1")',
        'from numpy import add\n"""dense_1"""',
        'units = trial.suggest_int("dense_1", 3, 4)',
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    file = check_migrated(PROGRAM.format(code=THREE, text=text))
    assert actions(file, "TFM281") == []


NAMED = """\
def unit(tensor, size, name):
    return Dense(size, name=name)(tensor)


rows = Input((4,))
model = Model(rows, unit(Dense(3)(rows), 2, "dense_7"))"""


def test_a_name_that_the_program_gives_is_its_own() -> None:
    file = check_migrated(PROGRAM.format(code=NAMED, text='print(model.get_layer("dense_7"))'))
    assert actions(file, "TFM281") == []
    code = 'model = Sequential([Dense(8, input_shape=(4,), name="dense_1"), Dense(1)])'
    file = check_migrated(PROGRAM.format(code=code, text='print(model.get_layer("dense_1"))'))
    assert actions(file, "TFM281") == []


NAMED_OR_NOT = """\
def unit(tensor, size, name=None):
    return Dense(size, name=name)(tensor)


rows = Input((4,))
model = Model(rows, unit(unit(rows, 3), 2, "dense_7"))"""


def test_a_name_that_a_call_leaves_out_is_keras_s_own() -> None:
    file = migrate(PROGRAM.format(code=NAMED_OR_NOT, text='print(model.get_layer("dense_1"))'))
    assert actions(file, "TFM281") == ["rewrite"]
    assert "takes the name dense" in file.after
    file = migrate(PROGRAM.format(code=NAMED_OR_NOT, text='print(model.get_layer("dense_7"))'))
    assert actions(file, "TFM281") == []


IN_VARIABLE = """\
name = "dense_1"
model = Sequential([Dense(8, input_shape=(4,), name=name), Dense(1)])"""
OTHER_VARIABLE = """\
def head(name):
    return Dense(1, name=name)


model = Sequential([Dense(8, input_shape=(4,)), head("top")])"""


def test_a_variable_that_a_layer_is_named_by_is_told_from_another_one() -> None:
    file = migrate(PROGRAM.format(code=IN_VARIABLE, text='print(model.get_layer("dense_1"))'))
    assert actions(file, "TFM281") == []
    file = migrate(PROGRAM.format(code=OTHER_VARIABLE, text='name = "dense_1"\nprint(model.get_layer(name))'))
    assert 'Dense(8, input_shape=(4,), name="dense_1")' in file.after


INNER = """\
def unit(tensor, size, title):
    return named(tensor, size, title)


def named(tensor, size, label):
    return Dense(size, name=label)(tensor)


rows = Input((4,))
model = Model(rows, unit(Dense(3)(rows), 2, "dense_1"))"""
SHOW = "def show(layer_name):\n    print(model.get_layer({}))\n\n\nshow('dense_1')"


def test_a_name_that_is_passed_on_is_given_and_one_that_is_looked_up_is_not() -> None:
    file = migrate(PROGRAM.format(code=INNER, text='print(model.get_layer("dense_1"))'))
    assert actions(file, "TFM281") == []
    for looked_up in ("layer_name", "name=layer_name"):
        file = migrate(PROGRAM.format(code=THREE, text=SHOW.format(looked_up)))
        assert names_in(file) == ["dense_1", "dense_3"]


def test_layers_of_another_module_are_counted_with_it() -> None:
    parts = "from keras.layers import Dense\n\n\ndef head(x):\n    return Dense(1)(Dense(4)(x))\n"
    code = "from parts import head\n\nrows = Input((4,))\nmodel = Model(rows, head(Dense(8)(rows)))"
    text = 'print(model.get_layer("dense_2"), model.get_layer("dense_1"))'
    files = migrate_files({"train.py": PROGRAM.format(code=code, text=text), "parts.py": parts}, SETTINGS)
    assert 'head(Dense(8, name="dense_1")(rows))' in files["train.py"].after
    assert 'Dense(1, name="dense_2")(Dense(4)(x))' in files["parts.py"].after


def test_inputs_were_counted_from_1_in_tf_keras_too() -> None:
    text = PROGRAM.replace("from keras", "from tensorflow.keras").format(
        code="one, two = Input((4,)), Input((4,))\nmodel = Model([one, two], Dense(1)(Concatenate()([one, two])))",
        text='parallel.predict({"input_1": x, "input_2": x})\nprint(model.get_layer("dense_1"))',
    )
    assert names_in(check_migrated(text)) == ["input_1", "input_2"]


def test_losses_by_names_that_are_kept_are_of_all_outputs() -> None:
    text = PROGRAM.format(code=BUILT, text="").replace('"mse")', '{"dense_3": "mse", "dense_4": "mae"})')
    file = check_migrated(text)
    assert names_in(file) == ["dense_3", "dense_4"]
    assert actions(file, "TFM241") == []


def test_weights_by_names_that_are_kept_are_laid_out_in_the_order_of_the_outputs() -> None:
    code = "rows = Input((4,))\nb, a = Dense(1)(rows), Dense(1)(rows)\nmodel = Model(rows, [a, b])"
    text = PROGRAM.format(code=code, text="").replace(
        '"mse")', '["mse", "mae"], loss_weights={"dense_1": 2, "dense_2": 5})'
    )
    assert "loss_weights=[5, 2]" in check_migrated(text).after


def test_a_suppressed_name_stays_as_keras_gives_it() -> None:
    code = "model = Sequential([Dense(8, input_shape=(4,)), Dense(1)])  # tfmigrate: skip[TFM281]"
    file = migrate(PROGRAM.format(code=code, text='model.get_layer("dense_2")'))
    assert names_in(file) == []
    assert actions(file, "TFM281") == ["suppressed"]


NESTED = """\
from {keras}.layers import Dense, Input
from {keras}.models import Model, Sequential
from {keras}.utils import multi_gpu_model

inner = Sequential([Dense(4, input_shape=(4,), name="a")]{named})
rows = Input((4,))
model = Model(rows, Dense(1, name="b")(inner(rows)))
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
print(model.get_layer({looked}))
"""


@pytest.mark.parametrize(
    ("keras", "looked", "told"),
    [
        ("keras", "'sequential_1'", 1),
        ("keras", "name='sequential_2'", 1),
        ("keras", "'model_1'", 1),
        ("tensorflow.keras", "'sequential'", 0),
        ("tensorflow.keras", "'sequential_1'", 0),
        ("tensorflow.keras", "'model'", 1),
        ("tensorflow.keras", "'functional_1'", 1),
        ("keras", "'a'", 0),
        ("keras", "'model_of_mine'", 0),
        ("keras", "index=1", 0),
    ],
)
def test_a_model_that_is_looked_up_by_the_name_it_got(keras: str, looked: str, told: int) -> None:
    file = check_migrated(NESTED.format(keras=keras, looked=looked, named=""))
    assert actions(file, "TFM281") == ["warn"] * told
    named = check_migrated(NESTED.format(keras=keras, looked=looked, named=f", name={looked.rpartition('=')[2]}"))
    assert not actions(named, "TFM281")


FRESH = f"""
import tensorflow as tf

for code in {sorted(map(layer_of, ARGUMENTS))!r}:
    first = eval("tf." + code)
    print(code, first.name, eval("tf." + code).name == first.name + "_1", len(first.weights))
tf.config.threading.set_inter_op_parallelism_threads(2)  # RuntimeError once TensorFlow has started its devices
print("end")
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_one_more_layer_takes_the_first_name_and_starts_nothing(keras: int, python: forks.Python) -> None:
    lines = python(keras, FRESH).stdout.splitlines()
    names = {kind: snake(kind) for kind in ARGUMENTS}
    assert lines == [*(f"{layer_of(kind)} {names[kind]} True 0" for kind in sorted(ARGUMENTS, key=layer_of)), "end"]


@pytest.mark.parametrize(("called", "counted"), [(3, True), (90, False)])
def test_all_that_a_call_may_mean_counts_for_how_far_a_program_is_followed(
    monkeypatch: pytest.MonkeyPatch, called: int, counted: bool
) -> None:
    monkeypatch.setattr(creation_order, "_MOST", 2000)
    code = "".join(f"def note_{i}():\n    print({i})\n\n\n" for i in range(called))
    code += f"choose = {{{', '.join(f'{i}: note_{i}' for i in range(called))}}}[len(input())]\n\n\n"
    code += "def part(x):\n    choose()\n    return Dense(2)(x)\n\n\n" + "part(Input((4,)))\n" * 30
    code = f"from keras.layers import Dense, Input\n\n\n{code}named = Dense(1)\n"
    numbers = creation_order.numbers_of_layers(Migration(interpret(Program([Module("a.py", code)])), {}))
    assert ("Input" in numbers) == counted
