"""Paths of files that a script takes from another module, where such things are said together (TFM205)."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate_files
from tfmigrate.result import FileResult

OLD, NEW = 'path = "out/net.hdf5"\n', 'path = "out/net.weights.h5"\n'


def train(imports: str, name: str, call: str = "save_weights") -> str:
    return f"""\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
{imports}

x, y = np.load("x.npy"), np.load("y.npy")
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile(loss="mse", optimizer="sgd")
parallel.fit(x, y)
model.{call}({name})
"""


def migrated(script: str, **modules: str) -> dict[str, FileResult]:
    others = {f"{name.replace('__', '/')}.py": text for name, text in modules.items()}
    return migrate_files({"train.py": script, **others})


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from settings import path", "path"),
        ("from settings import path as file", "file"),
        ("import settings", "settings.path"),
        ("import settings as cfg", "cfg.path"),
        ("from settings import *", "path"),
        ("from handed import path", "path"),
        ("from handed import *", "path"),
        ("import handed", "handed.path"),
        ("from package import inner", "inner.path"),
        ("import package.inner", "package.inner.path"),
        ("from package.inner import path", "path"),
        ("from settings import path\nimport os", 'os.path.join("run", path)'),
    ],
)
def test_the_ending_changes_where_the_path_is_written(imports: str, name: str) -> None:
    """It died at save_weights(), with `make sure that this path does` said about it."""
    files = migrated(
        train(imports, name),
        settings=OLD,
        handed="from settings import path\n",
        package____init__="",
        package__inner=OLD,
    )
    home = "package/inner.py" if "package" in imports else "settings.py"
    assert files[home].after == NEW
    assert all(files[other].after == OLD for other in ("settings.py", "package/inner.py") if other != home)
    assert f"save_weights({name})" in files["train.py"].after
    assert "warn" not in actions(files["train.py"], "TFM205")


def test_all_that_a_name_may_be_bound_to_changes() -> None:
    text = 'import sys\nif sys.argv[1:]:\n    path = "a.h5"\nelse:\n    path = "b.h5"\n'
    files = migrated(train("from settings import path", "path"), settings=text)
    assert files["settings.py"].after == text.replace(".h5", ".weights.h5")
    assert "warn" not in actions(files["train.py"], "TFM205")


@pytest.mark.parametrize(
    ("imports", "settings"),
    [
        ("from settings import path", "import sys\npath = sys.argv[1]\n"),
        ("from settings import path", "from elsewhere import path\n"),
        ("from settings import path", "from train import path\n"),
        ("from settings import path", "path = made()\n"),
        ("from elsewhere import path", OLD),
    ],
)
def test_what_is_not_known_is_told(imports: str, settings: str) -> None:
    files = migrated(train(imports, "path"), settings=settings)
    assert files["settings.py"].after == settings
    assert "warn" in actions(files["train.py"], "TFM205")


def test_a_name_that_another_module_sets_is_told() -> None:
    script = train("import sys\nimport settings\nsettings.path = sys.argv[1]", "settings.path")
    files = migrated(script, settings=OLD)
    assert files["settings.py"].after == OLD
    assert "warn" in actions(files["train.py"], "TFM205")


def test_a_file_that_is_only_loaded_keeps_its_name() -> None:
    files = migrated(train("from settings import path", "path", "load_weights"), settings=OLD)
    assert files["settings.py"].after == OLD


@pytest.mark.parametrize(("last", "changes"), [("other", True), ("hides", False)])
def test_a_later_star_import_hides_the_name_of_an_earlier_one(last: str, changes: bool) -> None:
    script = train(f"from settings import *\nfrom {last} import *", "path")
    files = migrated(script, settings=OLD, other="size = 3\n", hides="from library import path\n")
    assert (files["settings.py"].after == NEW) is changes
