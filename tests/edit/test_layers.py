"""What several rules put round one expression is put round it by all of them."""

from __future__ import annotations

from itertools import permutations

import libcst as cst
import pytest

from tfmigrate.edit.apply import apply
from tfmigrate.plan.edits import Replace

TREE = cst.parse_module("compile(make(lr=1))\n")
CALL = cst.ensure_type(
    cst.ensure_type(cst.ensure_type(TREE.body[0], cst.SimpleStatementLine).body[0], cst.Expr).value, cst.Call
)
MADE = CALL.args[0].value
KEEP = Replace(MADE, ("keep(", MADE, ", decay)"))
CLIP = Replace(MADE, ("clip(", MADE, ")"))
OTHER = Replace(MADE, "other()")


def text(*edits: Replace) -> str:
    return apply(TREE, edits).code


def test_two_calls_round_one_are_both_there() -> None:
    assert text(KEEP, CLIP) == "compile(clip(keep(make(lr=1), decay)))\n"
    assert text(CLIP, KEEP) == "compile(keep(clip(make(lr=1)), decay))\n"


def test_one_that_two_rules_ask_for_is_there_once() -> None:
    assert text(CLIP, CLIP) == "compile(clip(make(lr=1)))\n"


@pytest.mark.parametrize("edits", list(permutations([OTHER, CLIP])))
def test_what_takes_the_place_of_an_expression_has_round_it_what_that_had(edits: tuple[Replace, ...]) -> None:
    assert text(*edits) == "compile(clip(other()))\n"
