"""Files that genuine old Kerases trained and saved, converted, and loaded by both Keras versions of today."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tfmigrate.checkpoint.convert import convert
from tfmigrate.errors import UserError
from tfmigrate.verify import runtimes
from tfmigrate.verify.runtimes import KERAS_2, Runtime

pytestmark = pytest.mark.runs_tensorflow

PROGRAM = Path(__file__).with_name("programs.py")
TOLERANCE = 1e-6
NEEDS_MODEL = {("frozen", ".h5"), ("frozen", ".weights.h5"), ("nested", ".h5"), ("nested", ".weights.h5"),
               ("recurrent", ".weights.h5")}  # fmt: skip
"""Where a file of weights alone leaves open which weight is whose, or where today's Keras looks for it."""


def run(runtime: Runtime, *arguments: object, keras_2: bool = False) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if keras_2:
        environment[KERAS_2] = "1"
    command = [str(runtime.python), str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module", params=["keras", "tf.keras"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what each program's parallel model saved under the old runtime of a flavour."""
    old = runtimes.genuine_for(request.param, runtimes.discover())
    if old is None:
        pytest.skip(f"no old TensorFlow for {request.param} here; `tfmigrate runtimes --make all` builds them")
    folder = tmp_path_factory.mktemp("trained")
    run(old, "train", request.param, folder)
    return folder


def test_every_file_loads_in_both_keras_versions_with_the_predictions_of_the_old_one(trained: Path) -> None:
    expected = set()
    for folder in sorted(trained.iterdir()):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        for ending in (".h5", ".weights.h5"):
            convert(folder / "whole.h5", folder / f"new-whole{ending}")
            convert(folder / "weights.h5", folder / f"new-model{ending}", folder / "plain.json")
            expected |= {(folder.name, f"new-whole{ending}"), (folder.name, f"new-model{ending}")}
            if (folder.name, ending) in NEEDS_MODEL:
                with pytest.raises(UserError, match="--model"):
                    convert(folder / "weights.h5", folder / f"new-alone{ending}")
            else:
                convert(folder / "weights.h5", folder / f"new-alone{ending}")
                expected.add((folder.name, f"new-alone{ending}"))
        assert {name: (folder / name).read_bytes() for name in before} == before
    shutil.copy(trained / "frozen" / "new-whole.h5", trained / "frozen" / "new-by-name.h5")
    expected.add(("frozen", "new-by-name.h5"))
    for kind in (3, 2):
        new = runtimes.modern(runtimes.discover(), kind)
        if new is None:
            pytest.skip(f"no TensorFlow with Keras {kind} here: pip install 'tfmigrate[verify]'")
        lines = run(new, "load", "tf.keras", trained, keras_2=kind == 2).splitlines()
        told = {tuple(line.split()[1:3]): float(line.split()[3]) for line in lines if line.startswith("difference ")}
        assert set(told) == expected
        assert {name: far for name, far in told.items() if far > TOLERANCE} == {}
