"""Safe rewrites are made, unsafe ones offered: what `--unsafe-fixes` adds, and that nothing else changes for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate
from tfmigrate import rules

IDLE = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

strategy = tf.distribute.MirroredStrategy()
model = Sequential([Input((4,)), Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, batch_size=64)
"""
WRAPPED = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""


@pytest.fixture
def idle(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(IDLE)
    return path


def test_an_unsafe_fix_is_offered_and_not_made(idle: Path, tfmigrate: Tfmigrate) -> None:
    done = tfmigrate("fix")
    assert (done.code, idle.read_text()) == (1, IDLE)
    finding, counts, more = done.text.splitlines()
    assert finding.startswith("train.py:6:1: TFM427 ")
    assert finding.endswith("[can be rewritten with --unsafe-fixes]")
    assert counts == "1 file checked: 1 warning."
    assert more == "1 more place can be rewritten with --unsafe-fixes, which changes what the program does."


def test_it_is_made_when_asked_for(idle: Path, tfmigrate: Tfmigrate) -> None:
    done = tfmigrate.exits(0, "fix", "--unsafe-fixes")
    assert "with strategy.scope():\n    model = " in idle.read_text()
    assert "--unsafe-fixes" not in done.text


def test_the_configuration_asks_too_and_the_command_line_wins(idle: Path, tfmigrate: Tfmigrate) -> None:
    Path("pyproject.toml").write_text("[tool.tfmigrate]\nunsafe-fixes = true\n")
    assert "[can be rewritten]" in tfmigrate("check").text
    assert "[can be rewritten with --unsafe-fixes]" in tfmigrate("check", "--no-unsafe-fixes").text


def test_machines_are_told(idle: Path, tfmigrate: Tfmigrate) -> None:
    document = json.loads(tfmigrate("check", "--format", "json").out)
    (finding,) = document["files"][0]["findings"]
    assert (finding["action"], finding["unsafe"], document["summary"]["unsafe"]) == ("warn", True, 1)
    assert document["files"][0]["status"] == "unchanged"
    statistics = tfmigrate("check", "--statistics").text
    assert statistics.startswith("1  TFM427  idle-strategy  [can be rewritten with --unsafe-fixes]\n")
    assert tfmigrate("fix", "--diff").out == b""


def test_the_safe_fixes_beside_it_are_made(idle: Path, tfmigrate: Tfmigrate) -> None:
    Path("other.py").write_text(WRAPPED)
    done = tfmigrate("fix")
    assert (done.code, idle.read_text()) == (1, IDLE)
    assert "strategy.scope" in Path("other.py").read_text()
    assert "2 files checked: 1 file migrated, 1 warning.\n1 more place can be " in done.text


def test_a_suppressed_one_is_suppressed_and_its_comment_is_in_use(idle: Path, tfmigrate: Tfmigrate) -> None:
    idle.write_text(IDLE.replace("Dense(1)])", "Dense(1)])  # tfmigrate: skip[TFM427]"))
    done = tfmigrate.exits(0, "check")
    assert done.text == "1 file checked: 1 suppressed use.\n"
    assert "TFM009" not in done.text
    assert "--unsafe-fixes" not in done.text


def test_an_ignored_one_is_not_mentioned(idle: Path, tfmigrate: Tfmigrate) -> None:
    assert tfmigrate("check", "--ignore", "TFM427").text == "1 file checked, nothing to migrate.\n"


def test_the_migration_itself_needs_no_permission(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("train.py").write_text(WRAPPED)
    with_unsafe = tfmigrate("fix", "--diff", "--unsafe-fixes").text
    assert tfmigrate("fix", "--diff").text == with_unsafe
    assert tfmigrate("fix").code == 0


def test_a_page_says_why_its_fix_is_unsafe_and_no_other_does() -> None:
    explained = {rule.code for rule in rules.all_rules() if "## Why this fix is unsafe" in rule.text}
    assert explained == rules.unsafe_codes() != frozenset()


def test_explain_says_which_kind_of_fix_there_is(tfmigrate: Tfmigrate) -> None:
    page = tfmigrate("explain", "TFM427").text
    assert page.splitlines()[2].startswith("**TFM427** `idle-strategy`: unsafe fix")
    assert "safe fix, made by `tfmigrate fix`" in tfmigrate("explain", "TFM001").text
