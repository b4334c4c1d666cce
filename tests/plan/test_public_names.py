"""The index of public names against the TensorFlow that is installed."""

from __future__ import annotations

import inspect
import random
import sys

import pytest

from tests.conftest import ROOT
from tfmigrate.plan.names.public_names import public_names

tensorflow = pytest.importorskip(
    "tensorflow", reason="the index is held against TensorFlow, which the verify extra brings"
)

sys.path.insert(0, str(ROOT / "tools"))

from check_interfaces import MISSING, lookup  # noqa: E402

INDEX = public_names()
VERSION = INDEX.versions("tensorflow")[-1]
MINOR = ".".join(tensorflow.__version__.split(".")[:2])

if not VERSION.startswith(f"{MINOR}."):
    pytest.skip(f"the index has TensorFlow {VERSION}, installed is {MINOR}", allow_module_level=True)

NAMES = [
    name for section in ("tensorflow", "tensorflow.keras") for name in INDEX.section(section) if "dtensor" not in name
]
SAMPLE = random.Random(0).sample(NAMES, 600)
"""Names of every version, those that are gone among them."""


def test_the_index_says_of_names_whether_they_are_there() -> None:
    asked = [name for name in SAMPLE if not inspect.isclass(lookup(name.rpartition(".")[0]))]  # Instances have more.
    wrong = [name for name in asked if (INDEX.entry(name, VERSION) is None) is not (lookup(name) is MISSING)]
    assert wrong == []
    assert 100 < sum(INDEX.entry(name, VERSION) is None for name in asked) < 500


def test_the_index_has_the_keywords_of_functions() -> None:
    wrong, compared = [], 0
    for name in SAMPLE:
        entry, found = INDEX.entry(name, VERSION), lookup(name)
        if entry is None or entry.kind != "function" or entry.takes_any or not inspect.isfunction(found):
            continue
        compared += 1
        parameters = inspect.signature(found).parameters.values()
        named = (p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        if tuple(word for word in named if word != "self") != entry.keywords:
            wrong.append(name)
    assert wrong == []
    assert compared > 100


def test_private_names_of_keras_that_the_index_lacks_are_not_there() -> None:
    names = [name for name in INDEX.section("tensorflow.python.keras") if name.startswith("tensorflow.python.keras.")]
    missing = [name for name in random.Random(0).sample(names, 300) if INDEX.missing(name, VERSION) is not None]
    assert [name for name in missing if lookup(name) is not MISSING] == []
    assert 100 < len(missing) < 250
