"""The rate's key in logs (TFM236), and optimizers that are looked up by name (TFM202)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

HISTORY = "h = model.fit(batches, callbacks=[keras.callbacks.ReduceLROnPlateau()])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = h.history['lr']", "a = h.history['learning_rate' if 'learning_rate' in h.history else 'lr']"),
        ('a = h.history.get("lr")', 'a = h.history.get("learning_rate" if "learning_rate" in h.history else "lr")'),
        ("a = 'lr' in h.history", "a = ('learning_rate' in h.history or 'lr' in h.history)"),
        ("a = 'lr' not in h.history", "a = ('learning_rate' not in h.history and 'lr' not in h.history)"),
    ],
)
def test_the_key_is_that_of_the_logs_at_hand(before: str, after: str) -> None:
    assert migrated(HISTORY + before, "TFM236") == (HISTORY + after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        "a = {'lr': 1}['lr']",
        HISTORY + "h.history['lr'] = [1]",
        HISTORY + "a = h.history['loss']",
        "a = load().history['lr']",
        HISTORY + "h.history.setdefault('lr', []).append(1)\na = h.history['lr']",
    ],
)
def test_other_keys_stay(lines: str) -> None:
    assert migrated(lines, "TFM236") == (lines, [])


@pytest.mark.parametrize("module", ["keras.optimizers", "tf.keras.optimizers"])
def test_an_optimizer_looked_up_by_name_takes_todays_arguments(module: str) -> None:
    text, done = migrated(f"o = getattr({module}, name)(lr=0.1)", "TFM202")
    assert (text, done) == (f"o = getattr({module}, name)(learning_rate=0.1)", ["rewrite"])


@pytest.mark.parametrize(
    "lines", ["o = getattr(own, name)(lr=0.1)", "o = getattr(keras.optimizers, name, None)(lr=0.1)"]
)
def test_other_look_ups_stay(lines: str) -> None:
    assert migrated(lines, "TFM202") == (lines, [])
