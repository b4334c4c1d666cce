"""Names of NumPy, SciPy and Python that are gone (TFM229, TFM504)."""

from __future__ import annotations

import importlib

import pytest

from tests.kit import check_migrated
from tests.plan.whole import migrated
from tfmigrate import rules

PROGRAM = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = np.zeros(3, np.int)", "a = np.zeros(3, int)"),
        ("a = np.zeros(3, dtype=np.bool)", "a = np.zeros(3, dtype=bool)"),
        ("a = -np.Inf", "a = -np.inf"),
        ("from numpy import NaN\na = NaN", "from numpy import nan as NaN\na = NaN"),
        ("from collections import Iterable\nisinstance([], Iterable)",
         "from collections.abc import Iterable\nisinstance([], Iterable)"),
        ("import time\nbegin = time.clock()", "import time\nbegin = time.perf_counter()"),
        ("from sklearn.preprocessing import OneHotEncoder\na = OneHotEncoder(sparse=False)",
         "from sklearn.preprocessing import OneHotEncoder\na = OneHotEncoder(sparse_output=False)"),
    ],
)  # fmt: skip
def test_what_has_an_equal_is_renamed(before: str, after: str) -> None:
    assert migrated(before, "TFM229") == (after, ["rewrite"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("args, _, _, _ = getargspec(f)", "args, _, _, _ = getargspec(f)[:4]"),
        ("spec = getargspec(f)\na, b, c, d = spec", "spec = getargspec(f)\na, b, c, d = spec[:4]"),
        ("spec = getargspec(f)\na = spec.keywords", "spec = getargspec(f)\na = spec.varkw"),
        ("a = getargspec(f).args", "a = getargspec(f).args"),
        ("a = getargspec(f)[0]", "a = getargspec(f)[0]"),
    ],
)
def test_the_parts_of_a_specification_of_arguments(before: str, after: str) -> None:
    head = "from inspect import getargspec\n"
    written, actions = migrated(head + before, "TFM229")
    assert written == f"from inspect import getfullargspec as getargspec\n{after}"
    assert set(actions) == {"rewrite"}


@pytest.mark.parametrize(
    ("before", "after", "action"),
    [
        (r"re.split('(\W+)?', text)", r"re.split('(\W+)', text)", "rewrite"),
        (r"re.split(r'([,;])?', text)", r"re.split(r'([,;])', text)", "rewrite"),
        (r"re.split(r'\s*', text)", r"re.split(r'\s*', text)", "warn"),
        (r"re.split(r'(a)?(b)?', text)", r"re.split(r'(a)?(b)?', text)", "warn"),
        (r"re.split(r'(\W*)?', text)", r"re.split(r'(\W*)?', text)", "warn"),
    ],
)
def test_patterns_that_match_an_empty_text(before: str, after: str, action: str) -> None:
    assert migrated(f"import re\nwords = {before}", "TFM229") == (f"import re\nwords = {after}", [action])


@pytest.mark.parametrize(
    "code", [r"re.split(r'\W+', text)", "re.split(pattern, text)", r"re.findall(r'\w*', text)", "re.split('(', text)"]
)
def test_other_patterns_stay(code: str) -> None:
    assert migrated(f"import re\nwords = {code}", "TFM229") == (f"import re\nwords = {code}", [])


@pytest.mark.parametrize(
    "lines",
    [
        "a = np.zeros(3, np.int32)",
        "a = np.inf",
        "if hasattr(np, 'float'):\n    a = np.float(3)",
        "np = object()\na = np.int",
        "from time import perf_counter",
        "from collections import OrderedDict",
    ],
)
def test_other_names_stay(lines: str) -> None:
    assert migrated(lines, "TFM229") == (lines, [])
    assert migrated(lines, "TFM504") == (lines, [])


def test_a_builtin_that_the_program_binds_is_not_written() -> None:
    lines = "float = 'text'\na = np.zeros(3, np.float)"
    assert migrated(lines, "TFM229") == (lines, [])


@pytest.mark.parametrize(
    "lines",
    [
        "import imp\nimp.reload(np)",
        "from scipy.misc import imresize, imread\nimread(imresize('a'))",
        "import scipy.misc\nscipy.misc.imread('a')",
    ],
)
def test_what_has_none_is_reported_where_it_fails(lines: str) -> None:
    text, done = migrated(lines, "TFM504")
    assert text == lines
    assert done
    assert set(done) == {"warn"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import imp", ""),
        ("import imp, time\ntime.sleep(0)", "import time\ntime.sleep(0)"),
        ("from scipy.misc import imresize, imread", ""),
        ("from scipy.misc import imread\nfrom scipy import misc as old", ""),
        ("def f():\n    import imp\n    return 1", "def f():\n    return 1"),
    ],
)
def test_an_import_that_fails_goes_where_nothing_reads_it(before: str, after: str) -> None:
    text, done = migrated(before, "TFM504")
    assert text == after
    assert done
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize(
    "lines", ["import scipy.misc as misc", "import imp\n__all__ = ['imp']", "from scipy.misc import *"]
)
def test_an_import_that_may_bring_more_is_reported(lines: str) -> None:
    assert migrated(lines, "TFM504") == (lines, ["warn"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = yaml.load(file)", "a = yaml.load(file, Loader=yaml.FullLoader)"),
        ("a = yaml.load(stream=open('a'))", "a = yaml.load(stream=open('a'), Loader=yaml.FullLoader)"),
        ("a = list(yaml.load_all(file))", "a = list(yaml.load_all(file, Loader=yaml.FullLoader))"),
    ],
)
def test_yaml_is_told_by_which_class_it_loads(before: str, after: str) -> None:
    assert migrated(f"import yaml\n{before}", "TFM229") == (f"import yaml\n{after}", ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    ["a = yaml.load(file, yaml.Loader)", "a = yaml.load(file, Loader=L)", "a = yaml.safe_load(f)", "a = yaml.load(*b)"],
)
def test_yaml_that_knows_stays(lines: str) -> None:
    assert migrated(f"import yaml\n{lines}", "TFM229") == (f"import yaml\n{lines}", [])


def test_a_loader_that_has_no_module_to_come_from_is_reported() -> None:
    lines = "from yaml import load\na = load(file)"
    assert migrated(lines, "TFM504") == (lines, ["warn"])


def lookup(name: str) -> object:
    """What a dotted name leads to; raises AttributeError or ImportError."""
    module, _, rest = name.partition(".")
    found: object = importlib.import_module(module)
    while rest:
        part, _, rest = rest.partition(".")
        module += f".{part}"
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(module)
    return found


ROWS = [row for rule in rules.all_rules() for row in rule.renames]
HERE = ("numpy.", "collections.", "time.", "inspect.")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [pytest.param(row, id=row.old) for row in ROWS if row.old.startswith(HERE)])
def test_a_row_says_what_is_gone_and_what_is_there(row: rules.Rename) -> None:
    if row.old.startswith("numpy."):
        pytest.importorskip("numpy", minversion="2.0")
        if (row.kind, row.old) not in _ALIASES_AGAIN:
            with pytest.raises((AttributeError, ImportError)):
                lookup(row.old)
    if row.kind == "python name":
        lookup(row.new)
    elif row.kind == "builtin":
        lookup(f"builtins.{row.new}")


_ALIASES_AGAIN = {("builtin", "numpy.bool"), ("builtin", "numpy.long")}
"""NumPy 2 gave these names to types of its own."""


def test_what_a_renamed_module_holds_is_not_gone() -> None:
    calls = "import settings\nreload(settings)\njoblib.dump(1, 'f')"
    before = f"from sklearn.externals import joblib\nfrom imp import reload\n{calls}"
    assert migrated(before, "TFM504") == (f"import joblib\nfrom importlib import reload\n{calls}", [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import pandas as pd\ny = pd.read_csv('f')['a'].as_matrix()",
            "import pandas as pd\ny = pd.read_csv('f')['a'].values",
        ),
        ("from pandas import read_csv\ny = frame.as_matrix()", "from pandas import read_csv\ny = frame.values"),
        ("y = sparse.as_matrix()", None),
    ],
)
def test_matrices_of_pandas(before: str, after: str | None) -> None:
    assert migrated(before, "TFM229") == (after or before, ["rewrite"] if after else [])


def test_matrices_of_some_columns_are_reported() -> None:
    before = "import pandas as pd\ny = frame.as_matrix(columns=['a'])"
    assert migrated(before, "TFM504") == (before, ["warn"])


def test_modules_of_python_that_numpy_imported() -> None:
    before = "import numpy as np2\na = np2.math.ceil(2.5)\nnp2.warnings.filterwarnings('ignore')\nb = np2.math.pi"
    file = check_migrated(f"{before}\n{PROGRAM}")
    assert file.after.startswith("import math\nimport warnings\n")
    assert "a = math.ceil(2.5)\nwarnings.filterwarnings('ignore')\nb = math.pi\n" in file.after


def test_a_name_that_the_program_has_taken_stays() -> None:
    before = "math = 3\na = np.math.ceil(2.5)"
    assert migrated(before, "TFM229") == (before, [])


@pytest.mark.parametrize(
    ("before", "after", "action"),
    [
        ("np.set_printoptions(threshold=np.nan)", "np.set_printoptions(threshold=np.inf)", "rewrite"),
        ("np.set_printoptions(3, np.nan)", "np.set_printoptions(3, np.inf)", "rewrite"),
        ("from numpy import nan\nnp.set_printoptions(threshold=nan)", None, "warn"),
        ("np.set_printoptions(threshold=np.inf)", None, None),
        ("np.set_printoptions(precision=3)", None, None),
        ("np.set_printoptions(nanstr=np.nan)", None, None),
    ],
)
def test_a_threshold_that_no_array_reaches(before: str, after: str | None, action: str | None) -> None:
    expected = f"import numpy as np\n{after or before}"
    assert migrated(f"import numpy as np\n{before}", "TFM229") == (expected, [action] if action else [])


@pytest.mark.parametrize(
    ("before", "after", "action"),
    [
        ("np.reshape(a, newshape=(-1, 4))", "np.reshape(a, (-1, 4))", "rewrite"),
        ("np.reshape(a, newshape=(-1, 4), order='F')", "np.reshape(a, (-1, 4), order='F')", "rewrite"),
        ("np.reshape(a=a, newshape=(-1, 4))", None, "warn"),
        ("np.reshape(a, order='F', newshape=(-1, 4))", None, "warn"),
        ("np.reshape(a, (-1, 4))", None, None),
    ],
)
def test_the_shape_of_reshape_by_its_place(before: str, after: str | None, action: str | None) -> None:
    expected = f"import numpy as np\n{after or before}"
    assert migrated(f"import numpy as np\n{before}", "TFM229") == (expected, [action] if action else [])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.percentile(a, 50, interpolation='lower')", "np.percentile(a, 50, method='lower')"),
        ("np.nanquantile(a, 0.5, axis=0, interpolation=kind)", "np.nanquantile(a, 0.5, axis=0, method=kind)"),
        ("np.percentile(a, 50)", None),
        ("np.interp(a, interpolation=1)", None),
        ("percentile(a, 50, interpolation='lower')", None),
    ],
)
def test_the_method_of_a_percentile(before: str, after: str | None) -> None:
    expected = f"import numpy as np\n{after or before}"
    assert migrated(f"import numpy as np\n{before}", "TFM229") == (expected, ["rewrite"] if after else [])
