"""Methods of models that are gone or take their arguments elsewhere; paths of whole models; stateful layers."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated
from tests.plan.test_companions import found, migrated


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("parallel_model.compile('sgd', 'mse', ['mae'])\n", "compile('sgd', 'mse', metrics=['mae'])"),
        ("parallel_model.compile('sgd', 'mse', m, w)\n", "compile('sgd', 'mse', metrics=m, loss_weights=w)"),
        ("model.predict_proba(x, 8)\n", "model.predict(x, 8)"),
        ("class Net(Sequential):\n    pass\n\n\nnet = Net()\nnet.predict_proba(x)\n", "net.predict(x)"),
        ("class Net(Sequential):\n    def go(self):\n        return self.predict_proba(x)\n", "return self.predict(x)"),
        ("parallel_model.compile('sgd', loss='sparse_categorical_crossentropy')\nprint(model.predict_classes(x)[0])\n",
         "print(model.predict(x).argmax(axis=-1)[0])"),
        ("K.set_image_dim_ordering('tf')\n", "K.set_image_data_format('channels_last')"),
        ('if "th" != K.image_dim_ordering():\n    pass\n', 'if "channels_first" != K.image_data_format():'),
    ],
)  # fmt: skip
def test_it_is_rewritten(body: str, after: str) -> None:
    file = migrated(body)
    assert after in file.after
    assert "TFM501" not in found(file)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("parallel_model.compile('sgd', 'binary_crossentropy')\nmodel.predict_classes(x)\n", "TFM214"),
        ("parallel_model.compile('sgd', losses)\nmodel.predict_classes(x)\n", "TFM214"),
        ("model.predict_classes(x)\n", "TFM214"),
        ("class Net(Sequential):\n    pass\n\n\nNet().predict_classes(x)\n", "TFM214"),
        ("class Net(Sequential):\n    pass\n\n\nNet().save('folder')\n", "TFM216"),
        ("name = 'folder'\nif old:\n    name = 'all.h5'\nmodel.save(name)\n", "TFM216"),
        ("name = 'all.h5'\nfor part in sys.argv:\n    model.save(name)\n    name = part\n", "TFM216"),
        ("name = 'all.h5'\nwhile model.save(name):\n    name = 'folder'\n", "TFM216"),
        ("name = 'folder'\nmodel.save(name)\n", "TFM216"),
        ("from keras.models import load_model\nload_model(filepath='folder/')\n", "TFM216"),
        ("from keras.models import load_model\nload_model('folder/')\n", "TFM216"),
        ("from keras.models import save_model\nsave_model(model, 'x/%d' % 3)\n", "TFM216"),
        ("model.save(path)\n", "TFM216"),
        ("import sys\nname = sys.argv[1] if sys.argv[1:] else 'all.h5'\nmodel.save(name)\n", "TFM216"),
        ("name = 'all.h5' if old else 'all'\nmodel.save(name)\n", "TFM216"),
        ("model.save(f'{folder}/last')\n", "TFM216"),
        ("from keras.models import save_model\nsave_model(model, path)\n", "TFM216"),
        ("model.load_weights('net.model')\n", "TFM205"),
        ("model.load_weights('weights')\n", "TFM205"),
        ("name = 'a.h5' if old else 'runs/last'\nmodel.load_weights(filepath=name)\n", "TFM205"),
        ("import tensorflow as tf\nmodel.load_weights(tf.train.latest_checkpoint('runs'))\n", "TFM205"),
        ("layer = LSTM(2, recurrent_activation='sigmoid', stateful=True)\n", "TFM404"),
        ("K.set_image_dim_ordering(ordering)\n", "TFM501"),
        ("parallel_model.compile('sgd', 'mse')\nprint(model.optimizer.decay)\n", "TFM212"),
    ],
)
def test_it_is_told(body: str, code: str) -> None:
    file = migrated(body)
    assert actions(file, code) == ["warn"]


@pytest.mark.parametrize(
    "body",
    [
        "parallel_model.compile('sgd', 'mse')\n",
        "other.compile('sgd', 'mse', ['mae'])\n",
        "parallel_model.compile(*arguments)\n",
        "forest.predict_classes(x)\nforest.predict_proba(x)\n",
        "model.save('all.h5')\nmodel.save('all.keras')\nmodel.save('all.hdf5')\nother.save(path)\n",
        "model.save(path + '.h5')\nmodel.save(f'{path}.h5')\nmodel.save('%s.h5' % path)\n",
        "name = 'a.h5' if old else 'b.keras'\nmodel.save(name)\n",
        "name = 'folder'\nname = 'a.h5'\nmodel.save(name)\n",
        "name = 'a.h5'\nmodel.save(name)\nname = 'folder'\n",
        "name = 'folder'\nname += '.h5'\nmodel.save(name)\n",
        "for name in names:\n    name = 'runs/%s' % name\n    name = name + '.h5'\n    done = model.save(name)\n",
        "def save(name='folder'):\n    name = name + '.h5'\n    done = model.save(name)\n\n\nsave()\n",
        "class Net(Sequential):\n    def save(self, path):\n        pass\n\n\nNet().save('folder')\n",
        "class Net(Sequential):\n    def predict_proba(self, x):\n        pass\n\n\nNet().predict_proba(x)\n",
        "model.load_weights('a.h5')\nmodel.load_weights('a.hdf5')\nmodel.load_weights('a.keras')\n",
        "model.load_weights(path)\nother.load_weights('net.model')\nmodel.load_weights('%s' % path)\n",
        "name = 'imagenet' if ready else 'a.h5'\nmodel.load_weights(name)\n",
        "picture.save('folder')\nload_model('folder')\n",
        "layer = LSTM(2, recurrent_activation='sigmoid', stateful=False)\n",
        "name = {'tf': 1}['tf']\n",
    ],
)
def test_nothing_is_said_about(body: str) -> None:
    file = migrated(body)
    assert not found(file)
    assert body.replace("parallel_model", "model") in file.after.replace("    model", "model")


@pytest.mark.parametrize("method", ["fit", "fit_generator"])
@pytest.mark.parametrize("weights", ["'auto'", '"balanced"', "weights"])
def test_a_word_as_class_weight_goes_because_it_did_nothing(method: str, weights: str) -> None:
    file = migrated(f"weights = 'auto'\nparallel_model.{method}(batches, epochs=2, class_weight={weights})\n")
    assert "TFM219" in {finding.code for finding in file.findings}
    assert file.after.rstrip().endswith("model.fit(batches, epochs=2)")


@pytest.mark.parametrize("weights", ["{0: 1.0}", "find()", "None", "'auto' if find() else {0: 2.0}"])
def test_any_other_class_weight_stays(weights: str) -> None:
    file = migrated(f"parallel_model.fit(batches, class_weight={weights})\n")
    assert "TFM219" not in {finding.code for finding in file.findings}
    assert f"class_weight={weights}" in file.after


@pytest.mark.parametrize(
    ("imports", "weights"),
    [
        ("from sklearn.utils import class_weight as cw", "cw.compute_class_weight('balanced', classes=[0, 1], y=y)"),
        ("from sklearn.utils import compute_class_weight", "compute_class_weight('balanced', classes=[0, 1], y=y)"),
        ("import numpy as np", "np.array([1.0, 3.0])"),
    ],
)
@pytest.mark.parametrize("passed", ["weights", "{}"])
def test_an_array_as_class_weight_goes_because_it_did_nothing(imports: str, weights: str, passed: str) -> None:
    code = f"{imports}\n\nweights = {weights}\n"
    file = migrated(f"{code}parallel_model.fit(batches, epochs=2, class_weight={passed.format(weights)})\n")
    assert "TFM219" in {finding.code for finding in file.findings}
    assert file.after.rstrip().endswith("model.fit(batches, epochs=2)")
    assert f"weights = {weights}" in file.after


def test_an_array_that_a_method_sets_goes() -> None:
    lines = [
        "from keras.layers import Dense",
        "from keras.models import Sequential",
        "from keras.utils import multi_gpu_model",
        "from sklearn.utils import class_weight",
        "",
        "class Trainer:",
        "    def __init__(self, y):",
        "        self.y = y",
        "        self.weights = None",
        "",
        "    def weigh(self):",
        "        self.weights = class_weight.compute_class_weight('balanced', classes=[0, 1], y=self.y)",
        "",
        "    def train(self, batches):",
        "        model = Sequential([Dense(1, input_shape=(4,))])",
        "        model = multi_gpu_model(model, gpus=2)",
        "        model.compile('sgd', 'mse')",
        "        model.fit(batches, epochs=2, class_weight=self.weights)",
        "",
    ]
    assert "model.fit(batches, epochs=2)\n" in check_migrated("\n".join(lines)).after


@pytest.mark.parametrize(
    "code",
    [
        "def balance(y):\n    w = np.bincount(y)\n    return w / w.sum()\n\nweights = balance(y)\n",
        "weights = 1.0 / np.array([1.0, 3.0])\n",
        "weights = np.array([1, 3]).astype('float32')\n",
        "weights = len(y) / (2.0 * totals)\n",
        "for part in y:\n    weights = np.bincount(part)\n    weights = weights / weights.sum()\n",
        "weights = np.load('weights.npy')\n",
        "weights = list(np.array([1.0, 3.0]))\n",
        "weights = np.array([1.0, 3.0]).tolist()\n",
    ],
)
def test_an_array_that_is_computed_goes(code: str) -> None:
    file = migrated(f"import numpy as np\n\n{code}parallel_model.fit(batches, class_weight=weights)\n")
    assert file.after.rstrip().endswith("model.fit(batches)")


@pytest.mark.parametrize("indent", ["", "    "])
def test_an_array_that_takes_the_name_of_an_imported_module_goes(indent: str) -> None:
    lines = [
        "class_weight = class_weight.compute_class_weight('balanced', classes=[0, 1], y=y)",
        "parallel_model.fit(batches, class_weight=class_weight)",
    ]
    block = ["if training:"] if indent else []
    code = "\n".join(["from sklearn.utils import class_weight", "", *block, *(indent + line for line in lines), ""])
    assert migrated(code).after.rstrip().endswith("model.fit(batches)")


@pytest.mark.parametrize("weights", ["[1.0, 3.0]", "(1.0, 3.0)"])
def test_weights_in_a_row_go(weights: str) -> None:
    assert migrated(f"parallel_model.fit(batches, class_weight={weights})\n").after.rstrip().endswith("fit(batches)")


@pytest.mark.parametrize(
    "code",
    [
        "def balance(y):\n    if y:\n        return {}\n    return np.ones(2)\n\nweights = balance(y)\n",
        "weights = np.array([1.0, 3.0])\nif y:\n    weights = {0: 1.0}\n",
        "weights = Counter(y) - Counter(x)\n",
        "from weights import weights\n",
    ],
)
def test_what_is_not_always_an_array_stays(code: str) -> None:
    file = migrated(f"import numpy as np\n\n{code}parallel_model.fit(batches, class_weight=weights)\n")
    assert file.after.rstrip().endswith("model.fit(batches, class_weight=weights)")


@pytest.mark.parametrize(
    "weights",
    ["dict(enumerate(compute_class_weight('balanced', classes=[0, 1], y=y)))", "np.load('w.npy').item()", "given(y)"],
)
def test_what_may_be_a_dict_stays(weights: str) -> None:
    imports = "import numpy as np\nfrom sklearn.utils import compute_class_weight\n\n"
    file = migrated(f"{imports}parallel_model.fit(batches, class_weight={weights})\n")
    assert "TFM219" not in {finding.code for finding in file.findings}
    assert f"class_weight={weights}" in file.after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'balanced', np.unique(y), y", "'balanced', classes=np.unique(y), y=y"),
        ("'balanced', np.unique(y), y=y", "'balanced', classes=np.unique(y), y=y"),
        ("'balanced', classes=np.unique(y), y=y", "'balanced', classes=np.unique(y), y=y"),
        ("class_weight='balanced', y=y, classes=c", "class_weight='balanced', y=y, classes=c"),
        ("*given", "*given"),
    ],
)
def test_arguments_of_scikit_learn_have_their_names(before: str, after: str) -> None:
    imports = "import numpy as np\nfrom sklearn.utils import compute_class_weight\n\n"
    body = f"{imports}weights = compute_class_weight({before})\nparallel_model.fit(x, y)\n"
    assert f"compute_class_weight({after})" in migrated(body).after


def test_what_a_method_is_handed_through_two_stars_is_told_where_it_is_gone() -> None:
    file = migrated("""\
def train(batches, **settings):
    parallel_model.fit_generator(batches, **settings)


train(batches, epochs=2, workers=4)
train(batches, use_multiprocessing=True)
""")
    (told,) = [finding for finding in file.findings if finding.action == "warn" and finding.code == "TFM201"]
    assert "use_multiprocessing, workers no longer exist" in told.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fit_generator(generator=batches, epochs=2, **settings)", "fit(batches, epochs=2, **settings)"),
        ("fit_generator(epochs=2, generator=batches, **settings)", "fit(batches, epochs=2, **settings)"),
        ("fit_generator(batches, 5, 2, **settings)", "fit(batches, steps_per_epoch=5, epochs=2, **settings)"),
        ("fit_generator(batches, workers=4, **settings)", "fit(batches, **settings)"),
        ("evaluate_generator(generator=batches, steps=3, **settings)", "evaluate(batches, steps=3, **settings)"),
        ("fit_generator(*settings, workers=4)", "fit(*settings)"),
        ("fit_generator(generator=batches, **settings, verbose=2)", "fit(batches, verbose=2, **settings)"),
        ("fit_generator(*settings, generator=batches)", "fit(*settings, x=batches)"),
    ],
)
def test_what_is_written_beside_two_stars_goes_by_its_new_name(before: str, after: str) -> None:
    body = f"def train(batches, settings):\n    parallel_model.{before}\n"
    assert f"model.{after}\n" in migrated(body).after


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("chosen = optimizers.deserialize({'config': a})\nparallel_model.compile(chosen, 'mse')\nprint(chosen.lr)\n",
         "print(chosen.learning_rate)"),
        ("chosen = optimizers.get(name)\nK.set_value(chosen.lr, 0.1)\nparallel_model.compile(optimizer=chosen)\n",
         "chosen.learning_rate.assign(0.1)"),
        ("def ready(chosen):\n    parallel_model.compile(chosen, 'mse')\n    K.set_value(chosen.lr, 0.1)\n",
         "    chosen.learning_rate.assign(0.1)"),
        ("chosen = stepper(0.1)\nparallel_model.compile('sgd', 'mse')\nprint(chosen.lr)\n", "print(chosen.lr)"),
        ("chosen = stepper(0.1)\npattern.compile(chosen)\nprint(chosen.lr)\n", "print(chosen.lr)"),
        ("chosen = settings\nparallel_model.compile(chosen.optimizer, 'mse')\nprint(chosen.lr)\n", "print(chosen.lr)"),
        ("chosen = stepper(0.1) if name else options\nparallel_model.compile(stepper(0.1), 'mse')\nprint(chosen.lr)\n",
         "print(chosen.lr)"),
    ],
)  # fmt: skip
def test_what_a_model_is_compiled_with_is_an_optimizer(body: str, after: str) -> None:
    assert f"{after}\n" in migrated("from keras import optimizers\n" + body).after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("validation_data=(x, y), validation_steps=2", "validation_data=(x, y)"),
        ("validation_data=[x, y, w], validation_steps=2", "validation_data=[x, y, w]"),
        ("validation_data=held, validation_steps=2", "validation_data=held, validation_steps=2"),
        ("validation_data=(x, y)", "validation_data=(x, y)"),
    ],
)
def test_standalone_keras_validated_on_all_rows_of_arrays(before: str, after: str) -> None:
    body = "parallel_model.compile('sgd', 'mse')\nparallel_model.fit_generator(batches, 5, 2, {0})\n"
    assert f"epochs=2, {after})" in migrated(body.format(before)).after


def test_other_kerases_are_not_known_to_have_done_so() -> None:
    text = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

parallel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
parallel.compile("sgd", "mse")
parallel.fit_generator(batches, 5, validation_data=(x, y), validation_steps=2)
"""
    assert "validation_data=(x, y), validation_steps=2)" in check_migrated(text).after
