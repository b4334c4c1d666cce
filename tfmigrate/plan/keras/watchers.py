"""The callbacks of Keras that watch a quantity, and the classes of a program that descend from them."""

from __future__ import annotations

from collections.abc import Mapping

from tfmigrate.plan.keras.checkpoints import CHECKPOINT, PARAMETERS
from tfmigrate.plan.keras.handed_on import Objects, Subclasses
from tfmigrate.plan.names.context import Migration

EARLY_STOPPING = "keras.callbacks.EarlyStopping"
PLATEAU = "keras.callbacks.ReduceLROnPlateau"
WATCHERS: Mapping[str, tuple[str, ...]] = {
    EARLY_STOPPING: ("monitor", "min_delta", "patience", "verbose", "mode", "baseline", "restore_best_weights"),
    PLATEAU: ("monitor", "factor", "patience", "verbose", "mode", "min_delta", "cooldown", "min_lr"),
    CHECKPOINT: PARAMETERS,
}
"""The callbacks that have `monitor` and `mode`, and their parameters in order, in every Keras 2."""


def watching(migration: Migration) -> Objects:
    """All that a program makes."""
    return Subclasses(migration, WATCHERS).objects()
