"""A function that is inserted stands above the heading of what follows, and below what a comment goes on from."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

IMPORTS = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model
"""
ROWS = """\
def rows():
    while True:
        yield x, y
"""
TRAINING = """

# ---- Training ----


def train():
    parallel_model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    parallel_model.compile("sgd", "mse")
    parallel_model.fit_generator(rows(), steps_per_epoch=2)
"""
END = "    return tf.data.Dataset.from_generator(batches, output_signature=signature)\n"


@pytest.mark.parametrize(
    "above",
    [
        "# ---- Data ----\n\n\n",
        "# ---- Data ----\n",
        "# Makes rows.\n# For ever.\n",
        "#########\n# Data\n#########\n\n# Makes rows.\n",
        "# ---- Data ----\n\n# Rows, for ever.\n\n",
        "",
    ],
)
def test_it_stands_above_all_that_heads_the_next(above: str) -> None:
    after = check_migrated(f"{IMPORTS}\n{above}{ROWS}{TRAINING}").after
    assert f"{END}\n\n{above}{ROWS}" in after


@pytest.mark.parametrize("between", ["\n\n", "\n\n# ---- Data ----\n\n\n"])
def test_it_stands_below_a_comment_that_goes_on_from_the_line_above(between: str) -> None:
    after = check_migrated(f"{IMPORTS}\nlimit = 3\n# At most.\n{between}{ROWS}{TRAINING}").after
    assert "limit = 3\n# At most.\n\n\ndef as_dataset(" in after
    heading = between.strip()
    assert (f"{END}\n\n{ROWS}" if not heading else f"\n\n{heading}\n\n\n{ROWS}") in after


def test_the_heading_of_the_function_that_trains_stays() -> None:
    after = check_migrated(f"{IMPORTS}\n{ROWS}{TRAINING}").after
    assert "\n\n# ---- Training ----\n\n\ndef train():\n" in after


MODEL = """
model = Sequential([Dense(1, input_shape=(4,))])
{wrap}
model.compile("sgd", "mse")
model.train_on_batch(x, y)
"""


def migrated(imports: str, wrap: str = "model = multi_gpu_model(model, gpus=2)") -> str:
    return check_migrated(f"{imports}\n{MODEL.format(wrap=wrap)}").after


def test_an_import_is_inserted_below_the_heading_of_the_imports() -> None:
    after = migrated(f"import os\n\n# Keras\n{IMPORTS}")
    assert "import os\n\n# Keras\nimport tensorflow as tf\nfrom tensorflow.keras" in after


def test_an_import_above_other_code_is_a_paragraph_of_its_own() -> None:
    text = "from network import *\n\nprepare()\n\n# The network\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"
    after = check_migrated(
        f"{text}model = multi_gpu_model(model, 2)\nmodel.compile('sgd', 'mse')\nmodel.fit(x)\n"
    ).after
    assert "prepare()\n\nimport tensorflow as tf\n\n" in after


def test_a_comment_between_imports_stays_where_the_import_below_it_goes() -> None:
    imports = IMPORTS.replace("from tensorflow.keras.utils", "# from vendored import wrap\nfrom tensorflow.keras.utils")
    assert "import Sequential\n# from vendored import wrap\n\n" in migrated(imports)


def test_a_comment_that_goes_on_from_a_statement_stays_with_it() -> None:
    wrap = "rate = 0.1\n# rate = 0.2\n\nif gpus > 1:\n    model = multi_gpu_model(model, gpus=gpus)\n"
    assert "    rate = 0.1\n    # rate = 0.2\n\n    model.compile" in migrated(f"{IMPORTS}gpus = ask()\n", wrap)


def test_the_blank_lines_above_what_is_removed_stay() -> None:
    session = (
        "rate = 1\n\n\n# memory\nconfig = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\n\n"
        "tf.keras.backend.set_session(tf.Session(config=config))\n"
    )
    after = migrated(f"import tensorflow as tf\n{IMPORTS}{session}")
    assert "rate = 1\n\n\n# memory\nfor gpu in tf.config" in after


@pytest.mark.parametrize(
    "handler", ["except ImportError:\n    print('no')", "except (KeyError, ValueError) as e:\n    raise"]
)
def test_a_try_that_tries_nothing_any_more_goes(handler: str) -> None:
    wrap = f"model = multi_gpu_model(model, gpus=2)\ntry:\n    tf.keras.backend.set_learning_phase(True)\n{handler}"
    after = migrated(f"import tensorflow as tf\n{IMPORTS}", wrap)
    assert "try" not in after
    assert "except" not in after


@pytest.mark.parametrize("end", ["else:\n    print('yes')", "finally:\n    print('yes')"])
def test_a_try_stays_that_does_something_in_the_end(end: str) -> None:
    tried = "try:\n    tf.keras.backend.set_learning_phase(True)\nexcept ImportError:\n    print('no')"
    after = migrated(f"import tensorflow as tf\n{IMPORTS}", f"model = multi_gpu_model(model, gpus=2)\n{tried}\n{end}")
    assert "try:\n    pass\nexcept ImportError:" in after


def test_a_comment_that_goes_on_stays_at_the_end_of_a_block() -> None:
    wrap = "if gpus > 1:\n    rate = 0.1\n    # rate = 0.2\n\n    model = multi_gpu_model(model, gpus=gpus)"
    after = migrated(f"{IMPORTS}gpus = ask()\n", wrap)
    assert "rate = 0.1\n" in after
    assert "# rate = 0.2\n" in after
