"""Whether an expression is a model of Keras."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, Instance, ModelObject, Parallel


def may_be_model(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether a value may be a model; where it is unknown, its name decides."""
    values = facts.options(node)
    if any(isinstance(value, ModelObject | Parallel) for value in values):
        return True
    own = any(isinstance(value, Instance | ClassValue) for value in values)
    return not own and (dotted(node) or "").endswith("model")
