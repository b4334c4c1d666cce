"""Optimizer settings of different Keras versions under one set of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfmigrate.verify.judge.align import relative_difference, steps_of_both
from tfmigrate.verify.run.trace import Compile, Trace

ROUNDING = 1e-6
"""Old Keras keeps its settings in float32 variables."""
LAST_PLACES = 2.0**-22
"""Two units in the last place of a float32: what the order of a division and a product makes of a rate."""

# Settings that change no arithmetic of a plain step.
_BOOKKEEPING = {
    "name",
    "is_legacy_optimizer",
    "jit_compile",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "loss_scale_factor",
    "gradient_accumulation_steps",
}

# Old Keras adds epsilon outside the square root, today's inside it: the old one squared is the same arithmetic (1e-5).
EPSILON_MOVED = {"rmsprop", "adagrad"}

WRITTEN_ANEW = frozenset({"nadam"})
"""Those whose steps current Keras 2 and 3 do not agree on: 2e-2 after 190 steps, measured."""


OLD_NAMES = {"lr": "learning_rate", "schedule_decay": "decay"}
"""Of settings; Nadam's `schedule_decay` is kept as its `decay` in TensorFlow 1.15 to 2.10."""


def optimizer_name(compiled: Compile) -> str:
    """Class name in lower case, without what versions add to it (`optimizer_v2.SGD`, `LegacyAdam`)."""
    return compiled.optimizer.lower().rsplit(".", 1)[-1].removeprefix("legacy")


def settings(compiled: Compile) -> dict[str, Any]:
    """The settings with today's names, without those that do nothing at their value.

    A schedule that stands for the old `decay=` (InverseTimeDecay with one decay step) reads as what it replaces.
    """
    named: dict[str, Any] = {}
    for key, value in compiled.config.items():
        if key in _BOOKKEEPING:
            continue
        key = OLD_NAMES.get(key, key)
        if key == "learning_rate" and isinstance(value, Mapping):
            inner = value.get("config", {})
            if value.get("class_name") == "InverseTimeDecay" and inner.get("decay_steps") == 1:
                named["learning_rate"] = inner.get("initial_learning_rate")
                named["decay"] = inner.get("decay_rate")
                continue
            value = schedule(value)
        if key == "epsilon" and value is None:
            value = 1e-7
        if key in ("learning_rate", "epsilon") or value:
            named[key] = value
    return named


def schedule(config: Mapping[str, Any]) -> str:
    """`ExponentialDecay(decay_rate=0.5, decay_steps=1000)`: a short run does not reach what comes later. The class
    alone where that is all that is known, as of TensorFlow 1's."""
    inner = config.get("config", {})
    words = [f"{key}={number(value)}" for key, value in sorted(inner.items()) if value and key != "name"]
    return str(config.get("class_name", "schedule")) + (f"({', '.join(words)})" if words else "")


def changed_settings(old: Compile, new: Compile) -> dict[str, tuple[Any, Any]]:
    """Settings that differ, name -> (old, new), None for one that is not there."""
    a, b = settings(old), settings(new)
    return {
        key: (a.get(key), b.get(key))
        for key in sorted({*a, *b})
        if not _same(a.get(key), b.get(key)) and not _epsilon_moved(old, key, a.get(key), b.get(key))
    }


def same_optimizer(old: Compile, new: Compile) -> bool:
    return optimizer_name(old) == optimizer_name(new) and not changed_settings(old, new)


def describe(compiled: Compile) -> str:
    """`adadelta(learning_rate=1, rho=0.95)`"""
    inside = ", ".join(f"{key}={number(value)}" for key, value in sorted(settings(compiled).items()))
    return f"{optimizer_name(compiled)}({inside})"


def formula(old: Compile, new: Compile) -> str:
    """What is known of how the steps of one optimizer became others, in words behind a colon; empty for nothing."""
    name = optimizer_name(old)
    if name != optimizer_name(new):
        return ""
    if name in EPSILON_MOVED and not settings(old).get("momentum"):
        return (
            ": epsilon was added to the square root and is now added under it, which changes the steps of small "
            "gradients (TFM304)"
        )
    if name == "nadam":
        return ": its momentum now warms up in tens of steps instead of hundreds (TFM306)"
    if settings(old).get("momentum") or name in ("adamax", "adadelta"):
        return (
            ": for the rows of an Embedding that are not in a batch, tf.keras up to TensorFlow 2.10 left the "
            "optimizer's slots unchanged; now they decay at every step"
        )
    return ""


def number(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(number, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def pair_compiles(old: Trace, new: Trace) -> tuple[tuple[Compile, Compile], ...]:
    """Settings in force in the same training call of both runs, each distinct pair of a model once."""
    others = {(c.model, c.fit): c for c in new.compiles}
    pairs = {
        (a.model, describe(a), describe(b)): (a, b)
        for a in reversed(old.compiles)
        if (b := others.get((a.model, a.fit))) is not None
    }
    return tuple(_without_shown_decay(a, b, old, new) for a, b in reversed(pairs.values()))


def _without_shown_decay(a: Compile, b: Compile, old: Trace, new: Trace) -> tuple[Compile, Compile]:
    """The pair without a `decay` that one side alone has, where a callback or the script itself does the same on the
    other side: the rates of the training call show it, which change and are the same at every step. A call of one step
    ends before a decay acts."""
    decays = [settings(compiled).get("decay", 0.0) for compiled in (a, b)]
    if sum(map(bool, decays)) != 1 or optimizer_name(a) in WRITTEN_ANEW:  # whose decay is its momentum's
        return a, b
    rates = [(x.learning_rate, y.learning_rate) for x, y in steps_of_both(old, new) if x.fit == a.fit]
    changes = max(decays) * (len(rates) - 1) > 2 * LAST_PLACES and len(set(rates)) > 1
    if len(rates) == 1 or (changes and all(_same_rate(x, y) for x, y in rates)):
        return _without_decay(a), _without_decay(b)
    return a, b


def _same_rate(x: float | None, y: float | None) -> bool:
    return x is not None and y is not None and relative_difference(x, y) <= LAST_PLACES


def _without_decay(compiled: Compile) -> Compile:
    values = settings(compiled)
    values.pop("decay", None)
    return replace(compiled, config=values)


def _same(x: Any, y: Any) -> bool:
    if _is_number(x) and _is_number(y):
        return relative_difference(float(x), float(y)) <= ROUNDING
    if isinstance(x, str) and isinstance(y, str) and ("(" in x) != ("(" in y):  # schedules, of one its class alone
        return x.partition("(")[0] == y.partition("(")[0]
    return bool(x == y)


def _epsilon_moved(compiled: Compile, key: str, old: Any, new: Any) -> bool:
    """With momentum RMSprop had it under the root before (ResourceApplyRMSProp)."""
    moved = optimizer_name(compiled) in EPSILON_MOVED and not settings(compiled).get("momentum")
    return key == "epsilon" and moved and _is_number(old) and _same(old * old, new)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
