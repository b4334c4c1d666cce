"""`batches.next()`: iterators of Python 3 and of Keras 3 have no such method."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Made, Opaque, Value, options

_MAKER = "keras.preprocessing.image.ImageDataGenerator"
_ITERATORS = frozenset(
    f"keras.preprocessing.image.{name}" for name in ("Iterator", "NumpyArrayIterator", "DirectoryIterator")
)


def check(context: Context) -> Iterator[CallChange]:
    """`generator.next()` of a generator of the program, or of what ImageDataGenerator makes, is `next(generator)`."""
    facts, modules = context.facts, context.modules
    for call in facts.module.calls:
        func = call.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "next" or call.args:
            continue
        values = facts.options(func.value)
        if values and all(_is_iterator(option, modules.values()) for option in values):
            message = "iterators no longer have a next() method: the builtin next() is called"
            yield CallChange(codes.NEXT_METHOD, call, message, Replace(call, ("next(", func.value, ")")))


def _is_iterator(value: Value, known: Collection[Facts]) -> bool:
    """Whether a value is a generator of the program, or an iterator of Keras's image preprocessing."""
    if isinstance(value, Made):
        return value.kind == "generator"
    call = value.node if isinstance(value, Opaque) else None
    if not isinstance(call, cst.Call):
        return False
    name = next((names.canonical(facts.symbols[call.func]) for facts in known if call.func in facts.symbols), "")
    if name in _ITERATORS:
        return True
    if not isinstance(call.func, cst.Attribute) or not call.func.attr.value.startswith("flow"):
        return False
    owner = call.func.value
    return any(_is_maker(option, facts) for facts in known for option in facts.options(owner))


def _is_maker(value: Value, facts: Facts) -> bool:
    """Whether a value may be an ImageDataGenerator."""
    return any(
        isinstance(option, Opaque) and isinstance(option.node, cst.Call) and facts.canonical(option.node.func) == _MAKER
        for option in options(value)
    )
