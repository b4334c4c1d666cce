"""Several changes of one call's arguments become one edit of the call."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest

from tfmigrate.edit.apply import apply
from tfmigrate.plan.change.calls import Revision, combined
from tfmigrate.plan.edits import Replace
from tfmigrate.walk import calls_in


def changed(call: str, *changes: dict[str, Any]) -> str:
    tree = cst.parse_module(call)
    (node,) = calls_in(tree)
    return apply(tree, combined([], [Revision(node, **change) for change in changes])).code


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({}, "f(a, b, c=1, d=2)"),
        ({"dropped": ("c",)}, "f(a, b, d=2)"),
        ({"dropped": ("e",)}, "f(a, b, c=1, d=2)"),
        ({"renamed": (("c", "e"),)}, "f(a, b, e=1, d=2)"),
        ({"renamed": (("e", "c"),)}, "f(a, b, c=1, d=2)"),
        ({"set": (("c", "3"),)}, "f(a, b, c=3, d=2)"),
        ({"set": (("e", "3"),)}, "f(a, b, c=1, d=2, e=3)"),
        ({"renamed": (("c", "e"),), "set": (("e", "3"),)}, "f(a, b, e=3, d=2)"),
        ({"named": ((1, "b"),)}, "f(a, b=b, c=1, d=2)"),
        ({"named": ((1, "b"),), "dropped": ("b",)}, "f(a, c=1, d=2)"),
        ({"named": ((2, "b"),)}, "f(a, b, c=1, d=2)"),  # it has a name already
        ({"positional": ((0, 2, "(a, b)"),)}, "f((a, b), c=1, d=2)"),
        ({"positional": ((1, 2, "3"),)}, "f(a, 3, c=1, d=2)"),
    ],
)
def test_a_revision(change: dict[str, Any], after: str) -> None:
    assert changed("f(a, b, c=1, d=2)", change) == after


def test_later_revisions_see_what_earlier_ones_made() -> None:
    changes = ({"renamed": (("c", "e"),)}, {"set": (("e", "3"),)}, {"dropped": ("d",)})
    assert changed("f(a, c=1, d=2)", *changes) == "f(a, e=3)"


def test_other_edits_stay() -> None:
    tree = cst.parse_module("f(a, c=1)")
    (call,) = calls_in(tree)
    edits = combined([Replace(call.func, "g")], [Revision(call, dropped=("c",))])
    assert apply(tree, edits).code == "g(a)"
