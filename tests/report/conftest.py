from __future__ import annotations

import pytest

from tfmigrate.result import FileResult, Finding, Result


@pytest.fixture
def result() -> Result:
    """One file of each status, with a finding of each action."""
    return Result(
        (
            FileResult(
                "a b.py",
                "migrated",
                (
                    Finding(2, 5, "TFM001", "the wrap goes: 100% sure,\nsee above", "rewrite"),
                    Finding(3, 1, "TFM001", "someone said so", "suppressed"),
                ),
                before="x\ny = wrap(m)\nz\n",
                after="x\ny = m\nz\n",
            ),
            FileResult("broken.py", "error", error="line 3: syntax error: invalid syntax; mend it"),
            FileResult(
                "far.py",
                "refused",
                (Finding(1, 1, "TFM101", "unknown callers", "refuse"), Finding(9, 2, "TFM401", "look", "warn")),
                before="wrap(m)\n",
                after="wrap(m)\n",
            ),
        ),
        scanned=12,
    )
