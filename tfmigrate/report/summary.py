"""The counts under every report, and the exit codes that follow from a Result."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass

from tfmigrate.result import Result


@dataclass(frozen=True)
class Summary:
    """Files by status, and findings by what became of them."""

    scanned: int
    migrated: int
    refused: int
    errors: int
    rewrites: int
    refusals: int
    warnings: int
    suppressed: int
    skipped: int
    """Paths that a walk came by and passed: a pipe, a link that leads outside."""

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def summarize(result: Result) -> Summary:
    """Count once for all forms of report."""
    status = Counter(file.status for file in result.files)
    action = Counter(finding.action for _, finding in result.findings)
    return Summary(
        scanned=result.scanned,
        migrated=status["migrated"],
        refused=status["refused"],
        errors=status["error"],
        rewrites=action["rewrite"],
        refusals=action["refuse"],
        warnings=action["warn"],
        suppressed=action["suppressed"],
        skipped=status["skipped"],
    )


def check_exit_code(result: Result) -> int:
    """0 nothing found (suppressed uses count as nothing), 1 something, 2 a file or path could not be handled."""
    if result.errors:
        return 2
    return int(any(finding.action != "suppressed" for _, finding in result.findings))


def diff_exit_code(result: Result) -> int:
    """0 no patch and nothing refused, 1 a patch exists or a use is refused, 2 a file or path could not be handled."""
    if result.errors:
        return 2
    refused = any(finding.action == "refuse" for _, finding in result.findings)
    return int(refused or any(file.changed for file in result.files))


def fix_exit_code(result: Result) -> int:
    """0 all done, 1 something refused or left, 2 a file or path could not be handled."""
    if result.errors:
        return 2
    return int(any(one.action in ("rewrite", "refuse") and not one.applied for _, one in result.findings))
