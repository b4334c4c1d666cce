"""Methods of strategies that have another name now, wherever they are called: no other library has these names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Replace
from tfmigrate.rules import Rule
from tfmigrate.understand.guarded import guarded
from tfmigrate.understand.module import Module


def plan_strategy_methods(drafts: Mapping[Module, Draft], rules: Iterable[Rule]) -> None:
    """Rename what the rules say. A name that the program defines itself is its own, and what is guarded is left."""
    rows = (row for rule in rules if rule.code == codes.STRATEGY_METHODS for row in rule.renames)
    renamed = {row.old: row.new for row in rows}
    defined = {node.name.value for module in drafts for node in module.all_of(cst.FunctionDef)} & renamed.keys()
    for module, draft in drafts.items():
        attributes = [
            node
            for node in module.all_of(cst.Attribute)
            if node.attr.value in renamed and node.attr.value not in defined
        ]
        excused = guarded(module) if attributes else frozenset()
        for node in attributes:
            old = node.attr.value
            # A name of TensorFlow, as an attribute of the class itself is, belongs to TFM501.
            if node not in excused | draft.facts.symbols.keys():
                message = (
                    f"strategy.{old}() is strategy.{renamed[old]}() since TensorFlow 2.2; 2.4 removed the old name"
                )
                draft.change(codes.STRATEGY_METHODS, node, message, Replace(node.attr, renamed[old]))
