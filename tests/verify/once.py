"""Many verifications hold their new scripts against the same old runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Done, Limits, Run, World


class Once:
    """Makes each run of a program once."""

    def __init__(self, folder: Path, launch: Launch) -> None:
        self.folder, self.launch = folder, launch
        self.known: dict[object, Run] = {}

    def __call__(
        self,
        worlds: Sequence[tuple[World, Trace | None]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        keys = [_key(world, limits) for world, _ in worlds]
        missing = {key: pair for key, pair in zip(keys, worlds, strict=True) if key not in self.known}
        places = [self.folder / str(len(self.known) + i) for i in range(len(missing))]
        made = run_all(list(missing.values()), limits, places, jobs, launch=self.launch)
        self.known.update(zip(missing, made, strict=True))
        runs = [replace(self.known[key], world=world) for key, (world, _) in zip(keys, worlds, strict=True)]
        for run in runs if done is not None else ():
            done(run)
        return runs


def _key(world: World, limits: Limits) -> object:
    files = tuple(sorted((path.name, path.read_text()) for path in world.source.glob("*.py")))
    return files, world.role, world.args, world.replicas, tuple(world.overlay.items()), limits.budget
