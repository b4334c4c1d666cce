"""What nothing reads any more once the edits are made: variables and imported names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove, Replace, Scope
from tfmigrate.understand import names
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.purity import is_pure, is_pure_call
from tfmigrate.understand.reaching import sole_assignment
from tfmigrate.understand.scopes import LexicalScope, Occurrence
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import FunctionValue, Visible
from tfmigrate.walk import calls_in, walk
from tfmigrate.written import Code, Written, shown

_LISTS = frozenset({"list_logical_devices", "list_physical_devices"})
_OF_GPUS = re.compile(r"gpu|device|^G$", re.IGNORECASE)
SETTINGS_OF_SESSIONS = frozenset({"tensorflow.ConfigProto", "tensorflow.GPUOptions", "tensorflow.OptimizerOptions"})


def drop_idle(draft: Draft) -> None:
    """Takes out statements that the edits leave without effect: `model`, where `multi_gpu_model(model)` was. One that
    had none before stays, and so does every one of a notebook, which may show its value."""
    if draft.module.numbering.cells:
        return
    new: dict[cst.CSTNode, list[Replace]] = {}
    for edit in draft.edits:
        if isinstance(edit, Replace):
            new.setdefault(edit.node, []).append(edit)
    for small in draft.module.all_of(cst.Expr):
        edits = new.get(small.value, [])
        if len(edits) == 1 and not is_pure(small.value) and _does_nothing(edits[0]):
            draft.edits.append(Remove(small))


def _does_nothing(edit: Replace) -> bool:
    code: Code = (edit.code,) if isinstance(edit.code, str) else edit.code
    parts = list(walk(Written(shown(code), code).tree))
    calls = [part for part in parts if isinstance(part, cst.Call)]
    return not any(isinstance(part, cst.NamedExpr | cst.Await | cst.Yield) for part in parts) and all(
        is_pure(call) or dotted(call.func).rpartition(".")[2] in _LISTS for call in calls
    )


def drop_unread(draft: Draft, scopes: Iterable[LexicalScope], exported: Set[str] = frozenset()) -> None:
    """Takes out the assignments of variables of `scopes` whose readers all go: `workers = 4`, where
    fit_generator(workers=workers) was. `exported`: names of the module that others import."""
    if "locals()" in draft.module.text:
        return
    searched = list(scopes)
    while True:
        gone = draft.vanishing()
        names_gone = {node.value for node in gone if isinstance(node, cst.Name)}
        edits = [
            Remove(assignment)
            for scope in searched
            for name in sorted(names_gone & (scope.bound - scope.elsewhere))
            if not (scope is draft.scopes.module and name in exported)
            for assignment in _idle(draft, draft.scopes.of_variable(name, scope), gone)
        ]
        if not edits:
            return
        draft.edits.extend(edits)


def drop_numbers_of_gpus(draft: Draft, scopes: Iterable[LexicalScope], exported: Set[str]) -> None:
    """Takes out a number of GPUs that nothing ever read, `nb_gpu = 2` beside the wrap, where it would come to stand in
    the scope of a strategy between lines that must."""
    searched = set(scopes)
    inside = {unit for edit in draft.edits if isinstance(edit, Scope) for unit in edit.units[1:-1]}
    units = (unit for unit in draft.module.places if unit in inside and "locals()" not in draft.module.text)
    for unit in units:
        for mention in draft.scopes.in_unit(unit):  # type: ignore[arg-type]
            name, scope = draft.module.code(mention.node), mention.scope
            assignment = sole_assignment(mention) if scope in searched and _OF_GPUS.search(name) else None
            if assignment is None or name in scope.elsewhere | exported or not is_pure(assignment.value):
                continue
            if all(other.binds for other in draft.scopes.of_variable(name, scope)) and not draft.writes(name):
                draft.edits.append(Remove(assignment))


def _idle(draft: Draft, mentions: Sequence[Occurrence], gone: Set[cst.CSTNode]) -> Sequence[cst.Assign]:
    """The assignments of a variable whose readers are all gone; none where one of them does more than assign."""
    reads = [mention.node for mention in mentions if not mention.binds]
    left = [mention for mention in mentions if mention.binds and mention.node not in gone]
    if not reads or not all(node in gone for node in reads):
        return ()
    assignments = []
    for mention in left:
        assignment = sole_assignment(mention)
        name = draft.module.code(mention.node)
        if assignment is None or draft.writes(name):
            return ()
        if mention.scope is draft.scopes.module and _is_spoken_of(name, draft):
            return ()
        seen = isinstance(draft.facts.values.get(assignment), Visible) and _only_looks(assignment.value, draft)
        if not seen and not _has_no_effect(assignment.value, draft):
            return ()
        if len(units_of(draft.module.places[mention.unit].block)) == 1:
            return ()
        assignments.append(assignment)
    return assignments


def _only_looks(node: cst.CSTNode, draft: Draft, inside: Set[cst.CSTNode] = frozenset()) -> bool:
    """Whether all that code calls is what lists devices: nothing is printed on the way. `inside`: functions entered."""
    for call in calls_in(node):
        if is_pure_call(call) or draft.facts.symbols.get(call.func):
            continue
        if last_attribute(call.func) in _LISTS | {"list_devices", "lower", "upper"}:
            continue
        functions = draft.facts.options(call.func)
        if not functions or not all(
            isinstance(function, FunctionValue)
            and function.module is draft.module
            and function.node not in inside
            and _only_looks(function.node.body, draft, {*inside, function.node})
            for function in functions
        ):
            return False
    return True


def _is_spoken_of(name: str, draft: Draft) -> bool:
    """Whether a warning tells to use a variable: a setting at the top of a module is kept for that."""
    spoken = re.compile(rf"`[^`]*\b{re.escape(name)}\b[^`]*`")
    return any(finding.action == "warn" and spoken.search(finding.message) for finding in draft.noted)


def _has_no_effect(node: cst.BaseExpression, draft: Draft) -> bool:
    if isinstance(node, cst.Call) and names.plain(draft.facts.called(node)) in SETTINGS_OF_SESSIONS:
        return all(_has_no_effect(arg.value, draft) for arg in node.args)
    return is_pure(node)


def unread_imports(draft: Draft, exported: Set[str]) -> Iterator[cst.ImportAlias]:
    """What imports bring that nothing reads, here or in another module of the program; `import a.b` brings more."""
    if draft.module.path.endswith("__init__.py") or "__all__" in draft.module.text:
        return
    for statement, unit in draft.module.imports:
        for alias, bound, _ in imports_of(statement):
            if isinstance(statement, cst.Import) and isinstance(alias.name, cst.Attribute):
                continue
            mentions = draft.scopes.of_variable(bound, draft.scope_round(unit))
            if bound not in exported and all(mention.binds for mention in mentions):
                yield alias
