"""The index of public names against the TensorFlow that is installed."""

from __future__ import annotations

import importlib
import inspect
import random
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tfmigrate.plan.names.public_names import public_names

pytestmark = pytest.mark.runs_tensorflow

INDEX = public_names()
VERSION = INDEX.versions("tensorflow")[-1]
NAMES = [
    name for section in ("tensorflow", "tensorflow.keras") for name in INDEX.section(section) if "dtensor" not in name
]
SAMPLE = random.Random(0).sample(NAMES, 600)
"""Names of every version, those that are gone among them."""


@pytest.fixture(scope="module")
def installed() -> ModuleType:
    """tools/check_interfaces, which looks names up in the TensorFlow of this interpreter."""
    reason = "the index is held against TensorFlow, which the verify extra brings"
    minor = ".".join(pytest.importorskip("tensorflow", reason=reason).__version__.split(".")[:2])
    if not VERSION.startswith(f"{minor}."):
        pytest.skip(f"the index has TensorFlow {VERSION}, installed is {minor}")
    sys.path.insert(0, str(ROOT / "tools"))
    return importlib.import_module("check_interfaces")


def test_the_index_says_of_names_whether_they_are_there(installed: ModuleType) -> None:
    asked = [
        name for name in SAMPLE if not inspect.isclass(installed.lookup(name.rpartition(".")[0]))
    ]  # Instances have more.
    wrong = [
        name
        for name in asked
        if (INDEX.entry(name, VERSION) is None) is not (installed.lookup(name) is installed.MISSING)
    ]
    assert wrong == []
    assert 100 < sum(INDEX.entry(name, VERSION) is None for name in asked) < 500


def test_the_index_has_the_keywords_of_functions(installed: ModuleType) -> None:
    wrong, compared = [], 0
    for name in SAMPLE:
        entry, found = INDEX.entry(name, VERSION), installed.lookup(name)
        if entry is None or entry.kind != "function" or entry.takes_any or not inspect.isfunction(found):
            continue
        compared += 1
        parameters = inspect.signature(found).parameters.values()
        named = (p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        if tuple(word for word in named if word != "self") != entry.keywords:
            wrong.append(name)
    assert wrong == []
    assert compared > 100


def test_private_names_of_keras_that_the_index_lacks_are_not_there(installed: ModuleType) -> None:
    names = [name for name in INDEX.section("tensorflow.python.keras") if name.startswith("tensorflow.python.keras.")]
    missing = [name for name in random.Random(0).sample(names, 300) if INDEX.missing(name, VERSION) is not None]
    assert [name for name in missing if installed.lookup(name) is not installed.MISSING] == []
    assert 100 < len(missing) < 250
