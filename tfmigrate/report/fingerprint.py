"""What a finding is known by from one run to the next, though lines above it come and go: for services that compare."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

from tfmigrate.result import FileResult, Finding, Result


def fingerprinted(result: Result) -> Iterator[tuple[FileResult, Finding, str]]:
    """Each finding with its fingerprint, which no other of the run has: of its path, its code, the text of its line,
    and of how many of these are alike before it."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for file, finding in result.findings:
        known = (file.path.replace("\\", "/"), finding.code, file.line_of(finding).strip())
        yield file, finding, fingerprint(*known, str(seen[known]))
        seen[known] += 1


def fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
