"""Which modules leave the old Keras: one program runs on one."""

from __future__ import annotations

from collections.abc import Mapping

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.program import Module


def moved_modules(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> set[Module]:
    """The modules with an edit, what they import, and what imports them.

    A module whose own uses are all refused stays where it is; where TFM001 is not asked for, those that wrap leave it
    too.
    """
    modules: set[Module] = set()
    fresh = {
        module
        for module, draft in drafts.items()
        if draft.edits or (draft.facts.wraps and not draft.settings.wants(codes.MULTI_GPU_MODEL))
    }
    while fresh:
        modules |= fresh
        linked = {pair for pair in facts.imports if fresh.intersection(pair)}
        fresh = {module for pair in linked for module in pair if not has_uses(drafts[module])} - modules
    return modules


def has_uses(draft: Draft) -> bool:
    """Whether a module uses multi_gpu_model, followed or not."""
    return bool(draft.facts.wraps) or any(finding.code == codes.NOT_FOLLOWED for finding in draft.findings)
