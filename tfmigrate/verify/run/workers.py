"""The traces of several workers that trained together, as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tfmigrate.verify.run.trace import End, Fit, Place, Step, Trace

T = TypeVar("T", int, float)


def joined(workers: Sequence[Trace]) -> Trace:
    """The chief's trace, with everyone's samples counted.

    A step that not all of them took is left out and noted.
    """
    chief, *others = workers
    shares_of: dict[Place, list[Step]] = {}
    for trace in workers:
        for step in trace.steps:
            shares_of.setdefault(step.place, []).append(step)
    counts = sorted({len(trace.steps) for trace in workers})
    notes = (f"the workers took {' and '.join(map(str, counts))} steps",) if len(counts) > 1 else ()
    return replace(
        chief,
        fits=tuple(_fit([fit, *_of_index(fit.index, others)]) for fit in chief.fits),
        steps=tuple(_step(shares) for shares in shares_of.values() if len(shares) == len(workers)),
        end=_end(chief.end, [trace.end for trace in workers if trace.end is not None]),
        notes=(*chief.notes, *notes),
    )


def _of_index(index: int, traces: Iterable[Trace]) -> Iterable[Fit]:
    return (fit for trace in traces for fit in trace.fits if fit.index == index)


def _fit(shares: Sequence[Fit]) -> Fit:
    """One training call of all workers, the chief's first."""
    return replace(
        shares[0],
        global_batch_size=_sum(fit.global_batch_size for fit in shares),
        samples=_sum(fit.samples for fit in shares),
        validation_samples=_sum(fit.validation_samples for fit in shares),
        validation_content=None,
        validation_sketch=None,
    )


def _step(shares: Sequence[Step]) -> Step:
    """Each worker saw its part of a batch: a step's samples are the sum, and the parts have no common fingerprint."""
    samples = _sum(step.samples for step in shares)
    return replace(shares[0], samples=samples, fingerprint=None, sketch=None, values=None, weighed=None)


def _end(chief: End | None, ends: Sequence[End]) -> End | None:
    if chief is None:
        return None
    return replace(
        chief,
        samples_per_second=_sum(end.samples_per_second for end in ends),
        peak_memory_bytes=_sum(end.peak_memory_bytes for end in ends),
        peak_gpu_memory_bytes=_sum(end.peak_gpu_memory_bytes for end in ends),
    )


def _sum(counts: Iterable[T | None]) -> T | None:
    """None where one of them is not known."""
    known = list(counts)
    return None if any(count is None for count in known) else sum(known)  # type: ignore[arg-type]
