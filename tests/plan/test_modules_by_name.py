"""Modules imported by a name in a string (TFM232)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import_module('keras.layers')", "import_module('tensorflow.keras.layers')"),
        ('import_module("keras")', 'import_module("tensorflow.keras")'),
        ("import_module('keras.applications.' + name)", "import_module('tensorflow.keras.applications.' + name)"),
        ("import_module('keras.%s' % name)", "import_module('tensorflow.keras.%s' % name)"),
        ("import_module('keras.{}'.format(name))", "import_module('tensorflow.keras.{}'.format(name))"),
        ("import_module(f'keras.applications.{name}')", "import_module(f'tensorflow.keras.applications.{name}')"),
        ("import_module('keras.layers.core')", "import_module('tensorflow.keras.layers')"),
    ],
)
def test_the_name_moves(before: str, after: str) -> None:
    head = "import importlib\nimportlib."
    assert migrated(head + before, "TFM232") == (head + after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        "import importlib\nimportlib.import_module('json')",
        "import importlib\nimportlib.import_module('.keras', 'a')",
        "import importlib\nimportlib.import_module(name)",
        "import importlib\nimportlib.import_module(name + 'keras.layers')",
        "import importlib\nimportlib.import_module('kerastuner')",
        "import importlib\nimportlib.import_module(f'{package}.keras.layers')",
        "import importlib\nimportlib.import_module(f'json.{name}')",
        "def import_module(name):\n    return name\n\n\nimport_module('keras.layers')",
    ],
)
def test_other_names_stay(lines: str) -> None:
    assert migrated(lines, "TFM232") == (lines, [])


TOOLS = """
from importlib import import_module


def found_in(module, name):
    {first}
    return getattr({load}, name)


"""


@pytest.mark.parametrize(
    ("first", "load", "moved"),
    [
        ("pass", "import_module(module)", True),
        ("pass", "__import__(module, fromlist=[name])", True),
        ("module = 'own.' + module", "import_module(module)", False),
        ("pass", "open(module)", False),
    ],
)
def test_a_name_that_a_function_imports_moves_where_it_is_given(first: str, load: str, moved: bool) -> None:
    head = TOOLS.format(first=first, load=load).strip() + "\n\n\n"
    old, new = "'keras.layers'", "'tensorflow.keras.layers'" if moved else "'keras.layers'"
    after, told = migrated(f"{head}layer = found_in({old}, 'Dense')\nown = found_in('json', 'loads')", "TFM232")
    assert after == f"{head}layer = found_in({new}, 'Dense')\nown = found_in('json', 'loads')"
    assert told == (["rewrite"] if moved else [])
