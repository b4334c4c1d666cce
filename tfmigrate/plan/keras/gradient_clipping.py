"""`Adam(clipnorm=...)`: Keras 3 clips the gradients of each replica and adds them up after, Keras 2 before."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, is_zero, keywords
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk

_HELPER = "clipped_together"
CLIPS = ("clipnorm", "clipvalue", "global_clipnorm")


def check(context: Context) -> Iterator[CallChange]:
    """An optimizer that clips by one bound is wrapped: its gradients are added up over the replicas first."""
    if not context.migration.spreads:
        return
    facts = context.facts
    helper = Helper.of(context.draft, _HELPER)
    wrapped: dict[cst.Call, CallChange] = {}
    used: set[str] = set()
    for call in facts.module.calls:
        real = facts.called(call)
        bounds = bounds_of(call, real, context.settings) if names.is_optimizer(real) else ()
        if len(bounds) == 1 and not _is_wrapped(call, facts):
            used.update(bounds)
            edit = Replace(call, (f"{helper}(", call, ")"))
            wrapped[call] = CallChange(codes.GRADIENT_CLIPPING, call, _MESSAGE, edit)

    def is_needless(unit: cst.BaseStatement) -> bool:
        """A statement clips by a bound that no optimizer here has."""
        asked = unit.test if isinstance(unit, cst.If) else None
        return isinstance(asked, cst.Attribute) and asked.attr.value in CLIPS and asked.attr.value not in used

    yield from helper.brought_by(wrapped, wrapped.values(), leave_out=is_needless)


_MESSAGE = (
    "Keras 3 clips the gradients of each replica before it adds them up, which clips less: they are added up first, "
    "as in Keras 2"
)


def bounds_of(call: cst.Call, real: str, settings: Settings) -> tuple[str, ...]:
    """What an optimizer is given to clip by, as it is called today. Old `clipnorm` bounded all gradients together."""
    clips = [name for name, argument in keywords(call).items() if name in CLIPS and not _is_nothing(argument)]
    flavour = names.flavour(real)
    version = settings.written_for("keras" if flavour == "keras" else "tensorflow")
    together = flavour == "keras" or (version is not None and version < (1, 14))
    return tuple("global_clipnorm" if name == "clipnorm" and together else name for name in clips)


def _is_nothing(argument: cst.Arg) -> bool:
    """Whether a bound is None or 0, by which nothing is clipped."""
    return is_none(argument.value) or is_zero(argument.value)


def _is_wrapped(optimizer: cst.Call, facts: Facts) -> bool:
    """Whether an optimizer is given to a function of the program that sets its `apply`, itself or through others."""
    for call in facts.module.calls:
        if any(optimizer in walk(arg.value) for arg in call.args):
            for function in facts.options(call.func):
                if isinstance(function, FunctionValue) and any(map(_sets_apply, walk(function.node))):
                    return True
    return False


def _sets_apply(node: cst.CSTNode) -> bool:
    target = node.target if isinstance(node, cst.AssignTarget) else None
    return last_attribute(target) == "apply"
