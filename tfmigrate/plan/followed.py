"""Which wraps can be followed: what they wrap is known, and some function sees how it is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.groups import Refusal, home_of, template_problem
from tfmigrate.plan.interfaces import calls_in
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import ClassValue, Parameter, options
from tfmigrate.walk import walk

LEFT_ALONE = Refusal("", "")
"""Of a call that the user suppressed, or whose code is not selected: nothing more is said about it."""


def unfollowed(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> dict[cst.Call, Refusal]:
    """The calls of multi_gpu_model that cannot be migrated, whatever is decided about the others."""
    refused: dict[cst.Call, Refusal] = {}
    reasons: dict[cst.Call, list[tuple[Wrap, Refusal | None]]] = {}
    for wrap in facts.wraps:
        if drafts[wrap.site.frame.module].wanted(codes.MULTI_GPU_MODEL, wrap.call):
            reasons.setdefault(wrap.call, []).append((wrap, why_not(wrap, facts, drafts)))
        else:
            refused[wrap.call] = LEFT_ALONE
    for call, found in reasons.items():
        works = any(refusal is None for _, refusal in found)
        problems = [refusal for wrap, refusal in found if refusal is not None and not (works and _is_abstract(wrap))]
        if problems:
            refused.setdefault(call, problems[0])
    return refused


def why_not(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Refusal | None:
    """Why one wrap cannot be followed, or None."""
    if wrap.problem is not None:
        return Refusal(codes.ODD_CALL, f"multi_gpu_model cannot be followed: {wrap.problem}")
    if wrap.dress is not None and not _only_instantiated(wrap.dress, facts, drafts.values()):
        return Refusal(
            codes.NOT_FOLLOWED,
            f"the class {wrap.dress.node.name.value} wraps the model, and is used otherwise than by calling it",
        )
    problem = template_problem(wrap)
    if problem is not None:
        unknown = any(isinstance(option, Parameter) for option in options(wrap.template))
        return Refusal(codes.UNKNOWN_CALLERS if unknown else codes.MADE_ELSEWHERE, problem)
    if home_of(wrap) is None:
        return Refusal(codes.MADE_ELSEWHERE, "the parts of the model are built in places that share no caller")
    return None


def wraps_in(dress: ClassValue, drafts: Mapping[Module, Draft]) -> Iterator[cst.Call]:
    """The calls of multi_gpu_model in a class that dresses up the wrap."""
    symbols = drafts[dress.closure.module].facts.symbols
    for call in calls_in(dress.node):
        if names.canonical(symbols.get(call.func, "")) == names.MULTI_GPU_MODEL:
            yield call


def _only_instantiated(dress: ClassValue, facts: ProgramFacts, drafts: Iterable[Draft]) -> bool:
    """Whether a class that dresses up the wrap is mentioned nowhere but in imports and calls that are wraps.

    Another module may have a class of the same name, which dresses up wraps of its own.
    """
    nodes = [node for draft in drafts for node in draft.module.nodes]
    allowed: set[cst.CSTNode] = set()
    for wrap in facts.wraps:
        if wrap.dress is not None:
            allowed.update(walk(wrap.dress.node))
            allowed.update(walk(wrap.call.func))
    for node in nodes:
        if isinstance(node, cst.Import | cst.ImportFrom):
            allowed.update(walk(node))
    return not any(
        isinstance(node, cst.Name) and node.value == dress.node.name.value and node not in allowed for node in nodes
    )


def _is_abstract(wrap: Wrap) -> bool:
    """Whether a wrap was met in a method that nothing calls: on a base class, whose subclasses build the model."""
    *_, outermost = wrap.site.frame.chain()
    return outermost.owner is not None
