"""One form is meant by each question; anything else is answered with nothing."""

from __future__ import annotations

import libcst as cst
import pytest

from tfmigrate.understand.syntax import called_on, index_of, last_word, sole_name, sole_target


def statement(code: str) -> cst.BaseSmallStatement:
    return cst.ensure_type(cst.parse_statement(code), cst.SimpleStatementLine).body[0]


@pytest.mark.parametrize(
    ("code", "word"), [("a", "a"), ("a.b.c", "c"), ("a().c", "c"), ("a()", ""), ("a[0]", ""), ("'a'", "")]
)
def test_the_last_word(code: str, word: str) -> None:
    assert last_word(cst.parse_expression(code)) == word


@pytest.mark.parametrize(
    ("code", "index"), [("x[i]", "i"), ("x[1, 2]", None), ("x[1:]", None), ("x[(1, 2)]", "(1, 2)"), ("x", None)]
)
def test_the_index(code: str, index: str | None) -> None:
    found = index_of(cst.parse_expression(code))
    assert (cst.Module([]).code_for_node(found) if found is not None else None) == index


def test_what_a_method_is_called_on() -> None:
    on_a_name, plain = (cst.ensure_type(cst.parse_expression(code), cst.Call) for code in ("x.fit(y)", "fit(x)"))
    assert isinstance(on_a_name.func, cst.Attribute)
    assert called_on(on_a_name) is on_a_name.func.value
    assert called_on(plain) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("x = 1", "x"), ("x = y = 1", None), ("x, y = 1, 2", None), ("self.x = 1", None), ("x += 1", None),
        ("x: int = 1", None), ("x", None),
    ],
)  # fmt: skip
def test_the_name_that_a_statement_binds(code: str, name: str | None) -> None:
    assert sole_name(statement(code)) == name


def test_a_target_may_be_anything() -> None:
    assert isinstance(sole_target(statement("self.x = 1")), cst.Attribute)
    assert sole_target(statement("x = y = 1")) is None
    assert sole_target(None) is None
