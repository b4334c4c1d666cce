"""Which wraps can be followed: what they wrap is known, and some function sees how it is built."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.backends import other_backend
from tfmigrate.plan.strategy.kept import keeper_of
from tfmigrate.plan.strategy.model_group import Refusal, made_apart, owner_of, template_problem
from tfmigrate.understand import names
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.contents import opaque_sites
from tfmigrate.understand.exports import lists_of_exports
from tfmigrate.understand.folding import constant
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.program import Program
from tfmigrate.understand.reaching import values_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.signatures import misfit
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, Literal, Method, Parameter, options
from tfmigrate.walk import calls_in, walk, words_in

LEFT_ALONE = Refusal("", "")
"""For a call that the user suppressed, or whose code is not selected: nothing more is reported about it."""


@dataclass(frozen=True)
class Followed:
    """The activations of wraps that can be migrated."""

    wraps: tuple[Wrap, ...]
    set_to_one: tuple[Wrap, ...]
    """Those beside them that never wrap while the program keeps the number of GPUs that it has: `n_gpu = 1`."""


def follow(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> tuple[Followed, dict[cst.Call, Refusal]]:
    """The wraps that can be followed, and the calls that cannot be migrated, whatever is decided about the others."""
    judged, refused = _judged(facts, drafts)
    works = {wrap.call for wrap, refusal in judged if refusal is None}
    for wrap, refusal in judged:
        others_work = wrap.call in works and (_is_abstract(wrap) or _unfit_call(wrap) is not None)
        if refusal is not None and not others_work:
            refused.setdefault(wrap.call, refusal)
    return _run([wrap for wrap, refusal in judged if refusal is None and wrap.call not in refused], drafts), refused


def _judged(
    facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> tuple[list[tuple[Wrap, Refusal | None]], dict[cst.Call, Refusal]]:
    """Each wrap with why it cannot be followed, and the calls that are left alone."""
    misused = _needed_elsewhere(facts, drafts)
    elsewhere = other_backend(drafts.values())
    judged: list[tuple[Wrap, Refusal | None]] = []
    left_alone: dict[cst.Call, Refusal] = {}
    for wrap in facts.wraps:
        draft = drafts[wrap.site.frame.module]
        draft.leave(codes.MULTI_GPU_MODEL, wrap.call)
        if draft.allows(codes.MULTI_GPU_MODEL, wrap.call):
            judged.append((wrap, elsewhere or _why_not(wrap, misused, facts, drafts)))
        else:
            left_alone[wrap.call] = LEFT_ALONE
    return judged, left_alone


def _run(wraps: Sequence[Wrap], drafts: Mapping[Module, Draft]) -> Followed:
    """Some wraps without the activations that never wrap, of calls that have others."""
    carrier = Carrier(drafts)
    run = [wrap for wrap in wraps if not (_is_for_others(wrap) or _never_run(wrap, carrier))]
    calls = {wrap.call for wrap in run}
    idle = [wrap for wrap in wraps if wrap.call in calls and wrap not in run and not _is_for_others(wrap)]
    set_to_one = tuple(wrap for wrap in idle if _is_setting(wrap, carrier.scopes))
    return Followed(tuple(wrap for wrap in wraps if wrap in run or wrap.call not in calls), set_to_one)


def _why_not(
    wrap: Wrap, misused: Mapping[cst.ClassDef, str], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> Refusal | None:
    """Why one wrap cannot be followed, or None."""
    if wrap.problem is not None:
        return Refusal(codes.ODD_CALL, f"the call of multi_gpu_model cannot be read: {wrap.problem}")
    if wrap.wrapper_class is not None and wrap.wrapper_class.node in misused:
        name, place = wrap.wrapper_class.node.name.value, misused[wrap.wrapper_class.node]
        message = f"the class {name} wraps the model and cannot be removed, because {place} needs it"
        return Refusal(codes.NOT_FOLLOWED, message)
    unfit = _unfit_call(wrap)
    if unfit is not None:
        return unfit
    problem = template_problem(wrap)
    if problem is not None:
        unknown = any(
            isinstance(option.receiver if isinstance(option, Method) else option, Parameter)
            for option in options(wrap.template)
        )
        return Refusal(codes.UNKNOWN_CALLERS if unknown else codes.MADE_ELSEWHERE, problem)
    if owner_of(wrap) is None and keeper_of(wrap, facts, drafts) is None:
        message = "the parts of the model are built in places that share no caller: "
        return Refusal(codes.MADE_ELSEWHERE, f"{message}{made_apart(opaque_sites(wrap.template))}")
    return None


def _unfit_call(wrap: Wrap) -> Refusal | None:
    """The call on the way to a wrap that Python rejects, which ends the program there; None if all fit."""
    for frame in wrap.site.frame.chain():
        unfit = misfit(frame)
        if unfit is not None and frame.call is not None and isinstance(frame.function, cst.FunctionDef):
            module = frame.call.frame.module
            place = module.place(frame.call_node or frame.call.unit)
            message = f"{place} calls {frame.function.name.value}() with arguments that it does not accept: {unfit}"
            return Refusal(codes.ODD_CALL, message)
    return None


def _is_for_others(wrap: Wrap) -> bool:
    """Whether an activation runs on machines with one GPU alone, and wraps on those with more."""
    return {guard.needs_several for guard in wrap.guards} >= {True, False}


def _never_run(wrap: Wrap, carrier: Carrier) -> bool:
    """Whether its callers keep an activation from its wrap: `if gpus > 1`, called with gpus=1."""
    number = words_in(*(arg.value for arg in wrap.call.args if arg.value is not wrap.template_node))
    for guard in wrap.guards:
        if isinstance(guard.node, cst.Try) or number.isdisjoint(words_in(guard.node.test)):
            continue
        if _holds_for(guard.node.test, wrap) not in (None, guard.arm == "body"):
            return True
        *_, outermost = guard.site.chain()
        test = carrier.at(guard.node.test, guard.site, outermost.frame, outermost.unit)
        holds = constant(test.tree) if test is not None else None
        if holds is not None and bool(holds.value) is not (guard.arm == "body"):
            return True
    return False


def _is_setting(wrap: Wrap, scopes: Mapping[Module, Scopes]) -> bool:
    """Whether the program keeps the number of GPUs of a wrap under a name: `n_gpu = 1`, which may be 2 tomorrow.

    A number that a call passes as it stands, or that a parameter has by default, is no such setting.
    """
    if wrap.gpus is None:
        return False
    for frame, value in values_of(wrap.gpus, wrap.site.frame, scopes):
        if isinstance(value, cst.Attribute) and dotted(value.value) != receiver_of(frame.function):
            return True
        statements = frame.module.all_of(cst.Assign, cst.AnnAssign)
        if not isinstance(value, cst.Name) and any(statement.value is value for statement in statements):
            return True
    return False


_ORDER: Mapping[type[cst.BaseCompOp], Callable[[float, float], bool]] = {
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
}


def _holds_for(test: cst.BaseExpression, wrap: Wrap) -> bool | None:
    """Whether `self.gpus > 1` holds in an activation whose number of GPUs is known; None for any other question."""
    number = wrap.gpus_value
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(number, Literal):
        return None
    (target,) = test.comparisons
    compare, limit = _ORDER.get(type(target.operator)), target.comparator
    if compare is None or wrap.gpus is None or not isinstance(limit, cst.Integer) or not isinstance(number.value, int):
        return None
    return compare(number.value, limit.evaluated_value) if test.left.deep_equals(wrap.gpus) else None


def wraps_in(wrapper_class: ClassValue, drafts: Mapping[Module, Draft]) -> Iterator[cst.Call]:
    """The calls of multi_gpu_model in a class that wraps the wrap."""
    symbols = drafts[wrapper_class.closure.module].facts.symbols
    for call in calls_in(wrapper_class.node):
        if names.canonical(symbols.get(call.func, "")) == names.MULTI_GPU_MODEL:
            yield call


def _needed_elsewhere(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> dict[cst.ClassDef, str]:
    """The classes that wrap a wrap and cannot go, each with a place that needs it.

    They can where they are mentioned in nothing but imports that are followed and calls that are wraps. Another module
    may have a class of the same name, which wraps wraps of its own.
    """
    dressed = {wrap.call.func: wrap.wrapper_class for wrap in facts.wraps if wrap.wrapper_class is not None}
    wrapper_classes = {wrapper_class.node: wrapper_class.node.name.value for wrapper_class in dressed.values()}
    if not wrapper_classes:
        return {}
    program = Program(list(drafts))
    own = {node for root in (*wrapper_classes, *dressed) for node in walk(root)}
    needed: dict[cst.ClassDef, str] = {}
    for draft in drafts.values():
        accounted = own.union(_followed_mentions(draft.module, program))
        for node in draft.module.nodes:
            for wrapper_class in _mentioned(node, wrapper_classes, draft) if node not in accounted else ():
                needed.setdefault(wrapper_class, draft.module.place(node))
    return needed


def _followed_mentions(module: Module, program: Program) -> Iterator[cst.CSTNode]:
    """The mentions of classes that are changed with them: in lists of exports and in imports of known modules. The name
    of a module that is not known mentions none."""
    for listed in lists_of_exports(module):
        yield from walk(listed)
    for statement, _ in module.imports:
        if not isinstance(statement, cst.ImportFrom) or program.source(statement, module) is not None:
            yield from walk(statement)
        elif statement.module is not None:
            yield from walk(statement.module)


def _mentioned(node: cst.CSTNode, wrapper_classes: Mapping[cst.ClassDef, str], draft: Draft) -> Iterator[cst.ClassDef]:
    """The classes that a node is, or has the name of."""
    text = node.value if isinstance(node, cst.Name) else None
    text = text_of(node) if isinstance(node, cst.SimpleString) else text
    values = {option.node for option in draft.facts.options(node) if isinstance(option, ClassValue)}
    return (cls for cls, name in wrapper_classes.items() if name == text or cls in values)


def _is_abstract(wrap: Wrap) -> bool:
    """Whether a wrap was met in a method that nothing calls: on a base class, whose subclasses build the model."""
    *_, outermost = wrap.site.frame.chain()
    return outermost.owner is not None
