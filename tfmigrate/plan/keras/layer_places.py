"""Which models a layer is in, by the place where it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.program import suites_of
from tfmigrate.understand.values import ModelObject, Site
from tfmigrate.walk import calls_in


def models_by_call(migration: Migration) -> Mapping[cst.Call, frozenset[ModelObject]]:
    """The models that the calls in their statements go into, those that are built on such a model with them.

    A call that no known model holds is not in it: what is made there may go anywhere.
    """
    found: dict[cst.Call, set[ModelObject]] = {}
    for model in migration.facts.models:
        for site in {site for base in model.base_models() for site in base.sites}:
            for call in _calls_at(site):
                found.setdefault(call, set()).add(model)
    return {call: frozenset(models) for call, models in found.items()}


def _calls_at(site: Site) -> Iterator[cst.Call]:
    if not any(suites_of(site.unit)):
        yield from calls_in(site.unit)
