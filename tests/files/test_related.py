from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.kit import counted
from tfmigrate.files import related

NEEDLES = (b"multi_gpu_model",)
FILES = {
    "utils.py": b"def to_gpus(model):\n    return multi_gpu_model(model)\n\ndef other():\n    pass\n",
    "train.py": b"from utils import to_gpus\n\ndef build():\n    return to_gpus(1)\n",
    "main.py": b"import train\ntrain.build()\n",
    "test_utils.py": b"from utils import other\nother()\n",
    "mention.py": b"# utils.to_gpus\n",
}


def among(files: Mapping[str, bytes]) -> related.Search:
    return lambda needles: {path: data for path, data in files.items() if any(needle in data for needle in needles)}


def of(files: Mapping[str, bytes]) -> related.Find:
    return lambda wanted: {path: data for path, data in files.items() if path in wanted}


def test_importers_of_what_holds_the_needle_and_their_importers() -> None:
    hits = {"utils.py": FILES["utils.py"]}
    assert sorted(related.with_importers(hits, NEEDLES, among(FILES))) == ["main.py", "train.py", "utils.py"]


def test_a_name_that_a_package_passes_on_is_followed() -> None:
    files = {
        "zoo/factory.py": b"def load():\n    return multi_gpu_model(1)\n",
        "zoo/__init__.py": b"from zoo.factory import load as get\n",
        "stars.py": b"from zoo import *\n",
        "train.py": b"from stars import get\nmodel = get()\n",
        "other.py": b"from stars import nothing\n",
    }

    hits = {"zoo/factory.py": files["zoo/factory.py"]}
    assert sorted(related.with_importers(hits, NEEDLES, among(files))) == [
        "stars.py",
        "train.py",
        "zoo/__init__.py",
        "zoo/factory.py",
    ]


def test_a_package_that_holds_the_needle_itself_passes_a_name_on() -> None:
    files = {
        "tools/multi_gpu_model.py": b"class Dress:\n    inner = multi_gpu_model\n",
        "tools/__init__.py": b"from .multi_gpu_model import Dress\n",
        "nets/plain.py": b"from ..tools import Dress\nmodel = Dress(1)\n",
    }

    hits = {path: data for path, data in files.items() if b"multi_gpu_model" in data}
    assert sorted(related.with_importers(hits, NEEDLES, among(files))) == sorted(files)


def test_a_function_that_calls_what_holds_the_needle_is_followed_too() -> None:
    files = {
        "train.py": b"def wrap(m):\n    multi_gpu_model(m)\n\ndef run(m):\n    wrap(m)\n\ndef wrapper():\n    pass\n",
        "main.py": b"def main():\n    from train import run\n    run(1)\n",
        "other.py": b"from train import wrapper\n",
    }

    assert sorted(related.with_importers({"train.py": files["train.py"]}, NEEDLES, among(files))) == [
        "main.py",
        "train.py",
    ]


def test_what_the_modules_of_a_package_hold_is_reached_through_it() -> None:
    files = {
        "speech/__init__.py": b"from . import pipeline\n",
        "speech/pipeline/__init__.py": b"from .ctc import Pipeline\n",
        "speech/pipeline/ctc.py": b"class Pipeline:\n    wrap = multi_gpu_model\n",
        "basic.py": b"import speech as s\n\ns.pipeline.Pipeline()\n",
        "other.py": b"import speech as s\n\ns.features()\n",
    }

    hits = {path: data for path, data in files.items() if b"multi_gpu_model" in data}
    assert sorted(related.with_importers(hits, NEEDLES, among(files))) == sorted(files.keys() - {"other.py"})


def test_what_a_program_imports_belongs_to_it_where_it_leads_to_keras() -> None:
    files = {
        "src/nets/__init__.py": b"from .resnet import build\n",
        "src/nets/resnet.py": b"from keras import layers\nfrom . import blocks\n",
        "src/nets/blocks.py": b"import tensorflow as tf\n",
        "src/nets/paths.py": b"ROOT = 'keras'\n",
        "common.py": b"import keras\n",
        "src/text.py": b"import re\n",
        "other/nets.py": b"import keras\n",
        "src/keras/utils.py": b"import keras\n",
    }

    known = {
        "src/train.py": b"import os, common\nfrom keras import utils\nfrom nets import (\n    build)\nimport text\n"
    }
    assert sorted(related.with_imported(known, of(files))) == [
        "common.py",
        "src/nets/__init__.py",
        "src/nets/blocks.py",
        "src/nets/resnet.py",
        "src/train.py",
    ]


def test_groups_are_joined_by_imports() -> None:
    groups = related.components({path: FILES[path] for path in ("utils.py", "train.py", "mention.py")})
    assert sorted(map(sorted, groups)) == [["mention.py"], ["train.py", "utils.py"]]


def test_a_package_is_imported_by_its_folders_name() -> None:
    assert related.module_name("a/pkg/__init__.py") == "pkg"
    assert related.module_name("a/pkg/nets.py") == "nets"


def test_what_a_file_that_trains_imports_is_read_because_it_may_say_what_the_data_is() -> None:
    files = {
        "train.py": b"import keras\nfrom data import load\nfrom settings import path\nmodel.fit(*load(path))\n",
        "build.py": b"import keras\nimport shapes\n",
        "data.py": b"from numbers import one\n\ndef load(path):\n    return [one], [one]\n",
        "settings.py": b"path = 'here'\n",
        "shapes.py": b"size = 3\n",
        "numbers.py": b"one = 1\n",
    }

    known = {path: files[path] for path in ("train.py", "build.py")}
    assert sorted(related.with_imported(known, of(files))) == ["build.py", "data.py", "settings.py", "train.py"]


def test_a_module_that_names_numpy_is_read_however_far_it_is_imported() -> None:
    files = {
        "train.py": b"import keras\nfrom tools import load\n",
        "tools.py": b"from more import rows\nfrom words import names\n",
        "more.py": b"import numpy as np\nrows = np.arange(8).astype(np.int)\n",
        "words.py": b"names = ()\n",
    }
    known = {"train.py": files["train.py"]}
    assert sorted(related.with_imported(known, of(files))) == ["more.py", "tools.py", "train.py"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (b"model.fit(x, y)", True),
        (b"model.fit_generator(rows)", True),
        (b"model.save_weights(path)", True),
        (b"self.net.load_weights(path)", True),
        (b"model.compile('sgd', 'mse')", True),
        (b"core.compile('sgd', 'mse')", True),
        (b"words = re.compile('a')", False),
        (b"model.predict(x)", False),
        (b"size = fit(x)", False),
        (b"shown = chart.fitted", False),
    ],
)
def test_a_module_that_trains_or_saves_what_it_is_handed_is_read(line: bytes, read: bool) -> None:
    files = {
        "train.py": b"import keras\nfrom tools import work\nwork(model)\n",
        "tools.py": b"from more import inner as work\n",
        "more.py": b"def inner(model):\n    " + line + b"\n",
    }
    known = {"train.py": files["train.py"]}
    assert sorted(related.with_imported(known, of(files))) == (sorted(files) if read else ["train.py"])


def test_a_script_that_shares_a_module_on_standalone_keras_belongs_to_the_program() -> None:
    files = {
        "nets/model.py": b"from keras.layers import Dense\n",
        "nets/__init__.py": b"from .model import build\n",
        "train.py": b"from keras.utils import multi_gpu_model\nfrom nets import build\nimport data\nm.fit(data.x)\n",
        "data.py": b"x = []\n",
        "predict.py": b"import keras\nfrom nets import build\nimport drawing\n",
        "drawing.py": b"import numpy as np\n",
        "compare.py": b"import keras\nimport predict\n",
        "on_tf_keras.py": b"from tensorflow import keras\nfrom nets import build\n",
        "other/predict.py": b"import keras\nfrom data import x\n",
        "other/nets.py": b"import keras\n",
        "words.py": b"import keras  # nets\n",
    }

    known = related.with_imported({"train.py": files["train.py"]}, of(files))
    assert sorted(related.with_users_of_keras(known, among(files), of(files))) == [
        "compare.py",
        "data.py",
        "drawing.py",
        "nets/__init__.py",
        "nets/model.py",
        "predict.py",
        "train.py",
    ]
    assert related.with_users_of_keras({"data.py": files["data.py"]}, among(files), of(files)) == {
        "data.py": files["data.py"]
    }


def test_what_a_file_imports_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of one script took 16 s in a repository of 2,400 files that was asked again and again."""
    chain = {f"m{n}.py": b"import numpy\nfrom m%d import a, b  # keras\n" % (n + 1) for n in range(200)}
    related.imported_paths.cache_clear()
    calls = counted(monkeypatch, (related, "paths_of"))
    known = related.with_imported({"m0.py": chain["m0.py"]}, of(chain))
    related.components(known)
    related.reached(known)
    assert len(known) == len(chain)
    assert calls == [4 * len(chain)], "numpy, the module, and its two names"
