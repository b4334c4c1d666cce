"""SARIF against the schema that OASIS published with the standard, kept beside this file as it was."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT, Tfmigrate
from tests.files.test_notebook import written
from tfmigrate.report import sarif
from tfmigrate.result import Result

SCHEMA = Path(__file__).with_name("sarif-schema-2.1.0.json")


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def test_all_kinds_of_findings(schema: Any, result: Result) -> None:
    document = json.loads(sarif.render(result))
    jsonschema.validate(document, schema)
    assert {one["level"] for one in document["runs"][0]["results"]} == {"warning", "error", "note"}


def test_a_real_project(schema: Any, project: Path, tfmigrate: Tfmigrate) -> None:
    for fixture in (ROOT / "fixtures").glob("*/before/*.py"):
        (project / f"{fixture.parent.parent.name} é.py").write_bytes(fixture.read_bytes())
    (project / "a.ipynb").write_text(written("from keras.utils import multi_gpu_model"))
    (project / "b.py").write_text("print 'multi_gpu_model'\n")
    document = json.loads(tfmigrate("check", "--format", "sarif").out)
    jsonschema.validate(document, schema)
    assert len(document["runs"][0]["results"]) > 10
    assert document["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    "break_it",
    [
        lambda document: document.pop("runs"),
        lambda document: document["runs"][0]["results"][0].update(level="bad"),
        lambda document: document["runs"][0]["results"][0]["message"].update(text=1),
        lambda document: document["runs"][0]["results"][0].update(more=1),
    ],
)
def test_the_schema_catches_mistakes(schema: Any, result: Result, break_it: Callable[[Any], object]) -> None:
    document = copy.deepcopy(json.loads(sarif.render(result)))
    break_it(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
