"""Models that an object keeps before it is known how many GPUs there are: copied into a scope where they were wrapped.

`__init__` builds, and `fit(gpus=4)` wraps. A strategy must be there before the variables are, and nothing says so early
how many GPUs it is for. A copy is made in the scope, as the parallel model was one; the two share their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import given_optimizer, keywords, text_of
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments, Replace
from tfmigrate.plan.strategy.model_group import Group, Refusal, remade_optimizers
from tfmigrate.plan.strategy.trail import trail_of
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.scopes import LexicalScope
from tfmigrate.understand.syntax import dotted, sole_name
from tfmigrate.understand.values import NOTHING, Instance, Items, Literal, Made, ModelObject, Opaque, Value, options
from tfmigrate.walk import walk

_HELPER = "replicated"
_LATE = frozenset({codes.GPUS_TOO_LATE, codes.MADE_ELSEWHERE, codes.UNKNOWN_CALLERS})
_SHARING = TRAINING | {"compile", "evaluate", "predict", "predict_on_batch", "load_weights", "save", "save_weights"}
"""The methods of a copy that begin with the weights of its model."""
_READING = frozenset({"summary", "to_json", "to_yaml", "get_config", "count_params", "get_layer"})
_IN_BETWEEN = frozenset(
    f"on_{what}_{when}"
    for what in ("batch", "train_batch", "test_batch", "predict_batch", "test", "predict", "train")
    for when in ("begin", "end")
) - {"on_train_begin"}
"""Methods of callbacks that run when the model may not have the weights of its copy."""
_BEFORE_CALLBACKS = 5
"""Arguments of fit() before `callbacks`."""


def can_be_copied(wrap: Wrap, refusal: Refusal, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> bool:
    """Whether a wrap that is refused can stay as a copy: of a model that an object keeps, whose compile() is known,
    and with which nothing is done where the two would not have the same weights."""
    return _is_kept_model(wrap, refusal, drafts) and why_not_copied(wrap, refusal, facts, drafts) is None


def _is_kept_model(wrap: Wrap, refusal: Refusal, drafts: Mapping[Module, Draft]) -> bool:
    over_workers = drafts[wrap.site.frame.module].settings.over_workers
    if refusal.code not in _LATE or wrap.problem is not None or over_workers:
        return False
    return (
        (isinstance(wrap.template_node, cst.Attribute) or _is_handed_in(wrap))
        and isinstance(wrap.call.func, cst.Name | cst.Attribute)
        and not any(isinstance(guard.node, cst.Try) for guard in wrap.guards)
        and not wrap.several_only
        and wrap.together is None
        and wrap.template != NOTHING
        and all(_can_be_model(option) for option in options(wrap.template))
    )


def _is_handed_in(wrap: Wrap) -> bool:
    """Whether the model is a parameter of the function that wraps it, which cannot build it elsewhere then."""
    function, node = wrap.site.frame.function, wrap.template_node
    if not isinstance(node, cst.Name) or function is None:
        return False
    return node.value in parameters_of(function)


def why_not_copied(wrap: Wrap, refusal: Refusal, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> str | None:
    """What keeps the model of a refused wrap from being copied, in words; None where nothing does, or where that is no
    way to go."""
    if not _is_kept_model(wrap, refusal, drafts):
        return None
    uses = [use for use in facts.uses if wrap.may_make(use.receiver)]
    if not any(use.method == "compile" for use in uses):
        return "no compile() of the parallel model was found"
    for use in uses:
        if not _shares(use):
            place = use.site.frame.module.place(use.call)
            return f"after {use.method}() at {place} it would not have the model's weights"
    taken = _taken_apart(wrap, drafts.values())
    if taken is not None:
        return f"a part of the parallel model is used at {taken}"
    known = [_callbacks(use) for use in uses if use.method in TRAINING]
    used = None if None in known else [callback for callbacks in known for callback in callbacks or ()]
    watched = _watched(drafts.values(), used)
    return f"{watched} may read the model in the middle of an epoch" if watched is not None else None


def _can_be_model(option: Value) -> bool:
    """Whether clone_model() may know how to copy it: no object of a class of the program, and no single layer."""
    if isinstance(option, Made):
        return option.kind == "tensor" and bool(option.models)  # what an unknown function makes of a model
    of_program = isinstance(option, ModelObject) and any(base.instance is not None for base in option.base_models())
    return not isinstance(option, Instance) and not of_program


def _shares(use: Use) -> bool:
    if use.method in ("fit", "fit_generator"):
        positional = [arg for arg in use.call.args if arg.keyword is None and arg.star != "**"]
        return len(positional) <= _BEFORE_CALLBACKS and not any(arg.star for arg in positional)
    return use.method in _SHARING | _READING


def _taken_apart(wrap: Wrap, drafts: Iterable[Draft]) -> str | None:
    """Where another model may be built on the copy, or its layers looked at or frozen."""
    for draft in drafts:
        for node in draft.facts.values:
            if isinstance(node, cst.Attribute) and node.attr.value in _PARTS:
                if any(wrap.may_make(option) for option in draft.facts.options(node.value)):
                    return draft.module.place(node)
        for toggle in draft.facts.toggles:
            if wrap.may_make(toggle.receiver):
                return draft.module.place(toggle.node)
    return None


_PARTS = frozenset({"input", "inputs", "output", "outputs", "layers"})


def _callbacks(use: Use) -> list[Value] | None:
    """The callbacks that a training is given; None where they are not all known."""
    callbacks = use.argument(_BEFORE_CALLBACKS, "callbacks")
    if callbacks is None:
        return None if any(name in ("*", "**") for name, _ in use.arguments) else []
    items = [value for option in options(callbacks) if option != NOTHING
             for value in (option.values if isinstance(option, Items) else (option,))]  # fmt: skip
    each = [option for item in items for option in options(item) if option != NOTHING]
    known = all(
        isinstance(callback, Instance) or (isinstance(callback, Opaque) and isinstance(callback.node, cst.Call))
        for callback in each
    )
    return each if known else None


def _watched(drafts: Iterable[Draft], used: Sequence[Value] | None) -> str | None:
    """A callback of the program that runs in the middle of an epoch, in words. `used`: those in question, if known."""
    classes = None if used is None else {cls.node for callback in used if isinstance(callback, Instance)
                                         for cls in callback.cls.ancestors()}  # fmt: skip
    calls = None if used is None else {callback.node for callback in used if isinstance(callback, Opaque)}
    for draft in drafts:
        for cls in draft.facts.classes:
            if not _IN_BETWEEN.isdisjoint(cls.members) and (classes is None or cls.node in classes):
                return f"the callback {cls.node.name.value} ({draft.module.place(cls.node)})"
        for call in draft.module.calls:
            if calls is not None and call not in calls:
                continue
            if not _IN_BETWEEN.isdisjoint(keywords(call)) or _saves_between(call, draft):
                return f"the callback at {draft.module.place(call)}"
    return None


def _saves_between(call: cst.Call, draft: Draft) -> bool:
    """Whether a checkpoint may be written after so many batches."""
    saved = keywords(call).get("save_freq")
    if saved is None or text_of(saved.value) == "epoch":
        return False
    return draft.facts.options(saved.value) != {Literal("epoch")}


def remake_optimizers(groups: Iterable[Group], drafts: Mapping[Module, Draft]) -> None:
    """Make optimizers anew in their scope, where the program makes them outside of it.

    A string, which an unknown caller may pass, has no settings to ask for.
    """
    done: set[cst.BaseExpression] = set()
    for use in (use for group in groups for use in remade_optimizers(group)):
        argument = given_optimizer(use.call)
        if argument is None or argument in done:
            continue
        done.add(argument)
        draft, text = drafts[use.site.frame.module], dotted(argument)
        copy = f"type({text}).from_config({text}.get_config())"
        given = [other.argument(0, "optimizer") for other in draft.facts.uses if other.call is use.call]
        surely = all(
            isinstance(option, Made) and option.kind == "optimizer"
            for value in given
            if value is not None
            for option in options(value)
        )
        draft.edits.append(Replace(argument, copy if surely else f"{text} if isinstance({text}, str) else {copy}"))
        message = (
            f"the optimizer `{text}` is created outside the scope of the strategy, which Keras 3 rejects: another "
            "one with the same settings is created inside"
        )
        draft.say(codes.COPIED_MODEL, argument, message, "rewrite")


_FITTED = frozenset({"compile", "fit", "fit_generator", "summary"})


def _is_only_fitted(wrap: Wrap, draft: Draft) -> bool:
    """Whether the copy is bound to a variable of the function, and nothing but compiled and trained by fit() under that
    name, or another variable that it is bound to there."""
    function = wrap.site.frame.function
    if function is None:
        return False
    inside = tuple(walk(function))
    fitted = _receivers(inside)
    bound: dict[cst.CSTNode, cst.Assign] = {
        arm: assign for assign in inside if isinstance(assign, cst.Assign) for arm in _arms(assign.value)
    }
    names: list[cst.CSTNode] = [wrap.call]
    for node in names:
        if node not in fitted:
            reads = _reads_here(bound.get(node), draft, draft.scopes.by_node[function])
            if reads is None:
                return False
            names.extend(read for read in reads if read not in names)
    return True


def _receivers(inside: Iterable[cst.CSTNode]) -> frozenset[cst.CSTNode]:
    """What the methods of `_FITTED` are called on."""
    functions = (part.func for part in inside if isinstance(part, cst.Call))
    return frozenset(func.value for func in functions if isinstance(func, cst.Attribute) and func.attr.value in _FITTED)


def _reads_here(assign: cst.Assign | None, draft: Draft, scope: LexicalScope) -> list[cst.CSTNode] | None:
    """What reads the variable that a function binds; None where it binds none of its own, or others read it."""
    name = sole_name(assign)
    if name is None or draft.scopes.declared_elsewhere(name):
        return None
    reads = [mention for mention in draft.scopes.of_variable(name, scope) if not mention.binds]
    return [mention.node for mention in reads] if all(mention.scope is scope for mention in reads) else None


def _arms(value: cst.BaseExpression) -> tuple[cst.BaseExpression, ...]:
    """What an expression may be."""
    return (*_arms(value.body), *_arms(value.orelse)) if isinstance(value, cst.IfExp) else (value,)


def _freezes(module: Module) -> bool:
    """Whether a module sets the attribute `trainable` of something."""
    return any(
        isinstance(part.target, cst.Attribute) and part.target.attr.value == "trainable"
        for part in module.all_of(cst.AssignTarget)
    ) or any(dotted(call.func) == "setattr" for call in module.calls)


def copy_models(wraps: Iterable[Wrap], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """The edits that copy models where they were wrapped, and what is reported of it."""
    by_module: dict[Module, dict[cst.Call, Wrap]] = {}
    freezes = any(map(_freezes, drafts))
    for wrap in wraps:
        by_module.setdefault(wrap.site.frame.module, {})[wrap.call] = wrap
    for module, calls in by_module.items():
        draft = drafts[module]
        in_fit = not freezes and all(_is_only_fitted(wrap, draft) for wrap in calls.values())
        helper = Helper.of(draft, _HELPER, "replicated_in_fit" if in_fit else "replicated")
        draft.edits.append(helper.above(calls))
        for call, wrap in calls.items():
            assert wrap.template_node is not None
            draft.edits.append(Arguments(call, (Argument(wrap.template_node),), function=helper.name))
            built = "by the callers" if _is_handed_in(wrap) else "before the number of GPUs is known"
            message = (
                f"the model is built {built}: {helper}() copies it into the scope of the strategy, and the two share "
                "their weights"
            )
            draft.say(codes.COPIED_MODEL, call, message, "rewrite", trail_of(wrap, facts))
