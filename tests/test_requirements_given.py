"""Requirements files among the given paths: never read as Python, changed with the program that they belong to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Tfmigrate

PINS = "# multi_gpu_model and tf.distribute need these\ntensorflow-gpu==1.15\nkeras==2.2.4\n"
PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""


@pytest.mark.parametrize("name", ["requirements.txt", "Dockerfile", "environment.yml", "pyproject.toml"])
@pytest.mark.parametrize("options", [(), ("--select", "TFM5")], ids=str)
def test_alone_it_is_nothing_to_migrate(project: Path, tfmigrate: Tfmigrate, name: str, options: tuple[str]) -> None:
    Path(name).write_text("# multi_gpu_model, keras, tensorflow and tf.distribute\n")
    done = tfmigrate("check", *options, name)
    assert (done.code, done.text) == (0, "1 file checked, nothing to migrate.\n")


def test_with_its_program_it_changes(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("requirements.txt").write_text(PINS)
    Path("train.py").write_text(PROGRAM)
    assert tfmigrate("fix", "train.py", "requirements.txt").code == 0
    assert "tensorflow>=2.4" in Path("requirements.txt").read_text()


def test_a_source_of_such_a_name_is_python(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("setup.py").write_text(PROGRAM)
    assert tfmigrate("check", "setup.py").code == 1
