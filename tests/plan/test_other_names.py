"""Names that multi_gpu_model has in a program: those that are followed go, the others are refused."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, codes, migrate, migrate_files

PROGRAM = """\
{imports}

model = Sequential([Dense(1, input_shape=(4,))])
model = {call}(model, gpus=2)
model.compile("sgd", "mse")
"""
LAYERS = "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n"


def migrated(imports: str, call: str) -> str:
    file = check_migrated(PROGRAM.format(imports=imports, call=call))
    return file.after


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import tensorflow as tf\nmulti_gpu_model = tf.keras.utils.multi_gpu_model", "multi_gpu_model"),
        ("import tensorflow as tf\nspread = tf.keras.utils.multi_gpu_model", "spread"),
        ("from tensorflow.keras.utils import multi_gpu_model\nspread = multi_gpu_model", "spread"),
    ],
)
def test_a_name_whose_calls_are_all_followed_goes(imports: str, call: str) -> None:
    after = migrated(LAYERS + imports, call)
    assert "multi_gpu_model" not in after
    assert "spread" not in after
    assert "with strategy.scope():\n    model = Sequential(" in after


@pytest.mark.parametrize("other", ["print(spread)", "spread = None", "models = [spread(m, 2) for m in unknown]"])
def test_a_name_that_is_used_otherwise_stays_and_is_refused(other: str) -> None:
    imports = LAYERS + "import tensorflow as tf\nspread = tf.keras.utils.multi_gpu_model\n" + other
    file = migrate(PROGRAM.format(imports=imports, call="spread"))
    assert "spread = tf.keras.utils.multi_gpu_model\n" in file.after
    assert [finding for finding in file.findings if finding.action == "refuse"]


def test_a_name_that_another_module_imports_stays() -> None:
    tools = "import tensorflow as tf\nspread = tf.keras.utils.multi_gpu_model\n"
    train = PROGRAM.format(imports=LAYERS + "from tools import spread", call="spread")
    after = migrate_files({"tools.py": tools, "train.py": train})
    assert after["tools.py"].after == tools
    assert [finding.action for finding in after["tools.py"].findings] == ["refuse"]


def test_a_name_that_getattr_is_asked_for_is_refused() -> None:
    call = 'getattr(tf.keras.utils, "multi_gpu_model")'
    source = PROGRAM.format(imports=LAYERS + "import tensorflow as tf", call=call)
    file = migrate(source)
    assert [finding.code for finding in file.findings] == ["TFM101"]
    assert file.after == source


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import keras.utils.training_utils", "from tensorflow import keras"),
        ("import keras.utils.multi_gpu_utils", "from tensorflow import keras"),
        ("import keras.engine.topology", "from tensorflow import keras"),
        ("import tensorflow.contrib.keras", "import tensorflow"),
        ("import tensorflow.python.keras.utils.multi_gpu_utils", "import tensorflow"),
    ],
)
def test_an_import_of_a_module_in_a_package_binds_the_package(old: str, new: str) -> None:
    root = old.split()[1].split(".")[0]
    keras = "keras" if root == "keras" else "tensorflow.keras"
    uses = f"layer = {keras}.layers.Dense(1)\n"
    after = migrated(f"from keras.utils import multi_gpu_model\n{LAYERS}{old}\n{uses}", "multi_gpu_model")
    assert f"\n{new}\n" in after
    assert f" as {root}" not in after
    assert uses in after


def test_a_public_module_of_keras_is_imported_as_before() -> None:
    lines = "import tensorflow.keras.utils\n\nlabels = tensorflow.keras.utils.to_categorical([0, 1])\n"
    assert lines in migrated(f"{LAYERS}{lines}", "tensorflow.keras.utils.multi_gpu_model")


@pytest.mark.parametrize("given", ["model, gpus=gpus, **more", "model, gpus, **more", "**more, gpus=gpus, model=model"])
def test_what_is_passed_on_beside_model_and_gpus_says_where_the_model_stands(given: str) -> None:
    """cpu_merge and cpu_relocation are all that is left for it to hold."""
    source = (
        f"{LAYERS}from tensorflow.keras.utils import multi_gpu_model\n\n\n"
        f"def spread(model, gpus, **more):\n    return multi_gpu_model({given})\n\n\n"
        "net = spread(Sequential([Dense(1, input_shape=(4,))]), 2, cpu_merge=False)\nnet.compile('sgd', 'mse')\n"
    )
    file = migrate(source)
    assert file.status == "migrated", file.findings
    assert "multi_gpu_model" not in file.after
    assert "    net = Sequential([Dense(1, input_shape=(4,))])\n    net.compile('sgd', 'mse')\n" in file.after
    assert "spread" not in file.after, "it would only give back what it is given"


@pytest.mark.parametrize("given", ["model, **more", "model, *more, gpus=gpus", "*more, gpus=gpus", "gpus=gpus, **more"])
def test_what_may_hold_the_model_or_the_number_is_refused(given: str) -> None:
    source = (
        f"{LAYERS}from tensorflow.keras.utils import multi_gpu_model\n\n\n"
        f"def spread(model, gpus, **more):\n    return multi_gpu_model({given})\n\n\n"
        "net = spread(Sequential([Dense(1, input_shape=(4,))]), 2)\nnet.compile('sgd', 'mse')\n"
    )
    file = migrate(source)
    assert codes(file, "refuse") == ["TFM106"]
