"""Is a paired difference small? Two one-sided tests against a margin, Holm over quantities, looks planned before.

Each quantity (a training loss, say) gives one difference new - old for each pair of runs. With n pairs, margin M and
Student's t:

- *equivalent*: both H0: mean <= -M and H0: mean >= M are rejected (TOST; Schuirmann 1987);
- *different*: H0: |mean| <= M is rejected; its p value is the chance, at mean = M, of a mean so far from zero;
- anything else is *open*. "No significant difference" is not equivalence.

Over several quantities, DIFFERENT needs one of them, so its p values are adjusted by Holm's step-down; EQUIVALENT needs
every one, which bounds its error without adjustment (intersection-union; Berger 1982).
Looking early and again spends the error rate: the looks and the part of `ALPHA` that each may spend are fixed before
the first (Bonferroni over looks, so the sum bounds the error whatever the looks have in common).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

ALPHA = 0.05
"""Bounds the chance of a wrong EQUIVALENT, and apart from it of a wrong DIFFERENT, over all looks."""

FEWEST = 4
"""Pairs below which nothing is decided: a standard deviation from two or three differences is a guess."""

PARTS = ((0.375, 0.1), (0.625, 0.3), (1.0, 0.6))
"""Each look: the part of the pairs it waits for, and the part of ALPHA it may spend. Little goes to the early ones:
large differences show there anyway, and equivalence needs the pairs."""

Answer = Literal["equivalent", "different", "open"]


@dataclass(frozen=True)
class Look:
    """When to look, and the error rate that this look may spend."""

    pairs: int
    alpha: float


def plan(pairs: int) -> tuple[Look, ...]:
    """The looks of an experiment of at most `pairs` pairs; none when they are too few to decide anything."""
    looks: dict[int, float] = {}
    for part, spending in PARTS:
        at = math.ceil(part * pairs)
        if at < FEWEST:
            at = FEWEST
        if at <= pairs:
            looks[at] = looks.get(at, 0.0) + spending * ALPHA
    return tuple(Look(at, alpha) for at, alpha in sorted(looks.items()))


@dataclass(frozen=True)
class Outcome:
    """One quantity at one look. Differences are new - old, in the quantity's own unit."""

    name: str
    pairs: int
    margin: float
    mean: float
    interval: tuple[float, float]
    """For the mean, at the level 1 - 2 alpha of the look: equivalent when it lies within the margin."""
    p_equivalent: float
    """The larger of the two one-sided p values."""
    p_different: float
    """Of |mean| <= margin, adjusted by Holm."""
    answer: Answer


def margins(old: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """For each quantity of the old runs, one standard deviation of the difference between two of them.

    A change of the mean that is smaller is less than what another seed does to the old script. The difference of two
    runs has sqrt(2) times the standard deviation of one.
    """
    return {name: math.sqrt(2.0) * float(np.std(values, ddof=1)) for name, values in old.items()}


def look(differences: Mapping[str, Sequence[float]], limits: Mapping[str, float], alpha: float) -> tuple[Outcome, ...]:
    """Judges every quantity at the error rate `alpha`. All have the same number of pairs, two at least."""
    names = list(differences)
    tests = {name: _test(np.asarray(differences[name], dtype=float), limits[name], alpha) for name in names}
    outcomes = []
    for name, different in zip(names, holm([tests[name].p_different for name in names]), strict=True):
        test = tests[name]
        answer: Answer = "equivalent" if test.p_equivalent <= alpha else "different" if different <= alpha else "open"
        outcomes.append(
            Outcome(name, test.pairs, limits[name], test.mean, test.interval, test.p_equivalent, different, answer)
        )
    return tuple(outcomes)


def overall(outcomes: Sequence[Outcome]) -> Answer:
    """EQUIVALENT by all, DIFFERENT by one."""
    if any(outcome.answer == "different" for outcome in outcomes):
        return "different"
    return "equivalent" if outcomes and all(outcome.answer == "equivalent" for outcome in outcomes) else "open"


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values by Holm's step-down, in the given order."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


@dataclass(frozen=True)
class _Test:
    pairs: int
    mean: float
    interval: tuple[float, float]
    p_equivalent: float
    p_different: float


def _test(differences: np.ndarray[tuple[int, ...], np.dtype[np.float64]], margin: float, alpha: float) -> _Test:
    count = len(differences)
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    if error == 0.0:  # runs without any noise: the mean is what it is
        inside = abs(mean) < margin
        return _Test(count, mean, (mean, mean), 0.0 if inside else 1.0, 1.0 if inside else 0.0)

    def tail(t: float) -> float:
        """The chance that Student's t is larger."""
        return float(special.stdtr(count - 1, -t))

    half = float(special.stdtrit(count - 1, 1.0 - alpha)) * error
    above = tail((mean + margin) / error)  # H0: mean <= -margin
    below = tail((margin - mean) / error)  # H0: mean >= margin
    beyond = tail((abs(mean) - margin) / error) + tail((abs(mean) + margin) / error)
    return _Test(count, mean, (mean - half, mean + half), max(above, below), beyond)
