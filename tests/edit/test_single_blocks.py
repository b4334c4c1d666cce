"""An edit in one block of a statement leaves its other blocks as they are."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
import pytest

from tfmigrate.edit.apply import apply
from tfmigrate.plan.edits import Remove, Replace

STATEMENTS = (
    "if a():\n    b()\nelif c():\n    d()\nelse:\n    e()\n",
    "for x in a():\n    b()\nelse:\n    c()\n",
    "while a():\n    b()\nelse:\n    c()\n",
    "with a() as x, b():\n    c()\n",
    "try:\n    a()\nexcept KeyError:\n    b()\nexcept (IOError, ValueError):\n    c()\n",
    "try:\n    a()\nexcept:\n    b()\nelse:\n    c()\nfinally:\n    d()\n",
    "try:\n    a()\nfinally:\n    b()\n",
    "try: a()\nexcept KeyError: b()\n",
    "@a()\ndef f(x=b()):\n    c()\n",
    "class C(a()):\n    b()\n    def f(self):\n        c()\n",
    "match a():\n    case 1:\n        b()\n    case _:\n        c()\n",
)
CASES = [(text, name) for text in STATEMENTS for name in "abcde" if f"{name}()" in text]


def call_of(tree: cst.Module, name: str) -> cst.Call:
    (call,) = m.findall(tree, m.Call(func=m.Name(name)))
    return cst.ensure_type(call, cst.Call)


@pytest.mark.parametrize(("text", "name"), CASES)
@pytest.mark.parametrize("around", ["{}", "if z:\n    y()\n    {}"])
def test_one_call_is_replaced_and_nothing_else_changes(text: str, name: str, around: str) -> None:
    indented = text.replace("\n", "\n    ").rstrip(" ") if around != "{}" else text
    tree = cst.parse_module(around.format(indented))
    after = apply(tree, [Replace(call_of(tree, name), "other()")]).code
    assert after == tree.code.replace(f"{name}()", "other()")


@pytest.mark.parametrize("handled", ["b()", "b()\n    d()"])
def test_a_statement_of_a_handler_goes_and_what_is_tried_stays(handled: str) -> None:
    tree = cst.parse_module(f"try:\n    a()\nexcept KeyError:\n    {handled}\n")
    line = next(one for one in m.findall(tree, m.SimpleStatementLine()) if "b()" in tree.code_for_node(one))
    after = apply(tree, [Remove(cst.ensure_type(line, cst.SimpleStatementLine).body[0])]).code
    left = "pass" if handled == "b()" else "d()"
    assert after == f"try:\n    a()\nexcept KeyError:\n    {left}\n"
