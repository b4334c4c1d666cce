"""Functions of a user's program: where new ones are inserted, and where one is mentioned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import libcst as cst

from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.understand.blocks import is_seam, only_statement
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk


def with_function(
    module: Module,
    code: Callable[[], str],
    users: Iterable[cst.CSTNode],
    changes: Iterable[CallChange],
    rank: Rank = Rank.RULE,
) -> Iterator[CallChange]:
    """The changes, which make `users` call the function that `code()` defines. Each brings the definition along, since
    any of them may be left out. `code` is called only where there are changes: to write a helper takes long."""
    changes = list(changes)
    if not changes:
        return
    definition = Insert(place_for_function(module, users), code(), rank=rank)
    yield from (replace(change, more=(*change.more, definition)) for change in changes)


def place_for_function(module: Module, users: Iterable[cst.CSTNode]) -> cst.CSTNode:
    """The statement before which to insert a function that `users` call: the first definition of the module, or, where
    a user comes first or the module is a notebook, the place behind the imports above it and behind the calls that
    follow them for their effects, and the assertions.

    In a notebook it stands in the cell of the last import above them: the next one may begin with anything.
    """
    used = set(users)
    body = module.tree.body
    in_cells = any(map(is_seam, body))
    ends = (n for n, unit in enumerate(body) if any(node in used for node in walk(unit)))
    functions = (n for n, unit in enumerate(body) if isinstance(unit, cst.FunctionDef | cst.ClassDef))
    first_use, first_function = next(ends, len(body)), next((n for n in functions if not is_seam(body[n])), len(body))
    end = first_use if in_cells and first_use < len(body) else min(first_use, first_function)
    if isinstance(body[end], cst.FunctionDef | cst.ClassDef) and not in_cells:
        return body[end]
    place = max((n + 1 for n, unit in enumerate(body[:end]) if imports_only_in(unit)), default=0)
    while place < end and isinstance(only_statement(body[place]), cst.Expr | cst.Assert):
        place += 1
    return body[place]


def mentions(name: str, modules: Iterable[Module]) -> Iterator[cst.Name]:
    """Every mention of a name in a program, as a variable or an attribute, but for those in imports."""
    for module in modules:
        if name in module.text:
            imported = {part for node in module.all_of(cst.ImportAlias) for part in walk(node)}
            for node in module.all_of(cst.Name):
                if node.value == name and node not in imported:
                    yield node


def imports_only_in(unit: cst.CSTNode) -> bool:
    """Whether a statement, also a `try` or `if`, does nothing but import."""
    smalls = [part for part in walk(unit) if isinstance(part, cst.BaseSmallStatement)]
    return isinstance(unit, cst.SimpleStatementLine | cst.Try | cst.If) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in smalls
    )
