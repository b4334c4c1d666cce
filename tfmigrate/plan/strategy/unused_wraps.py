"""Parallel models that nothing reads, of models that are trained themselves: the old program trained on one GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import sole_target


def unused_wraps(
    followed: Sequence[Wrap], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> dict[cst.Call, cst.BaseSmallStatement]:
    """The calls whose parallel model nothing reads, each with its statement; empty unless that is so of all wraps.

    A model whose wrap is used may share a strategy with the others, which then stay as they are.
    """
    statements = {wrap.call: _idle_statement(wrap, facts, drafts) for wrap in facts.wraps}
    if any(statement is None for statement in statements.values()):
        return {}
    if {wrap.call for wrap in followed} != statements.keys() or not all(_training(wrap, facts) for wrap in followed):
        return {}
    return {call: statement for call, statement in statements.items() if statement is not None}


def drop_unused(
    unused: Mapping[cst.Call, cst.BaseSmallStatement],
    wraps: Iterable[Wrap],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> None:
    """The edits that take such a wrap out, which changes nothing: the model goes on training on one GPU."""
    reported: set[cst.Call] = set()
    for wrap in wraps:
        use = _training(wrap, facts)
        if wrap.call in unused and wrap.call not in reported and use is not None:
            reported.add(wrap.call)
            module = wrap.site.frame.module
            message = (
                f"nothing uses this parallel model: {use.method}() at {use.place(module)} trains the model itself on "
                "one GPU, and still does; to train on several, build and compile the model in the scope of a "
                "MirroredStrategy"
            )
            drafts[module].change(codes.MULTI_GPU_MODEL, wrap.call, message, Remove(unused[wrap.call]))


def say_unused_in_scope(wraps: Iterable[Wrap], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Report unused parallel models that cannot be taken out, as their templates are built in a strategy's scope."""
    reported: set[cst.Call] = set()
    for wrap in wraps:
        use = _training(wrap, facts)
        if (
            use is None
            or use.method == "train_on_batch"
            or wrap.call in reported
            or not _is_only_shown(wrap, facts, drafts)
        ):
            continue
        reported.add(wrap.call)
        module = wrap.site.frame.module
        message = (
            f"nothing trains this parallel model: {use.method}() at {use.place(module)} trained the model itself on "
            "one GPU; it is now built in the scope of the strategy and trained on all of them, which is the same "
            "except for layers that look at a whole batch, such as BatchNormalization"
        )
        drafts[module].say(codes.SPREAD_ANEW, wrap.call, message, "warn")


def _is_only_shown(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> bool:
    """Whether the program does nothing with a parallel model but print its summary."""
    if _idle_statement(wrap, facts, drafts) is not None:
        return True
    module, name = wrap.site.frame.module, _kept_as(wrap, facts)
    if name is None:
        return False
    shown = {
        call.func.value
        for call in module.calls
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "summary"
    }
    mentions = _mentions(name, wrap, drafts)
    return all(mention.unit is wrap.site.unit if mention.binds else mention.node in shown for mention in mentions)


def _training(wrap: Wrap, facts: ProgramFacts) -> Use | None:
    """The first call that trains the model that is wrapped."""
    models = models_of(wrap.template)
    trainings = (use for use in facts.uses if use.method in TRAINING and not models.isdisjoint(use.models))
    return next(trainings, None)


def _idle_statement(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> cst.Assign | cst.Expr | None:
    """The statement of a wrap that keeps its parallel model in a name that nothing reads, or nowhere."""
    module, statement = wrap.site.frame.module, only_statement(wrap.site.unit)
    if module.numbering.cells or not all(is_pure(argument.value) for argument in wrap.call.args):
        return None
    if isinstance(statement, cst.Expr) and statement.value is wrap.call:
        return statement
    name = _kept_as(wrap, facts)
    if name is None or any(word in module.text for word in ("__all__", "locals()", "globals()")):
        return None
    bound = all(mention.binds and mention.unit is wrap.site.unit for mention in _mentions(name, wrap, drafts))
    return statement if bound and isinstance(statement, cst.Assign) else None


def _kept_as(wrap: Wrap, facts: ProgramFacts) -> cst.Name | None:
    """The name that a statement gives to a parallel model alone, where no other file and no later cell reads it."""
    module, statement = wrap.site.frame.module, only_statement(wrap.site.unit)
    if not isinstance(statement, cst.Assign) or statement.value is not wrap.call:
        return None
    target = sole_target(statement)
    if not isinstance(target, cst.Name) or (module, target.value) in facts.exported or module.numbering.cells:
        return None
    return target


def _mentions(name: cst.Name, wrap: Wrap, drafts: Mapping[Module, Draft]) -> Sequence[Occurrence]:
    """Where the variable that a wrap binds is mentioned."""
    draft = drafts[wrap.site.frame.module]
    return draft.scopes.of_variable(name.value, draft.scope_round(wrap.site.unit))
