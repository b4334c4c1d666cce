"""What lies beside the training: files that a script writes, metrics that it logs, callbacks that it makes. No loss
shows them, and a short run may end before they would:
they decide nothing, and what is lost is reported with the verdict.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tfmigrate.verify.judge.align import relative_difference
from tfmigrate.verify.judge.causes.evidence import watched_in_vain
from tfmigrate.verify.judge.differences import BATCH_NORM, known_of_validation
from tfmigrate.verify.judge.lab import Lab
from tfmigrate.verify.judge.plan import SHARED
from tfmigrate.verify.run.program import last_name, program_of, tree_of
from tfmigrate.verify.run.trace import Epoch, Trace

CALLBACKS = frozenset(
    {
        "BackupAndRestore",
        "CSVLogger",
        "EarlyStopping",
        "LearningRateScheduler",
        "ModelCheckpoint",
        "ReduceLROnPlateau",
        "TerminateOnNaN",
        "TensorBoard",
    }
)
"""Of Keras, by the same name in every version; a script's own are not known by theirs."""

SETTINGS = frozenset(
    {"baseline", "cooldown", "factor", "min_lr", "monitor", "patience", "restore_best_weights", "save_best_only"}
)
"""Keywords of callbacks that a migration leaves as they are: it writes `mode` out, and `min_delta` for `epsilon`."""

METRIC_BAND = 0.02
"""Relative. One sample of a hundred on the other side of a threshold is rounding."""

SHORT = {
    "mean_squared_error": "mse",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_squared_logarithmic_error": "msle",
}
"""Keys of metrics that were logged by their long names, whichever name compile() gave them."""

LOSSES = frozenset({"loss", "val_loss", "lr", "learning_rate"})


def lost(lab: Lab) -> tuple[str, ...]:
    """What the new script has no more, in words."""
    ran = [run for run in lab.runs.values() if run.ok and run.world.kind != "migrated"]
    gone: list[str] = []
    for keras in lab.plan.modern:
        new = lab.runs[f"migrated on Keras {keras}"]
        old, here = (program_of(run.world.source, run.world.script, run.world.home) for run in (ran[0], new))
        gone += lost_callbacks(old, here)
        if not new.ok:
            continue
        gone += lost_files([run.written for run in ran], new.written)
        gone += filter(None, [watched_in_vain(ran[0].trace, new.trace)])
        for role in (f"restored on Keras {keras}{SHARED}", f"restored on Keras {keras}"):
            restored = lab.runs.get(role)
            if restored is not None and restored.ok:
                gone += lost_metrics(restored.trace, new.trace)
                break
    return tuple(dict.fromkeys(gone))


# Files


def lost_files(olds: Sequence[Iterable[str]], written: Iterable[str]) -> Iterator[str]:
    """Files that every old run wrote and the new one did not, under whatever ending and with whatever numbers."""
    there = {_plain(name) for name in written}
    each = [{_plain(name): name for name in sorted(names)} for names in olds]
    for plain, name in each[0].items() if each else ():
        if plain and plain not in there and all(plain in other for other in each):
            yield f"the old script writes {name}, the new one does not"


_ENDINGS = re.compile(r"((\.weights)?\.(h5|hdf5|keras|index|data-[\d-]+of-[\d-]+))+$")


def _plain(name: str) -> str:
    """A file's name without the format of a model and without numbers (an epoch's, a loss, a time); empty for what
    Python and TensorFlow write by themselves."""
    path = PurePosixPath(name)
    if "__pycache__" in path.parts or path.name in ("checkpoint", "fingerprint.pb"):
        return ""
    if path.name == "saved_model.pb":
        path = path.parent
    elif {"variables", "assets"} & set(path.parts[:-1]):
        return ""
    if "tfevents" in path.name:
        return "events"
    stem = _ENDINGS.sub("", str(path))
    return re.sub(r"[-+]?(\d+(\.\d+)?(e[-+]?\d+)?|nan|inf)", "#", stem)


# Metrics


def lost_metrics(old: Trace, new: Trace) -> Iterator[str]:
    """Of two runs on one Keras, so that each metric has one name: those that only the old one logs, and those whose
    values part though the losses agree."""
    others = {(epoch.fit, epoch.epoch): epoch for epoch in new.epochs}
    both = [(epoch, other) for epoch in old.epochs if (other := others.get((epoch.fit, epoch.epoch))) is not None]
    gone = dict.fromkeys(
        name for a, b in both for name in map(_today, a.logs) if name not in map(_today, b.logs) and name not in LOSSES
    )
    if gone:
        yield f"the old script logs {', '.join(gone)}, the new one does not"
    moved = known_of_validation(old) == BATCH_NORM
    furthest: dict[str, tuple[float, Epoch, Epoch]] = {}
    for a, b in both:
        for name in a.logs:
            if not _is_metric(name) or name not in b.logs or (moved and name.startswith("val_")):
                continue
            size = _apart(a.logs[name], b.logs[name])
            if size > (furthest[name][0] if name in furthest else METRIC_BAND):
                furthest[name] = size, a, b
    for name, (_, a, b) in furthest.items():
        yield f"{name} is logged as {b.logs[name]:.6g} where it was {a.logs[name]:.6g} (epoch {a.epoch})"


def _today(name: str) -> str:
    """`acc` became `accuracy`; the old script may log both (see probe/logs)."""
    return re.sub("(^|_)acc$", r"\1accuracy", name)


def _is_metric(name: str) -> bool:
    """Neither the loss nor that of one output, which Keras logs beside the whole, nor a learning rate."""
    return name not in LOSSES and not name.endswith("_loss")


def _apart(old: float, new: float) -> float:
    """Relative to the larger one; none where one is not a number."""
    return relative_difference(old, new, 1e-12) if math.isfinite(old) and math.isfinite(new) else 0.0


# Callbacks


def lost_callbacks(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    """Callbacks of Keras that the old program makes and the new one does not, or makes with other settings."""
    before, after = callbacks_of(old), callbacks_of(new)
    for name in sorted(before):
        if sum(before[name].values()) > sum(after.get(name, Counter()).values()):
            yield f"the old program creates {name}, the new one {'fewer' if name in after else 'none'}"
        elif sum(before[name].values()) == sum(after[name].values()):
            for was, now in zip((before[name] - after[name]).elements(), (after[name] - before[name]).elements()):
                yield f"the old program creates {name}({', '.join(was)}), the new one {name}({', '.join(now)})"


def callbacks_of(program: Mapping[str, bytes]) -> dict[str, Counter[tuple[str, ...]]]:
    """By class of Keras, the settings that each call writes out; a class made from it counts as it."""
    nodes = [node for source in program.values() for node in ast.walk(tree_of(source))]
    bases = {node.name: [*map(last_name, node.bases)] for node in nodes if isinstance(node, ast.ClassDef)}
    calls: dict[str, Counter[tuple[str, ...]]] = {}
    for node in nodes:
        name = _callback(last_name(node.func), bases) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and name is not None:
            settings = sorted(_setting(word) for word in node.keywords if word.arg in SETTINGS)
            calls.setdefault(name, Counter())[tuple(settings)] += 1
    return calls


def _callback(name: str, bases: Mapping[str, Sequence[str]]) -> str | None:
    """The callback of Keras that a class is, or is made from."""
    seen: set[str] = set()
    while name in bases and name not in seen:
        seen.add(name)
        name = next((base for base in bases[name] if base in bases or base in CALLBACKS), "")
    return name if name in CALLBACKS else None


def _setting(word: ast.keyword) -> str:
    value = word.value
    if word.arg == "monitor" and isinstance(value, ast.Constant) and isinstance(value.value, str):
        return f"monitor={_watched(value.value)!r}"
    return f"{word.arg}={ast.unparse(value)}"


def _watched(name: str) -> str:
    """A metric without the name of its output and with today's own: the key of the one output bears none now."""
    prefix = "val_" if name.startswith("val_") else ""
    metric = next((short for long, short in SHORT.items() if name.endswith(long)), _today(name).rpartition("_")[2])
    return prefix + metric
