"""The frame of a JUnit XML document: one suite of test cases, with its counts."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from tfmigrate.printable import visible


def document(name: str, cases: Sequence[ElementTree.Element], **attributes: str) -> str:
    """The document as text. A case that holds a `failure` or an `error` counts as one."""
    counts = {kind: sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error")}
    facts = {"name": name, "tests": len(cases), "failures": counts["failure"], "errors": counts["error"]}
    suite = ElementTree.Element("testsuite", {key: str(value) for key, value in facts.items()} | attributes)
    suite.extend(cases)
    root = ElementTree.Element("testsuites", suite.attrib)
    root.append(suite)
    ElementTree.indent(root)
    for element in root.iter():  # XML has no place for control characters, not even escaped
        element.attrib.update({key: visible(value, "\n\t") for key, value in element.attrib.items()})
        element.text = visible(element.text, "\n\t") if element.text else element.text
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
