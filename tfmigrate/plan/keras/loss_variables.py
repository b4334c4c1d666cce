"""What the variables of a loss stand for, each where it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.understand.parameters import positional
from tfmigrate.understand.syntax import sole_name
from tfmigrate.walk import nodes_in, walk


def variables_of(function: cst.FunctionDef) -> dict[cst.Name, cst.BaseExpression | None]:
    """The names that are read below a binding of theirs, with their values; None where that may be another one.

    A value is sure where the name is bound by plain assignments of the function's own block, of which the last one
    above counts, or by one assignment alone. An argument that is bound in an `if` alone may have either value.
    """
    order = {node: number for number, node in enumerate(walk(function.body))}
    targets = [part for node in order for target in _targets(node) for part in nodes_in(target, cst.Name)]
    bound = Counter(target.value for target in targets)
    assignments = _assignments(function)
    sure = {name for name, plain in assignments.items() if _is_sure(name, plain, bound[name], function)}
    last = {one: max(order[node] for node in walk(one)) for plain in assignments.values() for one in plain}
    read: dict[cst.Name, cst.BaseExpression | None] = {}
    for node, place in order.items():
        if not isinstance(node, cst.Name) or node in targets or node.value not in bound:
            continue
        above = [one for one in assignments.get(node.value, ()) if last[one] < place]
        if node.value not in sure:
            read[node] = None
        elif above:
            read[node] = above[-1].value
    return read


def _assignments(function: cst.FunctionDef) -> dict[str, list[cst.Assign]]:
    """The plain assignments to each variable, in order."""
    found: dict[str, list[cst.Assign]] = {}
    for statement in nodes_in(function.body, cst.Assign):
        name = sole_name(statement)
        if name is not None:
            found.setdefault(name, []).append(statement)
    return found


def _is_sure(name: str, plain: Sequence[cst.Assign], bindings: int, function: cst.FunctionDef) -> bool:
    """Whether it is known which of some plain assignments a variable has its value from. `bindings`: all there are."""
    if len(plain) < bindings:
        return False
    own = {small for unit in function.body.body if isinstance(unit, cst.SimpleStatementLine) for small in unit.body}
    arguments = {param.name.value for param in positional(function.params)}
    return all(one in own for one in plain) or (len(plain) == 1 and name not in arguments)


def _targets(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor | cst.NamedExpr):
        yield node.target
    elif isinstance(node, cst.AsName):
        yield node.name
