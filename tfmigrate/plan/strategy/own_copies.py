"""A copy of multi_gpu_model that a project kept, and that nothing calls any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Unwrap
from tfmigrate.understand.copies import is_copy
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk


def drop_own_copies(wraps: Iterable[Wrap], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> set[Module]:
    """The function goes with its last call, where its file uses it alone.

    `wraps`: those that go. Returns the files of copies that other files used, and that have nothing else to offer.
    """
    calls = {wrap.call for wrap in wraps}
    if calls != {wrap.call for wrap in facts.wraps}:
        return set()
    others: set[Module] = set()
    for function in dict.fromkeys(function for wrap in wraps for function in _copies_of(wrap, drafts)):
        draft = drafts[function.module]
        if not isinstance(function.node, cst.FunctionDef) or function.node not in draft.module.places:
            continue
        if any(other is draft.module and importing is not draft.module for importing, other in facts.imports):
            others.update({draft.module} if _is_all_that_is_offered(function.node, draft) else ())
        elif _only_called(function.node, calls, draft):
            _drop(function.node, draft)
    return others


def say_unused(modules: Iterable[Module], drafts: Mapping[Module, Draft]) -> None:
    """The files of copies that nothing uses any more: they stay as they are, for others may have readers of them."""
    for module in modules:
        copy = next(function for function in module.all_of(cst.FunctionDef) if is_copy(function))
        message = f"this copy of {copy.name.value} is no longer used: delete the file"
        drafts[module].change(codes.UNUSED_COPY, copy, message, action="warn")


def _copies_of(wrap: Wrap, drafts: Mapping[Module, Draft]) -> Iterator[FunctionValue]:
    for option in drafts[wrap.site.frame.module].facts.options(wrap.call.func):
        if isinstance(option, FunctionValue) and option.owner is None and is_copy(option.node):
            yield option


def _drop(copy: cst.FunctionDef, draft: Draft) -> None:
    """Take a copy out, with the functions that served it alone."""
    helpers = _helpers_of(copy, draft)
    served = f", and {', '.join(f'{helper.name.value}()' for helper in helpers)} with it" if helpers else ""
    message = f"this copy of {copy.name.value} is removed with its last call{served}"
    draft.change(codes.UNUSED_COPY, copy, message, *(Unwrap(function, None) for function in (copy, *helpers)))


def _helpers_of(copy: cst.FunctionDef, draft: Draft) -> list[cst.FunctionDef]:
    """The functions of the top level that nothing mentions but a copy, and the others of these."""
    scopes, strings = draft.scopes, {text_of(node) for node in draft.module.all_of(cst.SimpleString)}
    functions = [node for node in draft.module.tree.body if isinstance(node, cst.FunctionDef) and not node.decorators]
    gone = [copy]
    while True:
        inside = {node for function in gone for node in walk(function)}
        for function in functions:
            mentions = scopes.of_variable(function.name.value, scopes.module)
            bound = [mention.node for mention in mentions if mention.binds]
            read = {mention.node for mention in mentions if not mention.binds}
            if function in gone or function.name.value in strings or bound != [function.name]:
                continue
            if read & inside and read <= {*inside, *walk(function)}:
                gone.append(function)
                break
        else:
            return gone[1:]


def _only_called(function: cst.FunctionDef, calls: Set[cst.Call], draft: Draft) -> bool:
    """Whether the name of a function means nothing else in its module, and stands in calls that go alone."""
    names = {call.func for call in calls}
    mentions = draft.scopes.of_variable(function.name.value, draft.scopes.module)
    return draft.module.places[function].owner is None and all(
        mention.node is function.name if mention.binds else mention.node in names for mention in mentions
    )


def _is_all_that_is_offered(copy: cst.FunctionDef, draft: Draft) -> bool:
    """Whether a file defines nothing else, but what it uses itself: files that were not read may take the rest."""
    others = [node for node in draft.module.tree.body if isinstance(node, cst.FunctionDef | cst.ClassDef)]
    mentions = draft.scopes.of_variable
    return all(
        node is copy or any(not seen.binds for seen in mentions(node.name.value, draft.scopes.module))
        for node in others
    )
