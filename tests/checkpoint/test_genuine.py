"""Files that genuine old Kerases trained and saved, converted, and loaded by both Keras versions of today."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forks
from tfmigrate.checkpoint.convert import convert
from tfmigrate.errors import UserError
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime

pytestmark = pytest.mark.runs_tensorflow

PROGRAM = Path(__file__).with_name("programs.py")
TOLERANCE = 1e-6
NEEDS_MODEL = {("frozen", ".h5"), ("frozen", ".weights.h5"), ("nested", ".h5"), ("nested", ".weights.h5"),
               ("recurrent", ".weights.h5")}  # fmt: skip
"""Where a file of weights alone leaves open which weight is whose, or where today's Keras looks for it."""


Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(launch: Launch, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What PROGRAM prints on a runtime."""

    def output(runtime: Runtime, *arguments: object, keras: int = 3) -> str:
        done = forks.run(launch, runtime, PROGRAM, tuple(map(str, arguments)), tmp_path_factory.mktemp("run"), keras)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return output


@pytest.fixture(scope="module", params=["keras", "tf.keras"])
def trained(
    request: pytest.FixtureRequest,
    run: Run,
    found_runtimes: tuple[Runtime, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with what each program's parallel model saved under the old runtime of a flavour."""
    old = runtimes.genuine_for(request.param, found_runtimes)
    if old is None:
        pytest.skip(f"no old TensorFlow for {request.param} here; `tfmigrate runtimes --make all` builds them")
    folder = tmp_path_factory.mktemp("trained")
    run(old, "train", request.param, folder)
    return folder


def test_every_file_loads_in_both_keras_versions_with_the_predictions_of_the_old_one(
    trained: Path, run: Run, found_runtimes: tuple[Runtime, ...]
) -> None:
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
        new = runtimes.modern(found_runtimes, kind)
        if new is None:
            pytest.skip(f"no TensorFlow with Keras {kind} here: pip install 'tfmigrate[verify]'")
        lines = run(new, "load", "tf.keras", trained, keras=kind).splitlines()
        told = {tuple(line.split()[1:3]): float(line.split()[3]) for line in lines if line.startswith("difference ")}
        assert set(told) == expected
        assert {name: far for name, far in told.items() if far > TOLERANCE} == {}
