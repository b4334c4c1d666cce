"""Two runs, compared and judged."""

from __future__ import annotations

from tfmigrate.verify.judge import cause, crash, script_line
from tfmigrate.verify.judge.causes.evidence import Divergence
from tfmigrate.verify.judge.compare import Comparison, compare
from tfmigrate.verify.judge.differences import CLASS_WEIGHTED, GOES_ON, LAST_BATCH
from tfmigrate.verify.judge.report import Pair
from tfmigrate.verify.run.world import Run

OTHER_VALIDATION = (LAST_BATCH, CLASS_WEIGHTED, GOES_ON)


def paired(old: Run, new: Run, band: float, *, decides: bool, restored: Run | None = None) -> Pair:
    comparison, divergence = outcome(old, new, band, restored)
    line = script_line.of(divergence, new) if divergence else None
    return Pair(old.world.role, new.world.role, comparison, divergence, decides, line)


def outcome(
    old: Run, new: Run, band: float, restored: Run | None = None
) -> tuple[Comparison | None, Divergence | None]:
    """Compares two runs. Where the old one's Keras logged another validation loss than today's does, `restored`, the
    old script on the new one's Keras, stands in for its validation."""
    comparison = compare(old.trace, new.trace, band)
    if new.outcome == "crashed":
        crash_cause = crash.of_crash(old.trace, new.trace, comparison, new.error)
        return (None if crash_cause.kind in ("crash", "scope") else comparison), crash_cause
    divergence = cause.find(old.trace, new.trace, comparison)
    if divergence is None and restored is not None and restored.ok and validation_known(comparison) in OTHER_VALIDATION:
        divergence = cause.of_validation(restored.trace, new.trace, compare(restored.trace, new.trace, band))
    return comparison, divergence


def validation_known(comparison: Comparison) -> str | None:
    """The known difference that keeps the validation losses from being judged, if one does."""
    return next((row.known for row in comparison.contract if row.what == "validation loss"), None)
