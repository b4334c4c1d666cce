from __future__ import annotations

import libcst as cst
import pytest

from tests.kit import migrate
from tfmigrate.edit.apply import apply
from tfmigrate.plan.edits import Replace
from tfmigrate.walk import walk

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


FLOW = """from keras.layers import Dense
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import multi_gpu_model

images = ImageDataGenerator()
parallel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
parallel.compile("sgd", "mse")
parallel.fit_generator(images.flow(x, y,
                                   batch_size=8), steps_per_epoch=7, {more}epochs=2)
"""


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("", "parallel.fit(Epochs(images.flow(x, y,\n                                batch_size=8), 7), epochs=2)\n"),
        ("workers=4, ", "train_sequence = images.flow(x, y,\n                             batch_size=8)\n"),
    ],
)
def test_lines_follow_the_bracket_of_what_is_put_elsewhere(more: str, line: str) -> None:
    assert line in migrate(FLOW.format(more=more)).after


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (
            "model.fit_generator(a,\n                    b)\n",
            {"model.fit_generator": "model.fit"},
            "model.fit(a,\n          b)\n",
        ),
        ("f(\n    a,\n)\n", {"f": "longer"}, "longer(\n    a,\n)\n"),
        ("f(a)\n", {"f": "longer"}, "longer(a)\n"),
        (
            "fit_generator(g(a,\n                b),\n              c)\n",
            {"fit_generator": "fit"},
            "fit(g(a,\n      b),\n    c)\n",
        ),
        (
            "fit_generator(a,\n              # b=1,\n              c\n              # d=2\n              )\n",
            {"fit_generator": "fit"},
            "fit(a,\n    # b=1,\n    c\n    # d=2\n    )\n",
        ),
        ("x = f('(', a,\n      b)\n", {"f": "ff"}, "x = ff('(', a,\n       b)\n"),
        ("x = f('\\'(', a,\n      b)\n", {"f": "ff"}, "x = ff('\\'(', a,\n       b)\n"),
        ('x = f("""(\'\n(""", a,\n      b)\n', {"f": "ff"}, 'x = ff("""(\'\n(""", a,\n       b)\n'),
        (
            "f(a,\n  b=[Adam(1,\n          c=2),\n     d])\n",
            {"Adam": "Nadam"},
            "f(a,\n  b=[Nadam(1,\n           c=2),\n     d])\n",
        ),
        (
            "long(a,\n     b=[Adam(1,\n             c=2),\n        d],\n     e=3)\n",
            {"long": "f", "Adam": "Nadam"},
            "f(a,\n  b=[Nadam(1,\n           c=2),\n     d],\n  e=3)\n",
        ),
        ("f(a, g(\n    b))\n", {"f": "longer"}, "longer(a, g(\n    b))\n"),
        ("f(a,\n        b)\n", {"f": "ff"}, "ff(a,\n         b)\n"),
        ("f(g(a,\n    b), c)\n", {"g(a,\n    b)": "d"}, "f(d, c)\n"),
        ("if g(a,\n     b):\n    h(a,\n      b)\n", {"g": "ggg"}, "if ggg(a,\n       b):\n    h(a,\n      b)\n"),
        ("while g(a,\n        b):\n    pass\n", {"g": "ggg"}, "while ggg(a,\n          b):\n    pass\n"),
        ("for i in g(a,\n           b):\n    pass\n", {"g": "ggg"}, "for i in ggg(a,\n             b):\n    pass\n"),
        ("with g(a,\n       b) as f:\n    pass\n", {"g": "ggg"}, "with ggg(a,\n         b) as f:\n    pass\n"),
        (
            "if a:\n    pass\nelif g(a,\n       b):\n    pass\n",
            {"g": "ggg"},
            "if a:\n    pass\nelif ggg(a,\n         b):\n    pass\n",
        ),
        (
            "if a:\n    for i in g(a,\n               b):\n        pass\n",
            {"g": "ggg"},
            "if a:\n    for i in ggg(a,\n                 b):\n        pass\n",
        ),
        ("f(a,\n b)\n", {"f": "ff"}, "ff(a,\n  b)\n"),  # Under the bracket itself.
        ("f(a,\n\tb)\n", {"f": "ff"}, "ff(a,\n\tb)\n"),
        ("f(a,  # (\n  b)\n", {"f": "ff"}, "ff(a,  # (\n   b)\n"),
    ],
)
def test_continuation_lines_follow_their_bracket(before: str, changes: dict[str, str], after: str) -> None:
    for newline in ("\n", "\r\n"):
        tree = cst.parse_module(before.replace("\n", newline))
        edits = [
            Replace(node, changes[code])
            for node in walk(tree)
            if isinstance(node, cst.BaseExpression)
            and (code := tree.code_for_node(node).replace("\r\n", "\n")) in changes
        ]
        assert len(edits) == len(changes)
        assert apply(tree, edits).code == after.replace("\n", newline)


def test_lines_behind_a_backslash_are_indented_with_their_statement() -> None:
    file = migrate(BEHIND_A_BACKSLASH)
    assert (
        """    with strategy.scope():
        model = build() \\
            if plain else Sequential([Dense(1)])
        model.compile("sgd", \\
                         "mse")
"""
        in file.after
    )


def test_an_equals_sign_stays_in_its_column() -> None:
    tree = cst.parse_module("units           = 4\nparallel_model  = wrap(net)\none = two = wrap(net)\n")
    edits = [Replace(node, "net_1") for node in walk(tree) if getattr(node, "value", None) in ("parallel_model", "one")]
    after = "units           = 4\nnet_1           = wrap(net)\nnet_1 = two = wrap(net)\n"
    assert apply(tree, edits).code == after


def test_a_longer_name_takes_what_space_there_is() -> None:
    tree = cst.parse_module("a  = 4\n")
    assert apply(tree, [Replace(tree.body[0].body[0].targets[0].target, "longer")]).code == "longer = 4\n"
