"""Two traces of one training, or of what a script predicts that trains nothing: what agrees, what does not, and by how
much. Pure data; says nothing about causes."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from tfmigrate.verify.judge import contract, differences
from tfmigrate.verify.judge.align import EpochPair, PredictionPair, StepPair, pair_epochs, pair_predictions, pair_steps
from tfmigrate.verify.judge.contract_rows import Facts, Row
from tfmigrate.verify.judge.differences import KnownDifference
from tfmigrate.verify.run.trace import Place, Trace


@dataclass(frozen=True)
class Comparison:
    """Everything that was compared, and the band that it was held to."""

    steps: tuple[StepPair, ...]
    epochs: tuple[EpochPair, ...]
    contract: tuple[Row, ...]
    known: tuple[KnownDifference, ...]
    not_compared: tuple[str, ...]
    """What a run did not record, in words."""
    tolerance: float
    predictions: tuple[PredictionPair, ...] = ()
    """Of an old script that trains nothing; they stand in the place of the steps."""
    excused: str = ""
    """The known difference that was shown to explain how far the losses lie apart, by name."""

    @property
    def common(self) -> tuple[StepPair, ...] | tuple[PredictionPair, ...]:
        """What both runs did: steps, or calls that predict."""
        return self.predictions or self.steps

    @property
    def shared(self) -> bool:
        """The old run shared its batches as the new one does, so that nothing lets the two part for good."""
        return any(pair.shared for pair in self.steps)

    @property
    def validated_alike(self) -> bool:
        """The rows that both validate on were compared, and are the same."""
        compared = [row.same for row in self.contract if row.what.startswith("validation data")]
        return bool(compared) and all(compared)

    @property
    def judged_steps(self) -> tuple[StepPair, ...]:
        """The steps whose losses must agree: all; of an old run that shares evenly, all but the uneven ones, whose
        losses are different means; else those before a remainder batch lets the two systems part."""
        if self.shared:
            return tuple(pair for pair in self.steps if not pair.uneven)
        if not any(difference.name == differences.REMAINDER for difference in self.known):
            return self.steps
        first = next((i for i, pair in enumerate(self.steps) if pair.uneven), None)
        return self.steps[:first]

    @property
    def max_relative_difference(self) -> float:
        """Of the training loss, over the judged steps, or of the predictions; infinite when there are none or only one
        is a number."""
        return max((pair.difference for pair in self.predictions or self.judged_steps), default=math.inf)

    def explained_by(self, known: KnownDifference, rows: Collection[Row], excused: str = "") -> Comparison:
        """The same, with a known difference that was shown to explain these rows of the contract."""
        contract = tuple(replace(row, known=known.name) if row in rows else row for row in self.contract)
        return replace(self, contract=contract, known=(*self.known, known), excused=excused or self.excused)

    @property
    def losses_agree(self) -> bool:
        return self.max_relative_difference <= self.tolerance

    @property
    def broken(self) -> tuple[Row, ...]:
        """Rows that differ for no known reason."""
        return tuple(row for row in self.contract if row.broken)

    @property
    def equivalent(self) -> bool:
        return (self.losses_agree or bool(self.excused)) and not self.broken


def compare(old: Trace, new: Trace, band: float) -> Comparison:
    """Compare two runs of one script; `band` is the tolerance on relative differences of losses, or of predictions (see
    `align`)."""
    steps, epochs = pair_steps(old, new), pair_epochs(old, new)
    known = differences.known_differences(old, new, steps, epochs, band)
    facts = Facts(old, new, steps, epochs, band, known)
    rows = contract.rows(facts)
    return Comparison(steps, epochs, rows, known, contract.not_compared(facts, rows), band, pair_predictions(old, new))


def same_run(first: Trace, second: Trace, epochs: int | None = None) -> bool:
    """Whether two runs of one world recorded the very same, to the last bit, at whichever lines of the script; of
    `epochs` epochs where given."""
    if epochs is not None:
        first, second = through_epoch(first, epochs), through_epoch(second, epochs)
    first, second = _without_lines(first), _without_lines(second)
    return all(
        getattr(first, part) == getattr(second, part)
        for part in ("models", "compiles", "fits", "steps", "epochs", "predictions")
    )


def _without_lines(trace: Trace) -> Trace:
    return replace(
        trace,
        compiles=tuple(replace(one, at=None) for one in trace.compiles),
        fits=tuple(replace(one, at=None) for one in trace.fits),
        predictions=tuple(replace(one, at=None) for one in trace.predictions),
    )


def through_first_step(trace: Trace) -> Trace:
    """The trace as if it had ended when the first step's loss was known: what the step made of the weights, in which
    the optimizers of two Kerases may differ, is not in it."""
    return replace(
        trace, steps=trace.steps[:1], epochs=(), weights=tuple(w for w in trace.weights if w.moment == "initial")
    )


def through_steps(trace: Trace, places: Collection[Place]) -> Trace:
    """The trace as if it had ended after these steps: no epochs with later steps, no final weights."""
    later = {(step.fit, step.epoch) for step in trace.steps if step.place not in places}
    steps, cut = tuple(step for step in trace.steps if step.place in places), trace.cut
    return replace(
        trace,
        steps=steps,
        cut=cut and replace(cut, steps=sum(step.fit == cut.fit for step in steps)),
        epochs=tuple(epoch for epoch in trace.epochs if (epoch.fit, epoch.epoch) not in later),
        weights=tuple(w for w in trace.weights if w.moment != "final"),
    )


def through_epoch(trace: Trace, epochs: int) -> Trace:
    """The trace as if each training call had ended after so many epochs: no later steps, no final weights."""
    return replace(
        trace,
        steps=tuple(step for step in trace.steps if step.epoch < epochs),
        epochs=tuple(epoch for epoch in trace.epochs if epoch.epoch < epochs),
        weights=tuple(w for w in trace.weights if w.moment != "final"),
    )
