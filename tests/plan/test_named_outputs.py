"""Losses, weights and targets by the names of several outputs (TFM241)."""

from __future__ import annotations

import pytest

# ruff: noqa: E501 (a line for each case)
from tests.plan.whole import migrated

TWO = "i = Input((4,))\nhead = Dense(1, name='b')\nm = Model(i, [head(i), Dense(1, name='a')(i)])\n"
"""Its outputs are not in the order of their names."""
SORTED = TWO.replace("'b'", "'_'")
UNNAMED = "i = Input((4,))\nm = Model(i, [Dense(1)(i), Dense(1)(i)])\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("compile('sgd', ['mse', 'mae'], loss_weights={'a': 2., 'b': 1})", "compile('sgd', ['mse', 'mae'], loss_weights=[1, 2.])"),
        ("compile('sgd', ('mse', 'mae'), loss_weights={'b': 1})", "compile('sgd', ('mse', 'mae'), loss_weights=[1, 1.0])"),
        ("compile('sgd', 'mse', loss_weights=[1, 2])", "compile('sgd', ['mse', 'mse'], loss_weights=[1, 2])"),
        ("compile('sgd', 'mse', loss_weights={'a': 2})", "compile('sgd', ['mse', 'mse'], loss_weights=[1.0, 2])"),
        ("compile('sgd', {'a': 'mae', 'b': 'mse'}, loss_weights={\"a\": 2})",
         "compile('sgd', {'a': 'mae', 'b': 'mse'}, loss_weights={\"a\": 2, \"b\": 1.0})"),
        ("fit(x, {'a': u, 'b': v}, sample_weight={'b': s, 'a': t})", "fit(x, [v, u], sample_weight=[s, t])"),
        ("fit(x, [v, u], sample_weight={'b': s, 'a': t})", "fit(x, [v, u], sample_weight=[s, t])"),
        ("train_on_batch(x, {'a': u, 'b': v}, s)", "train_on_batch(x, [v, u], s)"),
        ("fit(x, y, validation_data=(x, {'a': u, 'b': v}, {'b': s, 'a': t}))", "fit(x, y, validation_data=(x, [v, u], [s, t]))"),
    ],
)  # fmt: skip
def test_the_order_of_the_outputs_is_written(before: str, after: str) -> None:
    assert migrated(f"{TWO}m.{before}", "TFM241") == (f"{TWO}m.{after}", ["rewrite"])


def test_a_dict_with_a_name_is_looked_up() -> None:
    before = TWO + "w = {'a': 2., 'b': 1}\nm.compile('sgd', ['mse', 'mae'], loss_weights="
    assert migrated(f"{before}w)", "TFM241") == (f"{before}[w['b'], w['a']])", ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        UNNAMED + "m.compile('sgd', ['mse', 'mae'], loss_weights={'dense_1': 2., 'dense_2': 1})",
        TWO + "m.compile('sgd', ['mse', 'mae'], loss_weights={'other': 2., 'b': 1})",
        UNNAMED + "m.compile('sgd', 'mse', loss_weights={'dense_1': 2., 'dense_2': 1})",
        TWO + "m.compile('sgd', {'b': 'mse'})",
        TWO + "w = {'b': 1}\nm.compile('sgd', {'b': 'mse', 'a': 'mae'}, loss_weights=w)",
        TWO + "m.fit(x, {'b': v})",
        TWO + "m.fit(x, y, validation_data=(x, {'b': v}))",
        TWO + "def rows():\n    while True:\n        yield x, {'b': v}\n\nm.fit_generator(rows(), 3)",
        TWO + "m.fit(x, {'a': u, 'b': v}, sample_weight={'a': s})",
        TWO + "m.fit(x, {key: u, 'b': v}, sample_weight={'a': s, 'b': t})",
        UNNAMED + "m.fit(x, {'a': u, 'b': v}, sample_weight={'a': s, 'b': t})",
    ],
)
def test_what_has_no_safe_form_is_reported(lines: str) -> None:
    _, said = migrated(lines, "TFM241")
    assert said == ["warn"]


@pytest.mark.parametrize(
    "lines",
    [
        "m = load_model('m.h5')\nm.compile('sgd', 'mse', loss_weights={'a': 2})",
        TWO + "m.compile('sgd', ['mse', 'mae'], loss_weights=[1, 2])",
        TWO + "m.compile('sgd', {'b': 'mse', 'a': 'mae'}, loss_weights={'a': 1, 'b': 2})",
        TWO + "m.compile('sgd', {'b': 'mse', 'a': 'mae'}, loss_weights=[1, 2])",
        SORTED + "m.compile('sgd', ['mse', 'mae'], loss_weights={'a': 1, '_': 2})",
        TWO + "m.compile('sgd', 'mse')",
        TWO + "m.fit(x, {'a': u, 'b': v})",
        TWO + "m.fit(x, [v, u], sample_weight=[s, t])",
        TWO + "m.fit(x, y, sample_weight=s)",
        TWO + "m.compile('sgd', {'b': 'mse', 'a': None})",
        "model.compile('sgd', 'mse', loss_weights=[2])",
        "other.compile('sgd', ['mse', 'mae'], loss_weights={'a': 1, 'b': 2})",
        "other.fit(x, {'a': u, 'b': v}, sample_weight={'a': s, 'b': t})",
    ],
)
def test_other_forms_stay(lines: str) -> None:
    assert migrated(lines, "TFM241")[1] == []


@pytest.mark.parametrize(
    ("output", "done"),
    [
        ("Dense(1)(i)", ["rewrite"]),
        ("Dense(1, name='c')(i)", ["rewrite"]),
        ("Dense(1, name='b')(i)", []),
        ("Dense(1, name=name)(i)", []),
        ("made(i)", []),
    ],
)
def test_outputs_that_have_a_loss_are_trained_alone(output: str, done: list[str]) -> None:
    lines = f"{TWO}k = Model(i, m.outputs + [{output}])\n{{}}.compile('sgd', {{'a': 'mae', 'b': 'mse'}})"
    part = lines.replace("{}", "trained_part(k, ['a', 'b'])" if done else "k")
    assert migrated(lines.replace("{}", "k"), "TFM241") == (part, done)


@pytest.mark.parametrize(("loss", "more"), [("{'a': 'mae'}", ""), ("{'a': 'mae', 'b': 'mse'}", "\nprint(k.optimizer)")])
def test_they_are_not_where_the_program_would_see_it(loss: str, more: str) -> None:
    lines = f"{TWO}k = Model(i, m.outputs + [Dense(1)(i)])\nk.compile('sgd', {loss}){more}"
    assert migrated(lines, "TFM241") == (lines, ["warn"])
