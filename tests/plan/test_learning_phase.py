"""K.set_learning_phase (TFM227)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize("phase", ["1", "True"])
def test_training_mode_is_what_fit_sets_itself(phase: str) -> None:
    assert migrated(f"K.set_learning_phase({phase})\nparallel.fit_generator(b, 3)", "TFM227") == (
        "model.fit(b, steps_per_epoch=3)", ["rewrite"],
    )  # fmt: skip


def test_inference_mode_is_what_predict_sets_itself() -> None:
    text, done = migrated("keras.backend.set_learning_phase(0)\nparallel.predict(x)", "TFM227")
    assert (text, done) == ("model.predict(x)", ["rewrite"])


@pytest.mark.parametrize("phase", ["0", "False", "phase", "int(phase)"])
def test_layers_kept_from_training_mode_are_reported(phase: str) -> None:
    lines = f"K.set_learning_phase({phase})\nparallel.fit_generator(b, 3)"
    text, done = migrated(lines, "TFM227")
    assert text.startswith(f"K.set_learning_phase({phase})\n")
    assert done == ["warn"]
    assert migrated(lines, "TFM501")[1] == []  # said once


def test_a_function_of_that_name_is_another() -> None:
    lines = "def set_learning_phase(phase):\n    return phase\n\n\nset_learning_phase(1)"
    assert migrated(lines, "TFM227") == (lines, [])
