"""`class Monitor(BaseLogger)`: a class that Keras 3 no longer has, and that most callbacks take nothing from."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk

_KEPT = frozenset({"seen", "totals", "stateful_metrics"})
"""The attributes in which BaseLogger adds up an epoch."""
_OWN = "on_epoch_end"
"""Where BaseLogger writes its averages over those of fit()."""


def check(context: Context) -> Iterator[CallChange]:
    for cls in context.facts.module.all_of(cst.ClassDef):
        for base in cls.bases:
            name = names.canonical(context.facts.symbols.get(base.value, ""))
            if name == "keras.callbacks.BaseLogger" and not _takes_from_it(cls, context.facts):
                yield CallChange(
                    codes.CALLBACK_ATTRIBUTES,
                    base.value,
                    f"Keras 3 has no BaseLogger; {cls.name.value}, which has its own {_OWN}(), only used what "
                    "Callback has",
                    Replace(base.value, f"{context.tf}.keras.callbacks.Callback"),
                )


def _takes_from_it(cls: cst.ClassDef, facts: Facts) -> bool:
    """Whether a class leaves the averages to BaseLogger, reads what that keeps, or tells it which metrics not to
    average."""
    methods = {unit.name.value for unit in cls.body.body if isinstance(unit, cst.FunctionDef)}
    if _OWN not in methods:
        return True
    for part in walk(cls.body):
        if isinstance(part, cst.Attribute) and (part.attr.value in _KEPT or _is_of_base(part, facts)):
            return True
        if isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value == "__init__":
            own = part.args[:1] if isinstance(part.func.value, cst.Name) else ()  # BaseLogger.__init__(self)
            if len(part.args) > len(own):
                return True
    return False


def _is_of_base(node: cst.Attribute, facts: Facts) -> bool:
    """`super().on_epoch_end`, and any method that is taken of BaseLogger by its name."""
    if facts.canonical(node.value) == "keras.callbacks.BaseLogger":
        return True
    return isinstance(node.value, cst.Call) and dotted(node.value.func) == "super" and node.attr.value == _OWN
