"""What stands beside multi_gpu_model: what is left alone, and what one call gets from several rules."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate, migrate_files, with_model
from tfmigrate.migrate import migrate_bytes
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import tensorflow as tf
from keras import backend as K
from keras.callbacks import Callback, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, TensorBoard
from keras.layers import GRU, LSTM, Conv2D, ConvLSTM2D, Dense
from keras.models import Sequential
from keras.optimizers import Adagrad, Adam, RMSprop
from keras.utils import multi_gpu_model

"""
TAIL = """\
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
"""
MOVED = {"TFM001", "TFM003", "TFM203", "TFM009"}
"""What each of these programs gets anyway."""


def migrated(body: str, before_model: bool = False, **settings: object) -> FileResult:
    text = HEAD + (body + TAIL if before_model else TAIL + body)
    file = migrate_bytes(text.encode(), "example.py", Settings(**settings))  # type: ignore[arg-type]
    assert file.error is None, file.error
    assert file.status == "migrated"
    return file


def found(file: FileResult) -> set[str]:
    return {finding.code for finding in file.findings} - MOVED


def test_a_path_for_weights_with_an_unknown_ending_is_told() -> None:
    file = migrated("def keep(path):\n    model.save_weights(path)\n\n\nmodel.save_weights('last.weights.h5')\n")
    assert [(f.code, f.action) for f in file.findings if f.code == "TFM205"] == [("TFM205", "warn")]


@pytest.mark.parametrize(
    ("path", "told"), [("path", 1), ("path + '_last'", 1), ("path + '.hd5'", 0), ("path + '.keras'", 0), ("'a.h5'", 0)]
)
def test_a_path_for_whole_models_with_an_unknown_ending_is_told(path: str, told: int) -> None:
    file = migrated(f"def keep(path):\n    return ModelCheckpoint({path})\n")
    assert [f.action for f in file.findings if f.code == "TFM205" and f.action == "warn"] == ["warn"] * told


@pytest.mark.parametrize(
    "line",
    [
        # A metric key is only one where a training log holds it, and only where compile() says 'accuracy'.
        'parallel_model.compile("sgd", "mse", metrics=["acc"])\nstop = EarlyStopping(monitor="val_acc")\n',
        'parallel_model.compile("sgd", "mse", metrics=["accuracy", "acc"])\nstop = EarlyStopping(monitor="acc")\n',
        'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\nprint({"acc": 1}["acc"], "val_acc")\n',
        'stop = EarlyStopping(monitor="val_acc")\n',
        # Not Keras's, or not certainly so.
        "print(settings.optimizer.lr, self.lr)\n",
        "optimizer.set_value(optimizer.lr, 1)\n",
        "ModelCheckpointer(period=1)\n",
        "other.TensorBoard(batch_size=3)\n",
        "fit(nb_epoch=3)\n",
        # Says the default of today itself.
        "layer = LSTM(4, recurrent_activation='sigmoid')\n",
        "layer = GRU(4, recurrent_activation='sigmoid', reset_after=True)\n",
        "layer = ConvLSTM2D(4, 3, recurrent_activation='sigmoid')\n",
        "layer = Conv2D(4, (3, 3), (2, 2))\n",
        "layer = Conv2D(4, 3)\n",
        "plateau = ReduceLROnPlateau(min_delta=1)\n",
        "checkpoint = ModelCheckpoint('all.keras', save_freq='epoch')\n",
        "optimizer = Adam(epsilon=1e-8)\n",
        # A loss with a value for each sample.
        "def loss(t, p):\n    return K.mean(K.square(t - p), axis=-1)\n\n\nparallel_model.compile('sgd', loss)\n",
        "def loss(t, p):\n    return K.sum(K.abs(t - p), axis=[1, 2])\n\n\nparallel_model.compile('sgd', loss)\n",
        # A mean that is no loss.
        "def size(t, p):\n    return K.mean(p)\n\n\nparallel_model.compile('sgd', 'mse', metrics=[size])\n",
        # A Sequence or an array is no generator.
        "parallel_model.compile('sgd', 'mse')\nparallel_model.fit_generator(batches, steps_per_epoch=3)\n",
    ],
)
def test_nothing_is_said_about(line: str) -> None:
    file = migrated(line)
    assert found(file) <= {"TFM201"}
    if "fit_generator" not in line and "compile" not in line:
        assert line in file.after


def test_tensorflow_reached_through_keras_is_tensorflow() -> None:
    file = migrated("print(K.tf.abs(1), K.tensorflow_backend.tf)\n")
    assert "print(tf.abs(1), tf)\n" in file.after
    assert found(file) == {"TFM204"}


def test_tensorflow_reached_through_keras_is_imported_where_it_was_not() -> None:
    losses = "from keras import backend as K\n\n\ndef first(rows):\n    return K.tf.slice(rows, [0], [1])\n"
    sources = {"train.py": "import losses\n" + HEAD + TAIL + "print(losses.first)\n", "losses.py": losses}
    after = {file.path: file.after for file in migrate_sources(sources, Settings())}
    assert after["losses.py"] == (
        "import tensorflow as tf\n\n\ndef first(rows):\n    return tf.slice(rows, [0], [1])\n"
    )


def test_private_modules_of_keras_are_the_public_package() -> None:
    lines = "from tensorflow.python.keras.layers.normalization import BatchNormalization\n"
    lines += "from tensorflow.python.keras.preprocessing.image import flip_axis, img_to_array\n"
    file = migrated(lines + "print(flip_axis)\n", before_model=True)
    assert "from tensorflow.keras.layers import BatchNormalization\n" in file.after
    assert "from tensorflow.python.keras.preprocessing.image import flip_axis\n" in file.after  # never was public
    told = [f for f in file.findings if f.code == "TFM501"]
    assert len(told) == 1
    assert "tensorflow.python.keras.preprocessing is not in TensorFlow 2.21" in told[0].message


def test_a_private_module_of_which_nobody_knows_that_it_became_public_stays() -> None:
    line = "from tensorflow.python.keras.saving import hdf5_format\n"
    file = migrated(f"{line}hdf5_format.load_weights_from_hdf5_group(file, parallel_model.get_weights())\n")
    assert line in file.after  # Of the public tensorflow.keras.saving of TensorFlow 2.21 the index has no list.


@pytest.mark.parametrize(("version", "kept"), [("tensorflow==1.13", False), ("tensorflow==1.14", True)])
def test_tf_keras_had_the_old_optimizer_defaults_before_1_14(version: str, kept: bool) -> None:
    text = (HEAD + TAIL + "optimizer = Adagrad()\n").replace("from keras", "from tensorflow.keras")
    file = migrate_bytes(text.encode(), "example.py", Settings(from_version=version))
    assert ("optimizer = Adagrad()\n" in file.after) is kept
    assert ("learning_rate=0.01" in file.after) is not kept


@pytest.mark.parametrize(("name", "told"), [("adadelta", {"TFM301"}), ("rmsprop", {"TFM304"}), ("sgd", set())])
def test_an_optimizer_by_a_name_from_elsewhere_is_told_once(name: str, told: set[str]) -> None:
    body = f"def ready(optimizer='{name}'):\n    parallel_model.compile(optimizer, 'mse')\n\n\nready()\nready()\n"
    file = migrated(body)
    places = [(finding.code, finding.action) for finding in file.findings if finding.code.startswith("TFM3")]
    assert places == [(code, "warn") for code in told]
    assert "compile(optimizer, 'mse')" in file.after


ADADELTA = "tf.keras.optimizers.Adadelta(learning_rate=1.0)"


def test_an_optimizer_by_a_name_in_a_variable_is_written_out() -> None:
    body = "opt = 'adadelta'\nparallel_model.compile(loss='mse', optimizer=opt)\n"
    file = migrated(body)
    assert f"compile(loss='mse', optimizer={ADADELTA})" in file.after
    assert "'adadelta'" not in file.after
    assert [f.action for f in file.findings if f.code == "TFM301"] == ["rewrite"]
    inside = "def ready():\n    opt = 'adadelta'\n    parallel_model.compile(opt, 'mse')\n\n\nready()\n"
    file = migrated(inside)
    assert f"compile({ADADELTA}, 'mse')" in file.after
    assert "'adadelta'" not in file.after


def test_each_compile_gets_an_optimizer_of_its_own() -> None:
    body = "opt = 'adadelta'\nparallel_model.compile(opt, 'mse')\nmodel.fit(x, y)\nparallel_model.compile(opt, 'mae')\n"
    after = migrated(body).after
    assert f"compile({ADADELTA}, 'mse')" in after
    assert f"compile({ADADELTA}, 'mae')" in after


def test_the_name_stays_where_others_read_it() -> None:
    file = migrated("opt = 'adadelta'\nparallel_model.compile(opt, 'mse')\nprint('trained by', opt)\n")
    assert "opt = 'adadelta'\n" in file.after
    assert f"compile({ADADELTA}, 'mse')" in file.after
    assert "print('trained by', opt)" in file.after
    sources = {
        "train.py": HEAD + TAIL + "opt = 'adadelta'\nparallel_model.compile(opt, 'mse')\n",
        "show.py": "from train import opt\n\nprint(opt)\n",
    }
    after = {file.path: file.after for file in migrate_sources(sources, Settings())}["train.py"]
    assert "opt = 'adadelta'\n" in after
    assert f"compile({ADADELTA}, 'mse')" in after


@pytest.mark.parametrize(
    "before",
    [
        "opt = 'adadelta'\nif fast:\n    opt = 'sgd'\n",
        "opt = 'adadelta' if fast else 'sgd'\n",
        "for opt in ('adadelta', 'sgd'):\n    print(opt)\n",
        "opt = 'sgd'\n",
    ],
)
def test_a_name_that_is_not_settled_is_left(before: str) -> None:
    file = migrated(f"{before}parallel_model.compile(opt, 'mse')\n")
    assert "compile(opt, 'mse')" in file.after
    assert before.splitlines()[0] in file.after
    assert "rewrite" not in [f.action for f in file.findings if f.code == "TFM301"]


@pytest.mark.parametrize(
    ("version", "told"), [(None, ["warn"]), ("tensorflow==1.13", ["rewrite"]), ("tensorflow==1.14", [])]
)
def test_so_it_is_for_a_name_that_compile_is_given(version: str | None, told: list[str]) -> None:
    text = (HEAD + TAIL + "parallel_model.compile('adadelta', 'mse')\n").replace("from keras", "from tensorflow.keras")
    file = migrate_bytes(text.encode(), "example.py", Settings(from_version=version))
    assert [f.action for f in file.findings if f.code == "TFM301"] == told
    assert ("compile('adadelta', 'mse')" in file.after) is (told != ["rewrite"])


def test_where_nothing_tells_the_version_the_place_is_named() -> None:
    text = (HEAD + TAIL + "optimizer = Adagrad()\n").replace("from keras", "from tensorflow.keras")
    file = migrate_bytes(text.encode(), "example.py", Settings())
    assert "optimizer = Adagrad()\n" in file.after
    assert [f.action for f in file.findings if f.code == "TFM301"] == ["warn", "warn"]


def test_one_call_takes_the_changes_of_all_rules() -> None:
    file = migrated(
        'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\n'
        'best = ModelCheckpoint("w-{val_acc:.2f}.h5", monitor="val_acc", save_weights_only=True, period=1, '
        'mode="max")\n'
        "parallel_model.fit_generator(batches, nb_epoch=3, pickle_safe=True, steps_per_epoch=4)\n"
    )
    assert (
        'best = ModelCheckpoint("w-{val_accuracy:.2f}.weights.h5", monitor="val_accuracy", save_weights_only=True, '
        'mode="max")\n'
    ) in file.after
    assert "model.fit(batches, epochs=3, steps_per_epoch=4)\n" in file.after


def test_a_model_of_keras_1_names_its_inputs_and_outputs() -> None:
    text = HEAD.replace("models import", "models import Model,") + TAIL + "other = Model(input=a, output=b)\n"
    assert "other = Model(inputs=a, outputs=b)\n" in migrate_bytes(text.encode(), "example.py", Settings()).after


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("from keras.utils import convert_all_kernels_in_model\n", [1]),
        ("from keras.utils import convert_all_kernels_in_model\nconvert_all_kernels_in_model(None)\n", [1]),
        ("from keras import utils\nutils.convert_all_kernels_in_model(None)\n", [2]),
        ("from mine import convert_all_kernels_in_model\nconvert_all_kernels_in_model(None)\n", []),
        ("tf.compat.v1.Session()\n", []),
        ("tf.Session()\ntf.get_default_session().run(x)\n", [1, 2]),
        ("tf.get_default_graph().finalize()\n", []),
        ("K.set_session(tf.Session())\n", []),
        ("parallel_model.to_yaml()\nother.to_yaml()\n", [1]),
        ("parallel_model.compile('sgd', 'mse', target_tensors=t)\n", [1]),
    ],
)
def test_a_name_that_is_gone_is_told_once(line: str, lines: list[int]) -> None:
    file = migrated(line)
    first = (HEAD + TAIL).count("\n")
    assert [f.line - first for f in file.findings if f.code == "TFM501"] == lines


def test_a_rule_can_be_left_out() -> None:
    line = "board = TensorBoard(batch_size=3)\noptimizer = RMSprop()\n"
    file = migrated(line, ignore=("TFM208", "TFM304", "TFM501"))
    assert line in file.after
    assert not found(file)
    line = "checkpoint = ModelCheckpoint('a-{val_acc}.h5', monitor='val_acc', save_weights_only=True)\n"
    compiled = 'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\n'
    file = migrated(compiled + line, ignore=("TFM210",))
    assert "ModelCheckpoint('a-{val_acc}.weights.h5', monitor='val_acc', save_weights_only=True)" in file.after


def test_a_period_that_is_not_one_is_kept_by_a_class() -> None:
    file = migrated("checkpoint = ModelCheckpoint('all.h5', period=every)\n")
    assert "checkpoint = PeriodicCheckpoint('all.h5', period=every)" in file.after


def test_a_period_that_is_set_to_one_remains_a_setting() -> None:
    file = migrated("every = 1\ncheckpoint = ModelCheckpoint('all.h5', period=every)\n")
    assert "every = 1\ncheckpoint = PeriodicCheckpoint('all.h5', period=every)" in file.after
    assert [(f.code, f.action) for f in file.findings if f.code == "TFM209"] == [("TFM209", "rewrite")]


@pytest.mark.parametrize(
    "arguments", ["config=config", "config=config, graph=tf.get_default_graph()", "target='', config=config"]
)
def test_a_session_of_the_default_graph_is_only_settings(arguments: str) -> None:
    config = "config = tf.ConfigProto(intra_op_parallelism_threads=1)\n"
    file = migrated(f"{config}K.set_session(tf.Session({arguments}))\n", before_model=True)
    assert "Session" not in file.after
    assert "tf.config.threading.set_intra_op_parallelism_threads(1)\n" in file.after
    assert not [f for f in file.findings if f.code == "TFM228" or f.action != "rewrite"]


@pytest.mark.parametrize(
    ("session", "why"),
    [
        ("sess = tf.Session()\nK.set_session(sess)\nprint(sess.graph)\n", "used elsewhere"),
        ("K.set_session(tf.Session(graph=graph))\n", "graph or target"),
        ("K.set_session(tf.Session('grpc://main:2222'))\n", "graph or target"),
        ("K.set_session(make())\n", "unknown"),
        ("K.set_session(tf.Session(config=tf.ConfigProto(device_count={'GPU': 0})))\n", "device_count"),
        (
            "config = tf.ConfigProto()\nwhile growing:\n    config.gpu_options.allow_growth = True\n"
            "K.set_session(tf.Session(config=config))\n",
            "condition",
        ),
    ],
)
def test_a_session_that_is_more_than_settings_stays(session: str, why: str) -> None:
    file = migrated(session, before_model=True)
    assert session in file.after
    (finding,) = [f for f in file.findings if f.code == "TFM211"]
    assert finding.action == "warn"
    assert why in finding.message


SETTINGS = "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\n"


@pytest.mark.parametrize(
    ("session", "after"),
    [
        ("session = tf.Session(config=config)\n", ""),
        ("tf.Session(config=config)\n", ""),
        (
            "def start(gpu):\n    config = tf.ConfigProto()\n    config.gpu_options.allow_growth = True\n"
            "    session = tf.Session(config=config)\n    return session\n\n\nstart('0')\n",
            "start('0')\n",
        ),
    ],
)
def test_a_session_that_nobody_takes_is_settings_too(session: str, after: str) -> None:
    file = migrated(SETTINGS * ("def" not in session) + session, before_model=True)
    assert "set_memory_growth" in file.after
    assert "ession" not in file.after
    assert "return" not in file.after
    assert after in file.after
    assert not [f for f in file.findings if f.code == "TFM501"]


@pytest.mark.parametrize(
    "session",
    [
        "session = tf.Session(config=config)\nsession.run(x)\n",
        "def start():\n    session = tf.Session(config=config)\n    return session\n\n\nsession = start()\n",
        "def start():\n    session = tf.Session(config=config)\n    return session\n\n\nstart()\nkeep(start)\n",
        "def start():\n    session = tf.Session(config=config)\n    return session\n",
        "session = tf.Session()\n",
    ],
)
def test_a_session_that_somebody_may_take_stays(session: str) -> None:
    file = migrated(SETTINGS + session, before_model=True)
    assert session in file.after
    assert [f for f in file.findings if f.code == "TFM501"]


@pytest.mark.parametrize("again", ["from project import config\nprint(config)\n", "config = read()\nprint(config)\n"])
def test_the_name_of_settings_may_be_used_again_below(again: str) -> None:
    file = migrated(SETTINGS + "K.set_session(tf.Session(config=config))\n" + again, before_model=True)
    assert "set_memory_growth" in file.after
    assert "ConfigProto" not in file.after
    assert "set_session" not in file.after
    assert again in file.after


@pytest.mark.parametrize(
    "lines",
    [
        SETTINGS + "if fast:\n    config = read()\nK.set_session(tf.Session(config=config))\n",
        SETTINGS + "config = read()\nK.set_session(tf.Session(config=config))\n",
        SETTINGS + "K.set_session(tf.Session(config=config))\nconfig = config.copy()\n",
        SETTINGS + "K.set_session(tf.Session(config=config))\nconfig = 1\n\n\ndef ask():\n    return config\n",
    ],
)
def test_settings_that_may_be_others_stay(lines: str) -> None:
    file = migrated(lines, before_model=True)
    assert lines in file.after
    assert [f.action for f in file.findings if f.code == "TFM211"] == ["warn"]


def test_visible_devices_are_chosen_before_their_memory_grows() -> None:
    file = migrated(
        "options = tf.GPUOptions(allow_growth=True, visible_device_list='0,2')\n"
        "K.set_session(tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions("
        "allow_growth=True, visible_device_list='0,2'))))\n",
        before_model=True,
    )
    chosen = "tf.config.set_visible_devices([tf.config.list_physical_devices('GPU')[0], "
    assert chosen + "tf.config.list_physical_devices('GPU')[2]], 'GPU')\n" in file.after
    assert file.after.index("set_visible_devices") < file.after.index("set_memory_growth")
    assert "K.set_session" not in file.after


def test_options_of_gpus_may_be_a_dict() -> None:
    given = "gpu_options={'allow_growth': True, %s}"
    session = f"K.set_session(tf.Session(config=tf.ConfigProto({given})))\n"
    file = migrated(session % "'visible_device_list': '1'", before_model=True)
    assert "set_memory_growth(gpu, True)" in file.after
    assert "set_visible_devices([tf.config.list_physical_devices('GPU')[1]], 'GPU')" in file.after
    assert "K.set_session" not in file.after
    assert "K.set_session" in migrated(session % "**more", before_model=True).after


def test_options_of_gpus_may_have_a_name() -> None:
    lines = "options = tf.GPUOptions(%s)\n%sK.set_session(tf.Session(config=tf.ConfigProto(gpu_options=options)))\n"
    for given, more in (("allow_growth=True", ""), ("", "options.allow_growth = True\n")):
        file = migrated(lines % (given, more), before_model=True)
        assert "set_memory_growth(gpu, True)" in file.after
        assert "GPUOptions" not in file.after
        assert "K.set_session" not in file.after
    file = migrated(lines % ("allow_growth=True", "print(options)\n"), before_model=True)
    assert "K.set_session" in file.after


def test_devices_are_configured_before_the_strategy_is_made() -> None:
    file = migrated("K.set_session(tf.Session(config=tf.ConfigProto(log_device_placement=True)))\n", before_model=True)
    assert file.after.index("set_log_device_placement") < file.after.index("MirroredStrategy")


def test_what_a_rewritten_call_keeps_is_rewritten_too() -> None:
    text = HEAD.replace("import tensorflow as tf\n", "import keras\n") + TAIL
    text += "K.set_value(parallel_model.optimizer.lr, keras.backend.tensorflow_backend.epsilon())\n"
    after = migrate_bytes(text.encode(), "example.py", Settings()).after
    assert "model.optimizer.learning_rate.assign(keras.backend.epsilon())\n" in after


def test_a_call_that_a_comment_leaves_alone_keeps_its_arguments() -> None:
    file = migrate(with_model("") + "parallel_model.fit_generator(rows(), 3)  # tfmigrate: skip\n")
    assert file.after.endswith("model.fit_generator(rows(), 3)  # tfmigrate: skip\n")


@pytest.mark.parametrize(("mode", "new", "code"), [("mode=0, ", "", "TFM207"), ("mode=2, ", "mode=2, ", "TFM503")])
def test_the_mode_of_batch_normalization(mode: str, new: str, code: str) -> None:
    file = migrated(f"from keras.layers import BatchNormalization\nlayer = BatchNormalization({mode}axis=3)\n")
    assert f"layer = BatchNormalization({new}axis=3)\n" in file.after
    assert [f.action for f in file.findings if f.code == code] == ["rewrite" if code == "TFM207" else "warn"]


def test_a_kernel_in_variables_is_told() -> None:
    file = migrated("rows = read()\nlayer = Conv2D(8, rows, rows)\n")
    assert "Conv2D(8, rows, rows)" in file.after
    assert ("TFM207", "warn") in {(f.code, f.action) for f in file.findings}


@pytest.mark.parametrize(
    ("data", "new"),
    [("batches()", "steps_per_epoch=4"), ("read()", "samples_per_epoch=4"), ("Rows()", "samples_per_epoch=4")],
)
def test_samples_per_epoch_counted_the_batches_of_a_generator_alone(data: str, new: str) -> None:
    head = "def batches():\n    while True:\n        yield read()\n\n\n"
    head += "class Rows(keras.utils.Sequence):\n    batch_size = 2\n\n\n"
    file = migrate(with_model(f"import keras\n{head}") + f"parallel_model.fit_generator({data}, samples_per_epoch=4)\n")
    assert f"model.fit({data}, {new})\n" in file.after
    assert actions(file, "TFM207") == ["rewrite" if new.startswith("steps") else "warn"]


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("merge([a, b])", "tf.keras.layers.add([a, b])"),
        ("merge([a, b], mode='concat', concat_axis=3)", "tf.keras.layers.concatenate([a, b], axis=3)"),
        ("merge([a, b], 'concat')", "tf.keras.layers.concatenate([a, b])"),
        ("merge([a, b], mode='mul', concat_axis=1, name='m')", "tf.keras.layers.multiply([a, b], name='m')"),
        ("merge([a, b], mode='dot', dot_axes=1)", None),
        ("merge([a, b], mode=lambda pair: pair[0], output_shape=shape)", None),
        ("merge([a, b], mode=chosen)", None),
        ("merge(*pairs)", None),
    ],
)
def test_merge_of_keras_1_is_the_function_for_its_mode(call: str, new: str | None) -> None:
    text = f"from keras.layers import merge\nfrom keras.utils import multi_gpu_model\n\nc = {call}\n"
    text += "p = multi_gpu_model(build(c), 2)\np.compile('sgd', 'mse')\n"
    file = migrate_bytes(text.encode(), "example.py", Settings())
    assert f"c = {new or call}\n" in file.after
    assert (new is None) == (("TFM207", "warn") in {(f.code, f.action) for f in file.findings})


def test_a_variable_that_keeps_a_history_has_its_keys() -> None:
    body = (
        'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\n'
        "H = parallel_model.fit(x, y)\n"
        "H = H.history\n"
        'print(H["acc"], H.get("val_acc"))\n\n\n'
        "def other(H):\n"
        '    return H["acc"]\n'
    )
    file = migrated(body)
    assert 'print(H["accuracy"], H.get("val_accuracy"))' in file.after
    assert '    return H["acc"]\n' in file.after, "another variable"


def test_metrics_that_a_caller_gives_name_the_keys() -> None:
    body = (
        "def prepared(metrics):\n"
        '    parallel_model.compile("sgd", "mse", metrics=metrics)\n\n\n'
        'prepared(["accuracy"])\n'
        "class Told(Callback):\n"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        '        print(logs.get("val_acc"))\n'
    )
    assert 'logs.get("val_accuracy")' in migrated(body).after
    assert 'logs.get("val_acc")' in migrated(body.replace('"accuracy"', '"accuracy", "acc"')).after


def test_an_epsilon_in_a_name_is_squared_in_place() -> None:
    assert "RMSprop(epsilon=small ** 2)" in migrated("optimizer = RMSprop(epsilon=small)\n").after
    assert "RMSprop(epsilon=(small / 2) ** 2)" in migrated("optimizer = RMSprop(epsilon=small / 2)\n").after


@pytest.mark.parametrize("momentum", ["momentum=0.9", "momentum=m", "momentum=0.9, centered=True"])
def test_an_epsilon_that_stood_under_the_root_stays(momentum: str) -> None:
    head = HEAD.replace("from keras", "from tensorflow.keras")
    for given, kept in (("", ""), (", epsilon=1e-6", ", epsilon=1e-6")):
        text = f"{head}{TAIL}parallel_model.compile(RMSprop(0.01, {momentum}{given}), 'mse')\n"
        file = migrate_bytes(text.encode(), "example.py", Settings())
        assert f"RMSprop(0.01, {momentum}{kept})" in file.after
    text = f"{head}{TAIL}parallel_model.compile(RMSprop(0.01, momentum=0.0), 'mse')\n"
    assert "momentum=0.0, epsilon=1e-14)" in migrate_bytes(text.encode(), "example.py", Settings()).after


def test_an_epsilon_of_adagrad_is_squared_where_its_sum_started_at_nothing() -> None:
    assert "Adagrad(epsilon=1e-16," in migrated("optimizer = Adagrad(epsilon=1e-8)\n").after
    text = HEAD.replace("from keras", "from tensorflow.keras") + TAIL + "optimizer = Adagrad(epsilon=1e-8)\n"
    assert "Adagrad(epsilon=1e-8)" in migrate_bytes(text.encode(), "example.py", Settings()).after


@pytest.mark.parametrize(("epsilon", "told"), [("1e-7", []), ("1e-3", ["warn"])])
def test_a_large_epsilon_is_told(epsilon: str, told: list[str]) -> None:
    file = migrated(f"optimizer = RMSprop(epsilon={epsilon})\n")
    assert [f.action for f in file.findings if f.code == "TFM304" and f.action == "warn"] == told


def test_a_list_of_any_length_is_not_taken_for_one_array() -> None:
    file = migrated("x = [read(name) for name in names]\nparallel_model.fit(x, y, batch_size=64, epochs=2)\n")
    assert "model.fit(x, y, batch_size=64, epochs=2)" in file.after
    assert [f.action for f in file.findings if f.code == "TFM002"] == ["warn"]
    starred = migrated("x = [first, *others]\nparallel_model.fit(x, y, batch_size=64)\n")
    assert "model.fit(x, y, batch_size=64)" in starred.after


def test_the_second_run_changes_nothing() -> None:
    body = (
        "layer = GRU(4, recurrent_activation='hard_sigmoid')\n"
        "optimizer = RMSprop(lr=0.1, epsilon=1e-8, decay=1e-6)\n"
        "parallel_model.compile(optimizer, 'mse')\n"
    )
    once = migrated(body)
    again = migrate_bytes(once.after.encode(), "example.py", Settings())
    assert again.after == once.after


def test_an_import_in_a_block_serves_that_block_alone() -> None:
    body = (
        "def one():\n    import keras\n    import keras.layers\n    return keras.layers.Dense\n\n\n"
        "def two(plain):\n    if plain:\n        import keras\n    import keras\n    return keras.layers.Dense\n\n\n"
    )
    after = migrated(body, before_model=True).after
    once = "def one():\n    from tensorflow import keras\n    return keras.layers.Dense\n"
    each = "    if plain:\n        from tensorflow import keras\n    from tensorflow import keras\n    return"
    assert once in after
    assert each in after


def test_a_private_module_that_has_no_public_name_stays() -> None:
    body = (
        "try:\n    from tensorflow.python.keras.utils import conv_utils\n"
        "except ImportError:\n    from tensorflow.python.keras._impl.keras.utils import conv_utils\n"
        "from tensorflow.python.keras.utils import np_utils\n"
        "from tensorflow.python.keras.layers import Dropout\nprint(np_utils, Dropout)\n"
        "\n\ndef normal(size):\n    return conv_utils.normalize_tuple(size)\n\n\n"
    )
    file = migrated(body, before_model=True)
    assert "    from tensorflow.python.keras.utils import conv_utils\n" in file.after
    assert "    return conv_utils.normalize_tuple(size)\n" in file.after
    assert "from tensorflow.keras.layers import Dropout\n" in file.after
    assert not [finding for finding in file.findings if "conv_utils" in finding.message]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keras.engine.topology import get_source_inputs", "utils import get_source_inputs"),
        ("keras.engine import get_source_inputs", "utils import get_source_inputs"),
        ("keras.engine.input_layer import InputLayer", "layers import InputLayer"),
        ("keras.layers.convolutional_recurrent import ConvLSTM3D", "layers import ConvLSTM3D"),
        ("keras.callbacks.callbacks import TerminateOnNaN", "callbacks import TerminateOnNaN"),
        ("tensorflow.python.keras.engine.training import Model", "models import Model"),
        ("keras.layers.core import Permute", "layers import Permute"),
        ("keras.objectives import categorical_hinge", "losses import categorical_hinge"),
    ],
)
def test_what_a_module_held_for_itself_comes_from_its_public_place(old: str, new: str) -> None:
    name = old.rpartition(" ")[2]
    after = migrated(f"from {old}\nprint({name})\n", before_model=True).after
    assert f"from tensorflow.keras.{new}\n" in after or f"from tensorflow.keras import {name}\n" in after


def test_a_place_that_is_not_sure_is_not_guessed() -> None:
    body = (
        "from keras import backend as K\nfrom keras.engine.training import _masked\n"
        "from keras.backend.tensorflow_backend import is_variable\nfrom keras.utils.layer_utils import count_params\n"
        "print(K.is_placeholder, _masked, is_variable, count_params)\n"
    )
    after = migrated(body, before_model=True).after
    assert "from tensorflow.keras.backend import is_variable\n" in after
    assert "from tensorflow.keras.utils.layer_utils import count_params\n" in after
    assert "from keras.engine.training import _masked\n" in after
    assert "K.is_placeholder" in after


@pytest.mark.parametrize(
    ("line", "goes"),
    [
        ("from keras.backend.tensorflow_backend import set_session\n", True),
        ("from keras.utils import convert_all_kernels_in_model, to_categorical\nprint(to_categorical)\n", True),
        ("from keras.utils import convert_all_kernels_in_model\nprint(convert_all_kernels_in_model)\n", False),
        ("from keras.utils import convert_all_kernels_in_model\n__all__ = ['convert_all_kernels_in_model']\n", False),
        ("try:\n    from keras.utils import convert_all_kernels_in_model\nexcept ImportError:\n    pass\n", False),
    ],
)
def test_an_import_that_fails_goes_where_nothing_reads_it(line: str, goes: bool) -> None:
    file = migrated(line, before_model=True)
    name = "set_session" if "set_session" in line else "convert_all_kernels_in_model"
    assert (name not in file.after) is goes
    told = [finding.action for finding in file.findings if finding.code == "TFM501"]
    assert told == ["rewrite"] * goes + ["warn"] * (not goes and "try" not in line)


def test_an_import_that_another_module_reads_stays() -> None:
    text = HEAD + "from keras.utils import convert_all_kernels_in_model\n" + TAIL
    files = migrate_sources(
        {"a.py": text, "b.py": "from a import convert_all_kernels_in_model\nconvert_all_kernels_in_model(None)\n"},
        Settings(),
    )
    assert "import convert_all_kernels_in_model" in files[0].after


def test_a_local_variable_that_only_gone_arguments_read_goes() -> None:
    body = (
        "def train(gpus):\n    workers = 4\n    # batches\n    queue = 2 * workers\n    kept = 3\n    told = 5\n"
        "    print(told)\n"
        "    parallel_model.fit_generator(gpus, workers=workers, max_queue_size=queue, epochs=kept)\n"
    )
    after = migrated(body).after
    assert (
        "def train(gpus):\n    # batches\n    kept = 3\n    told = 5\n    print(told)\n    model.fit(gpus, epochs"
        in after
    )


@pytest.mark.parametrize(
    "line",
    ["workers = read()", "workers, b = 1, 2", "global workers", "workers = 4\n    print(locals())", "workers += 1"],
)
def test_a_variable_stays_where_its_assignment_does_more(line: str) -> None:
    after = migrated(f"def train():\n    {line}\n    parallel_model.fit_generator(tf, workers=workers)\n").after
    assert f"    {line}\n" in after


def test_a_fit_of_keras_1_on_arrays_gets_a_pipeline_too() -> None:
    file = migrated("from data import x, y\nparallel_model.fit(x, y, batch_size=8, nb_epoch=3)\n")
    assert file.after.endswith("model.fit(train_dataset, epochs=3)\n")
    assert [(f.code, f.action) for f in file.findings if f.code == "TFM002"] == [("TFM002", "rewrite")]


@pytest.mark.parametrize("name", ["utils import np_utils", "layers import merge"])
def test_an_import_that_would_only_be_renamed_goes_where_nothing_reads_it(name: str) -> None:
    last = name.rpartition(" ")[2]
    assert last not in migrated(f"from keras.{name}\n", before_model=True).after
    assert f" as {last}\n" in migrated(f"from keras.{name}\nprint({last})\n", before_model=True).after


@pytest.mark.parametrize("chosen", ["{'ada': Adagrad, 'rms': RMSprop}[name]", "either(name)", "kind"])
def test_one_of_several_optimizers_gets_no_argument_that_another_lacks(chosen: str) -> None:
    file = migrated(f"""\
def either(name):
    if name:
        return Adagrad
    return RMSprop


def train(name):
    if name:
        kind = Adagrad
    else:
        kind = RMSprop
    parallel_model.compile({chosen}(lr=0.1, decay=1e-4), "mse")


train(argument)
""")
    assert f"{chosen}(learning_rate=0.1, decay=1e-4)" in file.after
    assert [(f.code, f.action) for f in file.findings if f.code in ("TFM202", "TFM302", "TFM301")] == [
        ("TFM202", "rewrite"),
        ("TFM302", "warn"),
    ]


def test_an_optimizer_out_of_a_dict_with_a_known_key_is_that_one() -> None:
    file = migrated("known = {'ada': Adagrad}\nparallel_model.compile(known['ada'](lr=0.1), 'mse')\n")
    assert "known['ada'](learning_rate=0.1, initial_accumulator_value=0.0" in file.after


def test_names_that_keras_2_had_in_second_places_are_the_public_ones() -> None:
    file = migrated("from keras.models import Input\ninputs = Input((4,))\n")
    assert "from tensorflow.keras import Input\n" in file.after
    file = migrated("import keras\nweights = keras.initializers.normal(stddev=0.01)\n")
    assert "keras.initializers.RandomNormal(stddev=0.01)" in file.after


@pytest.mark.parametrize(
    ("call", "told"), [("set_weights(model.get_weights())", 0), ("load_weights('a.weights.h5')", 1)]
)
def test_weights_that_are_handed_over_are_no_file_of_an_old_run(call: str, told: int) -> None:
    file = migrated(f"parallel_model.{call}\n")
    assert [f.code for f in file.findings if f.code == "TFM022"] == ["TFM022"] * told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("fit_generator(**chosen)", 1),
        ("fit_generator(epochs=3, **chosen)", 1),
        ("evaluate_generator(**chosen)", 1),
        ("fit_generator(batches, **chosen)", 0),
        ("fit_generator(generator=batches, **chosen)", 0),
        ("fit_generator(*given, **chosen)", 0),
        ("fit(**chosen)", 0),
    ],
)
def test_a_generator_that_comes_by_its_old_name_through_stars_is_told(call: str, told: int) -> None:
    file = migrated(f"parallel_model.compile('sgd', 'mse')\nparallel_model.{call}\n")
    warnings = [finding for finding in file.findings if finding.action == "warn" and "`generator`" in finding.message]
    assert [finding.code for finding in warnings] == ["TFM201"] * told


@pytest.mark.parametrize(
    ("settings", "done"),
    [
        ("settings = {'lr': 0.1}\n", ["rewrite"]),
        ("settings = dict(lr=0.1, beta_1=0.8)\n", ["rewrite"]),
        ("settings = read()\nsettings['lr'] = 0.1\n", ["warn"]),
        ("settings = {'learning_rate': 0.1}\n", []),
        ("settings = read()\nothers['lr'] = settings['lr']\n", []),
    ],
)
def test_a_rate_that_comes_by_its_old_name_through_stars_is_not_missed(settings: str, done: list[str]) -> None:
    file = migrated(f"{settings}parallel_model.compile(Adam(**settings), 'mse')\n")
    assert [f.action for f in file.findings if f.code == "TFM202"] == done


@pytest.mark.parametrize(
    ("optimizer", "told"),
    [
        ("getattr(optimizers_of(place), name)(**read())", 1),
        ("TASK['class'](**TASK['settings'])", 1),
        ("getattr(optimizers_of(place), name)(0.1)", 0),
        ("Adam(**read())", 0),
    ],
)
def test_an_optimizer_of_an_unread_class_and_mapping_is_reported(optimizer: str, told: int) -> None:
    file = migrated(f"chosen = {optimizer}\nparallel_model.compile(chosen, 'mse')\n")
    assert [f.action for f in file.findings if "cannot be read" in f.message] == ["warn"] * told


@pytest.mark.parametrize(
    "wrapped", ["multi_gpu_model(net(), gpus=2)", "net()"], ids=["multi_gpu_model", "in a scope already"]
)
def test_an_unread_optimizer_is_reported_in_the_module_that_makes_it(wrapped: str) -> None:
    train = (
        "import tensorflow as tf\nfrom tensorflow.keras.utils import multi_gpu_model\n"
        "from parts import net, stepper\n\n"
        "with tf.distribute.MirroredStrategy().scope():\n    model = net()\n    model.compile(stepper(), 'mse')\n"
    )
    if wrapped != "net()":
        train = train.replace("with tf.distribute.MirroredStrategy().scope()", "if True").replace("net()", wrapped)
    parts = (
        "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n\n\n"
        "def net():\n    return Sequential([Dense(1, input_shape=(4,))])\n\n\n"
        "def stepper():\n    kind = TASK['class']\n    return kind(**TASK['settings'])\n"
    )
    files = migrate_files({"train.py": train, "parts.py": parts})
    told = {path: [f.line for f in file.findings if "cannot be read" in f.message] for path, file in files.items()}
    assert told == {"train.py": [], "parts.py": [11]}


@pytest.mark.parametrize(
    ("metrics", "old", "new"),
    [
        ('["mse"]', "val_mean_squared_error", "val_mse"),
        ('{"out": ["mae", "mape"]}', "out_mean_absolute_error", "out_mae"),
        ('["mean_squared_error"]', "val_mean_squared_error", "val_mean_squared_error"),
        ('["mse", losses.mean_squared_error]', "val_mean_squared_error", "val_mean_squared_error"),
        ('["accuracy", acc]', "val_acc", "val_acc"),
    ],
)
def test_a_key_is_what_compile_calls_the_metric(metrics: str, old: str, new: str) -> None:
    file = migrated(
        f'parallel_model.compile("sgd", "mse", metrics={metrics})\nhistory = parallel_model.fit(batches)\n'
        f'print(history.history["{old}"], "{old}")\n'
    )
    assert f'print(history.history["{new}"], "{old}")\n' in file.after


@pytest.mark.parametrize("named", ["acc", "accuracy"])
def test_keys_follow_the_compile_of_another_module_where_theirs_has_none(named: str) -> None:
    train = (
        "from keras.callbacks import EarlyStopping\nfrom keras.utils import multi_gpu_model\nfrom net import ready\n\n"
        'model = multi_gpu_model(ready(), gpus=2)\nmodel.fit(batches, callbacks=[EarlyStopping("val_acc")])\n'
    )
    net = (
        "from keras.layers import Dense\nfrom keras.models import Sequential\n\n\ndef ready():\n"
        "    model = Sequential([Dense(1, input_shape=(4,))])\n"
        f'    model.compile("sgd", "mse", metrics=["{named}"])\n    return model\n'
    )
    after = {file.path: file.after for file in migrate_sources({"train.py": train, "net.py": net}, Settings())}
    assert f'EarlyStopping("val_{named}")' in after["train.py"]


def test_a_file_name_that_is_not_seen_to_be_a_checkpoints_is_told() -> None:
    file = migrated(
        'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\n'
        'if parallel_model:\n    path = "a-{val_acc:.2f}.keras"\nelse:\n    path = "b-{val_loss:.2f}.keras"\n'
        'best = ModelCheckpoint(path, "val_acc")\n'
        'last = ModelCheckpoint("c-{val_acc:.2f}.keras")\n'
        'print("{val_acc:.2f}".format(val_acc=1), f"{val_acc:.2f}")\n'
    )
    found = [(f.line, f.action) for f in file.findings if f.code == "TFM210" and "file name" in f.message]
    assert [action for _, action in found] == ["warn"]
    assert '"a-{val_acc:.2f}.keras"' in file.after
    assert '"c-{val_accuracy:.2f}.keras"' in file.after
    assert 'print("{val_acc:.2f}".format(val_acc=1), f"{val_acc:.2f}")\n' in file.after
