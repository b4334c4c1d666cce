"""What the runs are doing, while they do it: their losses side by side in a terminal."""

from __future__ import annotations

import threading
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tfmigrate.printable import visible
from tfmigrate.verify.judge.report import CONTROL

SHOWN = 12
"""Rows at most; of more runs the latest are shown."""


class Progress:
    """A live table on `console`, as a context manager; runs side by side may report to it from their own threads."""

    def __init__(self, console: Console) -> None:
        self.losses: dict[str, list[float]] = {}
        self.lock = threading.Lock()
        self.live = Live(get_renderable=self.table, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Progress:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def tell(self, line: str) -> None:
        """A line that stays, above the table."""
        self.live.console.print(visible(line), style="dim", highlight=False, markup=False)

    def step(self, role: str, loss: float) -> None:
        """The run of this role has taken a step with this loss."""
        with self.lock:
            self.losses.setdefault(role, []).append(loss)

    def table(self) -> Table:
        """Each run's last loss beside the first run's at the same step."""
        with self.lock:
            losses = {role: list(values) for role, values in self.losses.items()}
        table = Table(box=None, pad_edge=False)
        first = next(iter(losses), "")
        for heading, right in (("run", False), ("step", True), ("loss", True), (first, True)):
            table.add_column(heading, justify="right" if right else "left")
        for role, values in list(losses.items())[-SHOWN:]:
            step = len(values)
            beside = losses[first][step - 1] if role != first and step <= len(losses[first]) else None
            style = "dim" if role.startswith(CONTROL) else ""
            table.add_row(
                role, f"{step:,}", f"{values[-1]:.6f}", "" if beside is None else f"{beside:.6f}", style=style
            )
        return table
