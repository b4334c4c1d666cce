"""Helper functions stand once in a program, in a file that all which need them import."""

from __future__ import annotations

import pytest

from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

CORE = """\
from keras import backend as K

EPS = 1e-6


def loss(y, p):
    return K.sqrt(K.sum(K.square(y - p)))
"""
TRAIN = """\
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
{imports}

model = Sequential([Dense(3, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", loss)
parallel.fit_generator(batches(), 3, callbacks=[ModelCheckpoint("a.h5", period=3)])
"""


def migrated(imports: str, core: str = CORE, path: str = "lib/utils.py") -> dict[str, str]:
    train = TRAIN.format(imports=imports)
    sources = {"a.py": train, "b.py": train, "lib/__init__.py": "", path: core}
    files = migrate_sources(sources, Settings())
    assert [file.status for file in files if file.path in ("a.py", "b.py", path)] == ["migrated"] * 3
    return {file.path: file.after for file in files}


@pytest.mark.parametrize(
    ("imports", "line"),
    [
        (
            "from lib.utils import loss",
            "from lib.utils import loss, PeriodicCheckpoint, whole_batch\n",
        ),
        (
            "# of its own\nfrom lib.utils import loss as far  # the distance\nloss = far",
            "# of its own\nfrom lib.utils import loss as far, PeriodicCheckpoint, whole_batch  # the distance\n",
        ),
        (
            "from lib.utils import (\n    loss,\n    size,\n)",
            "from lib.utils import (\n    loss,\n    size,\n    PeriodicCheckpoint,\n    whole_batch,\n)\n",
        ),
        (
            "from lib.utils import (loss,\n                       size)",
            "from lib.utils import (loss,\n                       size,\n"
            "                       PeriodicCheckpoint,\n                       whole_batch)\n",
        ),
        (
            "from lib.utils import (size, loss,\n    far)",
            "from lib.utils import (size, loss,\n    far, PeriodicCheckpoint, whole_batch)\n",
        ),
        (
            "from lib.utils import (\n    loss,  # the distance\n)",
            "from lib.utils import PeriodicCheckpoint, whole_batch\nfrom lib.utils import (\n    loss,",
        ),
        ("from lib import utils; loss = utils.loss", None),
        (
            "from lib import utils\nloss = utils.loss",
            "from lib.utils import PeriodicCheckpoint, whole_batch\nfrom lib import utils\n",
        ),
        (
            "import lib.utils as u\nloss = u.loss",
            "from lib.utils import PeriodicCheckpoint, whole_batch\nimport lib.utils as u\n",
        ),
    ],
)
def test_they_stand_in_the_module_that_both_scripts_import(imports: str, line: str | None) -> None:
    after = migrated(imports)
    copies = [path for path, text in after.items() if "class PeriodicCheckpoint" in text and "def whole_batch" in text]
    assert copies == (["lib/utils.py"] if line is not None else ["a.py", "b.py"])
    assert line is None or all(line in after[path] for path in ("a.py", "b.py"))
    assert line is None or after["lib/utils.py"].startswith("import tensorflow as tf\nfrom tensorflow.keras import")


@pytest.mark.parametrize(
    ("imports", "core", "why"),
    [
        ("from lib.utils import *", CORE, "a star import, of which nobody sees what it brings"),
        (
            "from lib.utils import loss",
            CORE + "\n\ndef whole_batch(x):\n    return x\n\n\nclass PeriodicCheckpoint:\n    pass\n",
            "the names are taken there",
        ),
        ("from lib.utils import loss", "__all__ = ['loss']\n" + CORE, "it lists what it has"),
    ],
)
def test_each_script_has_its_own_where_the_module_cannot_take_them(imports: str, core: str, why: str) -> None:
    after = migrated(imports, core)
    assert all("class PeriodicCheckpoint" in after[path] for path in ("a.py", "b.py")), why


def test_a_function_that_one_file_needs_stays_there() -> None:
    other = "from keras.layers import Dense\nfrom lib.utils import loss\nprint(loss, Dense)\n"
    sources = {
        "a.py": TRAIN.format(imports="from lib.utils import loss"),
        "b.py": other,
        "lib/utils.py": CORE,
        "lib/__init__.py": "",
    }
    after = {file.path: file.after for file in migrate_sources(sources, Settings())}
    assert "class PeriodicCheckpoint" in after["a.py"]
