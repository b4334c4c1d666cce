"""The counts under every report, and the exit codes that follow from a Result."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tfmigrate.result import Finding, Result

if TYPE_CHECKING:
    from tfmigrate.rules import Rule


class Summary(NamedTuple):
    """Files by status, and findings by what became of them."""

    scanned: int
    migrated: int
    refused: int
    errors: int
    rewrites: int
    refusals: int
    warnings: int
    suppressed: int
    left: int
    """Findings that stay to be done by hand."""
    skipped: int
    """Paths that a walk came by and passed: a pipe, a link that leads outside."""
    unsafe: int
    """Warnings of what `--unsafe-fixes` would rewrite; they count among the warnings and among what is left."""

    def as_dict(self) -> dict[str, int]:
        return self._asdict()


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
        left=sum(is_left(finding) for _, finding in result.findings),
        skipped=status["skipped"],
        unsafe=sum(finding.unsafe for _, finding in result.findings),
    )


def is_left(finding: Finding) -> bool:
    """Whether something stays to be done by hand: a refused use, or a warning of what stops the program or changes its
    training (`leaves` in the front matter of its rule)."""
    if finding.action != "warn":
        return finding.action == "refuse"
    rule = _rules().get(finding.code)
    return rule is None or rule.leaves != "nothing"


def _rules() -> dict[str, Rule]:
    from tfmigrate import rules  # Late: a run without a hit reads no rule.

    return rules.by_code()


def what_is_left(result: Result) -> str:
    """One line that names every rule under which something is left to a person, once; empty where nothing is."""
    counts = Counter(finding.code for _, finding in result.findings if is_left(finding) and not finding.unsafe)
    known = _rules() if counts else {}
    causes = [
        f"{code} {known[code].name if code in known else ''}".rstrip() + (f" ({count} places)" if count > 1 else "")
        for code, count in sorted(counts.items())
    ]
    return f"Left to do by hand: {', '.join(causes)}." if causes else ""


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
    return int(
        any(is_left(finding) or (finding.action == "rewrite" and not finding.applied) for _, finding in result.findings)
    )
