"""What fit() may be given as None."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.change.command_line import declarations, is_of_absl, is_option
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import default_of
from tfmigrate.understand.values import NOTHING, Parameter, Value


def may_be_none(facts: Facts, node: cst.BaseExpression) -> bool:
    """Whether what is written there is None on some path; a None that is written out is no question."""
    if isinstance(node, cst.IfExp):
        return any(is_none(arm) or may_be_none(facts, arm) for arm in (node.body, node.orelse))
    if is_none(node):
        return False
    return _is_unset(facts, node) or any(option == NOTHING or _is_optional(option) for option in facts.options(node))


def _is_unset(facts: Facts, node: cst.BaseExpression) -> bool:
    """Whether an expression reads an option of the command line, which is None where it is not given."""
    if not isinstance(node, cst.Attribute):
        return False
    declared = [keywords(call) for _, call in declarations(node, (facts.module,)) if not is_of_absl(call)]
    return is_option(node, facts) and any(
        named.keys().isdisjoint(("default", "required", "action")) for named in declared
    )


def _is_optional(value: Value) -> bool:
    """Whether a value is a parameter that is None where no caller gives it."""
    if not isinstance(value, Parameter) or value.frame.function is None:
        return False
    default = default_of(value.name, value.frame.function)
    return default is not None and is_none(default)
