"""Made-up data sets: what scripts do with the real ones' numbers of rows."""

from __future__ import annotations

import pytest

from tfmigrate.verify.probe import synthetic


@pytest.mark.parametrize(
    ("shape", "is_now"),
    [
        ((60000, 784), (1024, 784)),
        ((60000, 28, 28, 1), (1024, 28, 28, 1)),
        ((-1, 784), (1024, 784)),
        ((1024, 28, 28, 1), (1024, 28, 28, 1)),
    ],
)
def test_a_script_may_name_the_rows_of_the_real_set(shape: tuple[int, ...], is_now: tuple[int, ...]) -> None:
    (x, _), _ = synthetic.SETS["mnist"]()
    for shaped in (x.reshape(*shape), x.reshape(shape), x.astype("float32").reshape(shape)):
        assert shaped.shape == is_now
        assert type(shaped).__name__ == "ndarray"
