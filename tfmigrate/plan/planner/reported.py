"""What is reported of the program as a whole: what is refused, and files that change for another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.functions import imports_only_in
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Scope, Unwrap, place_of
from tfmigrate.plan.names.program_imports import unused
from tfmigrate.plan.strategy.copied import why_not_copied
from tfmigrate.plan.strategy.eligible import wraps_in
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.plan.strategy.trail import trail_of
from tfmigrate.understand import names
from tfmigrate.understand.blocks import is_docstring, only_statement
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module


def say_refused(refused: Mapping[cst.Call, Refusal], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    reported: set[cst.Call] = set()
    for wrap in facts.wraps:
        refusal = refused.get(wrap.call)
        if refusal is None or not refusal.code or wrap.call in reported:
            continue
        reported.add(wrap.call)
        module = wrap.site.frame.module
        reason = why_not_copied(wrap, refusal, facts, drafts)
        message = refusal.message if reason is None else f"{refusal.message}. No copy can be trained instead: {reason}"
        drafts[module].say(refusal.code, wrap.call, message, "refuse", trail_of(wrap, facts))
        if wrap.wrapper_class is not None:
            message = f"stays, because its use at {module.place(wrap.call)} is refused"
            for call in {*wraps_in(wrap.wrapper_class, drafts)} - reported:
                reported.add(call)
                drafts[wrap.wrapper_class.closure.module].say(refusal.code, call, message, "refuse")


def say_of_other_files(placements: Iterable[Placement], wraps: Sequence[Wrap], drafts: Mapping[Module, Draft]) -> None:
    """A file that changes for a wrap in another file reports which."""
    causes: dict[Module, Wrap] = {}
    for placement in placements:
        for group in placement.owner.groups:
            places = {site.frame.module for model in group.models for site in model.sites}
            for module in (placement.owner.module, *places, *(use.site.frame.module for use in group.compiles)):
                causes.setdefault(module, group.wraps[0])
    for module, draft in drafts.items():
        reported = any(
            finding.code == codes.MULTI_GPU_MODEL and finding.action == "rewrite" for finding in draft.findings
        )
        if draft.edits and not reported:
            wrap = causes.get(module, wraps[0])
            scope = next((edit for edit in draft.edits if isinstance(edit, Scope)), None)
            what = "the model built here is now in the scope of its strategy" if scope else "this file changes with it"
            message = f"for multi_gpu_model at {wrap.site.frame.module.place(wrap.call)}, {what}"
            draft.say(codes.MULTI_GPU_MODEL, place_of(scope) if scope else draft.first_place(), message, "rewrite")


def say_what_changes_under_refused_uses(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A file that stays on standalone Keras for a refused use, and imports one that leaves it, says so."""
    leaving = {
        module
        for module, draft in drafts.items()
        if any(finding.code == codes.STANDALONE_KERAS and finding.action == "rewrite" for finding in draft.findings)
    }
    for module, draft in drafts.items():
        imported = sorted(other.path for importing, other in facts.imports if importing is module and other in leaving)
        standalone = any(names.flavour(name) == "keras" for name in draft.facts.symbols.values())
        if draft.edits or not imported or not standalone:
            continue
        note = f"; {imported[0]}, which this file imports, leaves standalone Keras: migrate this use before you run it"
        draft.noted[:] = [
            replace(finding, message=finding.message + note) if finding.action == "refuse" else finding
            for finding in draft.findings
        ]


def say_what_changes_with_others(drafts: Mapping[Module, Draft]) -> None:
    """A file that changes without a finding of its own points to the file whose findings explain it."""
    rewrites = {
        module: sorted(finding for finding in draft.findings if finding.action == "rewrite")
        for module, draft in drafts.items()
    }
    cause = next(((module, edits[0]) for module, edits in rewrites.items() if edits), None)
    for module, draft in drafts.items():
        if draft.edits and not rewrites[module] and cause is not None:
            other, finding = cause
            message = f"changes together with {other.numbering.words(finding.line)} of {other.path}"
            draft.say(finding.code, draft.first_place(), message, "rewrite")


def say_emptied(drafts: Mapping[Module, Draft]) -> None:
    """A file of which nothing is left but imports, and that nothing imports any more, says so."""
    emptied = {module for module, draft in drafts.items() if _is_emptied(draft)}
    for module in unused(emptied, drafts):
        draft = drafts[module]
        draft.noted[:] = [
            replace(finding, message=f"{finding.message}; this file contains nothing else: delete it")
            if finding.message.startswith("the class ") and finding.code == codes.MULTI_GPU_MODEL
            else finding
            for finding in draft.noted
        ]


def _is_emptied(draft: Draft) -> bool:
    going = {edit.unit for edit in draft.edits if isinstance(edit, Unwrap) and isinstance(edit.unit, cst.ClassDef)}
    if not going or any(isinstance(edit, Insert) for edit in draft.edits):
        return False
    rest = (unit for unit in draft.module.tree.body if unit not in going)
    return all(imports_only_in(unit) or is_docstring(only_statement(unit)) for unit in rest)
