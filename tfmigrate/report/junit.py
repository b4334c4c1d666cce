"""JUnit XML: one test case a file; a finding that needs a person is a failure."""

from __future__ import annotations

from xml.etree import ElementTree

from tfmigrate.junit import document
from tfmigrate.report.text import failure, one_line, path, told
from tfmigrate.result import FileResult, Finding, Result


def render(result: Result) -> str:
    """Rewrites not yet applied and refusals are failures, files in error are errors, the rest is output."""
    return document("tfmigrate", [_case(file) for file in result.files])


def _case(file: FileResult) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname="tfmigrate", name=path(file), file=path(file))
    failed = [finding for finding in file.findings if _needs_a_person(finding)]
    rest = [finding for finding in file.findings if not _needs_a_person(finding)]
    if file.error:
        ElementTree.SubElement(case, failure(file), message=one_line(file.error))
    if failed:
        codes = ", ".join(sorted({finding.code for finding in failed}))
        left = ElementTree.SubElement(case, "failure", type=codes, message=f"{len(failed)} found: {codes}")
        left.text = "\n".join(map(told, failed))
    if rest:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(told, rest))
    return case


def _needs_a_person(finding: Finding) -> bool:
    return finding.action == "refuse" or (finding.action == "rewrite" and not finding.applied)
