"""Lists in the batches of generators and Sequences, where Keras 3 takes tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.data.made_batches import Batch, batches_made, called, parts_of
from tfmigrate.plan.data.only_output import has_one_input, has_one_output
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bindings_of, settled, unpacked
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Items, Opaque, Value
from tfmigrate.written import listed


def check(context: Context) -> Iterator[CallChange]:
    """`yield [x, y]` is `yield x, y`, and `[first, second]` in it, the inputs of a model, a tuple too."""
    facts = context.facts
    seen: set[cst.CSTNode] = set()
    batches = batches_made(context)
    making = {batch.function for batch in batches if not batch.is_yielded}
    making -= {batch.function for batch in batches if not parts_of(batch.node)}
    for batch in batches:
        if batch.node in seen:
            continue
        seen.add(batch.node)
        if batch.is_predicted and isinstance(batch.node, cst.List):
            message = f"{_FAILS}; predict() reads this one as several inputs, but training as inputs and targets"
            yield CallChange(codes.LISTS_IN_BATCHES, batch.node, message, action="warn")
            continue
        lists = [
            node
            for place, node in enumerate(parts_of(batch.node))
            if not _is_made_so(node, making, context)
            and (_length(node, facts) or _is_of_arrays(node, context) or _is_of_several(node, place, batch, context))
        ]
        if batch.is_yielded and _length(batch.node, facts) > 1:
            lists.insert(0, batch.node)  # A Sequence may return one.
        for node in lists:
            bare = node is batch.node and "\n" not in facts.module.code(node)
            yield CallChange(
                codes.LISTS_IN_BATCHES, node, (f"{_FAILS}: it becomes a tuple"), _as_tuple(node, facts, bare)
            )


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
    return len(counts) == 1 and few and context.facts.called(value.elt).startswith("numpy.")


def _is_of_several(node: cst.BaseExpression, place: int, batch: Batch, context: Context) -> bool:
    """Whether it is a list, of unknown length, for several inputs or outputs: one would take no list."""
    facts, modules = context.facts, context.modules
    one = has_one_output(batch.models, facts, modules) if place else has_one_input(batch.models, facts, modules)
    return one is False and not _is_unpacked(node, context.scopes) and _is_list(node, facts, modules)


def _is_unpacked(node: cst.BaseExpression, scopes: Scopes) -> bool:
    """Whether a variable is a part of what a call gives: the function that is called returns the tuple."""
    return any(unpacked(binding) is not None for binding in bindings_of(node, scopes))


def _is_made_so(node: cst.BaseExpression, making: Set[cst.FunctionDef], context: Context) -> bool:
    """Whether a variable is a part of what a function gives that makes batches too: the tuple is made there."""
    sources = [unpacked(binding) for binding in bindings_of(node, context.scopes)]
    return bool(sources) and all(
        isinstance(source, cst.Call) and not making.isdisjoint(called(source, context.facts)) for source in sources
    )


def _is_list(node: cst.CSTNode, facts: Facts, modules: Mapping[Module, Facts]) -> bool:
    """Whether it is surely one: a comprehension, lists that are added, or what a model of several outputs predicts."""
    if isinstance(node, cst.ListComp | cst.List):
        return True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return _is_list(node.left, facts, modules) or _is_list(node.right, facts, modules)
    known = facts.options(node)
    return bool(known) and all(
        option.kind == "list" if isinstance(option, Items) else _makes_list(option, facts, modules) for option in known
    )


def _makes_list(value: Value, facts: Facts, modules: Mapping[Module, Facts]) -> bool:
    call = value.node if isinstance(value, Opaque) else None
    if not isinstance(call, cst.Call):
        return False
    if isinstance(call.func, cst.Name) and call.func.value == "list":
        return call.func not in facts.symbols
    predicting = [use for use in facts.uses if use.call is call and use.method in ("predict", "predict_on_batch")]
    return bool(predicting) and all(has_one_output(use.models, facts, modules) is False for use in predicting)


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
