from __future__ import annotations

import libcst as cst
import pytest

from tfmigrate.edit.align import realigned
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

BEHIND_A_BACKSLASH = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

if several:
    model = build() \\
        if plain else Sequential([Dense(1)])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", \\
                     "mse")
"""


@pytest.mark.parametrize(
    ("before", "renamed", "after"),
    [
        (
            "model.fit_generator(a,\n                    b)\n",
            "model.fit(a,\n                    b)\n",
            "model.fit(a,\n          b)\n",
        ),
        ("f(\n    a,\n)\n", "longer(\n    a,\n)\n", "longer(\n    a,\n)\n"),
        ("f(a)\n", "longer(a)\n", "longer(a)\n"),
        (
            "fit_generator(g(a,\n                b),\n              c)\n",
            "fit(g(a,\n                b),\n              c)\n",
            "fit(g(a,\n      b),\n    c)\n",
        ),
        (
            "Adadelta(lr=1,\n         decay=d(a,\n                 b))\n",
            "Adadelta(rate=d(a,\n                 b),\n         rho=1)\n",
            "Adadelta(rate=d(a,\n                 b),\n         rho=1)\n",
        ),
        (
            "fit_generator(a,\n              # b=1,\n              c\n              # d=2\n              )\n",
            "fit(a,\n              # b=1,\n              c\n              # d=2\n              )\n",
            "fit(a,\n    # b=1,\n    c\n    # d=2\n    )\n",
        ),
        ("x = f('(', a,\n      b)\n", "x = ff('(', a,\n      b)\n", "x = ff('(', a,\n       b)\n"),
    ],
)
def test_continuation_lines_follow_their_bracket(before: str, renamed: str, after: str) -> None:
    tree, other = cst.parse_module(before), cst.parse_module(renamed)
    old, new = tree.body[0], other.body[0]
    assert isinstance(old, cst.SimpleStatementLine)
    assert isinstance(new, cst.SimpleStatementLine)
    assert tree.with_changes(body=[realigned(old, new, tree)]).code == after


def test_lines_behind_a_backslash_are_indented_with_their_statement() -> None:
    (file,) = migrate_sources({"train.py": BEHIND_A_BACKSLASH}, Settings())
    assert (
        """    with strategy.scope():
        model = build() \\
            if plain else Sequential([Dense(1)])
        model.compile("sgd", \\
                         "mse")
"""
        in file.after
    )
