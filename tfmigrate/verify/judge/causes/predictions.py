"""Causes of other predictions: other rows, or other values from the same."""

from __future__ import annotations

import math

from tfmigrate.verify.judge.align import PredictionPair, same_inputs
from tfmigrate.verify.judge.causes.evidence import RATIO_BAND, Divergence, Evidence, times

REORDERED = 1e-2
"""Rows in another order differ by more; less is noise, which can leave a norm as it was."""


def rows(e: Evidence) -> Divergence | None:
    """Other rows go in, or come out."""
    apart = e.row("calls that predict")
    if apart is not None:
        return Divergence("rows", f"{apart.old} calls that predict became {apart.new}{times(apart.new / apart.old)}")
    pairs = e.comparison.predictions
    first = next((p for p in pairs if p.old.samples != p.new.samples), None)
    if first is not None:
        old, new = first.old.samples or 0, first.new.samples or 0
        ratio = times(new / old) if old else ""
        if ratio and first.new.call == "predict_on_batch" and e.keras_3:
            ratio += " (predict_on_batch of Keras 3 returns one result per replica)"
        return Divergence("rows", f"{old} rows became {new}{ratio}, first in {_call(first)}", None, first.index)
    first = next((p for p in pairs if same_inputs(p.old, p.new, e.comparison.tolerance) is False), None)
    if first is not None:
        return Divergence("data", f"the inputs are not the same, first in {_call(first)}", None, first.index)
    return None


def predictions(e: Evidence) -> Divergence | None:
    """Other values from the same weights and inputs."""
    if e.comparison.losses_agree:
        return None
    first = next((p for p in e.comparison.predictions if not p.difference <= e.comparison.tolerance), None)
    if first is None:
        return None
    if math.isinf(first.difference):
        shapes = [" and ".join(str(output.shape) for output in call.outputs) for call in (first.old, first.new)]
        if shapes[0] == shapes[1]:
            return Divergence(
                "predictions", (f"one of the predictions is not a number, first in {_call(first)}"), None, first.index
            )
        return Divergence("predictions", f"arrays of {shapes[0]} became {shapes[1]}, first in {_call(first)}")
    norms = [math.hypot(*(norm for out in call.outputs for norm, _ in out.sketches)) for call in (first.old, first.new)]
    size = e.comparison.max_relative_difference
    if size >= REORDERED and abs(norms[0] - norms[1]) <= RATIO_BAND * size * norms[0]:
        what = f"the rows are in a different order, or have a different sign, first in {_call(first)}"
    else:
        what = f"the predictions differ by up to {size:.3g} of the largest, first in {_call(first)}"
    return Divergence("predictions", what, None, first.index)


def _call(pair: PredictionPair) -> str:
    return f"call {pair.index}"
