"""Conditions of a program as one expression, in as few words as say the same."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import libcst as cst

from tfmigrate.plan.strategy.negations import bracketed, negated
from tfmigrate.understand.syntax import dotted
from tfmigrate.written import Written

_MOST = 4
"""Different tests that are tried in all their outcomes."""


def any_of(ways: Sequence[tuple[Written, ...]]) -> Written:
    """The condition that all parts of one of some ways hold."""
    only = _only_test(ways)
    if only is not None:
        return only
    ways = list(dict.fromkeys(map(_said_once, ways)))
    if len(ways) == 1:
        whole = _all(ways[0])
        return bracketed(whole) if _is_choice(whole) else whole
    end = _shared_end(ways)
    firsts = [way[: len(way) - end] for way in ways]
    either = Written.joined((_all(way) if len(way) == 1 else bracketed(_all(way)) for way in firsts), " or ")
    return _all((either, *ways[0][len(ways[0]) - end :])) if end else either


def _only_test(ways: Sequence[tuple[Written, ...]]) -> Written | None:
    """The one test that decides, whatever the others in the ways say; None where several do.

    `(g <= 1 or merged) and g > 1`, or else `not (g <= 1 or merged)`, is `g > 1`.
    """
    ways = [tuple(map(_plain, way)) for way in ways]
    tests: dict[Written, Written] = {}
    for way in ways:
        for part in way:
            for test in _tests(part):
                if negated(test) not in tests:
                    tests[test] = test
    if not 1 < len(tests) <= _MOST:
        return None
    outcomes = {}
    for said in product((False, True), repeat=len(tests)):
        outcome = dict(zip(tests, said, strict=True))
        outcomes[said] = any(all(_holds(part, outcome) for part in way) for way in ways)
    for number, test in enumerate(tests):
        for wanted in (True, False):
            if all(holds == (said[number] is wanted) for said, holds in outcomes.items()):
                return test if wanted else negated(test)
    return None


def _tests(condition: Written) -> Iterator[Written]:
    """What a condition asks, each test on its own."""
    parts = _operands(condition)
    for part in parts:
        yield from _tests(part)
    if not parts:
        yield condition


def _holds(condition: Written, outcome: Mapping[Written, bool]) -> bool:
    parts = _operands(condition)
    if not parts:
        return outcome[condition] if condition in outcome else not outcome[negated(condition)]
    held = [_holds(part, outcome) for part in parts]
    if len(held) == 1:
        return not held[0]
    tree = condition.tree
    return all(held) if isinstance(tree, cst.BooleanOperation) and isinstance(tree.operator, cst.And) else any(held)


def _operands(condition: Written) -> tuple[Written, ...]:
    """Both sides of an `and` or `or`, or what a `not` negates; nothing for a test."""
    tree = condition.tree
    if isinstance(tree, cst.BooleanOperation):
        sides: tuple[tuple[str, cst.BaseExpression], ...] = (("left", tree.left), ("right", tree.right))
    elif isinstance(tree, cst.UnaryOperation) and isinstance(tree.operator, cst.Not):
        sides = (("expression", tree.expression),)
    else:
        return ()
    return tuple(_plain(condition.part(name) or Written.of(side)) for name, side in sides)


def clauses(condition: Written) -> tuple[str, tuple[Written, ...]]:
    """The word between the parts of a condition, `and` or `or`, and these parts; of one test no word, and itself."""
    tree = condition.tree
    if not isinstance(tree, cst.BooleanOperation) or tree.lpar:
        return "", (condition,)
    left = condition.part("left") or Written.of(tree.left)
    right = condition.part("right") or Written.of(tree.right)
    word = "and" if isinstance(tree.operator, cst.And) else "or"
    inner, parts = clauses(left)
    return word, (*(parts if inner == word else (left,)), right)


def _plain(test: Written) -> Written:
    """A test without the parentheses round it."""
    tree = test.tree
    return Written.of(tree.with_changes(lpar=(), rpar=())) if tree.lpar else test


def _said_once(way: tuple[Written, ...]) -> tuple[Written, ...]:
    """A way without what another part of it says too: `x != 1` of an `elif x == 2`, or beside `x > 1`."""
    known = [compared for part in way if (compared := _compared(part)) and compared[2] is not cst.NotEqual]

    def is_said(part: Written) -> bool:
        compared = _compared(part)
        if compared is None or compared[2] is not cst.NotEqual:
            return False
        return any(left == compared[0] and _excludes(how, value, compared[1]) for left, value, how in known)

    return tuple(part for part in way if not is_said(part))


_ORDERED: Mapping[type[cst.BaseCompOp], Callable[[int, int], bool]] = {
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
}


def _excludes(how: type[cst.BaseCompOp], value: object, other: object) -> bool:
    """Whether what is equal to, more, or less than one value is not the other."""
    if how in _ORDERED:
        return isinstance(value, int) and isinstance(other, int) and not _ORDERED[how](other, value)
    return how is cst.Equal and value != other


def _compared(part: Written) -> tuple[str, object, type[cst.BaseCompOp]] | None:
    """The name, the literal and the operator of `name == 'literal'`; None for any other expression."""
    tree = part.tree
    if not isinstance(tree, cst.Comparison) or len(tree.comparisons) != 1:
        return None
    left, right = dotted(tree.left), tree.comparisons[0].comparator
    if left is None or not isinstance(right, cst.SimpleString | cst.Integer):
        return None
    return left, right.evaluated_value, type(tree.comparisons[0].operator)


def _shared_end(ways: Sequence[tuple[Written, ...]]) -> int:
    """How many parts all the ways end with, where each begins with one of its own."""
    most = min(map(len, ways)) - 1
    return next((count for count in range(most, 0, -1) if len({way[-count:] for way in ways}) == 1), 0)


def _all(way: Sequence[Written]) -> Written:
    """All of some conditions."""
    parts = (bracketed(part) if len(way) > 1 and _is_weaker_than_and(part) else part for part in way)
    return Written.joined(parts, " and ")


def _is_weaker_than_and(part: Written) -> bool:
    return " or " in part.text or _is_choice(part)


def _is_choice(part: Written) -> bool:
    """Whether an expression is an `a if b else c`, which must have parentheses where it stands in another one."""
    return isinstance(part.tree, cst.IfExp) and not part.tree.lpar
