"""Changed defaults: what rules/ says of them against seven versions of Keras, side by side.

`defaults.md` was printed by `tools/compare_defaults.py` on Keras 2.2.4 (TensorFlow 1.13.1), Keras 2.3.1 (TensorFlow
1.15.0), TensorFlow 2.3.4, 2.9.3 and 2.21.0. `-`: the version has no such argument, or gives it no default.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forks import Python
from tfmigrate import rules
from tfmigrate.old_keras import FIRST_WITH_SIGMOID
from tfmigrate.plan.keras.recurrent import _ALWAYS_HARD, _GATED
from tfmigrate.rules import Default

LINES = [
    [cell.strip() for cell in line.strip().strip("|").split(" | ")]
    for line in Path(__file__).with_name("defaults.md").read_text(encoding="utf-8").splitlines()
]
LABELS = LINES[0][2:]
TABLE = {(f"keras.{name}", argument): dict(zip(LABELS, values)) for name, argument, *values in LINES[2:]}
NEWEST = LABELS[-1]
ABSENT = "-"
OLD_NAMES = {"learning_rate": "lr"}
ROWS = [
    pytest.param(row, id=f"{rule.code} {row.of} {row.argument} {row.flavour}")
    for rule in rules.all_rules()
    for row in rule.defaults
]


def version(label: str) -> tuple[int, ...]:
    return tuple(int(part) for part in label.split()[1].split("."))


def holds(row: Default, label: str) -> bool:
    """Whether a rule says that its old value was the default of a version."""
    until = tuple(map(int, row.until.split("."))) if row.until else (3,) if row.flavour == "keras" else (2, 16)
    return label.split()[0] == row.flavour and version(label) < until


@pytest.mark.parametrize("row", ROWS)
def test_a_rule_says_what_the_versions_have(row: Default) -> None:
    if row.argument == "epsilon":
        pytest.skip("TFM304 writes the square of the old value, because the arithmetic changed and not the value")
    of = row.of.replace("optimizers." + row.of.rpartition(".")[2], "optimizers." + _class_name(row.of))
    found = TABLE.get((of, row.argument), {})
    old = TABLE.get((of, OLD_NAMES.get(row.argument, row.argument)), {})
    for label in LABELS:
        if holds(row, label) and row.argument != "initial_accumulator_value":
            value = found.get(label, ABSENT) if found.get(label, ABSENT) != ABSENT else old.get(label)
            assert value == repr(row.old), label
    assert found[NEWEST] == repr(row.new)


def _class_name(of: str) -> str:
    known = {name.rpartition(".")[2].lower(): name.rpartition(".")[2] for name, _ in TABLE if ".optimizers." in name}
    last = of.rpartition(".")[2]
    return known.get(last, last) if ".optimizers." in of else last


SAME = {
    "name": "what it is called in logs",
    "data_format": "None is 'channels_last' unless keras.json says otherwise",
    "log_dir": "the same folder",
    "profile_batch": "draws, trains nothing",
    "sparse": "None is False",
    "ragged": "None is False",
    "width": "of a progress bar",
    "dpi": "of a picture",
    "show_layer_names": "in a picture",
    "distribution": "'normal' drew from the truncated one",
    "alpha_initializer": "the same by another name",
    "padding": "the same in full",
    "strides": "the same for each axis",
    "dilation_rate": "the same for each axis",
    "epsilon": "None was 1e-7; TFM304 where it is added elsewhere",
}
"""Defaults that are written otherwise and mean the same, by argument."""


def test_every_default_that_changed_is_somebodys() -> None:
    ruled = {(row.of, row.argument) for row in (param.values[0] for param in ROWS)}  # type: ignore[attr-defined]
    left = []
    for (of, argument), values in TABLE.items():
        old = {_number(value) for label, value in values.items() if label != NEWEST and value != ABSENT}
        if values[NEWEST] == ABSENT or old <= {_number(values[NEWEST])}:
            continue
        recurrent = of in _GATED and argument in ("recurrent_activation", "reset_after")
        if (of, argument) not in ruled and argument not in SAME and not recurrent:
            left.append((of, argument, values))
    assert left == []


def _number(value: str) -> str | float:
    """Numbers as such, so that 0 and 0.0 are one."""
    try:
        return float(value)
    except ValueError:
        return value


@pytest.mark.parametrize("layer", sorted(_GATED))
def test_gates_were_hard_in_the_versions_that_the_rule_names(layer: str) -> None:
    for label, value in TABLE.get((layer, "recurrent_activation"), {}).items():
        flavour = label.split()[0]
        hard = layer in _ALWAYS_HARD or version(label) < FIRST_WITH_SIGMOID[flavour]
        assert value == repr("hard_sigmoid" if hard and label != NEWEST else "sigmoid"), label


@pytest.mark.runs_tensorflow
@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs the verify extra")
def test_the_newest_column_is_that_of_the_installed_tensorflow(python: Python) -> None:
    tool = ROOT / "tools" / "compare_defaults.py"
    done = python(3, tool, "--collect")
    line = next(ln for ln in done.stdout.splitlines() if ln.startswith("DEFAULTS "))
    (installed,) = (t for label, t in json.loads(line[9:]).items() if label.startswith("tf.keras "))
    ruled = {(row.of, row.argument) for row in (param.values[0] for param in ROWS)}  # type: ignore[attr-defined]
    for of, argument in ruled & TABLE.keys():
        assert installed[of.removeprefix("keras.")].get(argument, ABSENT) == TABLE[of, argument][NEWEST]
