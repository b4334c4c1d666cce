"""The forms for machines: json, sarif, github, junit."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from tfmigrate.report import github, junit, sarif
from tfmigrate.report import json as json_report
from tfmigrate.result import FileResult, Finding, Result
from tfmigrate.settings import Settings

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
    document = json.loads(json_report.render(result, Settings()))
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
    }


@pytest.mark.usefixtures("fake_rewrite")
def test_sarif(result: Result) -> None:
    document = json.loads(sarif.render(result, Settings()))
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
    assert place["region"] == {"startLine": 2, "startColumn": 5}
    assert [one["level"] for one in run["results"]] == ["warning", "note", "error", "warning"]
    assert suppressed["suppressions"] == [{"kind": "inSource"}]
    assert not any("suppressions" in one for one in (first, refused, warned))
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("line 3")


def test_sarif_without_findings() -> None:
    (run,) = json.loads(sarif.render(Result((), 1), Settings()))["runs"]
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_location_is_relative_to_the_current_folder(project: Path) -> None:
    path = str(project / "src" / "a.py")
    result = Result((FileResult(path, "refused", (Finding(1, 1, "TFM101", "m", "refuse"),)),), 1)
    place = json.loads(sarif.render(result, Settings()))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a.py"


def test_github_escapes_what_would_end_a_command(result: Result) -> None:
    lines = github.render(result, Settings()).splitlines()
    assert lines[0] == (
        "::warning file=a b.py,line=2,col=5,title=TFM001::the wrap goes: 100%25 sure,%0Asee above [can be rewritten]"
    )
    assert [line.split(" ")[0] for line in lines[:5]] == ["::warning", "::notice", "::error", "::error", "::warning"]
    odd = Result((FileResult("a,b:c.py", "refused", (Finding(1, 1, "TFM101", "m", "refuse"),)),), 1)
    assert github.render(odd, Settings()).startswith("::error file=a%2Cb%3Ac.py,line=1,")


def test_junit(result: Result) -> None:
    suite = ElementTree.fromstring(junit.render(result, Settings()))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "1")
    migrated, broken, far = suite
    assert (migrated.find("failure").text or "").startswith("2:5: TFM001")  # type: ignore[union-attr]
    assert "suppressed" in (migrated.findtext("system-out") or "")
    assert broken.find("error").get("message", "").startswith("line 3")  # type: ignore[union-attr]
    assert far.find("failure").get("type") == "TFM101"  # type: ignore[union-attr]


def test_junit_after_fix_passes() -> None:
    finding = Finding(2, 5, "TFM001", "m", "rewrite", applied=True)
    suite = ElementTree.fromstring(junit.render(Result((FileResult("a.py", "migrated", (finding,)),), 1), Settings()))[
        0
    ]
    assert suite.get("failures") == "0"
    assert "rewritten" in (suite[0].findtext("system-out") or "")
