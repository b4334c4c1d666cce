"""Which wraps can be followed: what they wrap is known, and some function sees how it is built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.expressions import Carrier
from tfmigrate.plan.folding import constant
from tfmigrate.plan.groups import Refusal, home_of, template_problem
from tfmigrate.plan.interfaces import calls_in
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import ClassValue, Parameter, options
from tfmigrate.walk import walk

LEFT_ALONE = Refusal("", "")
"""Of a call that the user suppressed, or whose code is not selected: nothing more is said about it."""


def follow(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> tuple[list[Wrap], dict[cst.Call, Refusal]]:
    """The wraps that can be followed, and the calls that cannot be migrated, whatever is decided about the others."""
    misused = _misused(facts, drafts.values())
    judged: list[tuple[Wrap, Refusal | None]] = []
    refused: dict[cst.Call, Refusal] = {}
    for wrap in facts.wraps:
        if drafts[wrap.site.frame.module].wanted(codes.MULTI_GPU_MODEL, wrap.call):
            judged.append((wrap, _why_not(wrap, misused)))
        else:
            refused[wrap.call] = LEFT_ALONE
    works = {wrap.call for wrap, refusal in judged if refusal is None}
    for wrap, refusal in judged:
        if refusal is not None and not (wrap.call in works and _is_abstract(wrap)):
            refused.setdefault(wrap.call, refusal)
    found = [wrap for wrap, refusal in judged if refusal is None and wrap.call not in refused]
    carrier = Carrier(drafts)
    run = {wrap for wrap in found if not _never_run(wrap, carrier)}
    calls = {wrap.call for wrap in run}
    return [wrap for wrap in found if wrap in run or wrap.call not in calls], refused


def _why_not(wrap: Wrap, misused: Collection[cst.ClassDef]) -> Refusal | None:
    """Why one wrap cannot be followed, or None."""
    if wrap.problem is not None:
        return Refusal(codes.ODD_CALL, f"multi_gpu_model cannot be followed: {wrap.problem}")
    if wrap.dress is not None and wrap.dress.node in misused:
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


def _never_run(wrap: Wrap, carrier: Carrier) -> bool:
    """Whether its callers keep an activation from its wrap.

    They do where they pass another number than it asks for: `if gpus > 1`, called with gpus=1; or where they call on
    machines with one GPU alone what wraps on those with more.
    """
    if {guard.needs_several for guard in wrap.guards} >= {True, False}:
        return True
    number = _names(*(arg.value for arg in wrap.call.args if arg.value is not wrap.template_node))
    for guard in wrap.guards:
        if isinstance(guard.node, cst.Try) or number.isdisjoint(_names(guard.node.test)):
            continue
        *_, outermost = guard.site.chain()
        test = carrier.carried(guard.node.test, guard.site, outermost.frame, outermost.unit)
        holds = constant(test) if test is not None else None
        if holds is not None and holds is not (guard.arm == "body"):
            return True
    return False


def _names(*nodes: cst.CSTNode) -> set[str]:
    return {part.value for node in nodes for part in walk(node) if isinstance(part, cst.Name)}


def wraps_in(dress: ClassValue, drafts: Mapping[Module, Draft]) -> Iterator[cst.Call]:
    """The calls of multi_gpu_model in a class that dresses up the wrap."""
    symbols = drafts[dress.closure.module].facts.symbols
    for call in calls_in(dress.node):
        if names.canonical(symbols.get(call.func, "")) == names.MULTI_GPU_MODEL:
            yield call


def _misused(facts: ProgramFacts, drafts: Iterable[Draft]) -> set[cst.ClassDef]:
    """The classes that dress up a wrap and are mentioned elsewhere than in imports and calls that are wraps.

    Another module may have a class of the same name, which dresses up wraps of its own.
    """
    dressed = [wrap for wrap in facts.wraps if wrap.dress is not None]
    dresses = {wrap.dress.node for wrap in dressed if wrap.dress is not None}
    if not dresses:
        return set()
    nodes = [node for draft in drafts for node in draft.module.nodes]
    roots: list[cst.CSTNode] = [*dresses, *(wrap.call.func for wrap in dressed)]
    roots += (node for node in nodes if isinstance(node, cst.Import | cst.ImportFrom))
    allowed = {node for root in roots for node in walk(root)}
    mentioned = {node.value for node in nodes if isinstance(node, cst.Name) and node not in allowed}
    return {dress for dress in dresses if dress.name.value in mentioned}


def _is_abstract(wrap: Wrap) -> bool:
    """Whether a wrap was met in a method that nothing calls: on a base class, whose subclasses build the model."""
    *_, outermost = wrap.site.frame.chain()
    return outermost.owner is not None
