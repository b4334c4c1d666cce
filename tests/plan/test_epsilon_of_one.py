"""An epsilon that is its own square stays, and needs no comment (TFM304)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(("epsilon", "written"), [("1.0", "1.0"), ("0.0", "0.0"), ("0.1", "0.01"), ("(0.1)", "0.01")])
def test_the_square_of_one_is_one(epsilon: str, written: str) -> None:
    text, done = migrated(
        f"from keras.optimizers import RMSprop\nr = RMSprop(learning_rate=0.1, epsilon={epsilon})", "TFM304"
    )
    assert f"epsilon={written})" in text
    assert ("squared" in text) is (epsilon != written)
    assert ("rewrite" in done) is (epsilon != written)
