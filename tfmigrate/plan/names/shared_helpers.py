"""Helper functions that several files of a program need stand in one that all of them import."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath

import libcst as cst

from tfmigrate.plan.change.functions import place_for_function
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.understand.blocks import Unit, is_seam, only_statement
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk

_FOR_ALL = re.compile(r"util|tool|common|helper|callback|misc", re.IGNORECASE)
"""What files are called that hold what several others need."""
_Needs = dict[Module, Insert]


def share_helpers(facts: ProgramFacts, drafts: Mapping[Module, Draft], changing: Collection[Module]) -> None:
    """A function that the edits write into more than one file is written into one, and imported by the others.

    `changing`: the modules that change anyway, one of which can take it.
    """
    imported: dict[tuple[Module, Unit, str], list[str]] = {}
    for name, needs in _written(drafts).items():
        hosts = [module for module in sorted(changing, key=lambda host: host.path) if _can_hold(module, name, drafts)]
        readers = {host: dict(_readers(host, needs, facts, drafts)) for host in hosts}
        reached = {host: len(readers[host]) + (host in needs) for host in hosts}
        most = max(reached.values(), default=0)
        fitting = {
            host: (host in needs, _is_related(name, readers[host], drafts), _FOR_ALL.search(host.path) is not None)
            for host in hosts
            if reached[host] == most >= 2
        }
        best = max(fitting, key=lambda host: fitting[host], default=None)
        if best is None or not any(fitting[best]):
            continue
        if best not in needs:
            insert = next(needs[reader] for reader in readers[best])
            place = place_for_function(best, ())
            drafts[best].edits.append(Insert(place, insert.code, rank=insert.rank))
        for reader, (unit, source) in readers[best].items():
            drafts[reader].edits.remove(needs[reader])
            imported.setdefault((reader, unit, source), []).append(name)
    for (reader, unit, source), names in imported.items():
        line = f"from {source} import {', '.join(sorted(names))}"
        drafts[reader].edits.append(Insert(unit, line, rank=Rank.RULE))


def _written(drafts: Mapping[Module, Draft]) -> Mapping[str, _Needs]:
    """The functions and classes that the edits write, by name, each with the modules that it is written into.

    One that is not the same in all of them is left out.
    """
    needed: dict[str, _Needs] = {}
    meanings: dict[str, set[str]] = {}
    for module, draft in drafts.items():
        for edit in draft.edits:
            if (
                isinstance(edit, Insert)
                and isinstance(edit.code, str)
                and edit.code.startswith(("def ", "class ", "@"))
            ):
                (definition,) = ast.parse(edit.code).body
                assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
                needed.setdefault(definition.name, {})[module] = edit
                meanings.setdefault(definition.name, set()).add(ast.dump(definition))
    return {name: needs for name, needs in needed.items() if len(needs) > 1 and len(meanings[name]) == 1}


def _can_hold(module: Module, name: str, drafts: Mapping[Module, Draft]) -> bool:
    """Whether a function of this name can stand in a module, above its first function."""
    draft = drafts[module]
    body = module.tree.body
    defines = any(isinstance(unit, cst.FunctionDef | cst.ClassDef) for unit in body)
    return (
        defines
        and not any(map(is_seam, body))
        and draft.tf == "tf"
        and "__all__" not in module.text
        and not draft.scopes.bindings(name)
    )


def _readers(
    host: Module, needs: _Needs, facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> Iterator[tuple[Module, tuple[Unit, str]]]:
    """The modules that need a function and import another one, each with that import and the module's name in it."""
    for module, insert in needs.items():
        site = facts.import_sites.get((module, host))
        if module is host or site is None or (host, module) in facts.imports or drafts[module].tf != "tf":
            continue
        order = module.order
        if module.places[site.unit].owner is None and order[site.unit] < order[insert.before]:
            source = _name_of(host, only_statement(site.unit))
            if source is not None:
                yield module, (site.unit, source)


def _is_related(name: str, readers: Mapping[Module, tuple[Unit, str]], drafts: Mapping[Module, Draft]) -> bool:
    """Whether what the function is called with comes from the module that all import."""
    for reader, (unit, _) in readers.items():
        statement = only_statement(unit)
        assert isinstance(statement, cst.Import | cst.ImportFrom)
        brought = {bound for _, bound, _ in imports_of(statement)}
        places = (place for place, code in drafts[reader].written() if f"{name}(" in code)
        if any(isinstance(node, cst.Name) and node.value in brought for place in places for node in walk(place)):
            return True
    return False


def _name_of(host: Module, statement: cst.CSTNode | None) -> str | None:
    """What a module is called in an import of it, or of a name of it; None for others, and one that takes all."""
    stem = PurePath(host.path).stem
    if isinstance(statement, cst.Import):
        named = (dotted(alias.name) for alias in statement.names)
        return next((name for name in named if name.rpartition(".")[2] == stem), None)
    if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        return None
    source = "." * len(statement.relative) + (dotted(statement.module) if statement.module is not None else "")
    if source.rpartition(".")[2] == stem:
        return source
    if any(dotted(alias.name) == stem for alias in statement.names):
        return f"{source}{'' if source.endswith('.') else '.'}{stem}"
    return None
