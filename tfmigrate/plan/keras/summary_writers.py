"""`tensorboard.writer`: where TensorBoard of TensorFlow 1 and of old Keras kept its summary writer."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.walk import walk

_MESSAGE = "TensorBoard of TensorFlow 2 has no `writer` (AttributeError): {}() creates one, as the old TensorBoard did"


def check(context: Context) -> Iterator[CallChange]:
    """`self.tensorboard.writer.add_summary(...)`, by whatever name, and `self.writer` in a class of the program."""
    facts = context.facts
    read = list(_read(facts))
    if not read or _sets_one(facts):
        return
    helper = Helper.of(context.draft, "writer_of")
    message = _MESSAGE.format(helper.name)
    new = {node: Replace(node, (f"{helper}(", node.value, ")")) for node in read}
    changes = [CallChange(codes.SUMMARY_WRITERS, node, message, edit) for node, edit in new.items()]
    yield from helper.brought_by(read, changes)


def _read(facts: Facts) -> Iterator[cst.Attribute]:
    """Each `x.writer`, where the module adds a summary to a writer of `x`, or `x` is `self` of a TensorBoard."""
    subclasses = {
        node
        for cls in facts.classes
        if "keras.callbacks.TensorBoard" in {names.canonical(base) for base in cls.outside_bases()}
        for node in walk(cls.node)
    }
    read = [node for node in facts.module.all_of(cst.Attribute) if node.attr.value == "writer"]
    written = set(filter(None, map(_written_by, facts.module.calls)))
    for node in read:
        name = dotted(node.value)
        if node in subclasses if name == "self" else name in written:
            yield node


def _written_by(call: cst.Call) -> str | None:
    """The callback of `callback.writer.add_summary(...)`, by its name."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "add_summary":
        return None
    return dotted(func.value.value) if isinstance(func.value, cst.Attribute) else None


def _sets_one(facts: Facts) -> bool:
    """Whether the module itself sets a `writer` somewhere."""
    return any(last_attribute(assigned.target) == "writer" for assigned in facts.module.all_of(cst.AssignTarget))
