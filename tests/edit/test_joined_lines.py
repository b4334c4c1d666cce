"""Lines that are inserted for one statement of several in a line stand below those before it."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.kit import migrate
from tfmigrate.edit.apply import apply
from tfmigrate.plan.edits import Edit, Insert, Rank, Replace


def text(before: str, code: str, new: str, rank: Rank = Rank.LINE) -> str:
    """The program with `code` above its first unit, and `new` in the place of what train() is given."""
    tree = cst.parse_module(before)
    unit = tree.body[0].body if isinstance(tree.body[0], cst.If) else tree.body[0]
    small = next(small for small in unit.body if "train" in tree.code_for_node(small))
    assert isinstance(small, cst.Expr)
    assert isinstance(small.value, cst.Call)
    edits: list[Edit] = [Insert(unit, code, rank=rank), Replace(small.value.args[0].value, new)]
    return apply(tree, edits).code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = load(); train(x)\n", "x = load()\ndata = set_of(x)\ntrain(data)\n"),
        (
            "x = load(); y = x; train(x); f()  # on\n",
            "x = load(); y = x\ndata = set_of(x)\ntrain(data); f()  # on\n",
        ),
        ("# Rows.\nx = load(); train(x)\n", "# Rows.\nx = load()\ndata = set_of(x)\ntrain(data)\n"),
        ("if on: x = load(); train(x)\n", "if on:\n    x = load()\n    data = set_of(x)\n    train(data)\n"),
        ("train(x); end()\n", "data = set_of(x)\ntrain(data); end()\n"),
    ],
)
def test_what_it_reads_is_bound_before(before: str, after: str) -> None:
    assert text(before, "data = set_of(x)", "data") == after


def test_what_binds_no_name_stands_above_the_statement_that_is_edited() -> None:
    assert text("x = load(); train(x)\n", "x.workers = 4", "x, 1") == "x = load()\nx.workers = 4\ntrain(x, 1)\n"


def test_what_an_earlier_statement_reads_stands_above_it() -> None:
    after = "count = 3\nprint(count); train(count)\n"
    assert text("print(count); train(3)\n", "count = 3", "count") == after


def test_an_import_stands_above_the_line() -> None:
    after = "import tensorflow\n\nx = load(); train(tensorflow)\n"
    assert text("x = load(); train(x)\n", "import tensorflow", "tensorflow", Rank.IMPORT) == after


PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{line}
"""
BUILT = "model = Sequential([Dense(1, input_shape=(4,))]); p = multi_gpu_model(model, 2)"
DATA = "train_dataset = (\n    tf.data.Dataset.from_tensor_slices((x, y))"
COMPILED = "p.compile('sgd', 'mean_squared_error')"


@pytest.mark.parametrize(
    ("rest", "first", "last"),
    [
        (f"{COMPILED}; x = x / 2; p.fit(x, y)", f"{COMPILED}; x = x / 2", "p.fit(train_dataset)"),
        (f"{COMPILED}; shuffle(x, y); p.fit(x, y); end()", f"{COMPILED}; shuffle(x, y)", "p.fit(train_dataset); end()"),
        (f"x, y = load(); {COMPILED}; p.fit(x, y)", f"x, y = load(); {COMPILED}", "p.fit(train_dataset)"),
    ],
)
def test_a_scope_round_such_a_line_ends_above_them_and_goes_on_below(rest: str, first: str, last: str) -> None:
    after = migrate(PROGRAM.format(line=f"{BUILT}; {rest}")).after
    assert f"; {first}\n{DATA}" in after
    assert after.endswith(f"\nwith strategy.scope():\n    {last}\n")
    assert after.count("with strategy.scope():") == 2


@pytest.mark.parametrize(
    "rest",
    [f"{COMPILED}; p.fit(x, y)", f"n = 2; {COMPILED}; p.fit(x, y)", f"{COMPILED}; p.fit(x, y); x = 1"],
)
def test_a_line_whose_first_statements_do_not_concern_them_stays_whole(rest: str) -> None:
    after = migrate(PROGRAM.format(line=f"{BUILT}; {rest}")).after
    assert after.index(DATA) < after.index("with strategy.scope():")
    assert after.endswith(f"; {rest.replace('x, y)', 'train_dataset)')}\n")
    assert after.count("with strategy.scope():") == 1
