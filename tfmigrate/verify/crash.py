"""Why a script died, in a line."""

from __future__ import annotations

import re
from dataclasses import replace

from tfmigrate.verify.cause import find
from tfmigrate.verify.causes.evidence import Divergence, Kind
from tfmigrate.verify.compare import Comparison
from tfmigrate.verify.trace import Trace


def of_crash(old: Trace, new: Trace, comparison: Comparison, error: str) -> Divergence:
    """Why the new script died: the scope where the error says so, else what differed before, else the error itself."""
    if any(sign in error for sign in SCOPE_SIGNS):
        what = f"the new script built its model or optimizer outside the strategy's scope: {shorten(error)}"
        return Divergence("scope", what)
    before = find(old, new, comparison) if new.steps or new.predictions else None
    if before is not None and before.kind in BEFORE_A_CRASH:
        return replace(before, cause=f"{before.cause}; then it died: {shorten(error)}")
    same = comparison.losses_agree and len(new.steps) >= len(old.steps) == len(comparison.steps) > 0
    trained = (
        f"the new script took all {len(old.steps)} steps, whose losses agree, then it" if same else "the new script"
    )
    return Divergence("crash", f"{trained} died: {shorten(error)}{_uneven_first(error)}")


def _uneven_first(error: str) -> str:
    """What Keras 3 says of it names neither the batch nor the replicas (docs/semantics.md)."""
    if "AddN" not in error or "same size and shape" not in error:
        return ""
    return (
        "; Keras 3 under a strategy does not take a first batch that does not divide by the replicas, be it of fit, of "
        "its validation or of evaluate: give that one a batch size that does"
    )


BEFORE_A_CRASH: frozenset[Kind] = frozenset(
    {
        "models",
        "initial weights",
        "frozen layers",
        "dtype",
        "epochs",
        "batch size",
        "loss weights",
        "regularizer",
        "dropout",
        "loss",
        "loss scale",
        "learning rate",
        "update rule",
        "shuffle",
        "scope",
    }
)
"""What the steps before a crash show by themselves; that later ones are missing is the crash's own doing."""
SCOPE_SIGNS = (
    "Mixing different tf.distribute.Strategy",
    "was not created in the distribution strategy scope",
    "under the scope for tf.distribute.Strategy",
    "different tf.distribute.Strategy",
    "created under a different strategy",
)
"""What TensorFlow 2.4 to 2.21 says to a model, optimizer or variable made outside the scope it is used in."""


def shorten(error: str, length: int = 240) -> str:
    """An error in one line, objects by their class alone; a long one keeps its start, with the type, and the script's
    line at its end."""
    line = re.sub(r"<(?:[\w.]*\.)?(\w+) object at 0x[0-9a-f]+>", r"<\1>", " ".join(_of_graph(error).split()))
    if len(line) <= length:
        return line
    tail = line[line.rfind(" (") :] if line.endswith(")") else ""
    tail = tail if len(tail) < length // 2 else ""
    return f"{line[: length - len(tail) - 4]} ...{tail}"


def _of_graph(error: str) -> str:
    """What a graph died of, without the places in it where that came about, which TensorFlow puts first."""
    head, found, rest = error.partition("Graph execution error:")
    if not found:
        return error
    place = re.search(r" \([^()\s]+:\d+\)$", error)
    kept: list[str] = []
    for line in map(str.strip, rest[: len(rest) - len(place[0]) if place else None].splitlines()):
        if line.startswith(("Traceback", "(1)")) and kept:
            break
        if line and not re.match(
            r"Detected at |<stack traces|File \"|\[\[|\d+ root error|\d+ (successful|derived)", line
        ):
            kept.append(re.sub(r"^\(0\) [A-Z_]+: *", "", line))
    return f"{head}{' '.join(kept)}{place[0] if place else ''}" if kept else error
