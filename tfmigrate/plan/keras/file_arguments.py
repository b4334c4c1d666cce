"""`load_weights(path, True)`, `save(path, True, False)`: arguments in places that mean something else today."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_false, is_none, is_true, passed_as
from tfmigrate.plan.keras.file_calls import is_own_method
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.models_named import may_be_model


@dataclass(frozen=True)
class _Places:
    """The parameters of a method or a function in the order of Keras 2.3 and TensorFlow 1.15 to 2.3."""

    first: int
    """The first place that has another meaning today."""
    parameters: Sequence[str]
    now: str
    """What that place means in Keras 3."""
    is_default: Callable[[cst.BaseExpression], bool]
    """Whether a value there, and nothing behind it, is what both take without it."""


_METHODS: Mapping[str, _Places] = {
    "load_weights": _Places(
        1, ("filepath", "by_name", "skip_mismatch"), "skip_mismatch", lambda node: is_false(node) or is_none(node)
    ),
    "save": _Places(2, ("filepath", "overwrite", "include_optimizer", "save_format"), "zipped", is_true),
}
_FUNCTIONS: Mapping[str, _Places] = {
    "keras.models.save_model": _Places(
        3, ("model", "filepath", "overwrite", "include_optimizer", "save_format"), "zipped", is_true
    ),
}


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    """Such arguments get their names, but where another rule has given the call others."""
    changed = {edit.call for change in others for edit in change.edits if isinstance(edit, Revision) and edit.named}
    for call in context.facts.module.calls:
        places = _places(call, context.facts)
        named = names_of(call, context.facts)
        if places is not None and named and call not in changed:
            (place, name), *_ = named
            message = (
                f"the {_ORDINALS[place]} argument was `{name}`, and is `{places.now}` in Keras 3: it is passed by name"
            )
            yield CallChange(codes.WEIGHT_FILES, call.args[place], message, Revision(call, named=named))


_ORDINALS = {1: "second", 2: "third", 3: "fourth"}


def names_of(call: cst.Call, facts: Facts) -> tuple[tuple[int, str], ...]:
    """The places of a call that mean something else today, and the names of what is passed there."""
    places = _places(call, facts)
    count = next((n for n, arg in enumerate(call.args) if arg.keyword is not None or arg.star), len(call.args))
    if places is None or not places.first < count <= len(places.parameters):
        return ()
    if count == places.first + 1 and places.is_default(call.args[places.first].value):
        return ()
    return tuple(enumerate(places.parameters))[places.first : count]


def by_name_of(call: cst.Call, facts: Facts) -> cst.Arg | None:
    """What a load_weights() is given as `by_name`; None for None, and for False in a place where it says nothing."""
    by_name = passed_as("by_name", 1, call)
    if by_name is None or is_none(by_name.value):
        return None
    return by_name if by_name.keyword is not None or names_of(call, facts) else None


def _places(call: cst.Call, facts: Facts) -> _Places | None:
    known = _FUNCTIONS.get(facts.canonical(call.func))
    if known is not None or not isinstance(call.func, cst.Attribute):
        return known
    method = _METHODS.get(call.func.attr.value)
    own = is_own_method(call, facts)
    return method if method is not None and not own and may_be_model(call.func.value, facts) else None
