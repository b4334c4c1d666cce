"""Lines that are inserted before one statement stand in the order of their ranks, whoever planned them first."""

from __future__ import annotations

from itertools import permutations

import libcst as cst
import pytest

from tfmigrate.edit.apply import apply
from tfmigrate.plan.edits import Insert, Rank

TREE = cst.parse_module("first()\nlast()\n")
RANKS = (Rank.WORKERS, Rank.IMPORT, Rank.PIPELINE, Rank.LINE)


def text(inserts: list[Insert]) -> str:
    return apply(TREE, inserts).code


@pytest.mark.parametrize("ranks", list(permutations(RANKS)))
def test_the_order_of_planning_decides_nothing(ranks: tuple[Rank, ...]) -> None:
    lines = [Insert(TREE.body[1], f"add_{rank.name.lower()}()", rank=rank) for rank in ranks]
    assert text(lines) == "first()\nadd_workers()\nadd_import()\nadd_pipeline()\nadd_line()\nlast()\n"


def test_lines_of_one_rank_stand_as_planned() -> None:
    lines = [Insert(TREE.body[1], f"{name}()") for name in "cab"]
    assert text(lines) == "first()\nc()\na()\nb()\nlast()\n"
