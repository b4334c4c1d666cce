"""Models that a custom loop trains, without fit() and train_on_batch(): a scope alone does not distribute it.

Measured with two replicas on TensorFlow 2.21: outside strategy.run(), apply_gradients() of Keras 3 raises RuntimeError,
and that of Keras 2 trains something else from the second step on.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.importing import LIBRARIES
from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import Group, Refusal, concerns
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import INFERENCE, Facts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.values import Parallel
from tfmigrate.walk import walk

_UPDATES = frozenset({"apply_gradients", "minimize", "get_updates"})
"""Methods of optimizers that change weights, or say how."""
_WEIGHTS = frozenset({"trainable_weights", "trainable_variables", "weights", "variables"})


def trained_by_hand(owner: Owner, drafts: Mapping[Module, Draft]) -> Refusal | None:
    """An optimizer that is given a model's weights by hand, or any that updates near a model that nothing else uses."""
    for wrap in owner.wraps:
        obeyed = obeyed_now(wrap)
        if obeyed is not None:
            return obeyed
    near = {owner.module, *(wrap.site.frame.module for wrap in owner.wraps)}
    for module, draft in drafts.items():
        steps = _steps(draft.facts)
        for group in owner.groups:
            loaded = _behind_a_loader(group, draft) if not group.trainings else None
            if loaded is not None:
                place = module.place(loaded)
                message = (
                    f"the model is passed to a module that is loaded under a computed name ({place}), and no known "
                    "code trains it: it cannot be determined whether fit() does"
                )
                return Refusal(codes.OWN_LOOP, message)
            if not steps:
                continue
            alone = module in near and not (group.compiles or group.trainings or _predicts(group, drafts))
            for call in steps:
                if alone or _is_given(call, group, draft.facts):
                    place = module.place(call, owner.module)
                    return Refusal(
                        codes.OWN_LOOP,
                        f"a custom loop trains the model ({place}): under a strategy train it with fit(), or with a "
                        "step that strategy.run() starts on every replica",
                    )
    return None


_LOADERS = frozenset({"importlib.import_module", "imp.load_source", "imp.load_module", "runpy.run_path"})


def _behind_a_loader(group: Group, draft: Draft) -> cst.Call | None:
    """A call that hands the model to what is imported by a name that is computed, so that its loop is unknown."""
    for call in draft.module.calls:
        if any(_is_of(group, arg.value, draft.facts) for arg in call.args) and _is_loaded(call.func, draft):
            return call
    return None


def _is_loaded(node: cst.BaseExpression, draft: Draft) -> bool:
    """Whether a loader is called in an expression, or in what its names are bound to."""
    pending, seen = [node], {node}
    while pending:
        for part in walk(pending.pop()):
            if isinstance(part, cst.Call):
                plain = isinstance(part.func, cst.Name) and part.func.value == "__import__"
                if plain or draft.facts.called(part) in _LOADERS:
                    return True
            value = bound_once(part, draft.scopes) if isinstance(part, cst.Name) else None
            if value is not None and value not in seen:
                seen.add(value)
                pending.append(value)
    return False


def obeyed_now(wrap: Wrap) -> Refusal | None:
    """A class of the program with a train_step(), which the parallel model, a plain Model, did not run."""
    for model in models_of(wrap.template):
        cls = model.instance.cls if model.instance is not None else None
        if cls is not None and cls.lookup("train_step") is not None:
            message = (
                f"the class {cls.node.name.value} has its own train_step(), which the parallel model did not run and "
                "fit() would run now: remove it if it must not be used, or train under a strategy by hand"
            )
            return Refusal(codes.OWN_LOOP, message)
    return None


def _steps(facts: Facts) -> list[cst.Call]:
    """The calls that update weights, but for those of a train_step(), which fit() runs, and of an optimizer's own."""
    steps = [call for call in facts.module.calls if _updates(call, facts)]
    if not steps:
        return []
    functions = facts.module.all_of(cst.FunctionDef)
    inner = {
        part for function in functions if function.name.value in _UPDATES | {"train_step"} for part in walk(function)
    }
    return [call for call in steps if call not in inner]


def _updates(call: cst.Call, facts: Facts) -> bool:
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _UPDATES:
        return False
    root = facts.called(call).split(".", 1)[0]
    return not root or root in LIBRARIES


def _predicts(group: Group, drafts: Mapping[Module, Draft]) -> bool:
    uses = (use for draft in drafts.values() for use in draft.facts.uses if use.method in INFERENCE)
    return any(concerns(use, group.models, group.wraps) for use in uses)


def _is_given(call: cst.Call, group: Group, facts: Facts) -> bool:
    """Whether `model.trainable_weights` of a model of the group stands among the arguments."""
    return any(
        isinstance(part, cst.Attribute) and part.attr.value in _WEIGHTS and _is_of(group, part.value, facts)
        for arg in call.args
        for part in walk(arg)
    )


def _is_of(group: Group, node: cst.BaseExpression, facts: Facts) -> bool:
    return any(
        (isinstance(option, Parallel) and option.wrap in group.wraps) or models_of(option) & group.models
        for option in facts.options(node)
    )
