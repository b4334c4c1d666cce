"""Names and keywords that the target lacks: what is said of them, and what of code that knows better is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.forks import Python
from tfmigrate.migrate import migrate_bytes
from tfmigrate.plan.names.public_names import SECTIONS, PublicNames, Section, path_of
from tfmigrate.plan.names.target import Target
from tfmigrate.settings import Settings

Run = Callable[..., Outcome]

HEAD = "import tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import backend as K\n"


def said(code: str, target: str | None = None, head: str = HEAD) -> list[tuple[int, str, str]]:
    """(line after the head, code, message) of each finding in a file without multi_gpu_model."""
    settings = Settings(select=("TFM5",), target=target)
    file = migrate_bytes((head + code).encode(), "x.py", settings)
    assert file.error is None
    assert file.after == head + code
    return [(finding.line - head.count("\n"), finding.code, finding.message) for finding in file.findings]


def codes(code: str, target: str | None = None, head: str = HEAD) -> list[str]:
    return [found for _, found, _ in said(code, target, head)]


@pytest.mark.parametrize(
    ("code", "found", "words"),
    [
        ("tf.multiprocessing.set_start_method('spawn')", "TFM502", "multiprocessing is in no TensorFlow (1.15"),
        ("K.convert(x)", "TFM502", "tensorflow.keras.backend.convert is in no TensorFlow"),
        ("tf.config.experimental.set_floatx('float16')", "TFM502", "did you mean tensorflow.keras.config.set_floatx?"),
        ("tf.keras.optimizers.Options()", "TFM502", "tensorflow.keras.optimizers.Options"),
        ("keras.Sequential([]).fit(x, epoch_size_steps=3)", "TFM503", "has no argument `epoch_size_steps`"),
        ("tf.keras.layers.Densee(3)", "TFM502", "did you mean tensorflow.keras.layers.Dense?"),
        ("keras.layers.Dense(3, activaton='relu')", "TFM503", "did you mean `activation`?"),
        ("tf.placeholder(tf.float32)", "TFM501", "(it was in 1.15): use the arguments of a function"),
        ("tf.random_normal([2])", "TFM501", "(it was in 1.15): it is tensorflow.random.normal"),
        ("tf.keras.optimizers.Adam(lr=0.1)", "TFM501", "(it did in 1.15, 2.3, 2.9"),
        ("keras.Sequential([]).predict_classes(x)", "TFM501", "take predict(x).argmax(axis=-1)"),
        ("from tensorflow.keras.layers.experimental.preprocessing import Rescaling", "TFM501", "2.3, 2.9 and 2.15"),
        ("from tensorflow.keras.utils import to_categoricals", "TFM502", "tensorflow.keras.utils.to_categorical?"),
        ("tf.contrib.distribute.Monitor(x)", "TFM501", "(it was in 1.15): it is tensorflow.distribute"),
        ("from tensorflow import contrib; contrib.layers.flatten(x)", "TFM501", "tensorflow.contrib is not in"),
        ("import tensorflow.contrib.slim", "TFM501", "tensorflow.contrib is not in TensorFlow 2.21 (it was in 1.15)"),
        ("keras.Sequential([]).add(x, activation='relu')", "TFM503", "Sequential.add() has no argument `activation`"),
        ("tf.data.Dataset.from_tensors_slices(x)", "TFM502", "mean tensorflow.data.Dataset.from_tensor_slices?"),
        ("from tensorflow.python.keras._impl.keras import layers", "TFM502", "tensorflow.python.keras._impl is in no"),
        ("from tensorflow.python.estimator import run_config", "TFM501", "(it was in 1.15"),
        ("from tensorflow.python.keras.engine.network import Network", "TFM501", "(it was in 1.15)"),
        ("from keras.legacy import interfaces", "TFM501", "keras.legacy"),
        ("tf.compat.v1.compat.v1.keras.layers.enable_v2_dtype_behavior()", "TFM501", "(it was in 2.3, 2.9 and 2.15)"),
        ("tf.keras.layers.experimental.SyncBatchNormalization()", "TFM501", "BatchNormalization(synchronized=True)"),
        ("tf.keras.layers.experimental.preprocessing.Normalization()", "TFM501", "keras.layers.Normalization"),
        ("keras.Sequential([]).fit_generator(x)", "TFM501", "2.9 and 2.15): it is fit"),
        ("tf.keras.optimizers.Adam(lr=0.1)", "TFM501", "2.9 and 2.15): it is `learning_rate`"),
        ("legacy = lambda: K.convert(x)", "TFM502", "tensorflow.keras.backend.convert"),
        ("keras.metrics.Mean().reset_states()", "TFM501", "(it was in 1.15, 2.3, 2.9 and 2.15): it is reset_state"),
        ("for m in [keras.metrics.Mean(), keras.metrics.AUC()]: m.reset_states()", "TFM501", "Metric.reset_states"),
        ("rate = tf.keras.optimizers.Adam(0.1).lr", "TFM501", "it is learning_rate"),
        ("tf.keras.optimizers.SGD().minimize(loss, weights)", "TFM501", "give them to apply_gradients"),
        ("tf.distribute.MirroredStrategy().experimental_make_numpy_dataset(x)", "TFM501", "(it was in 1.15 and 2.3)"),
    ],
)  # fmt: skip
def test_a_name_or_keyword_that_is_not_there_is_told_with_the_versions_and_the_nearest(
    code: str, found: str, words: str
) -> None:
    ((line, told, message),) = said(code + "\n")
    assert (line, told) == (1, found)
    assert words in message


def test_no_private_name_is_suggested_for_a_public_one() -> None:
    ((_, _, message),) = said("keras.Sequential([]).flatten_layers()\n")
    assert "_flatten_layers" not in message


def test_no_module_elsewhere_is_suggested_for_one_whose_name_it_shares() -> None:
    ((_, _, message),) = said("tf.keras.mixed_precision.experimental.of_mine()\n")
    assert "did you mean" not in message


@pytest.mark.parametrize(
    "code",
    [
        "if hasattr(tf, 'Session'):\n    tf.Session()\nelse:\n    tf.sessions()\n",
        "if tf.__version__ < '2':\n    tf.set_random_seed(1)\n",
        "def seed():\n    if tf.__version__ >= '2':\n        return 1\n    return tf.set_random_seed(1)\n",
        "try:\n    tf.set_random_seed(1)\nexcept AttributeError:\n    tf.random.set_seed(1)\n",
        "try:\n    from tensorflow.contrib import slim\nexcept ImportError:\n    slim = None\n",
        "flag = hasattr(tf, 'placeholder') and tf.placeholder\n",
        "flag = tf.placeholder if IS_TF_1 else None\n",
        "def f(tf):\n    return tf.placeholder\n",
        "tf = tf.compat.v1\ntf.placeholder(tf.float32)\n",
        "import numpy as tf\ntf.placeholder\n",
        "lib = tf.compat.v1 if old else tf\nlib.placeholder(tf.float32)\n",
        "tf.mine = 3\nprint(tf.mine.x)\n",
        "setattr(tf, 'mine', 3)\nprint(tf.mine)\n",
        "from tensorflow.python.framework.ops import of_mine\n",  # outside Keras, what a private module holds
        "from tensorflow.python.keras.layers import Dense\n",
        "from tensorflow.python.client import device_lib\n",
        "import tensorflow.python.keras.engine.training\n",
        "from tensorflow.python.keras import engine\nengine.training\n",
        "try:\n    from tensorflow.python.keras import nothing\nexcept ImportError:\n    nothing = None\n",
        "@unittest.skipIf(old, 'no')\ndef test():\n    K.convert(1)\n",
        "from tensorflow.lite.python import ops_of_mine\n",
        "tf.constant(1).any_thing()\n",
        "keras.layers.Dense(3, **rest)\n",
        "layer = keras.layers.Dense(3) if deep else tf.identity\nlayer(x, training=True)\n",
        "(tf or keras).any_thing\n",
        "keras.Model.__dict__\n",
        "tf.io.VarLenFeature(dtype=tf.string)\n",  # a named tuple
        "tf.Variable(1.0, name='a', any_thing=1)\n",  # a metaclass takes the arguments
        "tf.train.Checkpoint(model=1)\n",
        "class Mine(keras.Model):\n    def guess(self, x):\n        return 1\n\n\nMine().guess(1)\n",
        "model = keras.Sequential([])\nmodel.mine = len\nmodel.mine()\n",
        "keras.models.load_model('of_a_class_of_ours').nearest(1)\n",
        "from .tensorflow import anything\n",
        "with suppress(AttributeError):\n    tf.anything()\n",
        "if K.backend() == 'theano':\n    K.convert(1)\n",
        "if not K.backend() == 'tensorflow':\n    K.convert(1)\n",
        "if K.backend() == 'theano' and old:\n    K.convert(1)\n",
        "if 'theano' == K.backend():\n    K.convert(1)\n",
        "if K.backend() is 'theano':\n    K.convert(1)\n",
        "if backend == 'theano':\n    K.convert(1)\n",
        "if os.environ['KERAS_BACKEND'] == 'theano':\n    K.convert(1)\n",
        "if K.backend() == 'tensorflow' and hasattr(tf, 'Session'):\n    tf.Session()\n",
        "if K.backend() != 'tensorflow':\n    K.convert(1)\nelif tf.__version__ < '2':\n    tf.Session()\n",
        "x = 1 if K.backend() == 'tensorflow' else K.convert(1)\n",
        "def f():\n    if K.backend() == 'tensorflow':\n        return 1\n    return K.convert(1)\n",
        "keras.metrics.Mean().reset_state()\n",
        "keras.metrics.Mean().total\n",  # of the class itself
        "keras.layers.GRU(3).reset_states()\n",
        "seen = keras.metrics.Mean() if counts else Counter()\nseen.reset_states()\n",
        "def reset(seen):\n    seen.reset_states()\n",
        "seen = keras.metrics.Mean()\nif hasattr(seen, 'reset_states'):\n    seen.reset_states()\n",
        "keras.optimizers.Adam(0.1).beta_1\n",
        "tf.distribute.MirroredStrategy().unwrap(x)\n",
        "tf.distribute.MirroredStrategy().experimental_run_v2\n",  # which TFM223 renames
        "import tensorflow.compat.v2 as tf2\ntf2.enable_v2_behavior()\n",
        "import tensorflow.compat.v1 as tf1\ntf1.compat.v1.placeholder(1)\ntf1.compat.v2.function(len)\n",
    ],
)
def test_code_that_asks_first_or_means_something_else_is_left_alone(code: str) -> None:
    assert said(code) == []


@pytest.mark.parametrize(
    "code",
    [
        "if K.backend() != 'tensorflow':\n    raise RuntimeError\ntf.Session()\n",
        "if keras.backend.image_data_format() == 'channels_last':\n    tf.Session()\n",
        "if keras.backend.get_session().list_devices():\n    pass\n",
        "if tf.Session().list_devices() and tf.version:\n    pass\n",
        "x = 1 if tf.Session and tf.__version__ else 2\n",
        "if K.backend() == 'tensorflow':\n    tf.Session()\n",
        "if K.backend() == 'theano':\n    K.convert(1)\nelse:\n    tf.Session()\n",
        "if K.backend() == 'tensorflow' and deep:\n    tf.Session()\n",
        "if 'tensorflow' == keras.backend.backend():\n    tf.Session()\n",
        "if K.backend() is not 'theano':\n    tf.Session()\n",
        "x = tf.Session() if K.backend() == 'tensorflow' else None\n",
        "assert K.backend() == 'tensorflow'\ntf.Session()\n",
        "def f():\n    if K.backend() == 'theano':\n        return 1\n    return tf.Session()\n",
    ],
)
def test_a_test_of_the_backend_guards_nothing_on_tensorflow(code: str) -> None:
    assert codes(code) == ["TFM501"]


def test_a_fallback_that_exists_nowhere_is_none() -> None:
    head = "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n"
    assert codes("tf.multiprocessing\n", head=head) == ["TFM502"]


def test_an_import_fails_whatever_guards_what_it_imports() -> None:
    code = "from tensorflow import set_random_seed\nif tf.__version__ < '2':\n    set_random_seed(1)\n"
    assert codes(code) == ["TFM501"]
    assert codes("try:\n    from tensorflow import set_random_seed\nexcept ImportError:\n    pass\n") == []


NEITHER = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
try:
    from keras.engine import saving
except ImportError:
    from keras.engine import topology as saving

model = Sequential([Dense(1, input_shape=(4,))])
saving.load_weights_from_hdf5_group(file, model.layers)
print(multi_gpu_model(model, 2).predict(x))
"""


def test_a_name_that_neither_of_two_modules_has_is_told_where_it_is_read() -> None:
    findings = migrate_bytes(NEITHER.encode(), "x.py", Settings()).findings
    (told,) = (finding for finding in findings if finding.code == "TFM501")
    assert told.line == 10
    assert told.message.endswith(": call load_weights(path) of a model of these layers")


def test_a_name_that_may_be_of_a_module_out_of_sight_takes_any_keyword() -> None:
    head = "from tensorflow import keras\n"
    code = "if mine:\n    from .own import Dense\nelse:\n    from tensorflow.keras.layers import Dense\n"
    assert codes(code + "Dense(3, anything=1)\n", head=head) == []


def test_the_target_decides() -> None:
    code = "model = keras.Sequential([])\nmodel.fit(x, workers=2)\ntf.estimator.Estimator\n"
    assert codes(code, "2.9") == []
    assert codes(code, "2.15") == []
    assert codes(code) == codes(code, "2.16") == ["TFM501", "TFM501"]
    # Between two measured versions that differ nothing can be told.
    assert codes("model = keras.Sequential([])\nmodel.predict_generator(x)\n", "2.12") == []


def test_keras_2_inside_today_s_tensorflow_keeps_what_it_has() -> None:
    code = "model = keras.Sequential([])\nmodel.fit(x, workers=2)\nmodel.fit(x, werkers=2)\n"
    legacy = "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + HEAD
    assert codes(code) == ["TFM501", "TFM503"]
    assert codes(code, head=legacy) == ["TFM503"]
    assert codes(code, head="import tf_keras as keras\n") == ["TFM503"]


def section(versions: str, names: dict[str, str]) -> Section:
    return Section(f"{versions}\n\nx y\n-\n\n" + "".join(f"{name}\t{codes}\n" for name, codes in names.items()))


SMALL = PublicNames(
    {
        "tensorflow": section("1.15.0 2.3.4 2.9.3 2.21.0", {
            "tensorflow": "m m m m", "tensorflow.old": "f0 - - -", "tensorflow.new": "- - c1 c1",
            "tensorflow.hidden": "o o o o", "tensorflow.gone": "f0 f0 f0 -\ttensorflow.new",
        }),
        "keras": section("2.3.1 3.15.1", {
            "keras": "m m", "keras.Model": "c0 c1", "keras.Model.fit": "f0 f1", "keras.Layer": "c0 c0",
            "keras.Layer._call": "v v",
        }),
    }
)  # fmt: skip


def test_a_part_of_the_index_of_its_own_comes_before_that_of_the_package() -> None:
    whole, private = (section("2.9.3", {name: "m"}) for name in ("tensorflow", "tensorflow.python"))
    index = PublicNames({"tensorflow": whole, "tensorflow.python": private})
    assert index.section("tensorflow.python.keras") is private
    assert index.section("tensorflow.keras") is whole


@pytest.mark.parametrize(
    ("name", "target", "missing"),
    [
        ("tensorflow.old", "2.4", "tensorflow.old"),
        ("tensorflow.old.deeper", None, "tensorflow.old"),
        ("tensorflow.new", "2.4", None),  # 2.3 lacks it, 2.9 has it
        ("tensorflow.new", None, None),
        ("tensorflow.new.anything", None, None),
        ("tensorflow.hidden.anything", None, None),
        ("tensorflow._private.anything", None, "tensorflow._private"),
        ("tensorflow.__version__.anything", None, None),
        ("keras.Model._compile", None, None),  # no private member of it is known
        ("keras.Layer._calls", None, "keras.Layer._calls"),
        ("tensorflow.gone", "2.15", None),
        ("tensorflow.gone", "2.16", "tensorflow.gone"),
        ("tensorflow.gone", "2.21", "tensorflow.gone"),
        ("keras.Model.train", None, "keras.Model.train"),
        ("keras.Model.fit", "2.4", None),
    ],
)
def test_a_name_is_missing_where_every_version_asked_lacks_it(
    name: str, target: str | None, missing: str | None
) -> None:
    assert Target(SMALL, target, keras_2=False).missing(name) == missing


def test_files_without_multi_gpu_model_are_read_when_asked_for(project: Path, tfmigrate: Run) -> None:
    (project / "article.py").write_text("import tensorflow as tf\n\ntf.multiprocessing.spawn()\n")
    (project / "other.py").write_text("import numpy\n")
    assert tfmigrate("check", ".").code == 0
    asked = tfmigrate("check", "--select", "TFM5", ".")
    assert asked.code == 1
    assert "article.py:3:1: TFM502" in asked.text
    assert tfmigrate("check", "--select", "TFM501", ".").code == 0
    assert tfmigrate("fix", "--select", "TFM5", ".").code == 1


def test_a_file_that_is_migrated_is_told_of_at_once(project: Path, tfmigrate: Run) -> None:
    (project / "train.py").write_text(
        "import tensorflow as tf\n\ntf.multiprocessing.spawn()\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])\n"
        "model = tf.keras.utils.multi_gpu_model(model, gpus=2)\nmodel.compile('sgd', 'mse')\n"
    )
    assert "TFM502 tensorflow.multiprocessing" in tfmigrate("check", ".").text


def test_the_index_is_small() -> None:
    assert sum(path_of(section).stat().st_size for section in SECTIONS) < 370_000


def test_a_file_that_stays_on_standalone_keras_is_held_against_it() -> None:
    code = b"from keras.src import tree\n"
    assert migrate_bytes(code, "x.py", Settings(select=("TFM2", "TFM5"))).findings == ()


MODEL = """
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = tf.zeros((8, 4)), tf.zeros((8, 1))
"""
PAIRS = (
    # What an article wrote, and what does the same in the target.
    ("TFM501", "K.get_session()", "tf.function(lambda: 1)()"),
    ("TFM501", "tf.global_variables()", "model.variables"),
    ("TFM501", "tf.placeholder(tf.float32)", "tf.keras.Input((1,))"),
    ("TFM501", "tf.random_normal([2])", "tf.random.normal([2])"),
    ("TFM501", "tf.contrib.layers.flatten(x)", "tf.keras.layers.Flatten()(x)"),
    ("TFM501", "tf.estimator.RunConfig()", "tf.distribute.get_strategy()"),
    ("TFM501", "tf.train.AdamOptimizer(0.1)", "tf.keras.optimizers.Adam(0.1)"),
    ("TFM501", "tf.image.resize_images(tf.zeros((2, 2, 1)), (4, 4))", "tf.image.resize(tf.zeros((2, 2, 1)), (4, 4))"),
    ("TFM501", "tf.gfile.Exists('x')", "tf.io.gfile.exists('x')"),
    ("TFM501", "tf.reduce_mean([1.0], reduction_indices=0)", "tf.reduce_mean([1.0], axis=0)"),
    ("TFM501", "tf.nn.softmax([1.0], dim=0)", "tf.nn.softmax([1.0], axis=0)"),
    ("TFM501", "model.predict_classes(x)", "model.predict(x, verbose=0).argmax(axis=-1)"),
    ("TFM501", "model._make_predict_function()", "model.make_predict_function()"),
    ("TFM501", "tf.keras.optimizers.SGD().weights", "tf.keras.optimizers.SGD().variables"),
    (
        "TFM501",
        "tf.distribute.MirroredStrategy(['cpu:0']).experimental_make_numpy_dataset(x)",
        "tf.data.Dataset.from_tensor_slices(x)",
    ),
    ("TFM502", "tf.multiprocessing.set_start_method('spawn')", "tf.config.get_soft_device_placement()"),
    ("TFM502", "tf.keras.backend.convert([1.0])", "tf.convert_to_tensor([1.0])"),
    ("TFM502", "tf.config.experimental.set_floatx('float32')", "tf.keras.backend.set_floatx('float32')"),
    ("TFM502", "tf.keras.optimizers.Options()", "tf.data.Options()"),
    ("TFM502", "tf.data.Dataset.from_tensors_slices(x)", "tf.data.Dataset.from_tensor_slices(x)"),
    ("TFM502", "tf.keras.preprocessing.image.load_image", "tf.keras.preprocessing.image.load_img"),
    ("TFM502", "tf.distribute.MirroredStrategi()", "tf.distribute.MirroredStrategy(['cpu:0'])"),
    ("TFM503", "model.fit(x, y, verbose=0, epoch_size_steps=1)", "model.fit(x, y, verbose=0, steps_per_epoch=1)"),
    ("TFM503", "model.predict(x, verbose=0, batches=1)", "model.predict(x, verbose=0, steps=1)"),
    ("TFM503", "tf.keras.layers.Dense(1, activaton='relu')", "tf.keras.layers.Dense(1, activation='relu')"),
    ("TFM503", "tf.keras.layers.Conv2D(1, 3, stride=2)", "tf.keras.layers.Conv2D(1, 3, strides=2)"),
    ("TFM503", "tf.keras.optimizers.Adam(learning_rat=0.1)", "tf.keras.optimizers.Adam(learning_rate=0.1)"),
    ("TFM503", "tf.keras.optimizers.SGD(momentun=0.1)", "tf.keras.optimizers.SGD(momentum=0.1, clipnorm=1.0)"),
    ("TFM503", "tf.keras.callbacks.EarlyStopping(best=True)", "tf.keras.callbacks.EarlyStopping(patience=2)"),
    ("TFM503", "tf.keras.losses.BinaryCrossentropy(logits=1)", "tf.keras.losses.BinaryCrossentropy(from_logits=True)"),
    ("TFM503", "tf.random.normal([1], sdtdev=2.0)", "tf.random.normal([1], stddev=2.0)"),
    ("TFM503", "tf.keras.utils.to_categorical([1], nb=2)", "tf.keras.utils.to_categorical([1], num_classes=2)"),
    ("TFM503", "tf.data.Dataset.from_tensors([1], called='a')", "tf.data.Dataset.from_tensors([1], name='a')"),
)
ON_KERAS_3 = (
    ("TFM501", "tf.keras.metrics.Mean().reset_states()", "tf.keras.metrics.Mean().reset_state()"),
    ("TFM501", "tf.keras.metrics.Mean().get_weights()", "[v.numpy() for v in tf.keras.metrics.Mean().variables]"),
    ("TFM501", "tf.keras.metrics.Mean().set_weights", "tf.keras.metrics.Mean().variables[0].assign(1.0)"),
    ("TFM501", "tf.keras.metrics.Mean().weights", "tf.keras.metrics.Mean().variables"),
    ("TFM501", "tf.keras.optimizers.SGD().lr", "tf.keras.optimizers.SGD().learning_rate"),
    ("TFM501", "tf.keras.optimizers.SGD().minimize", "tf.keras.optimizers.SGD().apply_gradients"),
)
"""What Keras 2 has."""
RUN = """
import sys
for line in sys.argv[1].splitlines():
    try:
        eval(line)
    except (AttributeError, TypeError, ValueError) as error:
        print("FAILS", line)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras_2", [False, True])
def test_what_is_told_fails_in_tensorflow_and_what_stands_in_its_place_runs(keras_2: bool, python: Python) -> None:
    head = ("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" if keras_2 else "") + HEAD + MODEL
    lines = [line for _, wrong, right in (*PAIRS, *ON_KERAS_3) for line in (wrong, right)]
    told = {(code, lines[line - 1]) for line, code, _ in said("\n".join(lines) + "\n", head=head)}
    assert told == {(code, wrong) for code, wrong, _ in (PAIRS if keras_2 else PAIRS + ON_KERAS_3)}
    done = python(2 if keras_2 else 3, head + RUN, "\n".join(lines))
    assert done.returncode == 0, done.stderr[-2000:]
    failing = {line.removeprefix("FAILS ") for line in done.stdout.splitlines() if line.startswith("FAILS ")}
    assert failing == {line for _, line in told}


@pytest.mark.parametrize(("other", "expected"), [("keras.Sequential()", ["TFM502"]), ("engine.Session(path)", [])])
def test_a_function_may_be_called_with_a_model_and_with_something_else(other: str, expected: list[str]) -> None:
    code = (
        "import engine\n\n\ndef count(one):\n    return one.number_of_inputs()\n\n\n"
        f"def main(path):\n    count(keras.Sequential())\n    count({other})\n\n\nmain('x')\n"
    )
    assert list(dict.fromkeys(codes(code))) == expected
