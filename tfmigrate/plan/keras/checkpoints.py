"""ModelCheckpoint and the classes of a program that descend from it: what each object of them begins with."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.keras.handed_on import Objects, Subclasses
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.values import ClassValue, FunctionValue

CHECKPOINT = "keras.callbacks.ModelCheckpoint"
PARAMETERS = (
    "filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period",
)  # fmt: skip
"""Of ModelCheckpoint, in order, in every Keras 2; the last is `save_freq` in Keras 3."""


def checkpoints(migration: Migration) -> Objects:
    """All that a program makes."""
    return Subclasses(migration, {CHECKPOINT: PARAMETERS}).objects()


@dataclass(frozen=True)
class Initialiser:
    """The __init__ of a class of the program, with the call in it of that of ModelCheckpoint."""

    method: FunctionValue
    handed: cst.Call

    @classmethod
    def of(cls, owner: ClassValue, subclasses: Subclasses) -> Initialiser | None:
        known = subclasses.call_of_keras(owner)
        return cls(*known) if known is not None else None

    @property
    def own(self) -> str:
        """What it calls its object."""
        return positional(self.method.node.params)[0].name.value
