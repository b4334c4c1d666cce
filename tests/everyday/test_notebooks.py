"""A real training notebook through the command line, with the real codemod."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Tfmigrate
from tests.files.test_notebook import lines, written

TRAIN = (ROOT / "fixtures" / "base_parallel" / "before" / "train.py").read_text()


@pytest.fixture
def training(project: Path) -> Path:
    """The classic script cut at its blank lines, one cell each, among magics."""
    first = "%%time\nfrom __future__ import print_function\n%matplotlib inline\n!pip install keras \\\n  numpy"
    sources = [first, *TRAIN.split("\n\n"), "%%bash\necho multi_gpu_model", "base_model?"]
    path = project / "train.ipynb"
    path.write_text(written(*map(lines, sources)), encoding="utf-8")
    return path


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def test_fix(training: Path, tfmigrate: Tfmigrate) -> None:
    before = json.loads(training.read_text())["cells"]
    old = sources(training)
    done = tfmigrate("fix", training.name)
    assert (done.code, done.err) == (0, "")
    assert "train.ipynb:cell 8:1:18: TFM001" in done.text
    new = sources(training)
    assert len(new) == len(old)
    assert "multi_gpu_model" not in "".join(new[2:-2])
    assert [new[0], new[1], new[-2], new[-1]] == [old[0], old[1], old[-2], old[-1]]
    scoped = [number for number, source in enumerate(new, 1) if "with strategy.scope():" in source]
    assert scoped == [7, 8]
    assert [source for source in new if source.startswith("HERE = os.path.")] == [old[4]]
    after = json.loads(training.read_text())["cells"]
    assert [{**cell, "source": 0} for cell in after] == [{**cell, "source": 0} for cell in before]
    assert tfmigrate("fix", training.name).text == "1 file checked, nothing to migrate.\n"


def test_the_patch_applies(training: Path, tfmigrate: Tfmigrate) -> None:
    patch = tfmigrate("fix", "--diff", training.name).out
    copy = training.read_bytes()
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], input=patch, check=True)
    applied = training.read_bytes()
    training.write_bytes(copy)
    tfmigrate("fix", training.name)
    assert training.read_bytes() == applied != copy


def test_reports_name_the_cell(training: Path, tfmigrate: Tfmigrate) -> None:
    (file,) = json.loads(tfmigrate("check", "--format", "json").out)["files"]
    (wrap,) = [finding for finding in file["findings"] if finding["code"] == "TFM001"]
    assert (wrap["cell"], wrap["line"], wrap["column"]) == (8, 1, 18)
    sarif = json.loads(tfmigrate("check", "--format", "sarif").out)
    (result,) = [one for one in sarif["runs"][0]["results"] if one["ruleId"] == "TFM001"]
    line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert "multi_gpu_model(base_model" in training.read_text().splitlines()[line - 1]
    assert f"file=train.ipynb,line={line}," in tfmigrate("check", "--format", "github").text
    assert "cell 8:1:18: TFM001" in tfmigrate("check", "--format", "junit").text
    explained = tfmigrate.exits(0, "explain", "train.ipynb:8:1")
    assert "train.ipynb:cell 8:1:18: TFM001" in explained.text
    assert "findings at line 4:5, 8:1" in tfmigrate("explain", "train.ipynb:1:1").text


def test_a_notebook_and_the_modules_it_imports_are_one_program(project: Path, tfmigrate: Tfmigrate) -> None:
    (project / "nets.py").write_text(
        "from keras.layers import Dense\n\n\ndef dense():\n    return Dense(1, input_shape=(4,))\n"
    )
    (project / "wrapping.py").write_text(
        "from keras.utils import multi_gpu_model\n\n\ndef to_gpus(model, gpus):\n"
        "    return multi_gpu_model(model, gpus)\n"
    )
    cells = [
        "%matplotlib inline\nfrom keras.models import Sequential\nfrom nets import dense\nfrom wrapping import to_gpus"
    ]
    cells += ["model = Sequential([dense()])", "model = to_gpus(model, 2)\nmodel.compile('adagrad', 'mse')"]
    cells += ["model.fit_generator(batches)"]
    path = project / "train.ipynb"
    path.write_text(written(*map(lines, cells)), encoding="utf-8")
    done = tfmigrate("fix")
    assert (done.code, done.err) == (0, "")
    for place in ("nets.py:1:", "wrapping.py:5:", "train.ipynb:cell 4:2:", "train.ipynb:cell 5:1:"):
        assert f"\n{place}" in f"\n{done.text}"
    assert "the model built at cell 3, line 1 of train.ipynb" in done.text
    assert "tensorflow.keras.layers" in (project / "nets.py").read_text()
    assert "multi_gpu_model" not in (project / "wrapping.py").read_text()
    _, first, built, compiled, trained = sources(path)
    assert first == cells[0].replace("from keras", "import tensorflow as tf\nfrom tensorflow.keras")
    assert "with strategy.scope():\n    model = Sequential([dense()])" in built
    assert "Adagrad(\n" in compiled
    assert "learning_rate=0.01, " in compiled
    assert trained == "model.fit(batches)"


def test_outputs_can_be_cleared(training: Path, tfmigrate: Tfmigrate) -> None:
    tfmigrate("fix", "--clear-outputs", training.name)
    cells = json.loads(training.read_text())["cells"]
    assert {len(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"} == {0}


def test_stdin_by_name(training: Path, tfmigrate: Tfmigrate) -> None:
    data = training.read_bytes()
    piped = tfmigrate("fix", "-", "--stdin-filename", training.name, stdin=data)
    tfmigrate("fix", training.name)
    assert (piped.code, piped.out) == (0, training.read_bytes())


def test_a_cell_that_does_not_parse_is_named(training: Path, tfmigrate: Tfmigrate) -> None:
    training.write_text(written("from keras.utils import multi_gpu_model", "x = 1\nprint 'x'"))
    done = tfmigrate.exits(2, "check")
    assert "train.ipynb: error: cell 3, line 2: looks like Python 2" in done.text


KERAS = "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.utils import multi_gpu_model"
WRAPPED = "model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), 2)"


@pytest.mark.parametrize(
    ("cells", "with_import"),
    [
        (["!pip install tensorflow==1.15", KERAS, WRAPPED], 1),
        (["%pip install tensorflow", "# Settings\nimport os\nos.environ['X'] = '1'", KERAS, WRAPPED], 2),
        (["import sys", "!{sys.executable} -m pip install keras", "import numpy as np", KERAS, WRAPPED], 3),
        (["!pip install keras\n" + KERAS, WRAPPED], 0),
        (["import sys\n!pip install keras", "from nets import *\nfrom wrapping import multi_gpu_model", WRAPPED], 1),
        (["!pip install keras", "def scaled(rows):\n    return rows / 255", KERAS, WRAPPED], 1),
        (["import numpy as np\nfrom nets import *\nfrom wrapping import multi_gpu_model", "%time", WRAPPED], 2),
    ],
)
def test_tensorflow_is_imported_below_what_installs_it(
    cells: list[str], with_import: int, project: Path, tfmigrate: Tfmigrate
) -> None:
    (project / "nets.py").write_text("from keras.layers import Dense\nfrom keras.models import Sequential\n")
    (project / "wrapping.py").write_text("from keras.utils import multi_gpu_model\n")
    (project / "train.ipynb").write_text(written(*map(lines, cells)), encoding="utf-8")
    pinned = any("tensorflow==" in cell for cell in cells)  # What a cell installs stays for its author to change.
    assert tfmigrate("fix").code == (1 if pinned else 0)
    new = sources(project / "train.ipynb")[1:]
    assert [number for number, source in enumerate(new) if "import tensorflow as tf" in source] == [with_import]
    assert "!pip install keras\nimport tensorflow" in new[0] or "pip" not in new[with_import]
    assert all(cell in new for cell in cells if "pip" in cell and "import keras" not in cell and "keras." not in cell)


TRAINED = "model.compile('sgd', 'mse')\nmodel.fit(x, x, batch_size=4)"


@pytest.mark.parametrize(
    ("imports", "first"),
    [
        (KERAS, "!pip install pydot\nx = rows()"),
        (KERAS, "%matplotlib inline\nx = rows()"),
        (KERAS, "!ls"),
        (KERAS, "x = rows()"),
        (KERAS + "\n", "!ls"),
        (KERAS + "\n%matplotlib inline", "!ls\nx = rows()"),
    ],
)
def test_a_function_stands_in_the_cell_of_the_imports(
    imports: str, first: str, project: Path, tfmigrate: Tfmigrate
) -> None:
    cells = ["!pip install keras", "from mine import rows\n" + imports, first, "x = rows()", WRAPPED, TRAINED]
    (project / "train.ipynb").write_text(written(*map(lines, cells)), encoding="utf-8")
    assert tfmigrate("fix", "--pipeline", "gather").code == 0
    new = sources(project / "train.ipynb")[1:]
    assert [number for number, source in enumerate(new) if "def shuffled_batches(" in source] == [1]
    assert "\n\n\ndef shuffled_batches(" in new[1]
    assert new[1].endswith("prefetch(tf.data.AUTOTUNE)" + "\n" * imports.endswith("\n"))
    assert (new[0], new[2], new[3]) == (cells[0], first, "x = rows()")


def test_a_cell_keeps_imports_that_an_earlier_one_has_too(project: Path, tfmigrate: Tfmigrate) -> None:
    cells = [f"import keras\n{KERAS}", WRAPPED, "import keras\nprint(keras.backend.floatx())"]
    (project / "train.ipynb").write_text(written(*map(lines, cells)), encoding="utf-8")
    assert tfmigrate("fix").code == 0
    assert sources(project / "train.ipynb")[3] == "from tensorflow import keras\nprint(keras.backend.floatx())"
