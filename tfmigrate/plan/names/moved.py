"""Which modules leave the old Keras: one program runs on one."""

from __future__ import annotations

from collections.abc import Mapping, Set

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module


def moved_modules(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> set[Module]:
    """The modules with an edit, and those that run with them.

    Where TFM001 is not asked for, those that wrap leave the old Keras too.
    """
    changed = {
        module
        for module, draft in drafts.items()
        if draft.edits or (draft.facts.wraps and not draft.settings.wants(codes.MULTI_GPU_MODEL))
    }
    return changed | run_with(changed, facts, drafts)


def run_with(modules: Set[Module], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> set[Module]:
    """What these modules import and what imports them, and so on: all but modules whose own uses are refused."""
    seen, fresh = set(modules), set(modules)
    while fresh:
        linked = {pair for pair in facts.imports if fresh.intersection(pair)}
        fresh = {module for pair in linked for module in pair if not has_uses(drafts[module])} - seen
        seen |= fresh
    return seen - modules


def has_uses(draft: Draft) -> bool:
    """Whether a module uses multi_gpu_model, followed or not."""
    return bool(draft.facts.wraps) or any(finding.code == codes.NOT_FOLLOWED for finding in draft.findings)
