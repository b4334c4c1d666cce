"""Callbacks that act at another epoch, because what they watch is known to differ between the two systems.

ReduceLROnPlateau and EarlyStopping go by a validation loss, say, which batch normalization makes another one in every
right migration. From there on the learning rates or the epochs are others, and nothing that follows can be judged; all
that came before can.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tfmigrate.verify.judge.align import relative_difference, steps_of_both
from tfmigrate.verify.judge.compare import compare, through_steps
from tfmigrate.verify.judge.pairs import validation_known
from tfmigrate.verify.run.trace import Place, Trace


@dataclass(frozen=True)
class Acted:
    """A callback that parted two runs."""

    callback: str
    watches: str
    known: str
    """The known difference of what it watches."""
    before: frozenset[Place]
    """The steps that both runs took before."""

    @property
    def words(self) -> str:
        return f"{self.callback} acts on a different {self.watches} ({self.known}, a known difference)"


def parted_by_callback(old: Trace, new: Trace, band: float) -> Acted | None:
    """The callback after which alone two runs differ: before it acts, all that is compared agrees, but for the known
    difference of what it watches."""
    parted = _where_they_part(old, new)
    if parted is None or parted[1] == 0 or parted[2] != 0:  # It acts where an epoch ends.
        return None
    before = frozenset(step.place for step in old.steps if step.place[:2] < parted[:2])
    watching = next(_watching(old, new, parted, band), None)
    if not before or watching is None:
        return None
    comparison = compare(through_steps(old, before), through_steps(new, before), band)
    known = validation_known(comparison)
    return Acted(*watching, known, before) if known is not None and comparison.equivalent else None


def _where_they_part(old: Trace, new: Trace) -> Place | None:
    """The first step that only one of two runs took, or took with another learning rate."""
    apart = {step.place for step in old.steps} ^ {step.place for step in new.steps}
    for one, other in steps_of_both(old, new):
        rate, its = one.learning_rate, other.learning_rate
        if rate is not None and its is not None and not math.isclose(rate, its, rel_tol=1e-6):
            apart.add(one.place)
            break
    return min(apart, default=None)


def _watching(old: Trace, new: Trace, parted: Place, band: float) -> Iterator[tuple[str, str]]:
    """The callbacks of both runs that watch a value which was logged otherwise before they parted, with its name."""
    call, epoch, _ = parted
    fits = [next((fit for fit in trace.fits if fit.index == call), None) for trace in (old, new)]
    ours = [{(kind, _spelled(name)): name for kind, name in fit.watched} if fit is not None else {} for fit in fits]
    logs = [{e.epoch: e.logs for e in trace.epochs if e.fit == call and e.epoch < epoch} for trace in (old, new)]
    for kind, name in sorted(ours[0].keys() & ours[1].keys()):
        names = [own[kind, name] for own in ours]
        for number in logs[0].keys() & logs[1].keys():
            values = [log[number].get(own) for log, own in zip(logs, names, strict=True)]
            if values[0] is not None and values[1] is not None and relative_difference(values[0], values[1]) > band:
                yield kind, names[0]
                break


def _spelled(name: str) -> str:
    """Standalone Keras says `acc`."""
    return re.sub("(^|_)acc$", r"\1accuracy", name)
