"""The forms for machines: json, sarif, github, junit."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

from tfmigrate import rules
from tfmigrate.report import github, gitlab, junit, rdjson, sarif
from tfmigrate.report import json as json_report
from tfmigrate.report.fingerprint import fingerprinted
from tfmigrate.result import FileResult, Finding, Result

FINDING = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code", "line", "column", "message", "action", "applied", "left"],
    "properties": {
        "code": {"type": "string", "pattern": "^TFM[0-9]{3}$"},
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
        "message": {"type": "string"},
        "action": {"enum": ["rewrite", "refuse", "warn", "suppressed"]},
        "applied": {"type": "boolean"},
        "left": {"type": "boolean"},
        "unsafe": {"const": True},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["version", "files", "summary"],
    "properties": {
        "version": {"const": 1},
        "summary": {"type": "object", "additionalProperties": {"type": "integer"}},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "status", "findings"],
                "properties": {
                    "path": {"type": "string"},
                    "status": {"enum": ["migrated", "refused", "unchanged", "error", "skipped"]},
                    "findings": {"type": "array", "items": FINDING},
                    "error": {"type": "string"},
                },
            },
        },
    },
}


def test_json_keeps_the_schema_of_the_design(result: Result) -> None:
    document = json.loads(json_report.render(result))
    jsonschema.validate(document, SCHEMA)
    assert [file["status"] for file in document["files"]] == ["migrated", "error", "refused"]
    assert document["files"][0]["findings"][0] == {
        "code": "TFM001",
        "line": 2,
        "column": 5,
        "message": "the wrap goes: 100% sure,\nsee above",
        "action": "rewrite",
        "applied": False,
        "left": False,
    }
    assert document["files"][1]["error"].startswith("line 3")
    assert document["summary"] == {
        "scanned": 12,
        "migrated": 1,
        "refused": 1,
        "errors": 1,
        "rewrites": 1,
        "refusals": 1,
        "warnings": 1,
        "suppressed": 1,
        "left": 2,
        "skipped": 0,
        "unsafe": 0,
    }


@pytest.mark.usefixtures("fake_rewrite")
def test_sarif(result: Result) -> None:
    document = json.loads(sarif.render(result))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["TFM001", "TFM101", "TFM401"]
    assert rules[0]["help"]["markdown"].startswith("# Wrap")
    assert rules[0]["fullDescription"]["text"] == "It wraps."
    first, suppressed, refused, warned = run["results"]
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "TFM001"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.py"
    assert place["region"] == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 12}
    marks = [one["partialFingerprints"]["tfmigrate/v1"] for one in run["results"]]
    assert len(set(marks)) == len(marks)
    assert ["fixes" in one for one in run["results"]] == [True, False, False, False]
    assert [one["level"] for one in run["results"]] == ["warning", "note", "error", "warning"]
    assert suppressed["suppressions"] == [{"kind": "inSource"}]
    assert not any("suppressions" in one for one in (first, refused, warned))
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("line 3")


def test_sarif_without_findings() -> None:
    (run,) = json.loads(sarif.render(Result((), 1)))["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_location_is_relative_to_the_current_folder(project: Path) -> None:
    path = str(project / "src" / "a.py")
    result = Result((FileResult(path, "refused", (Finding(1, 1, "TFM101", "m", "refuse"),)),), 1)
    place = json.loads(sarif.render(result))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a.py"


def applied(fix: dict[str, Any], texts: dict[str, str]) -> dict[str, str]:
    """The texts by path, changed as an editor changes them that reads SARIF: from the last replacement to the first."""
    done = dict(texts)
    for change in fix["artifactChanges"]:
        path = unquote(change["artifactLocation"]["uri"])
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", done[path])
        starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
        text = done[path]
        for one in reversed(change["replacements"]):
            region = one["deletedRegion"]
            start = starts[region["startLine"] - 1] + region["startColumn"] - 1
            end = starts[region["endLine"] - 1] + region["endColumn"] - 1
            text = text[:start] + one["insertedContent"]["text"] + text[end:]
        done[path] = text
    return done


TEXTS = [
    ("a\nb\nc\n", "a\nx\ny\nc\n"),
    ("a\nb", "a\nb\nc"),
    ("a\nb", "a"),
    ("a\nb\n", "a\n"),
    ("a\n", "a\nb\n"),
    ("", "a\n"),
    ("a\r\nb\r\n", "b\r\nc\r\n"),
    ("a\fb\nc\n", "a\fb\nd\n"),
    ("x\n\n\ny", "y\n\nx"),
]


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_the_fix_of_sarif_makes_the_new_text(project: Path, before: str, after: str) -> None:
    finding = Finding(1, 1, "TFM001", "m", "rewrite")
    result = Result((FileResult("a.py", "migrated", (finding,), before=before, after=after),), 1)
    (found,) = json.loads(sarif.render(result))["runs"][0]["results"]
    assert applied(found["fixes"][0], {"a.py": before}) == {"a.py": after}


def test_the_fix_of_sarif_is_that_of_the_whole_program(project: Path) -> None:
    finding = Finding(1, 1, "TFM001", "m", "rewrite")
    one, two, other = (
        FileResult(f"{name} é.py", "migrated", (finding, finding), before=f"{name}\n", after="new\n") for name in "abc"
    )
    result = Result((one, two, other), 3, programs=((one.path, two.path), (other.path,)))
    results = json.loads(sarif.render(result))["runs"][0]["results"]
    fixes = [found.get("fixes", [None])[0] for found in results]
    assert [fix is not None for fix in fixes] == [True, False] * 3
    texts = {file.path: file.before for file in result.files}
    assert applied(fixes[0], texts) == applied(fixes[2], texts) == texts | {one.path: "new\n", two.path: "new\n"}
    assert applied(fixes[4], texts) == texts | {other.path: "new\n"}


def test_what_is_applied_has_no_fix() -> None:
    finding = Finding(1, 1, "TFM001", "m", "rewrite", applied=True)
    result = Result((FileResult("a.py", "migrated", (finding,), before="a\n", after="b\n"),), 1)
    assert "fixes" not in json.loads(sarif.render(result))["runs"][0]["results"][0]


def test_a_rule_has_the_address_that_the_package_names(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    for site in ("https://example.org/docs/", ""):
        monkeypatch.setattr(rules, "_documentation", lambda site=site: site)
        first = json.loads(sarif.render(result))["runs"][0]["tool"]["driver"]["rules"][0]
        assert first.get("helpUri", "") == (f"{site}rules/TFM001/" if site else "")
        code = json.loads(rdjson.render(result))["diagnostics"][0]["code"]
        assert code.get("url", "") == (f"{site}rules/TFM001/" if site else "")


def moved(result: Result) -> Result:
    """The same findings, ten lines further down."""
    return replace(
        result,
        files=tuple(
            replace(
                file,
                before="\n" * 10 + file.before,
                findings=tuple(replace(one, line=one.line + 10) for one in file.findings),
            )
            for file in result.files
        ),
    )


def test_fingerprints_stay_when_lines_move(result: Result) -> None:
    def marks(result: Result) -> list[str]:
        return [mark for _, _, mark in fingerprinted(result)]

    assert marks(result) == marks(moved(result))
    assert len(set(marks(result))) == len(marks(result))


CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""As GitLab's documentation has it ("Code Quality report format")."""


def test_gitlab(result: Result) -> None:
    rows = json.loads(gitlab.render(result))
    jsonschema.validate(rows, CODE_QUALITY)
    assert [(row["check_name"], row["severity"]) for row in rows] == [
        ("TFM001", "major"),
        ("TFM101", "critical"),
        ("TFM401", "major"),
        ("error", "blocker"),
    ]
    assert rows[0]["description"] == "the wrap goes: 100% sure, see above [can be rewritten]"
    assert rows[0]["location"] == {"path": "a b.py", "lines": {"begin": 2}}
    assert len({row["fingerprint"] for row in rows}) == len(rows)


def test_gitlab_of_nothing_is_an_empty_list() -> None:
    assert json.loads(gitlab.render(Result((), 1))) == []


def test_rdjson(result: Result) -> None:
    document = json.loads(rdjson.render(result))
    assert document["source"]["name"] == "tfmigrate"
    first, refused, warned, broken = document["diagnostics"]
    assert first["location"] == {"path": "a b.py", "range": {"start": {"line": 2, "column": 5}}}
    assert first["code"]["value"] == "TFM001"
    assert [one["severity"] for one in (first, refused, warned, broken)] == ["WARNING", "ERROR", "WARNING", "ERROR"]
    assert broken["location"] == {"path": "broken.py"}
    assert not any("suggestions" in one for one in document["diagnostics"])
    wide = FileResult("a.py", "refused", (Finding(1, 6, "TFM101", "m", "refuse"),), before="é = \N{PARTY POPPER}(m)\n")
    (one,) = json.loads(rdjson.render(Result((wide,), 1)))["diagnostics"]
    assert one["location"]["range"]["start"]["column"] == 10, "of bytes"


def test_github_escapes_what_would_end_a_command(result: Result) -> None:
    lines = github.render(result).splitlines()
    assert lines[0] == (
        "::warning file=a b.py,line=2,col=5,title=TFM001::the wrap goes: 100%25 sure,%0Asee above [can be rewritten]"
    )
    assert [line.split(" ")[0] for line in lines[:4]] == ["::warning", "::error", "::error", "::warning"]
    odd = Result((FileResult("a,b:c.py", "refused", (Finding(1, 1, "TFM101", "m", "refuse"),)),), 1)
    assert github.render(odd).startswith("::error file=a%2Cb%3Ac.py,line=1,")


def test_junit(result: Result) -> None:
    suite = ElementTree.fromstring(junit.render(result))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")
    migrated, broken, far = suite
    assert (migrated.find("failure").text or "").startswith("2:5: TFM001")  # type: ignore[union-attr]
    assert "suppressed" in (migrated.findtext("system-out") or "")
    assert broken.find("error").get("message", "").startswith("line 3")  # type: ignore[union-attr]
    assert far.find("failure").get("type") == "TFM101"  # type: ignore[union-attr]


def test_junit_after_fix_passes() -> None:
    finding = Finding(2, 5, "TFM001", "m", "rewrite", applied=True)
    suite = ElementTree.fromstring(junit.render(Result((FileResult("a.py", "migrated", (finding,)),), 1)))[0]
    assert suite.get("failures") == "0"
    assert "rewritten" in (suite[0].findtext("system-out") or "")
