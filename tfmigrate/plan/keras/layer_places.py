"""Which models a layer is in, by the place where it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.blocks import Unit, suites_of
from tfmigrate.understand.values import ModelObject
from tfmigrate.walk import children


def models_by_node(migration: Migration) -> Mapping[cst.CSTNode, frozenset[ModelObject]]:
    """The models that the calls in their statements go into, those that are built on such a model with them.

    Only the head of a compound statement counts. Calls that go into no known model are missing: a layer that is made
    there may go anywhere.
    """
    models: dict[Unit, set[ModelObject]] = {}
    for model in migration.facts.models:
        for site in {site for base in model.base_models() for site in base.sites}:
            models.setdefault(site.unit, set()).add(model)
    return {node: frozenset(those) for unit, those in models.items() for node in _own_nodes(unit)}


def _own_nodes(unit: Unit) -> Iterator[cst.CSTNode]:
    """The nodes of a statement without those of the statements in it."""
    inside = set(suites_of(unit))
    pending: list[cst.CSTNode] = [unit]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(child for child in children(node) if child not in inside)
