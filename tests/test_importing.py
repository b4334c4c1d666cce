"""Which files an import may mean, where a script adds folders to `sys.path`."""

from __future__ import annotations

import pytest

from tests.kit import SETTINGS
from tfmigrate.files.related import imported_paths
from tfmigrate.importing import folders_added
from tfmigrate.rewrite import migrate_sources


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("sys.path.append('../tool')", ("../tool",)),
        ("sys.path.insert(0, \"lib\")", ("lib",)),
        ("    sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'lib'))", ("../lib",)),
        ("sys.path.append('a')\nsys.path.append('b')\nsys.path.append('a')", ("a", "b")),
        ("sys.path.append('/usr/share/lib')", ("share/lib", "lib")),
        ("sys.path.append('/lib/')", ("lib",)),
        ("sys.path.append('/')", ()),
        ("sys.path.append(root)", ()),
        ("# sys.path.append('lib')", ()),
        ("print('sys.path.append')", ()),
    ],
)  # fmt: skip
def test_the_folders_whose_names_are_written_there(line: str, folders: tuple[str, ...]) -> None:
    assert folders_added(f"import os, sys\n{line}\n") == folders


def test_a_module_of_such_a_folder_is_looked_for_there() -> None:
    paths = set(imported_paths("run/train.py", b"import sys\nsys.path.append('../tool')\nimport nets\n"))
    assert "tool/nets.py" in paths
    assert "tool/nets.py" not in set(imported_paths("run/train.py", b"import sys\nimport nets\n"))


TRAIN = """\
import sys
{added}
from nets import build
from keras.utils import multi_gpu_model

model = build()
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "hinge")
parallel.fit(batches)
"""
NETS = "from keras.models import Sequential\n\n\ndef build():\n    return Sequential()\n"


def test_an_absolute_folder_may_be_one_of_the_project_that_lay_elsewhere() -> None:
    paths = set(imported_paths("run/train.py", b"import sys\nsys.path.append('/home/me/project/nets')\nimport unet\n"))
    assert {"nets/unet.py", "run/nets/unet.py", "project/nets/unet.py"} <= paths
    assert "home/me/project/nets/unet.py" not in paths


def test_a_model_that_such_a_module_builds_is_followed() -> None:
    texts = {"run/train.py": TRAIN.format(added="sys.path.append('../tool')"), "tool/nets.py": NETS}
    train, nets = migrate_sources(texts, SETTINGS)
    assert (train.status, nets.status) == ("migrated", "migrated")
    assert "from tensorflow.keras.models import Sequential" in nets.after


def test_without_it_the_module_is_out_of_sight() -> None:
    _, nets = migrate_sources({"run/train.py": TRAIN.format(added=""), "tool/nets.py": NETS}, SETTINGS)
    assert nets.status == "unchanged"
