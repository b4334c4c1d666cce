"""Lists in the batches of generators and Sequences, where Keras 3 takes tuples."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.data.made_batches import batches_made, parts_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import Items
from tfmigrate.written import listed


def check(context: Context) -> Iterator[CallChange]:
    """`yield [x, y]` is `yield x, y`, and `[first, second]` in it, the inputs of a model, a tuple too."""
    facts, modules = context.facts, context.modules
    seen: set[cst.CSTNode] = set()
    for batch in batches_made(facts, modules):
        if batch.node in seen:
            continue
        seen.add(batch.node)
        if batch.is_predicted and isinstance(batch.node, cst.List):
            message = f"{_FAILS}; predict() reads this one as several inputs, and training as inputs and targets"
            yield CallChange(codes.LISTS_IN_BATCHES, batch.node, message, action="warn")
            continue
        lists = [node for node in parts_of(batch.node) if _length(node, facts) or _is_of_arrays(node, context)]
        if batch.is_yielded and _length(batch.node, facts) > 1:
            lists.insert(0, batch.node)  # A Sequence may return one.
        for node in lists:
            bare = node is batch.node and "\n" not in facts.module.code(node)
            yield CallChange(codes.LISTS_IN_BATCHES, node, f"{_FAILS}: it is a tuple", _as_tuple(node, facts, bare))


_FAILS = "Keras 3 fails on a list in a batch of a generator or a Sequence"


def _length(node: cst.BaseExpression, facts: Facts) -> int:
    """How many elements a list has, written out or in a variable; 0 for anything else, and for numbers."""
    if isinstance(node, cst.List):
        parts = [element.value for element in node.elements]
        return 0 if any(isinstance(part, cst.BaseNumber | cst.UnaryOperation) for part in parts) else len(parts)
    known = facts.options(node) if isinstance(node, cst.Name | cst.Attribute) else frozenset()
    lengths = {
        len(option.values) if isinstance(option, Items) and option.counted and option.kind == "list" else 0
        for option in known
    }
    return lengths.pop() if len(lengths) == 1 else 0


def _is_of_arrays(node: cst.BaseExpression, context: Context) -> bool:
    """Whether a variable is set once, to `[np.zeros(shape) for _ in range(2)]`: an array for each input."""
    value = settled(node, context.scopes)
    if not isinstance(value, cst.ListComp) or not isinstance(value.elt, cst.Call):
        return False
    over = value.for_in.iter
    if not isinstance(over, cst.Call) or not isinstance(over.func, cst.Name) or over.func.value != "range":
        return False
    counts = [argument.value for argument in over.args]
    few = all(isinstance(number, cst.Integer) and 1 < number.evaluated_value < 9 for number in counts)
    return len(counts) == 1 and few and context.facts.symbols.get(value.elt.func, "").startswith("numpy.")


def _as_tuple(node: cst.BaseExpression, facts: Facts, bare: bool) -> Replace:
    """The tuple in a list's place, `bare` without parentheses; the only element of a list stands alone."""
    if not isinstance(node, cst.List):
        return Replace(node, (node, "[0]") if _length(node, facts) == 1 else ("tuple(", node, ")"))
    if len(node.elements) == 1:
        only = node.elements[0]
        return Replace(node, ("tuple(", only.value, ")") if isinstance(only, cst.StarredElement) else (only.value,))
    parts = listed(
        ("*", element.value) if isinstance(element, cst.StarredElement) else (element.value,)
        for element in node.elements
    )
    return Replace(node, parts if bare else ("(", *parts, ")"))
