"""Causes in the data: how many epochs, which batches, in which order, and what validates."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from tfmigrate.verify.judge.batches import changed_later, distance, same
from tfmigrate.verify.judge.causes.evidence import (
    Divergence,
    Evidence,
    first_apart,
    times,
    watched_in_vain,
    where,
    without_callbacks,
)
from tfmigrate.verify.run.trace import Step


def epochs(e: Evidence) -> Divergence | None:
    row = e.row("epochs asked for")
    if row is None:
        return None
    what = f"{row.old} epochs became {row.new}{times(row.new / row.old) if row.old else ''}"
    if len(e.old.fits) != len(e.new.fits):
        what += f"; {len(e.old.fits)} training calls became {len(e.new.fits)}"
    return Divergence("epochs", what)


def counted_from(e: Evidence) -> Divergence | None:
    """`initial_epoch`: a schedule or a file name that goes by the epoch's number is another then."""
    for fit, (old, new) in _epochs_taken(e).items():
        if old and new and min(old) != min(new):
            what = f"epochs are counted from {min(new)} instead of {min(old)} (initial_epoch)"
            return Divergence("epochs", what, min(new), 0, fit if len(e.old.fits) > 1 else None)
    return None


def ended(e: Evidence) -> Divergence | None:
    """A training call went on for other epochs than the old one, as asked by a callback, and not for its data: what
    both took is the same."""
    if not _whole_epochs(e) or first_apart(e) is not None:
        return None
    for fit, (old, new) in _epochs_taken(e).items():
        if len(old) == len(new):
            continue
        ended = f"training ended after {_epochs_of(new)} instead of {_epochs_of(old)}"
        checked = validation(e)
        if checked is not None:
            return replace(checked, cause=f"{checked.cause}, and {ended}")
        look = without_callbacks(e) or watched_in_vain(e.old, e.new) or _metrics_gone(e)
        look = look or "check EarlyStopping, its monitor and its patience"
        what = f"{ended}, though all losses up to there agree: {look}"
        return Divergence("data", what, *_first_missing(e), fit if len(e.old.fits) > 1 else None)
    return None


def callbacks(e: Evidence) -> Divergence | None:
    """One that is gone, where the losses part after the first and nothing else shows."""
    first, gone = first_apart(e), without_callbacks(e)
    if first is None or first == e.comparison.steps[0] or not gone:
        return None
    return Divergence("callback", gone, first.epoch, first.step)


def _metrics_gone(e: Evidence) -> str:
    """What the old run logs and the new one does not, which a callback may watch. Standalone Keras says `acc`."""
    old, new = ({key for epoch in t.epochs for key in epoch.logs} for t in (e.old, e.new))
    gone = {key for key in old if {key, re.sub("(^|_)acc$", r"\1accuracy", key)}.isdisjoint(new)} - {"lr"}
    return f"the old script logs {', '.join(sorted(gone))}, the new one does not" if gone else ""


def _epochs_of(taken: set[int]) -> str:
    return f"{len(taken)} epoch{'' if len(taken) == 1 else 's'}"


def _epochs_taken(e: Evidence) -> dict[int, tuple[set[int], set[int]]]:
    """By training call, the numbers of the epochs in which the old and the new run took steps."""
    taken: dict[int, tuple[set[int], set[int]]] = {}
    for which, trace in enumerate((e.old, e.new)):
        for step in trace.steps:
            taken.setdefault(step.fit, (set(), set()))[which].add(step.epoch)
    return taken


def _whole_epochs(e: Evidence) -> bool:
    """Whether all that one run took and the other did not are last epochs of a training call that both began."""
    taken = _epochs_taken(e)
    old, new = ({step.place for step in trace.steps} for trace in (e.old, e.new))
    return old != new and all(
        fit in taken and bool(taken[fit][0] and taken[fit][1]) and epoch > min(map(max, taken[fit]))
        for fit, epoch, _ in old ^ new
    )


def batches(e: Evidence) -> Divergence | None:
    content_alone = e.row("batches") is not None and e.row("global batch size") is None
    first = _data_apart(e) if content_alone else None
    # A GAN trains on what it made: other data may be what other settings or other training led to.
    return None if first and first.made else other_batches(e)


def other_batches(e: Evidence) -> Divergence | None:
    size, steps = e.row("global batch size"), e.row("steps")
    if size is not None:
        ratio = times(size.new / size.old)
        return Divergence("batch size", f"batches of {size.new} where {size.old} was asked for{ratio}", *_first_data(e))
    if e.row("batches") is not None:
        epoch, step = _first_data(e)
        what = "the same batches in a different order" if _reordered(e) else f"batches with different content{_by(e)}"
        return Divergence("data", f"{what}, first at {where(epoch, step)}{_why(e)}", epoch, step)
    samples = e.row("samples per epoch")
    if samples is not None:
        what = f"{samples.old} samples an epoch became {samples.new}{_ran_out(e)}"
        return Divergence("data", what, *_first_missing(e))
    if steps is not None and not _whole_epochs(e):
        ratio = times(steps.new / steps.old) if steps.old else ""
        return Divergence("data", f"{steps.old} steps became {steps.new}{ratio}", *_first_missing(e))
    length = e.row("length of an epoch")
    if length is not None:
        ratio = times(length.new / length.old) if length.old else ""
        return Divergence("data", f"epochs of {length.old} steps became epochs of {length.new}{ratio}")
    return None


def _why(e: Evidence) -> str:
    if changed_later(e.old, e.new) and not _reordered(e):
        return (
            ": those of the first epoch are the same, so the script changes its arrays between epochs (for example "
            "in a callback), and the new one keeps the initial values"
        )
    return _skipped(e) or _ran_out(e)


def _skipped(e: Evidence) -> str:
    """A plain generator under a strategy of Keras 3, past the first batches."""
    first = _data_apart(e)
    fit = next((fit for fit in e.new.fits if first is not None and fit.index == first.fit), None)
    if fit is None or fit.source != "generator" or first == e.old.steps[0]:
        return ""
    if not e.spread_by_keras_3:
        return ""
    return ": Keras 3 under a strategy skips batches of a plain Python generator (TFM402)"


def _ran_out(e: Evidence) -> str:
    """An epoch of Keras 3 that is shorter than the one before it and than the old one."""
    if not e.keras_3:
        return ""
    old, new = (Counter((s.fit, s.epoch) for s in trace.steps) for trace in (e.old, e.new))
    for (fit, epoch), count in new.items():
        before = new[fit, epoch - 1]
        if before and count < before and count < old[fit, epoch] and before == old[fit, epoch - 1]:
            return (
                f": epoch {epoch} takes {count} of its {old[fit, epoch]} steps; Keras 3 ends an epoch where its data "
                "ends, so steps_per_epoch must be the number of batches, or divide it"
            )
    return ""


def _reordered(e: Evidence) -> bool:
    old, new = (sorted(s.fingerprint or "" for s in trace.steps) for trace in (e.old, e.new))
    return old == new and all(old)


def _first_data(e: Evidence) -> tuple[int, int]:
    """Where the first batch differs."""
    first = _data_apart(e)
    return (first.epoch, first.step) if first else (0, 0)


def _data_apart(e: Evidence) -> Step | None:
    """The old run's first step whose batch differs."""
    others = {step.place: step for step in e.new.steps}
    for old in e.old.steps:
        new = others.get(old.place)
        if new is None or old.samples != new.samples or same(e.old, e.new, old, new, e.comparison.tolerance) is False:
            return old
    return None


SMALL = 0.01
"""Of the values' size; a larger difference is no matter of size."""


def _by(e: Evidence) -> str:
    """By how much the first batch differs, where that is little."""
    first = _data_apart(e)
    other = next((step for step in e.new.steps if first is not None and step.place == first.place), None)
    apart = distance(e.old, e.new, first, other) if first is not None and other is not None else None
    return f" (values differ by up to {apart:.2g} of their size)" if apart is not None and apart <= SMALL else ""


def _first_missing(e: Evidence) -> tuple[int | None, int | None]:
    """The first step that one run took and the other did not."""
    old, new = ({step.place for step in trace.steps} for trace in (e.old, e.new))
    first = min(old ^ new, default=None)
    return (None, None) if first is None else first[1:]


def shuffle(e: Evidence) -> Divergence | None:
    row = e.row("shuffle")
    if row is None:
        return None
    if row.new == "none":
        return Divergence("shuffle", f"the data is no longer shuffled ({row.old} -> none)")
    return Divergence("shuffle", f"the data is shuffled differently ({row.old} -> {row.new})")


def validation(e: Evidence) -> Divergence | None:
    if (row := e.row("validation samples")) is not None:
        return Divergence("validation", f"{row.old} validation samples became {row.new}")
    if e.row("validation data") is not None:
        return Divergence("validation", "the new script validates on the same number of rows with different content")
    if (row := e.row("validation loss")) is not None and e.comparison.losses_agree:
        if row.old is not None and row.new is None:
            return Divergence("validation", "the new script no longer validates, though training agrees")
        old, new = (f"{v:.6g}" if isinstance(v, float) else "none" for v in (row.old, row.new))
        return Divergence("validation", f"the validation loss differs ({old} -> {new}) though training agrees")
    return None
