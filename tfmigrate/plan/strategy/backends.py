"""Programs that run Keras on another backend than TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.understand.lifecycle import Facts

_VARIABLE = "KERAS_BACKEND"


def other_backend(drafts: Iterable[Draft]) -> Refusal | None:
    """Why a program is not migrated that chooses another backend; None where it does not."""
    for draft in drafts:
        facts = draft.facts
        for node in facts.module.all_of(cst.Assign, cst.Call):
            chosen = _chosen(node, facts)
            if chosen is not None and chosen.lower() != "tensorflow":
                message = f"{facts.module.place(node)} makes Keras run on {chosen} instead of TensorFlow"
                return Refusal(codes.OTHER_BACKEND, message)
        for use in facts.uses:
            context = keywords(use.call).get("context") if use.method == "compile" else None
            if context is not None and use.is_of_model:
                message = f"{facts.module.place(context)} compiles the model with `context`, for MXNet"
                return Refusal(codes.OTHER_BACKEND, message)
    return None


def _chosen(node: cst.Assign | cst.Call, facts: Facts) -> str | None:
    """`os.environ["KERAS_BACKEND"] = "theano"`, also by setdefault()."""
    if isinstance(node, cst.Assign):
        for place in (target.target for target in node.targets):
            if isinstance(place, cst.Subscript) and facts.symbols.get(place.value) == "os.environ":
                index = place.slice[0].slice
                if isinstance(index, cst.Index) and text_of(index.value) == _VARIABLE:
                    return text_of(node.value)
    elif len(node.args) == 2:
        setting = facts.called(node) in ("os.environ.setdefault", "os.putenv")
        if setting and text_of(node.args[0].value) == _VARIABLE:
            return text_of(node.args[1].value)
    return None
