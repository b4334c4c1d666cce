"""The restored world of an old script that a test runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import World


def restored(genuine: World, keras: int, runtime_for: Callable[[str], Runtime]) -> World:
    """That of a script of standalone Keras, on Keras 3, or on Keras 2 with the optimizers of its time."""
    return replace(
        genuine,
        kind="restored",
        runtime=runtime_for(f"keras {keras}"),
        legacy_keras=keras == 2,
        standalone=True,
        old_optimizers=keras == 2,
    )
