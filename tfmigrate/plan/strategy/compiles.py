"""The template and the parallel model, each compiled: as one object, the later compile() wins."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import Group, Refusal
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.lifecycle import Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.unreached import ENDING
from tfmigrate.understand.values import ModelObject, Parallel, Value, options
from tfmigrate.walk import walk, words_in


def compiled_apart(groups: Iterable[Group], drafts: Mapping[Module, Draft]) -> Refusal | None:
    """Why the models stay apart: the template is compiled with other settings after the parallel model and before that
    trains, and of one object the later compile() wins. None where no compile() is in the way."""
    for group, wrap in [(each, wrap) for each in groups for wrap in each.wraps]:
        for use in group.compiles:
            if _is_template(use, wrap) and _wins_instead(use, wrap, group, drafts[use.site.frame.module]):
                return Refusal(
                    codes.TWO_COMPILES,
                    f"the template is compiled separately at {use.place(use.site.frame.module)}, after the parallel "
                    "model and before its training; as one object, the later compile() wins",
                )
    return None


def _wins_instead(use: Use, wrap: Wrap, group: Group, draft: Draft) -> bool:
    """Whether a compile() of the template has other settings than one of the parallel model before it, and the parallel
    model trains after both without being compiled again."""
    parallel = [other for other in group.compiles if _is_parallel(other, wrap)]
    if all(not _follows(use, other) or _says_the_same(other, use, group, draft) for other in parallel):
        return False
    again = [other for other in parallel if _follows(other, use)]
    return any(
        _is_parallel(training, wrap)
        and _follows(training, use)
        and not any(_follows(training, other) for other in again)
        for training in group.trainings
    )


def compiled_again(groups: Iterable[Group], drafts: Mapping[Module, Draft]) -> Iterator[tuple[Module, cst.Expr]]:
    """The compile() of the parallel model that repeats that of its template, or the other way round."""
    for group, wrap in [(each, wrap) for each in groups for wrap in each.wraps]:
        for use in group.compiles:
            statement = only_statement(use.site.unit)
            if not isinstance(statement, cst.Expr) or statement.value is not use.call:
                continue
            if not _is_surely_of(use, wrap):
                continue
            others = (other for other in group.compiles if other is not use and _is_surely_of(other, wrap))
            if any(_is_repeated(other, use, group, drafts[use.site.frame.module]) for other in others):
                yield use.site.frame.module, statement


def _is_surely_of(use: Use, wrap: Wrap) -> bool:
    """Whether a method is called on the one template of a wrap, or on what the wrap made of it, and on nothing else."""
    template = options(wrap.template)
    if len(template) != 1 or template != _templates(wrap):
        return False
    return all(
        option.wrap is wrap if isinstance(option, Parallel) else option in template for option in options(use.receiver)
    )


def _is_repeated(first: Use, second: Use, group: Group, draft: Draft) -> bool:
    """Whether the second of two calls always comes after the first, and says the same."""
    if first.site.frame.module is not draft.module or not _follows(second, first):
        return False
    ancestors = draft.module.ancestors
    round_ = {unit for unit in ancestors(first.site.unit) if not isinstance(unit, cst.With)}  # which always runs
    return round_ <= {*ancestors(second.site.unit)} and _says_the_same(first, second, group, draft)


def _says_the_same(first: Use, second: Use, group: Group, draft: Draft) -> bool:
    """Whether two calls in one function have the same arguments, and nothing between them trains a model, freezes a
    layer or binds a name that the second reads."""
    module, before, after = draft.module, first.site.unit, second.site.unit
    if first.site.frame.function is not second.site.frame.function or first.site.frame.module is not module:
        return False
    if [_normal(arg, module) for arg in first.call.args] != [_normal(arg, module) for arg in second.call.args]:
        return False

    def is_between(unit: cst.CSTNode) -> bool:
        return unit in module.order and module.order[before] < module.order[unit] < module.order[after]

    if any(use.site.frame.module is module and is_between(use.site.unit) for use in group.trainings):
        return False
    toggled = {toggle.node for toggle in draft.facts.toggles}
    if any(is_between(unit) and not toggled.isdisjoint(walk(unit)) for unit in module.order):
        return False
    read = words_in(*(arg.value for arg in second.call.args))
    return not any(is_between(binding.unit) for name in read for binding in draft.scopes.bindings(name))


def _normal(arg: cst.Arg, module: Module) -> str:
    """An argument as text, however it is laid out."""
    keyword = f"{arg.keyword.value}=" if arg.keyword is not None else arg.star
    return keyword + ast.dump(ast.parse(f"({module.code(arg.value)})"))


def _follows(use: Use, other: Use) -> bool:
    """Whether a call comes after another one of the same file, and not in the other arm of a common `if`."""
    module, after, before = use.site.frame.module, use.site.unit, other.site.unit
    if module is not other.site.frame.module:
        return False
    return (
        module.order[after] > module.order[before]
        and not module.exclusive(after, before)
        and not _left(module, before, after)
    )


def _left(module: Module, before: Unit, after: Unit) -> bool:
    """Whether the arm of an `if` that a unit stands in leaves the function before a later one of it is reached."""
    round_ = set(module.ancestors(after))
    for owner, block in module.arms(before):
        if owner in round_ or isinstance(owner, cst.FunctionDef):
            return False
        if isinstance(owner, cst.If) and module.leaves(block, ENDING):
            return True
    return False


def _is_parallel(use: Use, wrap: Wrap) -> bool:
    return any(isinstance(option, Parallel) and option.wrap is wrap for option in options(use.receiver))


def _is_template(use: Use, wrap: Wrap) -> bool:
    return not _is_parallel(use, wrap) and not _templates(wrap).isdisjoint(options(use.receiver))


def _templates(wrap: Wrap) -> frozenset[Value]:
    """What a wrap is given, as far as it is the same model wherever it is met."""
    return wrap.unfollowed.union(option for option in options(wrap.template) if isinstance(option, ModelObject))
