"""What breaks or changes training is a warning or worse; what only reads differently is a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from tfmigrate import migrate, rules
from tfmigrate.report import github, sarif
from tfmigrate.report.severity import Severity, severity
from tfmigrate.result import Action, Finding
from tfmigrate.settings import Settings


def of(code: str, action: Action, *, applied: bool = False) -> Severity:
    return severity(Finding(1, 1, code, "m", action, applied))


@pytest.mark.parametrize("code", sorted(rules.by_code()))
def test_each_rule_by_action(code: str) -> None:
    assert of(code, "refuse") == "error"
    assert of(code, "suppressed") == "note"
    assert of(code, "rewrite", applied=True) == "note"
    if code[3] in "134":  # refused, another training, or a trap under a strategy
        assert {of(code, action) for action in ("rewrite", "warn")} == {"warning"}


@pytest.mark.parametrize("code", ["TFM203", "TFM204", "TFM002"])
def test_a_new_name_for_the_same_is_a_note_and_what_is_warned_of_beside_it_is_not(code: str) -> None:
    assert of(code, "rewrite") == "note"
    assert of(code, "warn") == "warning"


@pytest.mark.parametrize("code", ["TFM001", "TFM201", "TFM202", "TFM305", "TFM411", "TFM416", "TFM501"])
def test_what_breaks_or_trains_differently_is_a_warning(code: str) -> None:
    assert of(code, "rewrite") == of(code, "warn") == "warning"


def test_a_comment_that_suppresses_nothing_is_a_note() -> None:
    assert of("TFM009", "warn") == "note"


def test_the_services_are_told_so(project: Path) -> None:
    Path("a.py").write_text(
        "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.optimizers import Adam\n"
        "from keras.utils import multi_gpu_model\n\nmodel = multi_gpu_model(Sequential([Dense(1)]), gpus=2)\n"
        "model.compile(Adam(lr=0.1), 'mse')\nmodel.fit(x, y)\n"
    )
    result = migrate.check(["."], Settings(jobs=1))
    (run,) = json.loads(sarif.render(result))["runs"]
    levels = {(one["ruleId"], one["level"]) for one in run["results"]}
    assert {("TFM001", "warning"), ("TFM203", "note"), ("TFM202", "warning")} <= levels
    assert all(level in get_args(Severity) for _, level in levels)
    shown = github.render(result)
    assert "::notice file=a.py,line=1," in shown
    assert "title=TFM001::" in shown
    assert not any("TFM203" in line for line in shown.splitlines() if line.startswith(("::warning", "::error")))
