"""Imports behind a test of the version: the one that is reached today stays, where the test has one result."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, with_model

TEST = """import keras
import tensorflow as tf
from distutils.version import LooseVersion

if {test}:
    {first}
else:
    {second}
"""


def after(test: str, first: str = "from numpy import array", second: str = "from numpy import asarray as array") -> str:
    file = check_migrated(with_model(TEST.format(test=test, first=first, second=second) + "x = array([1])\n"))
    return file.after


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("LooseVersion(keras.__version__) < LooseVersion('2.2.0')", "from numpy import asarray as array"),
        ("keras.__version__ >= '2.0'", "from numpy import array"),
        ("int(keras.__version__.split('.')[0]) == 1", "from numpy import asarray as array"),
    ],
)
def test_the_import_that_is_reached_stays(test: str, line: str) -> None:
    code = after(test)
    assert line in code
    assert "else:" not in code
    assert "keras.__version__" not in code


@pytest.mark.parametrize(
    ("test", "second"),
    [
        ("LooseVersion(keras.__version__) >= '2.10'", "from numpy import asarray as array"),
        ("tf.__version__ >= '2.0'", "from numpy import asarray as array"),
        ("keras.__version__ < '2.2' or x", "from numpy import asarray as array"),
        ("keras.__version__ < '2.2'", "from numpy import asarray as array\n    print('new')"),
    ],
)
def test_any_other_test_stays(test: str, second: str) -> None:
    assert "else:" in after(test, second=second)


def test_what_only_the_test_needed_is_not_reported() -> None:
    test = "LooseVersion(keras.__version__) < LooseVersion('2.2.0')"
    code = TEST.format(test=test, first="from numpy import array", second="from numpy import asarray as array")
    file = check_migrated(with_model(f"{code}x = array([1])\n"))
    assert "TFM504" not in {finding.code for finding in file.findings}
    assert "distutils" not in file.after


def test_no_blank_line_is_left_at_the_top() -> None:
    test = "LooseVersion(keras.__version__) < LooseVersion('2.2.0')"
    code = TEST.format(test=test, first="from numpy import array", second="from numpy import asarray as array")
    code = code.removeprefix("import keras\nimport tensorflow as tf\n")
    code = code.replace("import LooseVersion\n", "import LooseVersion\n\nimport keras\n")
    file = check_migrated(f"{code}{with_model('x = array([1])').lstrip()}")
    assert file.after.startswith("import tensorflow as tf\n")
