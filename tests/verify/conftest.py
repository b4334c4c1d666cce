"""Interpreters for the tests that run TensorFlow, looked for once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tfmigrate.verify import runtimes
from tfmigrate.verify.runtimes import Runtime


@pytest.fixture(scope="session")
def found_runtimes() -> tuple[Runtime, ...]:
    return runtimes.discover()


@pytest.fixture(scope="session")
def runtime_for(found_runtimes: tuple[Runtime, ...]) -> Callable[[str], Runtime]:
    """`runtime_for("genuine keras")`: the oldest TensorFlow of that kind; the test is skipped where there is none."""

    def choose(kind: str) -> Runtime:
        fitting = [runtime for runtime in found_runtimes if kind in runtime.kinds]
        if not fitting:
            pytest.skip(f"no interpreter here is {kind}; `tfmigrate runtimes --make all` builds the old ones")
        newest = kind == "genuine tf.keras" or kind.startswith("keras")
        return (max if newest else min)(fitting, key=lambda runtime: runtime.tensorflow_version)

    return choose
