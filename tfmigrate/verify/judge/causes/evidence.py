"""What two runs and their comparison show, and what was concluded from it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from tfmigrate.verify.judge import weights
from tfmigrate.verify.judge.align import StepPair
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.judge.contract_rows import Row
from tfmigrate.verify.run.trace import Trace, minor

Kind = Literal[
    "crash",
    "no training",
    "models",
    "scope",
    "initial weights",
    "frozen layers",
    "dtype",
    "epochs",
    "batch size",
    "data",
    "shuffle",
    "loss weights",
    "sample weights",
    "regularizer",
    "constraint",
    "dropout",
    "loss",
    "loss scale",
    "learning rate",
    "update rule",
    "remainder batch",
    "batch norm",
    "gradient",
    "moving averages",
    "validation",
    "callback",
    "rows",
    "predictions",
    "unknown",
]
UNNAMED: frozenset[Kind] = frozenset({"gradient", "moving averages", "unknown"})
"""Kinds without a known cause, which may be rounding."""
OF_THE_MODEL: frozenset[Kind] = frozenset(
    {
        "models",
        "initial weights",
        "frozen layers",
        "dtype",
        "loss weights",
        "regularizer",
        "dropout",
        "loss",
        "loss scale",
        "learning rate",
        "update rule",
        "scope",
    }
)
"""What a model is made of and compiled with, and the first steps show."""


@dataclass(frozen=True)
class Divergence:
    """Where two runs part and why; epoch and step count from 0 and are None where no single step shows it."""

    kind: Kind
    cause: str
    epoch: int | None = None
    step: int | None = None
    call: int | None = None
    """Of several training calls the one where the losses part there, counted from 0."""


@dataclass(frozen=True)
class Evidence:
    old: Trace
    new: Trace
    comparison: Comparison

    @property
    def keras_3(self) -> bool:
        """Whether the new script ran on Keras 3."""
        return self.new.start is not None and self.new.start.keras.startswith("3.")

    @property
    def spread_by_keras_3(self) -> bool:
        """Whether Keras 3 trained one of the new models on several replicas."""
        return self.keras_3 and any(model.replicas >= 2 for model in self.new.models)

    def row(self, start: str) -> Row | None:
        """The first broken row of the contract whose name begins so."""
        return next((row for row in self.comparison.broken if row.what.startswith(start)), None)


def without_callbacks(e: Evidence) -> str:
    """Which callbacks a training call of the new script has no more, in words; empty where it has as many."""
    for old, new in zip(e.old.fits, e.new.fits):
        gone = Counter(old.callbacks) - Counter(new.callbacks)
        if gone and len(old.callbacks) > len(new.callbacks):
            call = f" (training call {old.index})" if len(e.old.fits) > 1 else ""
            return f"the old script trains with {', '.join(sorted(gone))}, the new one without{call}"
    return ""


def watched_in_vain(old: Trace, new: Trace) -> str:
    """Which callback of the new script waits for a value that is not logged there, where the old one's was; empty where
    none does."""
    for before, after in zip(old.fits, new.fits):
        theirs, ours = (
            {key for epoch in trace.epochs if epoch.fit == fit.index for key in epoch.logs}
            for trace, fit in ((old, before), (new, after))
        )
        served = {kind for kind, name in before.watched if name in theirs}
        for kind, name in after.watched if ours else ():
            if kind in served and name not in ours:
                return f"{kind} watches {name}, which the new script does not log: it logs {', '.join(sorted(ours))}"
    return ""


def models_on_whole_batches(old: Trace, new: Trace) -> frozenset[int]:
    """By index, models with batch norm that the new script trains by `train_on_batch` of Keras 3 on replicas."""
    if new.start is None or minor(new.start.keras) < (3,):
        return frozenset()
    several = {model.index for model in new.models if model.replicas > 1}
    called = {fit.model for fit in new.fits if fit.call == "train_on_batch"}
    return frozenset(index for index in several & called if weights.statistics(old, index))


RATIO_BAND = 1e-3
"""How near to a whole number a ratio must lie to be called that number."""
LARGEST_RATIO = 100
"""No program has more replicas, and any large number is close to a whole one."""


def first_apart(e: Evidence) -> StepPair | None:
    """The first judged step whose losses differ."""
    return next((p for p in e.comparison.judged_steps if not p.difference <= e.comparison.tolerance), None)


def apart_at_once(e: Evidence) -> StepPair | None:
    """The first step of all, where its losses differ."""
    first = first_apart(e)
    return first if first is not None and first == e.comparison.steps[0] else None


def first_loss(e: Evidence) -> tuple[int, int] | None:
    first = first_apart(e)
    return None if first is None else (first.epoch, first.step)


def where(epoch: int, step: int) -> str:
    return f"epoch {epoch}, step {step}"


def whole_ratio(ratio: float) -> str | None:
    """`4 times` or `1/4 of` when the ratio is a whole number other than one, or its inverse."""
    for value, words in ((ratio, "{} times"), (1 / ratio if ratio else 0.0, "1/{} of")):
        nearest = round(value) if math.isfinite(value) else 0
        if 2 <= nearest <= LARGEST_RATIO and abs(value / nearest - 1) <= RATIO_BAND:
            return words.format(nearest)
    return None


def of_first_loss(kind: Kind, pair: StepPair, why: str) -> Divergence:
    """The first loss of a training call differs; `why` goes on behind it."""
    return Divergence(kind, f"the first loss differs ({pair.old:.6g} -> {pair.new:.6g}){why}", pair.epoch, pair.step)


def times(ratio: float) -> str:
    whole = whole_ratio(ratio)
    if whole is None:
        return ""
    return f": x{whole.split()[0]}" if whole.endswith("times") else f": {whole.removesuffix(' of')} of it"
