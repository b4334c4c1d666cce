"""The tables of rules/ against the TensorFlow that is installed: what they say is there is there, the rest is not."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.forks import Python
from tfmigrate import rules
from tfmigrate.rules import Default, Rename
from tfmigrate.understand import names

sys.path.insert(0, str(ROOT / "tools"))

from check_interfaces import MISSING, accepted, lookup

pytestmark = [
    pytest.mark.runs_tensorflow,
    pytest.mark.skipif(
        not importlib.util.find_spec("tensorflow"),
        reason="the tables are held against TensorFlow, which the verify extra brings",
    ),
]
RULES = rules.all_rules()


def renames(*kinds: str) -> list[Any]:
    return [
        pytest.param(row, id=f"{rule.code} {row.of or ''} {row.old}")
        for rule in RULES
        for row in rule.renames
        if row.kind in kinds
    ]


def today(name: str) -> object:
    """The object that a table's name means in the installed TensorFlow; Keras stands under tf.keras."""
    return lookup(f"tensorflow.{name}" if name.startswith("keras") else name)


@pytest.mark.parametrize("row", renames("name"))
def test_a_moved_name_is_where_the_table_says_and_no_longer_where_it_was(row: Rename) -> None:
    assert lookup(row.new) is not MISSING
    # Standalone names come back under tf.keras only where they did not move.
    # Keras 3 has its version under tf.keras, tf_keras in its place has none.
    assert today(row.old) is MISSING or row.old.startswith("keras.") or row.old == "tensorflow.keras.__version__"


@pytest.mark.parametrize("row", renames("module"))
def test_a_moved_module_is_where_the_table_says(row: Rename) -> None:
    assert lookup(row.new) is not MISSING


@pytest.mark.parametrize("row", renames("gone"))
def test_a_name_said_to_be_gone_is_gone(row: Rename) -> None:
    assert today(row.old) is MISSING


def accepts(of: str, argument: str) -> bool:
    """Whether a call of today's class, function or method takes a keyword."""
    found = today(of)
    if inspect.isclass(found):
        return argument in accepted(found)
    assert callable(found), of
    return argument in inspect.signature(found).parameters


@pytest.mark.parametrize("row", renames("argument", "gone argument"))
def test_an_argument_is_gone_and_its_new_name_is_taken(row: Rename) -> None:
    assert row.of is not None
    of = "keras.optimizers.SGD" if row.of == "keras.optimizers" else row.of.removesuffix("_generator")
    if importlib.util.find_spec(of.partition(".")[0]) is None:
        pytest.skip(f"{of} is of a package that is not installed here")
    if today(of) is MISSING:
        pytest.skip(f"{of} itself is gone, which a rule of its own says")
    if row.new and row.kind == "argument":
        assert accepts(of, row.new)
    assert not accepts(of, row.old)


DEFAULTS = [
    pytest.param(row, id=f"{rule.code} {row.of} {row.argument} {row.flavour}")
    for rule in RULES
    for row in rule.defaults
]


@pytest.mark.parametrize("row", DEFAULTS)
def test_a_new_default_is_the_installed_one(row: Default) -> None:
    parameters = inspect.signature(today(row.of)).parameters  # type: ignore[arg-type]
    assert parameters[row.argument].default == row.new


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "ConvLSTM2D"])
def test_gates_are_sigmoid_today(layer: str) -> None:
    parameters = inspect.signature(today(f"keras.layers.{layer}")).parameters  # type: ignore[arg-type]
    assert parameters["recurrent_activation"].default == "sigmoid"
    assert layer != "GRU" or parameters["reset_after"].default is True


KERAS_2 = """
import json, sys, tensorflow as tf
def has(name):
    found = tf
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None
print("LACKS", json.dumps([name for name in json.loads(sys.argv[1]) if not has(name)]))
"""


def test_new_names_exist_in_keras_2_too(python: Python) -> None:
    wanted = sorted({row.new for rule in RULES for row in rule.renames if row.kind in ("name", "module")})
    done = python(2, KERAS_2, json.dumps(wanted))
    line = next((line for line in done.stdout.splitlines() if line.startswith("LACKS ")), done.stderr)
    assert line == "LACKS []"


def test_canonical_names_are_what_the_tables_hold() -> None:
    """A row under a name that `canonical` never gives would never apply."""
    of = {row.of for rule in RULES for row in (*rule.renames, *rule.defaults) if row.of is not None}
    assert {names.canonical(name) for name in of} == of
