"""What the positional arguments of an optimizer are: their places were others in older versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from tfmigrate.old_keras import CHANGED, FIRST, SINCE, SWITCHES
from tfmigrate.plan.edits import Argument
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Literal

Version = tuple[int, ...]


def meanings(
    optimizer: str, flavour: str, version: Version | None, arguments: Sequence[Argument], facts: Facts
) -> list[tuple[str, ...]]:
    """The names that the positional arguments of a call may have, in lower or higher versions: one where the version,
    the values, the keywords beside them or what they are called tell; none where no version took them.

    `optimizer` is the class in lower case, `version` what the code was written for, where that is known.
    """
    positional = [argument.value for argument in arguments if argument.keyword is None]
    keywords = {argument.keyword for argument in arguments if argument.keyword is not None}
    old, new = FIRST.get(optimizer, ()), SINCE.get(flavour, {}).get(optimizer, ())
    if version is not None:
        old, new = (old, ()) if version < CHANGED[flavour] else ((), new)
    orders = {
        taken: None
        for parameters in (old, new)
        if len(taken := parameters[: len(positional)]) == len(positional)
        and not keywords & set(taken)
        and all(_fits(facts, name, value) for name, value in zip(taken, positional, strict=True))
    }
    called = [taken for taken in orders if any(_is_called(positional[n], taken[n]) for n in disputed(orders))]
    return called if len(called) == 1 else list(orders)


def disputed(orders: Iterable[tuple[str, ...]]) -> list[int]:
    """The places where they differ."""
    return [n for n, each in enumerate(zip(*orders, strict=True)) if len(set(each)) > 1]


def _fits(facts: Facts, name: str, value: cst.BaseExpression | str) -> bool:
    """Whether a parameter takes what is known of a value."""
    if isinstance(value, cst.Float | cst.Integer):
        return _takes(name, value.evaluated_value)
    known = facts.options(value) if not isinstance(value, str) else frozenset()
    return all(_takes(name, option.value) for option in known if isinstance(option, Literal))


def _takes(name: str, value: object) -> bool:
    if value is None:
        return name == "epsilon"
    if name in SWITCHES:
        return value in (0, 1)  # and so False and True
    return not isinstance(value, bool | str)


def _is_called(value: cst.BaseExpression | str, name: str) -> bool:
    """`decay`, `args.decay`, `weight_decay`."""
    text = dotted(value) if not isinstance(value, str) else None
    return text is not None and text.rsplit(".", 1)[-1].lower().endswith(name)
