"""Files that the program wrote before its migration, and weights in them that are not what it will write now."""

from __future__ import annotations

from collections.abc import Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.negations import negated
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import LOADING, SAVING, TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import ClassValue, FunctionValue, Literal, ModelObject, Parallel, Value, options
from tfmigrate.walk import walk
from tfmigrate.written import Written


def say_files_of_old_runs(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Files that the parallel model wrote, and those that a template wrote whose clone was trained."""
    if wrap.cpu_relocation:
        drafts[wrap.site.frame.module].say(
            codes.RELOCATED_TEMPLATE,
            wrap.call,
            "cpu_relocation=True trained a clone: files saved from the template had untrained weights, and will now "
            f"have the trained ones{_begun_with(wrap, facts)}",
            "warn",
        )
    for use in facts.uses:
        if wrap.wrapper_class is not None and _has_own(wrap.wrapper_class, use.method):
            continue  # Its files are the template's already.
        if _is_on_the_other_side(use, wrap):
            continue
        if use.method in SAVING | {"load_weights"} and _may_be_parallel(use.receiver, wrap, facts):
            drafts[use.site.frame.module].say(
                codes.PARALLEL_CHECKPOINT,
                use.call,
                f"{use.method}() was called on the parallel model, whose files nest the model as one layer; the "
                "plain model neither writes nor reads that layout, so files from old runs need converting",
                "warn",
            )


def _may_be_parallel(value: Value, wrap: Wrap, facts: ProgramFacts) -> bool:
    """Whether a value may be what a wrap makes: not where its function is called for one GPU here and for more
    elsewhere."""
    made = [option.wrap for option in options(value) if isinstance(option, Parallel) and option.wrap.call is wrap.call]
    more = any(one.call is wrap.call and not _is_for_one(one) for one in facts.wraps)
    return any(not _is_for_one(one) for one in made) if more else bool(made)


def _is_for_one(wrap: Wrap) -> bool:
    """Whether the number of GPUs is at most one, which a guard asks for."""
    number = wrap.gpus_value.value if isinstance(wrap.gpus_value, Literal) else None
    return isinstance(number, int) and number <= 1 and bool(wrap.guards)


def _begun_with(wrap: Wrap, facts: ProgramFacts) -> str:
    """The weights that training begins with now, in words, where the clone began with new ones instead."""
    here, known = wrap.site.frame.module, models_of(wrap.template)
    parts = _with_own_weights(known)
    trained = next((number for number, use in enumerate(facts.uses) if _trains(use, wrap)), None)
    told = [
        f"{use.method}() at {use.place(here)}"
        for use in facts.uses[:trained]
        if use.method in LOADING | TRAINING and not parts.isdisjoint(options(use.receiver))
    ]
    told += [
        f"{model.maker.rpartition('.')[2]}() at {model.site.frame.module.place(model.site.unit, here)}"
        for model in facts.models
        if model in parts and _has_weights(model)
    ]
    if told:
        return f"; the clone started with new weights, and training now starts from those of {told[0]}"
    if known:
        return ""
    return "; the clone started with new weights: if the template had been given others, training now starts from them"


def _with_own_weights(models: Set[ModelObject]) -> frozenset[Value]:
    """These models and those they are built on; what a copy was made from has weights of its own."""
    pending, parts = [*models], set[Value]()
    while pending:
        model = pending.pop()
        if model not in parts:
            parts.add(model)
            pending.extend(model.on if model.origin != "loaded" else ())
    return frozenset(parts)


def _trains(use: Use, wrap: Wrap) -> bool:
    """Whether a call trains the parallel model."""
    return use.method in TRAINING and wrap.may_make(use.receiver)


def _has_weights(model: ModelObject) -> bool:
    """Whether a model is made with weights from a file."""
    if model.origin == "loaded":
        return model.maker.endswith("load_model")
    weights = keywords(model.node).get("weights") if isinstance(model.node, cst.Call) else None
    return model.origin == "a pretrained network" and (weights is None or not is_none(weights.value))


def _is_on_the_other_side(use: Use, wrap: Wrap) -> bool:
    """Whether a call stands in the arm of a later `if` with the wrap's own test, or its opposite, in which nothing was
    wrapped."""
    arms = [
        _asked(owner.test, holds=block is owner.body)
        for owner, block in use.site.frame.module.arms(use.site.unit)
        if isinstance(owner, cst.If)
    ]
    for guard in wrap.guards:
        if isinstance(guard.node, cst.If):
            test, holds = _asked(guard.node.test, holds=guard.arm == "body")
            opposite = negated(Written.at(test)).tree
            if any(asked.deep_equals(test if held != holds else opposite) for asked, held in arms):
                return True
    return False


def _asked(test: cst.BaseExpression, *, holds: bool) -> tuple[cst.BaseExpression, bool]:
    """A condition without `not` in front of it, and whether it holds."""
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, holds = test.expression, not holds
    return test, holds


def _has_own(cls: ClassValue, method: str) -> bool:
    """Whether a class that wraps a parallel model answers a method itself, by that name or in __getattribute__."""
    if cls.lookup(method) is not None:
        return True
    chooser = cls.lookup("__getattribute__")
    strings = walk(chooser.node) if isinstance(chooser, FunctionValue) else ()
    return any(
        isinstance(part, cst.SimpleString) and bool(part.raw_value) and part.raw_value in method for part in strings
    )
