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
