"""Training spread over worker processes on loopback: how they are started, and what is recorded of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT, RuntimeFor
from tfmigrate import migrate
from tfmigrate.errors import UserError
from tfmigrate.settings import Settings
from tfmigrate.verify.judge import plan, verdict
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.workers import joined
from tfmigrate.verify.run.world import Limits, Run, World

from .processes import Fake
from .simulated import Training, train


@pytest.fixture
def run(program: Path, fake: Fake, tmp_path: Path) -> Callable[[str], Run]:
    """Two workers whose interpreter is a shell script; $2 is the configuration."""

    def start(body: str) -> Run:
        world = World("new", "migrated", fake(body), program, "train.py", replicas=2, workers=2)
        return experiment.run(world, Limits(seconds=60), folder=tmp_path / "results")

    return start


def test_each_worker_is_told_which_it_is(run: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmigrate.verify.run.devices.visible", lambda: 2)
    done = run('echo "$TF_CONFIG"; echo "$CUDA_VISIBLE_DEVICES"; echo x > file$$\n')
    told = [worker.stdout_path.read_text().splitlines() for worker in done.workers]
    clusters = [json.loads(lines[0]) for lines in told]
    assert [cluster["task"] for cluster in clusters] == [{"type": "worker", "index": i} for i in (0, 1)]
    assert clusters[0]["cluster"] == clusters[1]["cluster"]
    addresses = clusters[0]["cluster"]["worker"]
    assert len(set(addresses)) == 2
    assert all(address.startswith("127.0.0.1:") for address in addresses)
    assert [lines[1] for lines in told] == ["0", "1"], "each has its share of the cards"
    assert all(len(worker.written) == 1 for worker in done.workers), "each has a copy of the program of its own"


def test_with_too_few_cards_no_worker_has_one(run: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers on a GPU and workers on the CPU could not reduce their gradients together."""
    monkeypatch.setattr("tfmigrate.verify.run.devices.visible", lambda: 1)
    done = run('echo "$CUDA_VISIBLE_DEVICES"\n')
    assert [worker.stdout_path.read_text().splitlines() for worker in done.workers] == [["-1"], ["-1"]]


def test_when_one_worker_dies_the_others_do_not_wait(run: Callable[[str], Run]) -> None:
    done = run('case "$TF_CONFIG" in *\'"index": 1\'*) echo no data >&2; exit 3;; esac\nsleep 600\n')
    assert (done.outcome, done.exit_code) == ("crashed", 3)
    assert done.message.startswith("worker 1 of 2: new: train.py ended with exit code 3")
    assert "no data" in done.message
    assert done.seconds < 30


def test_the_workers_parts_make_one_trace(tmp_path: Path) -> None:
    whole = train(tmp_path, Training(batch_size=64))
    half = replace(
        whole,
        steps=tuple(replace(step, samples=32) for step in whole.steps),
        fits=tuple(replace(fit, samples=fit.samples // 2, global_batch_size=32) for fit in whole.fits if fit.samples),
    )
    together = joined([half, half])
    assert [step.samples for step in together.steps] == [step.samples for step in whole.steps]
    assert [fit.samples for fit in together.fits] == [fit.samples for fit in whole.fits]
    assert [fit.global_batch_size for fit in together.fits] == [64]
    assert {step.fingerprint for step in together.steps} == {None}
    assert compare(whole, together, 1e-6).losses_agree
    short = replace(half, steps=half.steps[:-1])
    cut = joined([half, short])
    assert len(cut.steps) == len(whole.steps) - 1
    assert cut.notes == (f"the workers took {len(short.steps)} and {len(half.steps)} steps",)


@pytest.mark.parametrize(
    ("workers", "replicas", "words"),
    [(2, 3, "3 replicas cannot be divided"), (2, 4, "use --workers 4")],
)
def test_replicas_must_fit_the_workers(
    program: Path, monkeypatch: pytest.MonkeyPatch, workers: int, replicas: int, words: str
) -> None:
    monkeypatch.setattr(plan.runtimes, "discover", lambda: ())
    monkeypatch.setattr(plan.devices, "gpus", lambda: ())
    script = program / "train.py"
    with pytest.raises(UserError, match=words):
        verdict.verify(VerifyOptions(script, script, workers=workers, replicas=replicas))


GENERATED = b"""\
import os

import numpy as np
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


def batches(x, y, size):
    while True:
        for start in range(0, len(x), size):
            yield x[start : start + size], y[start : start + size]


def main():
    random = np.random.RandomState(0)
    x = random.rand(160, 8).astype("float32")
    y = (x.sum(axis=1, keepdims=True) > 4).astype("float32")
    model = Sequential([Dense(16, activation="relu", input_shape=(8,)), Dense(1, activation="sigmoid")])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile(loss="binary_crossentropy", optimizer=SGD(lr=0.1, momentum=0.9))
    best = ModelCheckpoint("epoch-{epoch:02d}.h5", save_weights_only=True)
    parallel_model.fit_generator(batches(x, y, 32), steps_per_epoch=5, epochs=2, callbacks=[best], verbose=0)
    model.save("trained.h5")


if __name__ == "__main__":
    main()
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("program", "saved"),
    [
        ("builder_pair", ("digits.h5",)),
        (GENERATED, ("epoch-01.h5", "epoch-02.h5", "trained.h5")),
    ],
    ids=["arrays", "a generator and checkpoints"],
)
def test_two_workers_train_as_one_machine_did(
    program: str | bytes, saved: tuple[str, ...], tmp_path: Path, runtime_for: RuntimeFor, launch: Launch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    if isinstance(program, str):
        shutil.copytree(ROOT / "fixtures" / program / "before", old)
    else:
        old.mkdir()
        (old / "train.py").write_bytes(program)
    shutil.copytree(old, new)
    migrate.fix([str(new)], Settings(strategy="multi-worker", jobs=1))
    one = World("old", "restored", runtime_for("keras 2"), old, "train.py", replicas=2, legacy_keras=True)
    one = replace(one, standalone=True)
    alone = experiment.run(one, Limits(seconds=120), folder=tmp_path / "one", launch=launch)
    assert alone.ok, alone.message
    several = replace(one, role="new", kind="migrated", source=new, workers=2)
    together = experiment.run(several, Limits(seconds=120), tmp_path / "two", alone.trace, launch=launch)
    assert together.ok, together.message
    found = compare(alone.trace, together.trace, tolerance(0.0, len(alone.trace.steps)))
    assert found.equivalent, (found.max_relative_difference, found.broken)
    assert found.max_relative_difference <= 1e-6
    assert len(found.steps) == len(alone.trace.steps) > 0
    assert together.trace.models[0].replicas == 2
    assert [worker.written for worker in together.workers] == [saved, ()], "saved once, by the chief"
    chief, other = (sum(step.samples or 0 for step in worker.trace.steps) for worker in together.workers)
    assert chief == other == sum(step.samples or 0 for step in alone.trace.steps) // 2
