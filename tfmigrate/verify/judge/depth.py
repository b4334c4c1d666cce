"""How deep a verification goes, and in words how much of the training it saw."""

from __future__ import annotations

from typing import Literal

from tfmigrate.verify.run.trace import Cut, Trace

Depth = Literal["smoke", "default", "thorough"]
BUDGET = 30
"""Training steps of the default depth: a wrong batch size, learning rate or loss shows in the first few; thirty are
enough for an optimizer's own state to have settled, and take seconds."""

PATIENCE = 60.0
"""Seconds after a run's first step at the default depth, in which thirty steps are over but for large networks: those
are judged by fewer."""


def budget_of(depth: Depth, asked: int | None = None) -> int | None:
    """Training steps that a run may take; None for as many as the script asks for."""
    if depth == "smoke":
        return 1
    return asked or (BUDGET if depth == "default" else None)


def coverage(trace: Trace) -> str:
    """How much of the training a run did: "the first 30 steps of 70 epochs x 500 steps"."""
    if trace.predictions:
        return f"{_count(len(trace.predictions), 'call')} that predict, all there are"
    taken = len(trace.steps)
    if trace.cut is None:
        return f"the whole training, {_count(taken, 'step')}"
    first = "the first step" if taken == 1 else f"the first {_count(taken, 'step')}"
    if trace.cut.epochs is None:
        return f"{first} of train_on_batch"
    if taken == trace.cut.steps:
        return f"{first} of {_asked(trace.cut)}" + (" and more training calls" if trace.cut.fit else "")
    before = f"{_count(trace.cut.fit, 'training call')}"
    if not trace.cut.steps:
        return f"{first}, which are {before}; the next one, of {_asked(trace.cut)}, was not started"
    return f"{first}: {before} and {_count(trace.cut.steps, 'step')} of the next one's {_asked(trace.cut)}"


def _asked(cut: Cut) -> str:
    epochs = _count(cut.epochs or 1, "epoch")
    return epochs if cut.steps_per_epoch is None else f"{epochs} x {_count(cut.steps_per_epoch, 'step')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
