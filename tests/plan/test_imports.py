"""What is said of import statements, and how those that come to be of one module are joined."""

from __future__ import annotations

import pytest

from tests.kit import migrate, with_model
from tfmigrate.migrate import migrate_bytes
from tfmigrate.report import text
from tfmigrate.result import FileResult, Result
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

TAIL = """\
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,)), BatchNormalization(), LeakyReLU(), Dropout(0.1)])
parallel_model = multi_gpu_model(model, gpus=2)
"""


def migrated(imports: str) -> FileResult:
    file = migrate_bytes((imports + TAIL).encode(), "program.py", Settings())
    assert file.error is None, file.error
    return file


def test_an_import_statement_is_one_finding() -> None:
    file = migrated("from keras.layers import Dense, Dropout, BatchNormalization, LeakyReLU\n")
    told = [(one.line, one.message) for one in file.findings if one.code == "TFM203"]
    assert told == [(1, "keras becomes tensorflow.keras")]


def test_what_moved_otherwise_is_named_in_the_finding_of_its_statement() -> None:
    file = migrated("from keras.layers.core import Dense, Dropout\nfrom keras.models import Sequential\n")
    (told,) = [one.message for one in file.findings if one.code == "TFM204"]
    assert told == "Dense and Dropout of keras.layers.core are in tensorflow.keras.layers"


def test_a_name_that_is_called_otherwise_is_told_for_itself() -> None:
    imported = "from keras.losses import mse, mean_squared_error, hinge\nfrom keras.layers.core import Dense\n"
    file = migrated(f"{imported}print(mse, mean_squared_error, hinge)\n")
    told = [one.message for one in file.findings if one.code == "TFM204"]
    assert told == [
        "keras.losses.mean_squared_error is tensorflow.keras.losses.MSE",
        "keras.layers.core.Dense is tensorflow.keras.layers.Dense",
    ]


def test_what_is_reached_through_a_moved_name_is_told_as_a_whole() -> None:
    file = migrated("from keras import backend as K\nx = K.tf.image.resize_bilinear(x, (2, 2))\n")
    told = [one.message for one in file.findings if one.code == "TFM204"]
    assert told == ["keras.backend.tf.image.resize_bilinear is tensorflow.compat.v1.image.resize_bilinear"]
    assert "x = tf.compat.v1.image.resize_bilinear(x, (2, 2))" in file.after


def test_a_rule_that_says_the_same_of_many_places_is_one_line_of_the_report() -> None:
    file = migrated("from keras.layers import Dense, Dropout\nfrom keras.models import Sequential\n")
    lines = [line for line in text.render(Result((file,), 1)).splitlines() if "TFM203" in line]
    assert lines == ["program.py:1:1: TFM203 keras becomes tensorflow.keras [can be rewritten] (also at 2:1)"]


def test_imports_of_three_modules_that_are_one_now_become_one() -> None:
    file = migrated("""\
from keras.layers.core import Dense, Dropout
from keras.layers.normalization import BatchNormalization
from keras.layers.advanced_activations import LeakyReLU
from keras.models import Sequential
""")
    assert file.after.startswith("""\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Dropout, BatchNormalization, LeakyReLU
from tensorflow.keras.models import Sequential
""")


@pytest.mark.parametrize(
    "second",
    [
        "# of its own\nfrom keras.layers.normalization import BatchNormalization\n",
        "from keras.layers.normalization import BatchNormalization  # of its own\n",
        "\nfrom keras.layers.normalization import BatchNormalization\n",
        "from keras.layers.normalization import (\n    BatchNormalization,\n)\n",
        "print()\nfrom keras.layers.normalization import BatchNormalization\n",
    ],
)
def test_an_import_that_stands_for_itself_stays(second: str) -> None:
    assert migrated(f"from keras.layers.core import Dense\n{second}").after.count("from tensorflow.keras.layers") == 2


def test_imports_that_stood_apart_in_one_module_stay_so() -> None:
    file = migrated("from keras.layers import Dense\nfrom keras.layers import BatchNormalization\n")
    assert file.after.count("from tensorflow.keras.layers") == 2


def test_no_line_becomes_too_long() -> None:
    names = ", ".join(f"Dense as Layer{number}" for number in range(4))
    file = migrated(
        f"from keras.layers.core import {names}\nfrom keras.layers.normalization import BatchNormalization\n"
    )
    assert max(map(len, file.after.splitlines())) <= 110
    assert file.after.count("from tensorflow.keras.layers") == 2


LAYERS = """\
from keras.layers import CuDNNLSTM, Dense{more}
from keras.models import Sequential
from keras.utils import multi_gpu_model

{body}
model = Sequential([CuDNNLSTM(4, input_shape=(4, 2)), Dense(1)])
parallel_model = multi_gpu_model(model, gpus=2)
"""


def test_a_class_with_another_name_has_it_where_it_is_used() -> None:
    file = migrate_bytes(LAYERS.format(more="", body="").encode(), "program.py", Settings())
    assert "from tensorflow.keras.layers import LSTM, Dense\n" in file.after
    assert "    model = Sequential([LSTM(4, input_shape=(4, 2)), Dense(1)])\n" in file.after


@pytest.mark.parametrize(
    ("more", "body", "written"),
    [
        (", LSTM", "", "from tensorflow.keras.layers import Dense, LSTM\n"),
        (", LSTM", "other = LSTM(8)\n", "Sequential([LSTM(4"),
        (", LSTM", "def other():\n    from keras.layers import CuDNNLSTM\n    return CuDNNLSTM(8)\n", "return LSTM(8)"),
        (", LSTM", "chosen = LSTM if small else CuDNNLSTM\n", "chosen = LSTM\n"),
    ],
)
def test_a_class_that_is_imported_under_its_new_name_is_not_imported_twice(more: str, body: str, written: str) -> None:
    file = migrate_bytes(LAYERS.format(more=more, body=body).encode(), "program.py", Settings())
    assert written in file.after
    assert "CuDNNLSTM" not in file.after
    assert file.after.count("import") == 3


@pytest.mark.parametrize("more", ["\nfrom keras.layers import LSTM", ", LSTM\nLSTM = wrapped(LSTM)"])
def test_where_that_import_comes_later_or_is_not_all_it_stays(more: str) -> None:
    file = migrate_bytes(LAYERS.format(more=more, body="").encode(), "program.py", Settings())
    assert "LSTM as CuDNNLSTM" in file.after


@pytest.mark.parametrize(
    ("more", "body"),
    [
        ("", "def LSTM():\n    pass\n"),
        ("", "CuDNNLSTM = wrapped(CuDNNLSTM)\n"),
    ],
)
def test_the_old_name_stays_where_the_new_one_means_something(more: str, body: str) -> None:
    file = migrate_bytes(LAYERS.format(more=more, body=body).encode(), "program.py", Settings())
    assert "LSTM as CuDNNLSTM" in file.after
    assert "CuDNNLSTM(4" in file.after


@pytest.mark.parametrize(
    ("imports", "use", "new"),
    [
        ("import keras\n", "keras.__version__", "tf.__version__"),
        ("import tensorflow as tf\n", "tf.keras.__version__", "tf.__version__"),
        ("from keras import __version__, layers\n", "__version__", "__version__"),
    ],
)
def test_the_version_of_keras_is_that_of_tensorflow(imports: str, use: str, new: str) -> None:
    after = migrated(f"{imports}from keras.models import Sequential\nversion = {use}\n").after
    assert f"version = {new}\n" in after
    assert "keras.__version__" not in after
    assert "keras import __version__" not in after


def test_a_program_that_is_not_migrated_reads_its_own_version() -> None:
    source = "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\nprint(tf.keras.__version__)\n"
    assert migrate_bytes(source.encode(), "program.py", Settings()).after == source


LOSSES = "from keras import backend as K\n\n\ndef dice(t, p):\n    return K.sum(t * p) / (K.sum(t) + K.sum(p))\n"


@pytest.mark.parametrize(
    ("imported", "loss", "path"),
    [
        ("import nets.losses", "nets.losses.dice", "nets/losses.py"),
        ("import nets.losses, os", "nets.losses.dice", "examples/nets/losses.py"),
        ("import os\nimport nets.deep.losses\nimport nets.other", "nets.deep.losses.dice", "nets/deep/losses.py"),
    ],
)
@pytest.mark.parametrize("package", [None, "", "name = 1\n"])
def test_what_is_imported_as_a_module_of_a_package_is_read(
    imported: str, loss: str, path: str, package: str | None
) -> None:
    """Packages without `__init__.py` too, or with an empty one, which is not among the files."""
    script = f"{imported}\nfrom keras.layers import Dense\nfrom keras.models import Sequential\n{TAIL}"
    modules = {
        "examples/train.py": f"{script}parallel_model.compile('sgd', {loss})\n",
        path: LOSSES,
        **({} if package is None else {path.partition("nets/")[0] + "nets/__init__.py": package}),
    }
    train = migrate_sources(modules, Settings())[0]
    assert f"model.compile('sgd', whole_batch({loss}))" in train.after


def test_a_layer_of_a_private_module_is_read_from_the_module_that_is_imported() -> None:
    after = migrated("from keras import layers\nx = layers.advanced_activations.PReLU()\n").after
    assert "from tensorflow.keras import layers\n" in after
    assert "x = layers.PReLU()\n" in after


@pytest.mark.parametrize(
    "handled",
    [
        "except ImportError:\n    pass\n",
        "except ImportError:\n    from keras.utils.training_utils import multi_gpu_model\n",
        "except Exception as error:\n    if ask():\n        raise Exception(f'several GPUs need Keras: {error}')\n",
        "except ImportError:\n    print('old')\nfinally:\n    pass\n",
    ],
)
def test_what_only_tried_to_import_it_goes(handled: str) -> None:
    imports = f"try:\n    from keras.utils import multi_gpu_model\n{handled}from keras.layers import Dense\n"
    file = migrated(f"{imports}from keras.models import Sequential\n")
    assert file.after.startswith(
        "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\n"
        "from tensorflow.keras.models import Sequential\n"
    )


@pytest.mark.parametrize(
    ("tried", "handled"),
    [
        ("    found = True\n", "except ImportError:\n    found = False\n"),
        ("    if ask():\n        found = True\n", "except ImportError:\n    found = False\n"),
        ("    from keras.layers import Dense\n", "except ImportError:\n    Dense = None\n"),
        ("", "except ImportError:\n    found = False\nelse:\n    found = True\n"),
        ("", "except ImportError:\n    found = False\nfinally:\n    print('imported')\n"),
    ],
)
def test_a_try_that_does_something_else_stays(tried: str, handled: str) -> None:
    file = migrated(
        f"try:\n    from keras.utils import multi_gpu_model\n{tried}{handled}"
        "from keras.layers import Dense\nfrom keras.models import Sequential\n"
    )
    assert "try:\n" in file.after
    assert "multi_gpu_model" not in file.after
    for line in (tried + handled).splitlines():
        assert line.replace("keras.l", "tensorflow.keras.l") in file.after


INSIDE = """\
import keras
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


class Net:
    def build(self, model, gpus=1):
        self.base = model
        if gpus > 1:
            import tensorflow as tf
            {more}
            with tf.device("/cpu:0"):
                self.base = keras.models.clone_model(self.base)
            self.model = multi_gpu_model(self.base, gpus=gpus)
        else:
            self.model = self.base
        self.model.compile("sgd", "mse")


x = Input((4,))
net = Net()
net.build(Model(x, Dense(1)(x)), gpus=2)
net.model.fit_generator(rows)
"""


@pytest.mark.parametrize(("more", "stays"), [("print(1)", False), ("print(tf.version)", True)])
def test_an_import_in_a_function_goes_with_its_last_reader_there(more: str, stays: bool) -> None:
    file = migrate_bytes(INSIDE.replace("{more}", more).encode(), "program.py", Settings())
    assert "strategy = tf.distribute" in file.after
    assert ("            import tensorflow as tf\n" in file.after) == stays


@pytest.mark.parametrize("home", ["keras.layers", "keras.layers.convolutional"])
@pytest.mark.parametrize("name", ["Deconv2D", "Deconv3D", "Deconvolution2D", "Deconvolution3D"])
def test_a_layer_of_two_names_is_imported_by_the_one_that_is_left(home: str, name: str) -> None:
    file = migrate(with_model(f"from {home} import {name}\nlayer = {name}(3, 3)\n"))
    left = f"Conv{name[-2:]}Transpose"
    assert f"layer = {left}(3, 3)\n" in file.after
    assert left in file.after.partition("layer = ")[0]
    assert "Deconv" not in file.after
