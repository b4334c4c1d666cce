"""Other names of multi_gpu_model: `wrap = tf.keras.utils.multi_gpu_model`."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove
from tfmigrate.understand import names
from tfmigrate.understand.reaching import sole_assignment


@dataclass(frozen=True)
class OtherName:
    """An assignment, and all that reads its name."""

    name: str
    assignment: cst.Assign
    reads: frozenset[cst.CSTNode]

    def goes_with(self, gone: Set[cst.CSTNode], exported: Set[str]) -> bool:
        """Whether nothing is left to read it. `exported`: names of its module that others import."""
        return bool(self.reads) and self.reads <= gone and self.name not in exported


def other_names(draft: Draft) -> Iterator[OtherName]:
    """Those of a module that are bound once."""
    for scope in draft.scopes.by_node.values():
        for name in sorted(scope.bound - scope.elsewhere):
            mentions = draft.scopes.of_variable(name, scope)
            bindings = [mention for mention in mentions if mention.binds]
            assignment = sole_assignment(bindings[0]) if len(bindings) == 1 else None
            value = draft.facts.symbols.get(assignment.value) if assignment is not None else None
            if assignment is not None and value is not None and names.canonical(value) == names.MULTI_GPU_MODEL:
                yield OtherName(name, assignment, frozenset(mention.node for mention in mentions if not mention.binds))


def drop_other_names(draft: Draft, exported: Set[str]) -> None:
    """Takes out those that nothing reads any more. `exported`: names of the module that others import."""
    gone = draft.vanishing()
    for alias in list(other_names(draft)):
        if alias.goes_with(gone, exported):
            message = "this alias of multi_gpu_model, which TensorFlow 2.4 removed, is dropped"
            draft.edits.append(Remove(alias.assignment))
            draft.say(codes.LEFTOVER_IMPORT, alias.assignment, message, "rewrite")
