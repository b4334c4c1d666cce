"""Names that modules of a program take from each other and from libraries."""

from __future__ import annotations

import pytest

from tests.kit import codes, migrate
from tests.rewrite.files import DRESS, migrated, one, text


def test_a_package_that_is_installed_under_another_name_than_its_folder() -> None:
    build = "from tensorflow.keras import Input, Model\n\n\ndef build():\n    x = Input((4,))\n    return Model(x, x)\n"
    train = (
        "from tensorflow.keras.utils import multi_gpu_model\nfrom %s import build\n\n"
        "model = multi_gpu_model(build(), 2)\nmodel.compile('sgd', 'mse')\n"
    )
    for name, followed in (("seer.nets.plain", True), ("nets.plain", True), ("seer.plain", False)):
        files = migrated({"seer_v2/nets/plain.py": build, "seer_v2/plain.py": build, "seer_v2/train.py": train % name})
        (told,) = (finding for finding in files["seer_v2/train.py"].findings if finding.code == "TFM001")
        assert ("built at line 6 of seer_v2/nets/plain.py" in told.message) is followed, name


@pytest.mark.parametrize(("line", "told"), [("", ["TFM025"]), ("from .helpers import *\n", [])])
def test_a_call_that_nothing_defines_is_told_unless_a_star_may_bring_it(line: str, told: list[str]) -> None:
    call = "model = multi_gpu_model(Sequential(), 2)\nmodel.compile('sgd', 'mse')\n"
    file = migrate(f"from keras import Sequential\n{line}\n{call}")
    assert "TFM001" in codes(file, "rewrite")
    assert codes(file, "warn") == told


def test_a_function_of_that_name_that_the_module_defines_is_not_kerass() -> None:
    own = "def multi_gpu_model(model, gpus):\n    return model\n"
    call = "model = multi_gpu_model(Sequential(), 2)\nmodel.compile('sgd', 'mse')\n"
    file = migrate(f"from keras import Sequential\n{own}\n\n{call}")
    assert "TFM025" not in codes(file, "warn")
    assert "MirroredStrategy" not in file.after


def test_a_name_that_two_arms_import_has_always_the_same_meaning() -> None:
    file = one("""
        try:
            from tensorflow.python.keras import backend as K
        except ImportError:
            from keras import backend as K
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model

        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        model.compile(loss=lambda t, p: K.tf.log(p), optimizer="sgd")
    """)
    assert "tf.math.log(p)" in file.after


def test_an_import_of_the_wrapper_in_the_guard_goes_with_the_guard() -> None:
    files = {
        "parallel.py": DRESS,
        "train.py": """
            from keras.layers import Dense
            from keras.models import Sequential


            def build(gpus):
                model = Sequential([Dense(1, input_shape=(4,))])
                if gpus > 1:
                    from parallel import ModelMGPU
                    model = ModelMGPU(model, gpus)
                return model


            model = build(int(input()))
            model.compile("sgd", "mse")
            model.train_on_batch(x, y)
        """,
    }
    after = migrated(files)["train.py"].after
    assert "pass" not in after
    assert "        model = Sequential([Dense(1, input_shape=(4,))])\n    return model\n" in after


def test_a_package_in_the_folder_of_sources_is_found_by_the_scripts_beside_it() -> None:
    build = "from tensorflow.keras import Input, Model\n\n\ndef build():\n    x = Input((4,))\n    return Model(x, x)\n"
    train = (
        "from tensorflow.keras.utils import multi_gpu_model\nfrom seer import build\n\n"
        "model = multi_gpu_model(build(), 2)\nmodel.compile('sgd', 'mse')\n"
    )
    for folder, followed in (("src/", True), ("../src/", False), ("sources/", False)):
        files = migrated({f"{folder}seer/__init__.py": build, "examples/mnist/train.py": train})
        (told,) = (finding for finding in files["examples/mnist/train.py"].findings if finding.code == "TFM001")
        assert ("built at line 6" in told.message) is followed, folder


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ("('ModelMGPU',)", "()"),
        ("['ModelMGPU', 'devices']", "['devices']"),
        ("('devices', 'ModelMGPU')", "('devices',)"),
        ("['devices', 'rows']", "['devices', 'rows']"),
    ],
)
def test_what_is_gone_is_exported_no_more(listed: str, left: str) -> None:
    """`from parallel import *` would fail on a name in __all__ that nothing defines."""
    files = {
        "tools/parallel.py": f"{text(DRESS)}\n\n__all__ = {listed}\n\n\ndef devices():\n    return 2\n\n\nrows = 3\n",
        "tools/__init__.py": "from .parallel import *",
        "train.py": f"""
            from keras.layers import Dense
            from keras.models import Sequential
            from tools{".parallel" if "ModelMGPU" not in listed else ""} import ModelMGPU

            model = ModelMGPU(Sequential([Dense(1, input_shape=(4,))]), 2)
            model.compile("sgd", "mse")
            model.train_on_batch(x, y)
        """,
    }
    results = migrated(files)
    assert "strategy.scope()" in results["train.py"].after
    assert f"__all__ = {left}\n" in results["tools/parallel.py"].after
    assert ("__all__" in str(results["tools/parallel.py"].findings)) is (listed != left)
