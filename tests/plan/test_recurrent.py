"""Defaults of recurrent layers: the gates and the reset of the version that a program is written for."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated
from tfmigrate.plan.helpers import definition
from tfmigrate.settings import Settings

PROGRAM = """\
from {layers} import GRU, LSTM, ConvLSTM2D
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
layer = {layer}
"""
GATES = "recurrent_activation=keras_2_hard_sigmoid"


@pytest.mark.parametrize(
    ("layers", "version", "layer", "after"),
    [
        ("keras.layers", "keras==2.3.1", "LSTM(4)", "LSTM(4)"),
        ("keras.layers", "keras==2.2.4", "LSTM(4)", f"LSTM(4, {GATES})"),
        (
            "keras.layers",
            "keras==2.2.4",
            "LSTM(4, recurrent_activation='tanh')",
            "LSTM(4, recurrent_activation='tanh')",
        ),
        # Given already, by its place or by its name in Keras 1.
        ("keras.layers", "keras==2.2.4", "LSTM(4, 'tanh', 'relu')", "LSTM(4, 'tanh', 'relu')"),
        (
            "keras.layers",
            "keras==2.2.4",
            "LSTM(4, inner_activation='relu')",
            "LSTM(4, recurrent_activation='relu')",
        ),
        ("keras.layers", "keras==2.2.4", "LSTM(4, inner_activation='hard_sigmoid')", f"LSTM(4, {GATES})"),
        ("keras.layers", "keras==2.3.1", "ConvLSTM2D(4, 3)", f"ConvLSTM2D(4, 3, {GATES})"),
        ("keras.layers", "keras==2.2.4", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.keras.layers", "tensorflow==1.15", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.keras.layers", "tensorflow==2.2", "GRU(4)", "GRU(4)"),
        # The private modules have the layers of TensorFlow 1, in TensorFlow 2 too.
        ("keras.layers.recurrent", "keras==2.2.4, tensorflow==2.3", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.python.keras.layers", "tensorflow==2.3", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
    ],
)
def test_a_layer_keeps_the_defaults_of_its_version(layers: str, version: str, layer: str, after: str) -> None:
    text = PROGRAM.format(layers=layers, layer=layer)
    file = check_migrated(text, Settings(from_version=version))
    assert f"layer = {after}\n" in file.after
    assert file.after.count("def keras_2_hard_sigmoid(x):") == (GATES in after)


FUNCTIONS = """\
import keras
from keras import activations, backend as K
from keras.activations import hard_sigmoid
from keras.layers import Activation, Conv2D, Dense, Input, Lambda
from keras.models import Sequential
from keras.utils import multi_gpu_model
from options import NAME, args

{before}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
layer = {layer}
"""
OLD = "keras_2_hard_sigmoid"


@pytest.mark.parametrize(
    ("layer", "after"),
    [
        ("Activation('hard_sigmoid')", f"Activation({OLD})"),
        ("Dense(4, 'hard_sigmoid')", f"Dense(4, {OLD})"),
        ("Dense(4, activation='hard_sigmoid', **more)", f"Dense(4, activation={OLD}, **more)"),
        ("Conv2D(4, 3, activation=hard_sigmoid)", f"Conv2D(4, 3, activation={OLD})"),
        ("Activation(keras.activations.hard_sigmoid)", f"Activation({OLD})"),
        ("Lambda(lambda t: activations.hard_sigmoid(t))", f"Lambda(lambda t: {OLD}(t))"),
        ("Activation(activations.get('hard_sigmoid'))", f"Activation(activations.get({OLD}))"),
    ],
)
def test_the_function_of_old_keras_is_kept(layer: str, after: str) -> None:
    file = check_migrated(FUNCTIONS.format(before="", layer=layer))
    assert f"layer = {after}\n" in file.after
    assert file.after.count(f"def {OLD}(x):") == 1
    assert set(actions(file, "TFM303")) == {"rewrite"}


def test_a_variable_may_hold_its_name_or_itself() -> None:
    file = check_migrated(FUNCTIONS.format(before="gate = 'hard_sigmoid'", layer="Activation(gate)"))
    assert f"layer = Activation({OLD})\n" in file.after
    file = check_migrated(FUNCTIONS.format(before="gate = activations.hard_sigmoid", layer="Activation(gate)"))
    assert f"gate = {OLD}\n" in file.after
    assert "layer = Activation(gate)\n" in file.after


@pytest.mark.parametrize(
    "before",
    [
        "gate = 'hard_sigmoid' if args.fast else 'sigmoid'",
        "gate = 'sigmoid'\nif args.fast:\n    gate = 'hard_sigmoid'",
    ],
)
def test_what_may_be_its_name_is_told(before: str) -> None:
    file = check_migrated(FUNCTIONS.format(before=before, layer="Activation(gate)"))
    assert "layer = Activation(gate)\n" in file.after
    assert actions(file, "TFM303") == ["warn"]


@pytest.mark.parametrize(
    ("before", "layer"),
    [
        ("", "Lambda(lambda t: K.hard_sigmoid(t))"),
        ("", "Activation('sigmoid')"),
        ("", "Dense(4, name='hard_sigmoid')"),
        ("", "Input((4,), None, 'hard_sigmoid')"),
        ("", "Activation(NAME)"),
        ("def hard_sigmoid(x):\n    return x\n", "Activation(hard_sigmoid)"),
        ("known = {'hard_sigmoid': 1}", "Activation('relu')"),
        ("print('hard_sigmoid')", "own('hard_sigmoid')"),
    ],
)
def test_no_other_hard_sigmoid_is_touched(before: str, layer: str) -> None:
    file = check_migrated(FUNCTIONS.format(before=before, layer=layer))
    assert f"layer = {layer}\n" in file.after
    assert OLD not in file.after
    assert not actions(file, "TFM303")


SAVED = """\
from keras.callbacks import ModelCheckpoint
from keras.layers import LSTM, Dense
from keras.models import Sequential, load_model, model_from_json
from keras.utils import multi_gpu_model

net = Sequential([LSTM(8, recurrent_activation={gates}, input_shape=(5, 4)), Dense(1)])
plain = Sequential([Dense(8, input_shape=(4,))])
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
{saving}
"""


@pytest.mark.parametrize(
    ("gates", "saving", "told"),
    [
        ("'hard_sigmoid'", "net.save('net.h5')", 1),
        ("'hard_sigmoid'", "parallel.save('net.h5')", 1),
        ("'hard_sigmoid'", "kept = ModelCheckpoint('net.h5')", 1),
        ("'hard_sigmoid'", "text = net.to_json()", 1),
        ("'hard_sigmoid'", "plain.save('net.h5')", 0),
        ("'hard_sigmoid'", "net.save_weights('net.h5')", 0),
        ("'hard_sigmoid'", "kept = ModelCheckpoint('net.h5', save_weights_only=True)", 0),
        ("'hard_sigmoid'", "again = load_model('net.h5')", 0),
        # What the program loads itself, it loads with the function.
        ("'hard_sigmoid'", "net.save('net.h5')\nagain = load_model('net.h5')", 0),
        ("'hard_sigmoid'", "net.save(path)\nagain = load_model(path)", 1),
        ("'hard_sigmoid'", "path = folder + name\nnet.save(path)\nagain = load_model(path)", 0),
        ("'hard_sigmoid'", "net.save('a/net.h5')\nagain = load_model('b/net.h5')", 1),
        ("'hard_sigmoid'", "net.save('net.h5')\nagain = load_model('other.h5')", 1),
        ("'hard_sigmoid'", "net.save('net.h5')\nnet.load_weights('net.h5')", 1),
        ("'hard_sigmoid'", "net.save('net.h5' if final else 'last.h5')\nagain = load_model('net.h5')", 1),
        ("'hard_sigmoid'", "net.save('net.h5' if final else name)\nagain = load_model('net.h5')", 1),
        ("'hard_sigmoid'", "kept = ModelCheckpoint('net.h5')\nagain = load_model('net.h5')", 0),
        ("'hard_sigmoid'", "kept = ModelCheckpoint('net{epoch}.h5')\nagain = load_model('net3.h5')", 1),
        ("'hard_sigmoid'", "again = model_from_json(net.to_json())", 0),
        ("'hard_sigmoid'", "text = net.to_json()\nagain = model_from_json(text)", 0),
        ("'hard_sigmoid'", "text = net.to_json()\nprint(text)\nagain = model_from_json(other)", 1),
        ("'sigmoid'", "net.save('net.h5')", 0),
        ("'sigmoid'", "kept = ModelCheckpoint('net.h5')", 0),
    ],
)
def test_where_a_model_is_saved_with_the_function_it_is_said(gates: str, saving: str, told: int) -> None:
    file = check_migrated(SAVED.format(gates=gates, saving=saving))
    messages = [finding.message for finding in file.findings if finding.code == "TFM303" and finding.action == "warn"]
    assert sum("the file names the function keras_2_hard_sigmoid" in message for message in messages) == told


@pytest.mark.parametrize(("imported", "told"), [("import other", 1), ("import train", 0)])
def test_it_is_said_of_a_file_that_is_loaded_only_without_the_function(imported: str, told: int) -> None:
    loader = f"import keras.utils\nfrom keras.models import load_model\n{imported}\n\nmodel = load_model('net.h5')\n"
    saver = SAVED.format(gates="'hard_sigmoid'", saving="net.save('net.h5')")
    file = check_migrated(saver, reading=loader, other="import keras.utils\n")
    assert actions(file, "TFM303").count("warn") == told


@pytest.mark.parametrize(("imported", "told"), [("import other", 1), ("import maker", 0), ("import net", 0)])
def test_what_loads_it_without_the_function_is_told_so(imported: str, told: int) -> None:
    loader = (
        f"from keras.models import load_model\nfrom keras.utils import multi_gpu_model\n{imported}\n\n"
        "model = load_model('net.h5')\nparallel = multi_gpu_model(model, gpus=2)\nparallel.compile('sgd', 'mse')\n"
    )
    maker = SAVED.format(gates="'hard_sigmoid'", saving="")
    assert (
        actions(check_migrated(loader, maker=maker, net="import maker\n", other="kept = 1\n"), "TFM303")
        == ["warn"] * told
    )


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_function_is_found_again_by_its_registered_name(keras: int, python: forks.Python) -> None:
    """By load_model(), by clones, and by Bidirectional, which Keras 3 makes of the configuration of its layer.

    tf_keras loads no .h5 file with any function as an activation, registered or given as a custom object.
    """
    helper = definition("keras_2_hard_sigmoid", {"tf": "tf"})
    done = python(keras, f"import tensorflow as tf\n\n\n{helper}\n{FOUND_AGAIN}")
    loaded = ["net.keras", "net.h5"] if keras == 3 else ["net.keras"]
    assert done.stdout.split()[-len(loaded) - 1 :] == [*loaded, "cloned"], done.stderr


FOUND_AGAIN = """


layers, models = tf.keras.layers, tf.keras.models
inner = layers.LSTM(3, recurrent_activation=keras_2_hard_sigmoid)
model = models.Sequential(
    [layers.Input((5, 4)), layers.Bidirectional(inner), layers.Dense(2, activation=keras_2_hard_sigmoid)]
)
expected = model(tf.ones((1, 5, 4))).numpy()
for name in ("net.keras", "net.h5"):
    model.save(name)
    try:
        again = models.load_model(name)
    except ValueError as error:
        assert "Unknown activation function: 'function'" in str(error)
        models.clone_model(model).load_weights(name)
    else:
        assert abs(again(tf.ones((1, 5, 4))).numpy() - expected).max() < 1e-6
        print(name)
models.clone_model(model)
print("cloned")
"""


@pytest.mark.parametrize(("layer", "told"), [("CuDNNLSTM(4)", ["warn"]), ("CuDNNGRU(4)", []), ("own.CuDNNLSTM(4)", [])])
def test_the_two_biases_of_cudnn_are_told(layer: str, told: list[str]) -> None:
    text = PROGRAM.format(layers="keras.layers", layer=layer).replace("GRU, LSTM,", "CuDNNGRU, CuDNNLSTM,")
    file = check_migrated(text, Settings(from_version="keras==2.2.4"))
    assert [finding.action for finding in file.findings if finding.code == "TFM303"] == told
