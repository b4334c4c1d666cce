"""How grave a finding is, for the services that sort by it: code scanning and the annotations of a pull request."""

from __future__ import annotations

from typing import Literal

from tfmigrate import rules
from tfmigrate.result import Finding

Severity = Literal["error", "warning", "note"]
"""In the words of SARIF 2.1.0, section 3.27.10."""


def severity(finding: Finding) -> Severity:
    """An error is what a person has to migrate. A warning is whatever breaks, or changes training, on the target; a
    note is what only reads differently (the rule's page says `level = "note"`), what is suppressed, and what is done.
    """
    if finding.action == "suppressed" or finding.applied:
        return "note"
    if finding.action == "refuse":
        return "error"
    rule = rules.by_code().get(finding.code)
    # What such a rule warns of is another matter than what it rewrites, unless it does nothing but warn.
    harmless = rule is not None and rule.level == "note" and (finding.action == "rewrite" or rule.safety == "warn")
    return "note" if harmless else "warning"
