"""A program is a set of files: what one needs from another stays, and each that changes says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import migrate_files
from tfmigrate import guard, migrate
from tfmigrate.consistency import unresolved
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings

BUILD = "from keras.layers import Dense\nfrom keras.models import Sequential\n\n\ndef build():\n    return Sequential([Dense(1, input_shape=(4,))])\n"  # noqa: E501
TRAIN = "{imports}\n\nmodel = {call}(build(), gpus=2)\nmodel.compile('sgd', 'mse')\n"
REFUSED = "{imports}\n\nspread = map({call}, models)\n"
DRESS = """\
import keras
from keras.layers import Dense
from keras.models import Sequential


class ModelMGPU(keras.Model):
    def __init__(self, ser_model, gpus):
        self.__dict__.update(keras.utils.multi_gpu_model(ser_model, gpus).__dict__)
        self._smodel = ser_model

    def __getattribute__(self, attrname):
        if "load" in attrname or "save" in attrname:
            return getattr(self._smodel, attrname)
        return super(ModelMGPU, self).__getattribute__(attrname)


def build():
    return Sequential([Dense(1, input_shape=(4,))])
"""
USE = "{imports}\n\nmodel = {call}(build(), 2)\nmodel.compile('sgd', 'mse')\n"


def migrated(sources: dict[str, str]) -> dict[str, FileResult]:
    """The results of a program, which must hold together in any case."""
    results = migrate_files(sources)
    after = {path: file.after for path, file in results.items()}
    assert unresolved(after) <= unresolved(sources)
    for file in results.values():
        assert not file.changed or any(finding.action == "rewrite" for finding in file.findings), file.path
    return results


PASSED_ON = {
    "from a package": (
        {"pkg/__init__.py": "from keras.utils import multi_gpu_model\n"},
        "from pkg import multi_gpu_model",
        "multi_gpu_model",
    ),
    "through two modules": (
        {
            "pkg/__init__.py": "from .gpu import multi_gpu_model\n",
            "pkg/gpu.py": "from keras.utils import multi_gpu_model, to_categorical\n\nprint(to_categorical([1]))\n",
        },
        "from pkg import multi_gpu_model",
        "multi_gpu_model",
    ),
    "under another name": (
        {"gpu.py": "from keras.utils import multi_gpu_model as spread_over\n"},
        "from gpu import spread_over as spread",
        "spread",
    ),
    "by stars": (
        {"gpu.py": "from keras.utils import multi_gpu_model\n", "common.py": "from gpu import *\n"},
        "from common import *",
        "multi_gpu_model",
    ),
    "as an attribute": (
        {"gpu.py": "from keras.utils import multi_gpu_model\n"},
        "import gpu",
        "gpu.multi_gpu_model",
    ),
    "as another name of it": (
        {"gpu.py": "from keras import utils\n\nspread = utils.multi_gpu_model\n"},
        "from gpu import spread",
        "spread",
    ),
}


@pytest.mark.parametrize("how", PASSED_ON)
def test_what_a_refused_use_imports_stays_in_every_file(how: str) -> None:
    files, imports, call = PASSED_ON[how]
    sources = {**files, "train.py": REFUSED.format(imports=imports, call=call)}
    results = migrated(sources)
    assert results["train.py"].status == "refused"
    assert {path: file.after for path, file in results.items()} == sources
    passing = [finding for path in files for finding in results[path].findings if "multi_gpu" in sources[path]]
    assert {finding.action for finding in passing} <= {"refuse"}


@pytest.mark.parametrize("how", [how for how in PASSED_ON if how != "as another name of it"])
def test_what_only_migrated_uses_import_goes_in_every_file(how: str) -> None:
    files, imports, call = PASSED_ON[how]
    imports += "\nfrom build import build"
    results = migrated({**files, "build.py": BUILD, "train.py": TRAIN.format(imports=imports, call=call)})
    assert {file.status for file in results.values() if file.findings} == {"migrated"}
    assert not [path for path, file in results.items() if "multi_gpu_model" in file.after]


def test_a_use_that_is_migrated_leaves_the_name_to_one_that_is_refused() -> None:
    sources = {
        "pkg/__init__.py": "from keras.utils import multi_gpu_model\n",
        "build.py": BUILD,
        "train.py": TRAIN.format(
            imports="from build import build\nfrom pkg import multi_gpu_model", call="multi_gpu_model"
        ),
        "other.py": REFUSED.format(imports="from pkg import multi_gpu_model", call="multi_gpu_model"),
    }
    results = migrated(sources)
    assert results["train.py"].status == "migrated"
    assert results["pkg/__init__.py"].after == sources["pkg/__init__.py"]
    assert [f.code for f in results["pkg/__init__.py"].findings if f.action == "refuse"] == ["TFM003"]


def test_a_refused_use_says_that_a_file_it_imports_leaves_its_keras() -> None:
    results = migrated(
        {
            "build.py": BUILD,
            "train.py": TRAIN.format(
                imports="from build import build\nfrom keras.utils import multi_gpu_model", call="multi_gpu_model"
            ),
            "other.py": REFUSED.format(
                imports="from build import build\nfrom keras.utils import multi_gpu_model", call="multi_gpu_model"
            ),
        }
    )
    assert not results["other.py"].changed
    (refusal,) = results["other.py"].findings
    assert "build.py, which this file imports, leaves standalone Keras" in refusal.message


def test_an_import_that_nothing_uses_goes_wherever_it_is_passed_on() -> None:
    files, imports, _ = PASSED_ON["through two modules"]
    results = migrated({**files, "train.py": f"{imports}\n\nprint(1)\n"})
    assert results["train.py"].after == "print(1)\n"
    assert (
        results["pkg/gpu.py"].after
        == "from tensorflow.keras.utils import to_categorical\n\nprint(to_categorical([1]))\n"
    )


def test_an_import_that_only_other_files_read_stays_where_its_own_readers_go() -> None:
    sources = {
        "common.py": "import tensorflow as tf\nfrom keras import backend as K\n\nK.set_session(tf.Session())\n",
        "train.py": TRAIN.format(
            imports="from common import K\nfrom build import build\nfrom keras.utils import multi_gpu_model\n\nK.eps()",
            call="multi_gpu_model",
        ),
        "build.py": BUILD,
    }
    results = migrated(sources)
    assert "import backend as K" in results["common.py"].after


def test_a_file_that_changes_for_another_one_says_for_which() -> None:
    sources = {
        "build.py": BUILD.replace("keras", "tensorflow.keras").replace("    return Seq", "    model = Seq")
        + "    model.compile('sgd', 'mse')\n    return model\n",
        "train.py": "from build import build\nfrom tensorflow.keras.utils import multi_gpu_model\n\nmodel = build()\nparallel = multi_gpu_model(model, 2)\nparallel.fit(x, y)\n",  # noqa: E501
        "tune.py": "from train import parallel\n\nparallel.compile('adam', 'mse')\n",
    }
    results = migrated(sources)
    for path, file in results.items():
        if file.changed:
            codes = [finding.code for finding in file.findings if finding.action == "rewrite"]
            assert "TFM001" in codes, path


CALLS = {
    "imported": ("from model import ModelMGPU, build", "ModelMGPU"),
    "under another name": ("from model import ModelMGPU as Several, build", "Several"),
    "as an attribute": ("import model as m\nfrom model import build", "m.ModelMGPU"),
    "through a package": ("from pkg import ModelMGPU, build", "ModelMGPU"),
}


@pytest.mark.parametrize("how", CALLS)
def test_a_class_that_wraps_goes_with_all_its_imports(how: str) -> None:
    imports, call = CALLS[how]
    sources = {
        "model.py": DRESS,
        "pkg/__init__.py": "from model import ModelMGPU, build\n",
        "main.py": USE.format(imports=imports, call=call),
        "idle.py": "from model import ModelMGPU\n\nprint(1)\n",
        "listed.py": 'from model import ModelMGPU, build\n\n__all__ = ["ModelMGPU", "build"]\n',
    }
    results = migrated(sources)
    assert {file.status for file in results.values()} == {"migrated"}
    assert not [path for path, file in results.items() if "ModelMGPU" in file.after]
    assert "strategy.scope()" in results["main.py"].after


NEEDS = {
    "asks for the class": "from model import ModelMGPU as Several\n\nprint(isinstance(load(), Several))\n",
    "derives from it": "from model import ModelMGPU\n\n\nclass Mine(ModelMGPU):\n    pass\n",
    "takes it from an unknown path": "from project.src.model import ModelMGPU\n\nprint(ModelMGPU)\n",
    "imports it from an unknown path": "from project import ModelMGPU\n",
    "looks it up": 'import importlib\n\nkind = getattr(importlib.import_module("model"), "ModelMGPU")\n',
    "calls it in a way that is refused": "from model import ModelMGPU\n\n\ndef run(m):\n    return ModelMGPU(m, 2)\n",
}


@pytest.mark.parametrize("need", NEEDS)
def test_a_class_that_something_else_needs_stays_and_so_does_all(need: str) -> None:
    main = USE.format(imports="from model import ModelMGPU, build", call="ModelMGPU")
    sources = {"model.py": DRESS, "main.py": main, "other.py": NEEDS[need]}
    results = migrated(sources)
    assert {path: file.after for path, file in results.items()} == sources
    assert results["model.py"].status == results["main.py"].status == "refused"


@pytest.mark.parametrize("need", NEEDS)
def test_a_file_that_mentions_the_class_is_found_by_its_text(project: Path, need: str) -> None:
    main = USE.format(imports="from model import ModelMGPU, build", call="ModelMGPU")
    for path, text in {"src/model.py": DRESS, "src/main.py": main, "apps/deep/other.py": NEEDS[need]}.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    migrate.fix(["."], Settings(jobs=1))
    assert Path("src/model.py").read_text(encoding="utf-8") == DRESS
    assert Path("src/main.py").read_text(encoding="utf-8") == main


@pytest.mark.parametrize(("path", "dots"), [("net/train.py", "."), ("net/deep/train.py", "..")])
def test_what_is_taken_from_a_package_is_named_after_it(path: str, dots: str) -> None:
    assert unresolved({"net/__init__.py": "", path: f"from {dots} import gone\n"}) == {(path, "net.gone")}


def test_unresolved_names_what_is_taken_in_vain() -> None:
    files = {
        "a.py": "from b import one, two, gone\nfrom b import inner\nimport b\n\nb.one, b.lost\nimport numpy\n",
        "b/__init__.py": "from .c import *\nif one:\n    two = 2\n",
        "b/c.py": "def one():\n    global three\n    three = 3\n",
        "b/inner.py": "",
        "d.py": "from .b import three, four\nfrom b.c import one\n",
    }
    assert unresolved(files) == {("a.py", "b.gone"), ("a.py", "b.lost"), ("d.py", "b.four")}
    assert unresolved({**files, "b/c.py": "not python 3: print 1"}) == set()


def test_the_guard_asks_for_a_reason_and_for_names_that_others_take() -> None:
    told = Finding(1, 1, "TFM001", "said", "rewrite")
    warned = Finding(1, 1, "TFM205", "said", "warn")
    assert guard.unexplained(["a.py"], {"a.py": (warned, told)}) is None
    assert guard.unexplained(["a.py", "b.py"], {"a.py": (told,), "b.py": (warned,)}) == "b.py"
    before = {"a.py": "from b import x, y\n", "b.py": "x = 1\n"}
    assert guard.torn(before, before) is None
    assert guard.torn(before, {**before, "b.py": "y = 1\n"}) == "a.py would no longer find b.x"


def test_a_program_that_would_change_without_a_reason_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "unexplained", lambda changed, findings: "build.py")
    text = TRAIN.format(
        imports="from build import build\nfrom keras.utils import multi_gpu_model", call="multi_gpu_model"
    )
    sources = {"build.py": BUILD, "train.py": text}
    results = migrate_files(sources)
    assert {path: file.after for path, file in results.items()} == sources
    (finding,) = [f for f in results["train.py"].findings if f.action == "refuse"]
    assert "build.py would change and no finding says why" in finding.message


def test_a_parameter_is_no_module_of_that_name() -> None:
    module = {"board.py": "folder = 1\n"}
    own = "import board\n\n\ndef of(board):\n    return board.log_dir\n\n\nsame = lambda board: board.log_dir\n"
    assert unresolved(module | {"a.py": own}) == set()
    assert unresolved(module | {"a.py": own + "print(board.log_dir)\n"}) == {("a.py", "board.log_dir")}
