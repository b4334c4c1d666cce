"""Weight snapshots of two runs side by side, as numpy arrays."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tfmigrate.verify.run.trace import Model, Moment, Trace

Array = npt.NDArray[np.float64]

ZERO_GRADIENT = 1e-5
"""A tensor whose first update is this small beside the largest one has no gradient but rounding (a bias before batch
norm); Adam turns that rounding into full steps of random sign, which no loss can see."""

SMALL = 4 * 2**20
"""Bytes of a file of weights that is kept in memory."""

SCALE_BAND = 1e-2
"""How far, relative to its length, a gradient may point aside and still be called a multiple of another."""


@dataclass(frozen=True)
class WeightDifference:
    """How far one weight tensor of two runs lies apart."""

    name: str
    trainable: bool
    absolute: float
    """Largest absolute difference of an element."""
    relative: float
    """The same over the largest absolute element of the tensor (at least 1% of the model's largest)."""


def snapshot(trace: Trace, model: int, moment: Moment) -> list[Array] | None:
    """The weights of the `model`-th trained model at `moment` (the last such snapshot for "final", else the first), or
    None when the run recorded none or the file cannot be read."""
    snapshots = [w for w in trace.weights if w.model == model and w.moment == moment]
    if not snapshots:
        return None
    path = trace.folder / (snapshots[-1] if moment == "final" else snapshots[0]).file
    try:
        stat = path.stat()
        read = _read_once if stat.st_size < SMALL else _read
        return list(read(path, stat.st_mtime_ns))
    except (OSError, ValueError, KeyError):
        return None


def _read(path: Path, written: int) -> tuple[Array, ...]:
    """`written`: when, in nanoseconds; a file that is written again is read again."""
    with np.load(path) as archive:
        arrays = tuple(np.asarray(archive[str(i)], dtype=np.float64) for i in range(len(archive.files)))
    for array in arrays:
        array.flags.writeable = False
    return arrays


_read_once = functools.lru_cache(maxsize=64)(_read)
"""The contract and the causes ask for each snapshot of a pair some twenty times."""


def shapes_agree(old: list[Array], new: list[Array]) -> bool:
    return [a.shape for a in old] == [a.shape for a in new]


def _facts(trace: Trace, model: int) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
    """What is known of each weight of a model, in the order of Model.weights."""
    return next((m.weights for m in trace.models if m.index == model), ())


def differences(old: Trace, new: Trace, model: int, moment: Moment) -> list[WeightDifference] | None:
    """Tensor by tensor, in the order of Model.weights; None where a side recorded nothing or the shapes differ."""
    a, b = snapshot(old, model, moment), snapshot(new, model, moment)
    if a is None or b is None or not shapes_agree(a, b):
        return None
    facts = _facts(old, model)
    largest = max((float(np.abs(w).max(initial=0.0)) for w in a), default=0.0)
    movements = []
    for i, (x, y) in enumerate(zip(a, b)):
        name, trainable = (facts[i][0], facts[i][2]) if i < len(facts) else (f"weight {i}", True)
        absolute = float(np.abs(x - y).max(initial=0.0)) if np.isfinite(y).all() and np.isfinite(x).all() else np.inf
        scale = max(float(np.abs(x).max(initial=0.0)), 0.01 * largest, 1e-12)
        movements.append(WeightDifference(name, trainable, absolute, absolute / scale))
    return movements


def first_update(trace: Trace, model: int) -> list[Array] | None:
    """What one step of plain SGD from the initial weights on the first batch changes: minus the learning rate times
    the gradient, so its scale is the gradient's scale whatever the script's own optimizer is."""
    start, after = snapshot(trace, model, "initial"), snapshot(trace, model, "sgd_probe")
    if start is None or after is None or not shapes_agree(start, after):
        return None
    return [b - a for a, b in zip(start, after)]


def without_gradient(trace: Trace, model: int) -> frozenset[int]:
    """Indices of the tensors that the first gradient does not move beyond rounding (see ZERO_GRADIENT)."""
    update = first_update(trace, model)
    if update is None:
        return frozenset()
    sizes = [float(np.abs(w).max(initial=0.0)) for w in update]
    return frozenset(i for i, size in enumerate(sizes) if size < ZERO_GRADIENT * max(sizes, default=0.0))


def statistics(trace: Trace, model: int) -> frozenset[int]:
    """Indices of the tensors that are assigned and never trained, as batch norm's moving averages are: by their name,
    or because they moved at the first update. A frozen layer's weights did not, and may be trained later."""
    facts = _facts(trace, model)
    before, after = snapshot(trace, model, "initial"), snapshot(trace, model, "after_first_update")
    known = before is not None and after is not None and shapes_agree(before, after)
    moved = [not np.array_equal(x, y) for x, y in zip(before or (), after or ())] if known else []
    return frozenset(
        i
        for i, (name, _, trainable) in enumerate(facts)
        if not trainable and ("moving_" in name or (i < len(moved) and moved[i]))
    )


GIVEN_BAND = 0.02
"""Of a tensor's largest element: so near lie weights that one file gave, or two of one training in two systems. Those
that a layer begins with by itself lie about as far from them as they are large."""

CHANCE = 5.0
"""Standard errors. A right migration draws other numbers of the same spread; one tensor in a million lies further."""

FEW = 16
"""Elements of a tensor: fewer say nothing of the spread that they were drawn with."""


def given_otherwise(old: Model, new: Model) -> list[str]:
    """Names of the weights that a file gives one of two models, and that the new one had not from that file."""
    return [
        old.weights[i][0]
        for i, (a, b) in enumerate(zip(old.own, new.own))
        if a is not None and b is not None and (a[2] or b[2]) and b[3] is not None and b[3] > GIVEN_BAND
    ]


def drawn_otherwise(old: Model, new: Model, narrower: float = 1.0) -> list[tuple[str, Start, Start]]:
    """The weights that no file gives and that two models initialize differently, beyond chance: (name, old, new). Those
    of the old model may also have this much of their spread."""
    return [
        (old.weights[i][0], a[:2], b[:2])
        for i, (a, b) in enumerate(zip(old.own, new.own))
        if a is not None and b is not None and not (a[2] or b[2])
        if not any(
            _drawn_alike((a[0], a[1] / factor), b[:2], math.prod(old.weights[i][1])) for factor in {1.0, narrower}
        )
    ]


Start = tuple[float, float]
"""Mean and spread of what a weight begins with."""


def _drawn_alike(old: Start, new: Start, count: int) -> bool:
    (m, s), (n, t) = old, new
    none = 1e-6 * max(abs(m), abs(n), 1e-3)
    if abs(m - n) <= none and abs(s - t) <= max(none, 1e-6 * s):
        return True
    if s <= none and t <= none:
        return False
    if count < FEW:  # one side of them constant
        return count < 2 or min(s, t) > none
    if min(s, t) <= none:
        return False
    apart = abs(math.log(s / t)) * math.sqrt(count), abs(m - n) / math.sqrt((s * s + t * t) / count)
    return max(apart) <= CHANCE


ALONG = 0.9
"""Cosine from which on two movements of moving averages are taken for the same one: the towers of old and the replicas
of now see different parts of a batch, and few samples make averages that point anywhere."""


def statistics_ratio(old: Trace, new: Trace, model: int) -> float | None:
    """How far the old run's first update moved the moving averages, over how far the new one's did; None where one of
    them did not, or another way."""
    chosen = sorted(statistics(old, model))
    moved = []
    for trace in (old, new):
        start, after = snapshot(trace, model, "initial"), snapshot(trace, model, "after_first_update")
        if start is None or after is None or not shapes_agree(start, after) or len(start) <= max(chosen, default=0):
            return None
        moved.append(np.concatenate([np.zeros(0), *((after[i] - start[i]).ravel() for i in chosen)]))
    x, y = moved
    if x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    along = float(x @ y)
    if not along > ALONG * float(np.linalg.norm(x) * np.linalg.norm(y)):
        return None
    return along / float(y @ y)


def still(one: Trace, other: Trace, model: int) -> list[str]:
    """Names of the weights that `one` ends with as it began, to the last bit, and that `other` trained."""
    ends = [(snapshot(trace, model, "initial"), snapshot(trace, model, "final")) for trace in (one, other)]
    (a, b), (x, y) = ends
    if a is None or b is None or x is None or y is None or not (shapes_agree(a, b) and shapes_agree(x, y)):
        return []
    facts = _facts(one, model)
    return [
        name
        for i, (name, _, _) in enumerate(facts[: min(len(a), len(x))])
        if np.array_equal(a[i], b[i]) and np.abs(y[i] - x[i]).max(initial=0.0) > TRAINED * np.abs(x[i]).max(initial=0.0)
    ]


TRAINED = 1e-3
"""Of a tensor's largest element; what rounding moves is less."""


@dataclass(frozen=True)
class GradientRatio:
    """The new run's first gradient measured along the old one's."""

    ratio: float
    """1 when they agree, N when the new one is N times as long."""
    difference: float
    """Norm of what is left between them, over the norm of the old one."""
    rounding: float
    """The part of `difference` that float32 weights cannot resolve."""

    @property
    def is_scaled(self) -> bool:
        """Whether the new gradient is a multiple of the old one, as that of another loss is not."""
        aside = math.sqrt(max(0.0, self.difference**2 - (1.0 - self.ratio) ** 2))
        return aside <= max(SCALE_BAND * abs(self.ratio), 10 * self.rounding)


def gradient_ratio(old: Trace, new: Trace, model: int) -> GradientRatio | None:
    """Compare the trainable part of the first updates; None where a side recorded none or nothing moved."""
    a, b = first_update(old, model), first_update(new, model)
    if a is None or b is None or not shapes_agree(a, b):
        return None
    facts = _facts(old, model)
    places = [i for i in range(len(a)) if i >= len(facts) or facts[i][2]]
    x = np.concatenate([a[i].ravel() for i in places]) if places else np.zeros(0)
    y = np.concatenate([b[i].ravel() for i in places]) if places else np.zeros(0)
    length = float(x @ x)
    if length == 0.0 or not np.isfinite(length) or not np.isfinite(y).all():
        return None
    start = snapshot(old, model, "initial") or []
    stored = np.concatenate([start[i].ravel() for i in places])
    rounding = float(np.finfo(np.float32).eps * np.linalg.norm(stored) / np.sqrt(length))
    return GradientRatio(float(x @ y) / length, float(np.linalg.norm(x - y) / np.sqrt(length)), rounding)
