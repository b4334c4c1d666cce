"""Scripts of tests that run on real TensorFlows, in the worlds that verify makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import RuntimeFor
from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.world import Limits, Run, World

LIMITS = Limits(seconds=300)


class Worlds:
    """Makes worlds of two replicas for the scripts of one program, and runs them."""

    def __init__(self, folder: Path, runtime_for: RuntimeFor, launch: Launch) -> None:
        self.folder, self.runtime_for, self.launch = folder, runtime_for, launch
        self.program = folder / "program"
        self.program.mkdir()
        self.count = 0

    def of(self, name: str, text: str, script: str = "train.py", **parts: Any) -> World:
        """`name`: the kind and what it runs on, "genuine tf.keras" or "restored keras 3"; `text`: the script's."""
        (self.program / script).write_text(text)
        kind, keras = name.split(maxsplit=1)
        runtime = self.runtime_for(name if kind == "genuine" else keras)
        asked = {"replicas": 2, "legacy_keras": keras == "keras 2", **parts}
        return World(name, kind, runtime, self.program, script, **asked)  # type: ignore[arg-type]

    def run(self, world: World, start: Run | None = None, limits: Limits = LIMITS) -> Run:
        """The run of a script that comes to its end, from the weights that another one began with."""
        self.count += 1
        folder, initial = self.folder / f"run {self.count}", start.trace if start else None
        run = experiment.run(world, limits, folder, initial, launch=self.launch)
        assert run.ok, run.message
        return run


def of_today(worlds: Worlds, keras: int, text: str, **parts: Any) -> World:
    """The restored world of a script of standalone Keras, on Keras 3, or on Keras 2 with the optimizers of its time."""
    return worlds.of(f"restored keras {keras}", text, standalone=True, old_optimizers=keras == 2, **parts)
