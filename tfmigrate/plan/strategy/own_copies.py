"""A copy of multi_gpu_model that a project kept, and that nothing calls any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Unwrap
from tfmigrate.understand.copies import is_copy
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.program import Module, import_statements, is_docstring, only_statement
from tfmigrate.understand.values import FunctionValue


def drop_own_copies(wraps: Iterable[Wrap], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """The function goes with its last call; a file of its own, which other projects may use, is reported.

    `wraps`: those that go.
    """
    calls = {wrap.call for wrap in wraps}
    called = {wrap.call for wrap in facts.wraps}
    for function in dict.fromkeys(function for wrap in wraps for function in _copies_of(wrap, drafts)):
        draft = drafts[function.module]
        if (
            calls != called
            or not isinstance(function.node, cst.FunctionDef)
            or function.node not in draft.module.places
        ):
            continue
        users = {
            importing for importing, other in facts.imports if other is draft.module and importing is not draft.module
        }
        if not users and _only_called(function.node, calls, draft):
            message = f"this copy of {function.node.name.value} goes with its last call"
            draft.change(codes.UNUSED_COPY, function.node, message, Unwrap(function.node, None))
        elif users and is_alone(function.node, draft.module):
            message = f"nothing calls this copy of {function.node.name.value} any more: delete the file"
            draft.change(codes.UNUSED_COPY, function.node, message, action="warn")


def _copies_of(wrap: Wrap, drafts: Mapping[Module, Draft]) -> Iterator[FunctionValue]:
    for option in drafts[wrap.site.frame.module].facts.options(wrap.call.func):
        if isinstance(option, FunctionValue) and option.owner is None and is_copy(option.node):
            yield option


def _only_called(function: cst.FunctionDef, calls: Set[cst.Call], draft: Draft) -> bool:
    """Whether the name of a function means nothing else in its module, and stands in calls that go alone."""
    names = {call.func for call in calls}
    mentions = draft.scopes.of_variable(function.name.value, draft.scopes.module)
    return draft.module.places[function].owner is None and all(
        mention.node is function.name if mention.binds else mention.node in names for mention in mentions
    )


def is_alone(function: cst.FunctionDef, module: Module) -> bool:
    """Whether a module has nothing but a function, and what that imports."""
    imports = {unit for _, unit in import_statements(module)}
    units = [unit for unit in module.tree.body if unit not in imports and not is_docstring(only_statement(unit))]
    return units == [function]
