"""`check --add-skips`: a comment for each finding, and no other change of what the program means."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import Tfmigrate
from tfmigrate.result import Finding
from tfmigrate.skips import with_skips, with_skips_in_lines
from tfmigrate.understand.suppressions import read_suppressions


def found(*places: tuple[int, str]) -> list[Finding]:
    return [Finding(line, 1, code, "", "warn") for line, code in places]


@pytest.mark.parametrize(
    ("before", "places", "after"),
    [
        ("f()\ng()\n", [(2, "TFM001")], "f()\ng()  # tfmigrate: skip[TFM001]\n"),
        ("f()", [(1, "TFM001")], "f()  # tfmigrate: skip[TFM001]"),
        ("f()\r\n", [(1, "TFM001")], "f()  # tfmigrate: skip[TFM001]\r\n"),
        ("f(\n  a,\n)\n", [(2, "TFM001")], "f(\n  a,  # tfmigrate: skip[TFM001]\n)\n"),
        ("f()\n", [(1, "TFM202"), (1, "TFM001")], "f()  # tfmigrate: skip[TFM001, TFM202]\n"),
        ("f()  # noqa\n", [(1, "TFM001")], "# tfmigrate: skip[TFM001]\nf()  # noqa\n"),
        ("if x:\n    f()  # why\n", [(2, "TFM1")], "if x:\n    # tfmigrate: skip[TFM1]\n    f()  # why\n"),
        ("f(a, '''\nb''')\n", [(1, "TFM001")], "# tfmigrate: skip[TFM001]\nf(a, '''\nb''')\n"),
        ("f(a) + \\\n  g()\n", [(1, "TFM001")], "# tfmigrate: skip[TFM001]\nf(a) + \\\n  g()\n"),
        ("f(a) + \\\n  g()\n", [(2, "TFM001")], "f(a) + \\\n  g()  # tfmigrate: skip[TFM001]\n"),
        ("f(a) + \\\n  g() + \\\n  h()\n", [(2, "TFM001")], "f(a) + \\\n  g() + \\\n  h()\n"),
        ("f()  # tfmigrate: skip[TFM002]\n", [(1, "TFM001")], "f()  # tfmigrate: skip[TFM001, TFM002]\n"),
        ("# tfmigrate: skip[TFM002]\nf()\n", [(2, "TFM001")], "# tfmigrate: skip[TFM001, TFM002]\nf()\n"),
        ("s = '#'; f()\n", [(1, "TFM001")], "s = '#'; f()  # tfmigrate: skip[TFM001]\n"),
        ("\x0cf()\ng()\n", [(2, "TFM001")], "\x0cf()\ng()  # tfmigrate: skip[TFM001]\n"),
    ],
)
def test_where_a_comment_goes(before: str, places: list[tuple[int, str]], after: str) -> None:
    text = with_skips(before, found(*places))
    assert text == after
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(before))
    assert with_skips(text, found(*((one.line, places[0][1]) for one in read_suppressions(text)))) == text


def test_in_requirements() -> None:
    assert with_skips_in_lines("a\nkeras==2.2  # old\n", found((1, "TFM6"), (2, "TFM602"))) == (
        "a  # tfmigrate: skip[TFM6]\n# tfmigrate: skip[TFM602]\nkeras==2.2  # old\n"
    )


PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model  # the old one
from keras.optimizers import SGD

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer=SGD(lr=0.1))
"""


def test_nothing_is_found_afterwards(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("train.py").write_text(PROGRAM)
    Path("requirements.txt").write_text("keras==2.2.4\n")
    done = tfmigrate("check", "--add-skips")
    assert done.code == 0, done.text
    assert done.err == "Comments were added to 1 file.\n"
    text = Path("train.py").read_text()
    assert "multi_gpu_model(model, gpus=2)  # tfmigrate: skip[TFM001]\n" in text
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(PROGRAM))
    assert tfmigrate("check").code == 0
    assert tfmigrate("fix").code == 0
    assert Path("train.py").read_text() == text
    assert "0 files" in tfmigrate("check", "--add-skips").err


def test_only_the_codes_that_are_asked_for(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("train.py").write_text(PROGRAM)
    tfmigrate("check", "--add-skips", "--select", "TFM202")
    assert "skip[TFM001" not in Path("train.py").read_text()


def test_what_has_no_place_for_a_comment_is_still_reported(project: Path, tfmigrate: Tfmigrate) -> None:
    Path("broken.py").write_text("multi_gpu_model(\n")
    done = tfmigrate("check", "--add-skips")
    assert (done.code, Path("broken.py").read_text()) == (2, "multi_gpu_model(\n")
    assert "`-` (stdin) must be the only path" in tfmigrate("check", "--add-skips", "-").err
