"""The Estimator fixtures on the real TensorFlows: the tool's result trains as the genuine Estimator did, an unscaled
batch does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT, RuntimeFor
from tfmigrate.verify.judge import cause
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import Comparison, compare
from tfmigrate.verify.judge.controls import ESTIMATOR_CONTROLS, mutants
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.probe.estimator_models import Features
from tfmigrate.verify.probe.estimators import Watcher
from tfmigrate.verify.run.experiment import run
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.world import Limits, Run, World

STEPS = {
    "estimator_guide": 1,
    "estimator_linear": 20,
    "estimator_mlp": 40,
    "estimator_cnn": 30,
    "estimator_params": 30,
    "estimator_package": 24,
}
PROGRAMS = [ROOT / "fixtures" / name for name in STEPS]
pytestmark = pytest.mark.runs_tensorflow


@pytest.fixture(scope="module")
def genuine(runtime_for: RuntimeFor, tmp_path_factory: pytest.TempPathFactory, launch: Launch) -> Callable[[Path], Run]:
    """The old program on the oldest TensorFlow that has Estimators, run once."""
    done: dict[Path, Run] = {}

    def train(folder: Path) -> Run:
        if folder not in done:
            runtime = runtime_for("genuine estimator")
            world = World("old", "genuine", runtime, folder / "before", "train.py", replicas=2)
            done[folder] = run(world, LIMITS, tmp_path_factory.mktemp("old"), launch=launch)
        return done[folder]

    return train


LIMITS = Limits(seconds=300)


def migrated(
    folder: Path, runtime: Runtime, old: Run, overlay: Mapping[str, str], results: Path, launch: Launch
) -> Run:
    world = World("new", "migrated", runtime, folder / "after", "train.py", replicas=2, overlay=overlay)
    return run(world, LIMITS, results, old.trace, launch=launch)


def compared(old: Run, new: Run) -> Comparison:
    return compare(old.trace, new.trace, tolerance(0.0, len(old.trace.steps)))


@pytest.mark.parametrize("folder", PROGRAMS, ids=lambda folder: folder.name)
def test_the_migration_trains_as_the_estimator_did(
    folder: Path,
    genuine: Callable[[Path], Run],
    runtime_for: RuntimeFor,
    tmp_path: Path,
    launch: Launch,
) -> None:
    old = genuine(folder)
    assert old.ok, old.message
    new = migrated(folder, runtime_for("keras 3"), old, {}, tmp_path, launch)
    assert new.ok, new.message
    found = compared(old, new)
    assert len(found.steps) == STEPS[folder.name] == len(old.trace.steps)
    assert found.equivalent, found.broken
    assert found.max_relative_difference < 1e-5
    assert not found.known
    assert not found.not_compared


def test_a_batch_that_is_not_multiplied_is_different(
    genuine: Callable[[Path], Run], runtime_for: RuntimeFor, tmp_path: Path, launch: Launch
) -> None:
    folder = ROOT / "fixtures" / "estimator_mlp"
    old = genuine(folder)
    (wrong, *_) = mutants(program_of(folder / "after", "train.py"), "train.py", 2, 3, ESTIMATOR_CONTROLS)
    assert wrong.mutation == "batch of one replica"
    new = migrated(folder, runtime_for("keras 3"), old, wrong.files, tmp_path, launch)
    divergence = cause.find(old.trace, new.trace, compared(old, new))
    assert divergence is not None
    assert divergence.kind == "batch size"


def test_the_whole_verdict_on_the_guide(runtime_for: RuntimeFor, launch: Launch) -> None:
    folder = ROOT / "fixtures" / "estimator_guide"
    options = VerifyOptions(
        folder / "before" / "train.py",
        folder / "after" / "train.py",
        replicas=2,
        old_python=runtime_for("genuine estimator").python,
        new_python=runtime_for("keras 2").python,
    )
    report = verify(options, execute=partial(run_all, launch=launch))
    assert report.verdict == "EQUIVALENT", report.reason
    assert "batch of one replica" in {control.mutation for control in report.controls if control.detected}


def test_the_features_that_a_model_function_reads_are_those_that_are_compared() -> None:
    features = Features({"a": 1, "b": 2, "c": 3, "d": 4})
    assert (features["b"], features.get("e"), features.pop("a"), len(features)) == (2, None, 1, 3)
    assert features.chosen() == {"a": 1, "b": 2}
    assert "c" in features
    assert features.chosen() == {"a": 1, "b": 2}


@pytest.mark.parametrize("taken", [dict, lambda given: {**given}, Features.copy, lambda given: list(given.values())])
def test_features_that_are_taken_whole_are_all_compared(taken: Callable[[Features], object]) -> None:
    features = Features({"a": 1, "b": 2})
    taken(features)
    assert features.chosen() == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("made", "order"),
    [({"a/kernel": 2, "a/bias": 2, "b/kernel": 1}, ["b/kernel", "a/kernel", "a/bias"]),
     ({"a/kernel": 2, "b/kernel": 1}, ["a/kernel", "a/bias", "b/kernel"])],
)  # fmt: skip
def test_variables_are_in_the_order_in_which_layers_are_made(made: Mapping[str, int], order: list[str]) -> None:
    watcher = Watcher(SimpleNamespace(compat=SimpleNamespace(v1=None), __version__="1.15"), None)
    watcher.makers = dict(made)
    variables = [SimpleNamespace(name=f"{name}:0") for name in ("a/kernel", "a/bias", "b/kernel")]
    assert [variable.name.removesuffix(":0") for variable in watcher.by_layer(variables)] == order
