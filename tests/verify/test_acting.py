"""A callback that acts on what is known to differ: what came before is judged, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.judge.acting import parted_by_callback

from .laboratory import OLD, Laboratory, training
from .simulated import Training, migrated, train

PLATEAU = (("ReduceLROnPlateau", "val_loss"),)
STOPPING = (("EarlyStopping", "val_loss"),)
OF_TRAINING = (("ReduceLROnPlateau", "loss"),)
NORMALIZED = replace(OLD, epochs=4, moving_averages=True)
LATER = replace(NORMALIZED, watched=PLATEAU, drop_rate_after=2)
EARLIER = replace(migrated(NORMALIZED), watched=PLATEAU, drop_rate_after=3)


@pytest.mark.parametrize(
    ("old", "new", "callback"),
    [
        (LATER, EARLIER, "ReduceLROnPlateau"),
        (
            replace(NORMALIZED, watched=STOPPING, epochs=2, asked_epochs=4),
            replace(migrated(NORMALIZED), watched=STOPPING),
            "EarlyStopping",
        ),
    ],
)
def test_what_came_before_it_is_judged(lab: Laboratory, old: Training, new: Training, callback: str) -> None:
    report = lab.finds("EQUIVALENT", training(old, new))
    words = f"over the first 8 steps, after which {callback} acts on a different val_loss (batch norm stat"
    assert words in report.reason
    assert "known differences of the two systems, listed separately: batch norm statistics" in report.reason
    assert any(f"steps are compared: after them {callback} acts on" in note for note in report.notes)
    assert all(control.detected for control in report.controls)


def test_epochs_that_it_ends_are_no_other_data(lab: Laboratory) -> None:
    """Restored on today's Keras, the old script is stopped where the new one is."""
    later = replace(NORMALIZED, watched=STOPPING)
    early = replace(later, epochs=2, asked_epochs=4)
    others = training(early, migrated(later))
    report = lab.finds("EQUIVALENT", lambda world, limits: later if world.kind == "restored" else others(world, limits))
    assert "over the first 8 steps, after which EarlyStopping acts on a different val_loss" in report.reason
    assert "data of another TensorFlow" not in [name for name, _, _ in report.known]


def test_a_mistake_before_it_is_found(lab: Laboratory) -> None:
    report = lab.finds("DIFFERENT", training(LATER, replace(EARLIER, step_scale=1.1)))
    assert "acts on" not in report.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (replace(LATER, watched=()), EARLIER),
        (LATER, replace(EARLIER, watched=())),
        (LATER, replace(EARLIER, watched=STOPPING)),
        (replace(LATER, watched=OF_TRAINING), replace(EARLIER, watched=OF_TRAINING)),
        (replace(LATER, drop_rate_after=0), EARLIER),
        (replace(LATER, moving_averages=False), replace(EARLIER, moving_averages=False)),
        (LATER, replace(EARLIER, validation_content="fedcba9876543210")),
        (LATER, replace(EARLIER, drop_rate_after=2)),
    ],
)
def test_nothing_else_is_put_down_to_a_callback(tmp_path: Path, old: Training, new: Training) -> None:
    assert parted_by_callback(train(tmp_path / "old", old), train(tmp_path / "new", new), 1e-6) is None


def test_its_value_may_have_the_name_of_another_keras(tmp_path: Path) -> None:
    traces = train(tmp_path / "old", LATER), train(tmp_path / "new", EARLIER)
    told = []
    for trace, name in zip(traces, ("val_acc", "val_accuracy")):
        fits = tuple(replace(fit, watched=(("ReduceLROnPlateau", name),)) for fit in trace.fits)
        epochs = tuple(replace(epoch, logs={**epoch.logs, name: epoch.logs["val_loss"]}) for epoch in trace.epochs)
        told.append(replace(trace, fits=fits, epochs=epochs))
    acted = parted_by_callback(*told, 1e-6)
    assert acted is not None
    assert acted.watches == "val_acc"


def test_wrong_migrations_are_not_told_by_a_validation_that_is_known_to_differ(lab: Laboratory) -> None:
    """They are trained for one epoch, of which no final weights are known."""
    report = lab.finds("EQUIVALENT", training(NORMALIZED, migrated(NORMALIZED)))
    assert "validation" not in {control.kind for control in report.controls}
