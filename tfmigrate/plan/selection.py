"""What the user wants of one file: the codes that are selected, and the places that comments leave alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tfmigrate.result import Finding
from tfmigrate.settings import Settings
from tfmigrate.understand.suppressions import Suppression

LEFT_ALONE = "left alone by a `tfmigrate: skip` comment"


@dataclass(frozen=True)
class Selection:
    """Applied once, to all that was noted about a file. Only what depends on it is asked earlier: a plan that would be
    another one where a place is left alone."""

    settings: Settings
    suppressions: tuple[Suppression, ...]

    def allows(self, code: str, line: int) -> bool:
        """Whether a code is selected, and not suppressed on a line."""
        return self.settings.wants(code) and not self.suppresses(code, line)

    def suppresses(self, code: str, line: int) -> bool:
        """Whether a comment leaves a line alone, as far as a code goes."""
        return any(suppression.covers(line, code) for suppression in self.suppressions)

    def applied(self, noted: Iterable[Finding]) -> Iterator[Finding]:
        """What is reported. A refusal is, whatever is selected: the file stays as it is. A rewrite has been made and
        is not suppressed any more; what is noted as suppressed may have been left out for a comment."""
        for finding in noted:
            suppressed = self.suppresses(finding.code, finding.line)
            if not self.settings.wants(finding.code) and finding.action != "refuse":
                continue
            if finding.action == "suppressed" and not suppressed:
                continue
            yield replace(finding, action="suppressed") if suppressed and finding.action != "rewrite" else finding

    def unused(self, reported: Iterable[Finding]) -> Iterator[Suppression]:
        """The comments that leave nothing alone."""
        used = {finding.line for finding in reported if finding.action == "suppressed"}
        yield from (suppression for suppression in self.suppressions if suppression.line not in used)
