"""Causes in the optimizer: its rule, its settings, its learning rate."""

from __future__ import annotations

import math

from tfmigrate.rules import old_defaults
from tfmigrate.verify.judge.align import steps_of_both
from tfmigrate.verify.judge.causes.evidence import (
    Divergence,
    Evidence,
    first_loss,
    times,
    watched_in_vain,
    where,
    without_callbacks,
)
from tfmigrate.verify.judge.optimizers import (
    EPSILON_MOVED,
    changed_settings,
    describe,
    formula,
    number,
    optimizer_name,
    pair_compiles,
)
from tfmigrate.verify.run.trace import minor


def changed_defaults() -> dict[tuple[str, str], tuple[object, object]]:
    """(optimizer in lower case, argument) -> the default of standalone Keras, and today's."""
    return {(row.of.rpartition(".")[2].lower(), row.argument): (row.old, row.new) for row in old_defaults()}


def update_rule(e: Evidence) -> Divergence | None:
    at = first_loss(e) or (0, 0)
    for a, b in pair_compiles(e.old, e.new):
        if optimizer_name(a) != optimizer_name(b):
            return Divergence("update rule", f"{describe(a)} became {describe(b)}", *at)
        changed = changed_settings(a, b)
        if changed:
            words = ", ".join(_change(optimizer_name(a), key, *values) for key, values in changed.items())
            if "learning_rate" in changed:
                return Divergence("learning rate", f"{optimizer_name(a)} {words}", *at)
            return Divergence("update rule", f"{describe(a)} became {describe(b)}: {words}{formula(a, b)}", *at)
    return None


def learning_rate(e: Evidence) -> Divergence | None:
    if e.row("learning rate") is None:
        return None
    for step, other in steps_of_both(e.old, e.new):
        old, new = step.learning_rate, other.learning_rate
        if old is not None and new is not None and not math.isclose(old, new, rel_tol=1e-6):
            change = f"learning rate {old:.6g} -> {new:.6g}{times(new / old) if old else ''}"
            what = f"{change} from {where(step.epoch, step.step)} on"
            why = without_callbacks(e) or watched_in_vain(e.old, e.new)
            what += f"; {why}" if why else ""
            return Divergence("learning rate", what, step.epoch, step.step)
    return None


def _change(optimizer: str, key: str, old: object, new: object) -> str:
    if changed_defaults().get((optimizer, key)) == (_plain(old), _plain(new)):
        reason = ": changed default"
    elif isinstance(old, int | float) and isinstance(new, int | float) and old:
        reason = times(new / old)
    else:
        reason = ""
    return f"{key} {number(old)} -> {number(new)}{reason}"


def _plain(value: object) -> object:
    """float32 values as the decimal they were written as; a missing setting as 0."""
    return float(f"{value:.6g}") if isinstance(value, int | float) else 0.0 if value is None else value


CLIPS = ("clipnorm", "clipvalue", "global_clipnorm")


def clipped(e: Evidence) -> str | None:
    """Keras 3 clips before the replicas' gradients are added up (TFM310), which no setting shows."""
    if not e.spread_by_keras_3:
        return None
    plain = [compiled for compiled in e.new.compiles if not compiled.own_apply]
    clips = {name for compiled in plain for name in CLIPS if compiled.config.get(name)}
    if not clips:
        return None
    return (
        f"{' and '.join(sorted(clips))}: Keras 3 clips the gradients of each replica and adds them up afterwards, "
        "which clips less than clipping the old model's single gradient; Keras 2 adds them up first (TFM310)"
    )


def moved_epsilon(e: Evidence) -> str | None:
    """What no setting shows: the place of epsilon (docs/semantics.md), which a root near it in size makes felt."""
    name = next((optimizer_name(c) for c in e.old.compiles if optimizer_name(c) in EPSILON_MOVED), None)
    if name is None or e.old.start is None or e.new.start is None:
        return None
    if not minor(e.old.start.tensorflow) < (2, 11) <= minor(e.new.start.tensorflow):
        return None
    return (
        f"{name} adds epsilon to the square root in TensorFlow {e.old.start.tensorflow} and under it since 2.11, so "
        "small gradients take different steps, less so if epsilon is written as its square (TFM304)"
    )
