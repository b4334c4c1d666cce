"""What star imports of Keras brought and those of tensorflow.keras do not bring."""

from __future__ import annotations

import ast

import pytest

from tests.kit import check_migrated, check_unchanged, codes, migrate, migrate_files

TRAINED = """\
from keras.utils import multi_gpu_model
{stars}

{body}

def train(build, x, y):
    model = multi_gpu_model(build(), gpus=2)
    model.compile("sgd", "mean_absolute_error")
    model.fit(x, y)
"""


def imports_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("import ", "from "))]


@pytest.mark.parametrize(
    ("stars", "body", "lines"),
    [
        ("from keras.layers import *", "print(K.epsilon())", ["from tensorflow.keras import backend as K"]),
        ("from keras.layers import *", "print(np.ones(3))", ["import numpy as np"]),
        (
            "from keras.layers import *",
            "print(regularizers.l2(0.1), initializers.Zeros(), namedtuple('Row', 'x'))",
            ["from collections import namedtuple", "from tensorflow.keras import initializers, regularizers"],
        ),
        ("from keras.models import *", "print(Input((2,)))", ["from tensorflow.keras import Input"]),
        ("from keras.callbacks import *", "print(os.sep, deque())", ["import os", "from collections import deque"]),
        (
            "from keras.preprocessing.image import *",
            "class Batches(Sequence):\n    pass",
            ["from tensorflow.keras.utils import Sequence"],
        ),
        ("from keras.optimizers import *", "print(tf.zeros(3))", ["import tensorflow as tf"]),
    ],
)
def test_it_is_imported(stars: str, body: str, lines: list[str]) -> None:
    file = check_migrated(TRAINED.format(stars=stars, body=body))
    known = {"import tensorflow as tf", stars.replace("from keras", "from tensorflow.keras"), *lines}
    assert set(imports_of(file.after)) == known
    assert file.after.count("import tensorflow as tf\n") == 1


@pytest.mark.parametrize(
    ("stars", "old", "new"),
    [
        ("from keras.layers import *", "CuDNNGRU(3)", "GRU(3)"),
        ("from tensorflow.keras.layers import *", "CuDNNGRU(3)", "GRU(3)"),
        ("from keras.layers import *", "Deconvolution2D(3, 3)", "Conv2DTranspose(3, 3)"),
        ("from keras.losses import *", "mean_squared_error([1.0], [2.0])", "MSE([1.0], [2.0])"),
        ("from keras.optimizers import *", "adam()", "Adam()"),
    ],
)
def test_a_name_that_is_another_now_is_written_so(stars: str, old: str, new: str) -> None:
    after = check_migrated(TRAINED.format(stars=stars, body=f"print({old})")).after
    assert f"print({new})" in after


def test_a_name_that_the_module_has_for_something_else_is_not_written() -> None:
    body = "GRU = 'the name of the experiment'\nprint(GRU, CuDNNGRU(3))"
    after = check_migrated(TRAINED.format(stars="from keras.layers import *", body=body)).after
    assert "from tensorflow.keras.layers import GRU as CuDNNGRU\n" in after
    assert "print(GRU, CuDNNGRU(3))" in after


@pytest.mark.parametrize("name", ["LocallyConnected2D(3, 2)", "Highway()", "Recurrent(4)"])
def test_a_name_that_is_nowhere_is_reported(name: str) -> None:
    file = migrate(TRAINED.format(stars="from keras.layers import *", body=f"print({name})"))
    assert [finding.line for finding in file.findings if finding.code == "TFM501"] == [4]


def test_a_call_of_keras_1_is_rewritten_and_not_imported() -> None:
    body = "a = Input((4,))\nprint(merge([a, a], mode='sum'))"
    after = check_migrated(TRAINED.format(stars="from keras.layers import *", body=body)).after
    assert "tf.keras.layers.add([a, a])" in after
    assert "merge" not in after


@pytest.mark.parametrize(
    "body",
    [
        "import numpy as np\nprint(np.ones(3))",
        "def show(np, K):\n    print(np, K)",
        "class Sequence:\n    pass\nprint(Sequence)",
        "print(Dense(3), Input((2,)))",
        "print([K for K in range(3)])",
    ],
)
def test_what_the_module_binds_or_the_import_still_brings_is_not_imported(body: str) -> None:
    file = check_migrated(TRAINED.format(stars="from keras.layers import *", body=body))
    assert not any("star imports" in finding.message for finding in file.findings)
    assert body in file.after


@pytest.mark.parametrize("stars", ["from mylib.layers import *", "from .layers import *", "from numpy import *"])
def test_star_imports_of_others_say_nothing_about_a_name(stars: str) -> None:
    file = check_migrated(TRAINED.format(stars=stars, body="print(K, np, initializers, CuDNNGRU(3))"))
    assert stars in file.after
    assert "print(K, np, initializers, CuDNNGRU(3))" in file.after
    assert not any(finding.code in ("TFM203", "TFM501") and finding.line > 1 for finding in file.findings)


COMMON = "from keras.layers import *\nfrom keras.models import *\n{more}"


def test_what_a_module_of_the_program_hands_on_is_imported_where_it_is_read() -> None:
    program = TRAINED.format(stars="from common import *", body="print(K.epsilon(), Dense(3), CuDNNGRU(3))")
    after = check_migrated(program, common=COMMON.format(more="")).after
    assert "from tensorflow.keras import backend as K\nfrom common import *\n" in after
    assert "print(K.epsilon(), Dense(3), GRU(3))" in after


@pytest.mark.parametrize("own", ["import keras.backend as K", "K = object()", "def K():\n    pass"])
def test_what_that_module_defines_itself_is_not_imported(own: str) -> None:
    program = TRAINED.format(stars="from common import *", body="print(K)")
    after = check_migrated(program, common=COMMON.format(more=own)).after
    assert imports_of(after) == ["import tensorflow as tf", "from common import *"]


@pytest.mark.parametrize(
    ("stars", "taken", "read", "lines"),
    [
        ("from keras.layers import *", "K", "K.epsilon()", ["from tensorflow.keras import backend as K"]),
        ("from keras.layers import *", "K as backend, np", "backend.epsilon(), np.ones(3)",
         ["import numpy as np", "from tensorflow.keras import backend as K"]),
        ("from keras.backend import *", "tf, mean", "tf.zeros(3), mean(1.0)", ["import tensorflow as tf"]),
        ("from keras.layers import *", "CuDNNGRU", "CuDNNGRU(3)",
         ["from tensorflow.keras.layers import GRU as CuDNNGRU"]),
        ("from keras.optimizers import *", "adam", "adam()", ["from tensorflow.keras.optimizers import Adam as adam"]),
        ("from keras.layers import *", "Dense, Input", "Dense(3), Input((2,))", []),
        ("from keras.layers import *\nK = object()", "K", "K", []),
        ("from keras.layers import *\ndef np(): pass", "np", "np()", []),
        ("from keras.layers import *\nfrom own import *", "K", "K()", []),
        ("from numpy import *", "K, np", "K, np", []),
        ("from mylib.layers import *", "K, CuDNNGRU", "K, CuDNNGRU(3)", []),
    ],
)  # fmt: skip
def test_what_another_module_takes_by_name_is_imported_where_it_takes_it_from(
    stars: str, taken: str, read: str, lines: list[str]
) -> None:
    files = migrate_files(
        {
            "train.py": TRAINED.format(stars=f"from common import {taken}", body=f"print({read})"),
            "common.py": f"{stars}\n",
            "own.py": "def K():\n    pass\n",
        }
    )
    assert f"from common import {taken}\n" in files["train.py"].after
    assert f"print({read})" in files["train.py"].after
    old = stars.replace("from keras", "from tensorflow.keras").splitlines()
    assert [line for line in files["common.py"].after.splitlines() if line not in old] == lines
    assert not codes(files["train.py"], "warn")


@pytest.mark.parametrize("read", ["common.K.epsilon()", "common.np.ones(3)"])
def test_what_another_module_takes_as_an_attribute_is_imported_too(read: str) -> None:
    files = migrate_files(
        {"train.py": TRAINED.format(stars="import common", body=f"print({read})"), "common.py": COMMON.format(more="")}
    )
    assert len(imports_of(files["common.py"].after)) == 3
    assert f"print({read})" in files["train.py"].after


def test_it_comes_by_way_of_several_modules() -> None:
    program = TRAINED.format(stars="from middle import K", body="print(K.epsilon())")
    files = migrate_files(
        {"train.py": program, "middle.py": "from common import *\n", "common.py": COMMON.format(more="")}
    )
    assert imports_of(files["middle.py"].after) == ["from tensorflow.keras import backend as K", "from common import *"]
    assert imports_of(files["common.py"].after) == COMMON.replace("keras", "tensorflow.keras").splitlines()[:2]


@pytest.mark.parametrize(
    ("imports", "read", "line"),
    [
        ("from common import LocallyConnected2D", "LocallyConnected2D(3, 2)", 2),
        ("from middle import LocallyConnected2D", "LocallyConnected2D(3, 2)", 2),
        ("from common import *", "LocallyConnected2D(3, 2)", 4),
        ("from middle import *", "LocallyConnected2D(3, 2)", 4),
        ("import common", "common.LocallyConnected2D(3, 2)", 4),
        ("from common import Highway", "Highway()", 2),
    ],
)
def test_a_name_that_is_nowhere_is_reported_through_other_modules(imports: str, read: str, line: int) -> None:
    others = {"common": COMMON.format(more=""), "middle": "from common import *\n"}
    file = migrate(TRAINED.format(stars=imports, body=f"print({read})"), **others)
    assert [finding.line for finding in file.findings if finding.code == "TFM501"] == [line]


@pytest.mark.parametrize("imports", ["from common import LocallyConnected2D", "from common import *"])
@pytest.mark.parametrize("own", ["from own import LocallyConnected2D", "class LocallyConnected2D:\n    pass"])
def test_a_name_that_the_program_has_for_something_else_is_not_reported(imports: str, own: str) -> None:
    program = TRAINED.format(stars=imports, body="print(LocallyConnected2D(3, 2))")
    others = {"common": COMMON.format(more=own), "own": "class LocallyConnected2D:\n    pass\n"}
    assert not codes(check_migrated(program, **others), "warn")


def test_what_a_star_import_of_the_program_itself_brings_is_left_alone() -> None:
    body = "print(CuDNNGRU(3), K)"
    program = TRAINED.format(stars="from keras.layers import *\nfrom own import *", body=body)
    after = check_migrated(program, own="def CuDNNGRU(size):\n    pass\nK = 3\n").after
    assert body in after
    assert imports_of(after)[1:] == ["from tensorflow.keras.layers import *", "from own import *"]


def test_calls_of_what_came_by_a_star_are_rewritten_as_those_of_an_import_are() -> None:
    body = "def loss(true, guess):\n    return mean(square(true - guess))"
    program = TRAINED.format(stars="from common import mean, square", body=body).replace(
        '"mean_absolute_error"', "loss"
    )
    file = check_migrated(program, common="from keras.backend import *\n")
    assert "return mean(square(true - guess), axis=-1)" in file.after
    assert imports_of(file.after)[1:] == ["from common import mean, square"]


def test_modules_that_import_each_other_end() -> None:
    program = TRAINED.format(stars="from common import *", body="print(K)")
    common = COMMON.format(more="from train import *\n")
    assert "from tensorflow.keras import backend as K" in check_migrated(program, common=common).after


def test_a_module_without_keras_to_leave_stays() -> None:
    check_unchanged("from keras.layers import *\nprint(K.epsilon(), np.ones(3))\n")


PROGRAM = """{imports}
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
{use}
"""
STARS = "from keras.models import *\nfrom keras.layers import *"


@pytest.mark.parametrize(
    ("imports", "use", "imported"),
    [
        (STARS, "K.mean(np.zeros(3))", ["from tensorflow.keras import backend as K", "import numpy as np"]),
        (STARS, "def f():\n    return os.sep", ["import os"]),
        (f"import numpy as np\n{STARS}", "np.zeros(3)", []),
        (STARS, "def f(np):\n    return np.zeros(3)", []),
        (STARS, "model.K", []),
        ("from keras.models import Sequential\nfrom keras.layers import Dense", "np.zeros(3)", []),
        (STARS.replace("keras.", "tensorflow.keras."), "np.zeros(3)", []),
    ],
)
def test_names_that_a_star_brought_are_imported(imports: str, use: str, imported: list[str]) -> None:
    file = migrate(PROGRAM.format(imports=imports, use=use))
    ast.parse(file.after)
    lines = ["from tensorflow.keras import backend as K", "import numpy as np", "import os"]
    new = [line for line in lines if line in file.after and line not in imports]
    assert new == imported
