"""tools/mutants.py makes one mistake at a time, the same for the same draw."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("mutants", None)
    return importlib.import_module("mutants")


def test_each_is_one_mistake_in_a_module_that_parses(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("# \u00e9\ndef f(a, b=1):\n    if a and not b:\n        return any(a)\n    return a < b\n")
    found = tool.mutants(path)
    whole = ast.dump(ast.parse(path.read_text()))
    assert all(ast.dump(ast.parse(mutant.text)) != whole for mutant in found)
    changed = {" ".join(mutant.new.split()) for mutant in found}
    assert changed == {"2", "((a) or (not b))", "((a))", "((not b))", "(b)", "all(a)", "(a <= b)"}


def test_a_decorator_is_left_alone(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("@dataclass(frozen=True)\nclass A:\n    a: bool = True\n")
    assert [mutant.line for mutant in tool.mutants(path)] == [3]


def test_a_helper_is_seen_in_the_examples_that_it_is_written_into(tool: ModuleType) -> None:
    assert "TFM402" in tool.related(tool.PLAN / "helpers" / "as_dataset.py")[1]
    assert "TFM409" in tool.related(tool.PLAN / "helpers" / "epochs.py")[1]


def test_a_draw_can_be_repeated(tool: ModuleType) -> None:
    paths = sorted((ROOT / "tfmigrate" / "plan" / "names").glob("*.py"))
    assert tool.drawn(1, 2, paths) == tool.drawn(1, 2, paths)
    assert len({str(tool.drawn(1, number, paths)) for number in range(1, 6)}) > 1


def test_the_tests_of_a_rule_are_those_that_name_it(tool: ModuleType) -> None:
    tests, codes = tool.related(tool.PLAN / "keras" / "numpy_integers.py")
    assert "tests/plan/test_numpy_integers.py" in tests
    assert codes == ["TFM230"]


def test_what_reports_nothing_itself_is_seen_where_it_is_asked(tool: ModuleType) -> None:
    assert tool.related(tool.PLAN / "data" / "lengths.py")[1] == ["TFM409"]
    assert "TFM120" in tool.related(tool.PLAN / "strategy" / "eligible.py")[1]
    assert tool.related(tool.PLAN / "change" / "calls.py")[1] == ["TFM0", "TFM1"]
