"""Why a script crashed, in a line."""

from __future__ import annotations

import re
from dataclasses import replace

from tfmigrate.printable import both_ends
from tfmigrate.verify.judge.cause import find
from tfmigrate.verify.judge.causes.evidence import OF_THE_MODEL, Divergence, Kind
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Run


def of_crash(old: Trace, new: Trace, comparison: Comparison, error: str) -> Divergence:
    """Why the new script crashed: the scope where the error says so, else what differed before, else the error."""
    if any(sign in error for sign in SCOPE_SIGNS):
        what = f"the new script built its model or optimizer outside the strategy's scope: {shorten(error)}"
        return Divergence("scope", what)
    if has_other_weights(new):
        return Divergence("models", f"the new script builds a different model: {shorten(error.partition(': ')[2])}")
    before = find(old, new, comparison) if new.steps or new.predictions else None
    if before is not None and before.kind in BEFORE_A_CRASH:
        return replace(before, cause=f"{before.cause}; then it crashed: {shorten(error)}")
    same = comparison.losses_agree and len(new.steps) >= len(old.steps) == len(comparison.steps) > 0
    when = "before its first training step" if not new.steps else f"after {len(new.steps)} training steps"
    if old.predictions:
        when = f"after {len(new.predictions)} of {len(old.predictions)} calls that predict"
    elif same:
        when = f"after all {len(old.steps)} training steps, whose losses agree"
    return Divergence(
        "crash", f"the new script crashed {when}: {shorten(error)}{_uneven_first(error) or _symbolic(error)}"
    )


def same_error(old: Trace, new: Trace) -> bool:
    """Whether both scripts died of one error, wherever in them; names of layers and numbers are not compared."""
    errors = [old.error, new.error]
    if None in errors:
        return False
    first, second = (re.sub(r"\d+", "0", re.sub(r" \([^()\s]+:\d+\)$", "", shorten(error or ""))) for error in errors)
    return first == second


def has_other_weights(trace: Trace) -> bool:
    """Whether the run ended because the reference's initial weights do not fit its models: `starts.WeightsDiffer`."""
    return (trace.error or "").startswith("WeightsDiffer:")


def lacks_determinism(run: Run) -> bool:
    """Whether the run ended because an operation has no deterministic form on GPUs, which the probe asks for."""
    return run.outcome == "crashed" and _LACKS_DETERMINISM.search(run.trace.error or "") is not None


_LACKS_DETERMINISM = re.compile(
    r"deterministic GPU implementation of [^\n]+ (?:is )?not |Determinism is not yet supported"
    r"|is not deterministic|do(?:es)? not (?:yet )?have a deterministic",
    re.IGNORECASE,
)
"""As TensorFlow 2.21 says it (the texts in its library)."""


def _uneven_first(error: str) -> str:
    """What Keras 3 says of it names neither the batch nor the replicas (docs/semantics.md)."""
    if "AddN" not in error or "same size and shape" not in error:
        return ""
    return (
        "; Keras 3 under a strategy fails if the number of replicas does not divide the first batch of fit, of its "
        "validation or of evaluate: choose a batch size that is a multiple"
    )


def _symbolic(error: str) -> str:
    """What the functions of keras.backend say of a KerasTensor, whose dtype is a string, does not name it."""
    if "'str' object has no attribute 'base_dtype'" not in error and "KerasTensor cannot be used" not in error:
        return ""
    return (
        "; a symbolic tensor of the model (KerasTensor) was used where numbers are computed, as in a Lambda or a "
        "loss that refers to one: pass it as an input"
    )


BEFORE_A_CRASH: frozenset[Kind] = OF_THE_MODEL | {"epochs", "batch size", "sample weights", "shuffle"}
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
    """An error in one line, objects by their class alone; a long one keeps its start, with the type, and its end, with
    what was the matter and the script's line."""
    text = _of_call(_of_function(_of_graph(error)))
    line = re.sub(r"<(?:[\w.]*\.)?(\w+) object at 0x[0-9a-f]+>", r"<\1>", " ".join(text.split()))
    return both_ends(line, length)


_PLACE = re.compile(r" \([^()\s]+:\d+\)(?:;.*)?$", re.S)
"""The script's line, and what `outcome_of` says after it."""
_FRAME = re.compile(r" *(?:File \"[^\n]+\", line \d+|/\S+:\d+ )[^\n]*(?:\n {8}[^\n]*)*\n")
"""A place in a traceback that AutoGraph writes into a message, as TensorFlow 2.4 and later, and as 2.0 to 2.3; with the
line of code below it, which is indented further."""


def _of_function(error: str) -> str:
    """What was the matter in a function that became a graph: after "in user code:" all places come first."""
    head, marker, rest = error.partition("in user code:")
    frames = list(_FRAME.finditer(rest))
    if not marker or not frames or not rest[frames[-1].end() :].strip():
        return error
    message = rest[frames[-1].end() :].strip()
    kind = re.search(r"(\w+: )\s*$", head)
    return head + (message.removeprefix(kind[1]) if kind else message)


def _of_call(error: str) -> str:
    """An error from a layer's call without the list of what the call was given, which Keras puts last."""
    listing, place = re.search(r"\n\s*\n\s*(?:Call a|A)rguments received by ", error), _PLACE.search(error)
    return f"{error[: listing.start()].rstrip()}{place[0] if place else ''}" if listing else error


def _of_graph(error: str) -> str:
    """What a graph died of, without the places in it where that came about, which TensorFlow puts first."""
    head, marker, rest = error.partition("Graph execution error:")
    if not marker:
        return error
    place = _PLACE.search(error)
    lines: list[str] = []
    for line in map(str.strip, rest[: len(rest) - len(place[0]) if place else None].splitlines()):
        if line.startswith(("Traceback", "(1)")) and lines:
            break
        if line and not re.match(
            r"Detected at |<stack traces|File \"|\.\.\.$|\[\[|\d+ root error|\d+ (successful|derived)", line
        ):
            lines.append(re.sub(r"^\(0\) [A-Z_]+: *", "", line))
    return f"{head}{' '.join(lines)}{place[0] if place else ''}" if lines else error
