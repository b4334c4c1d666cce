"""Arguments of callbacks that old Keras ignored, or that only said what is printed: Keras 3 refuses them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_false, keywords
from tfmigrate.plan.edits import Arguments
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.parents import initialised
from tfmigrate.plan.names.public_names import Entry, public_names
from tfmigrate.understand import names
from tfmigrate.understand.values import Literal

_CHECKPOINT = "keras.callbacks.ModelCheckpoint"
"""Of the callbacks whose `**kwargs` took any keyword in silence the one that does so no longer: ReduceLROnPlateau and
LambdaCallback still do, and TensorBoard raised ValueError."""
_ON_RESTART = "load_weights_on_restart"
_PROGRESS = "keras.callbacks.ProgbarLogger"


def check(context: Context) -> Iterator[CallChange]:
    """What the rows of the page, which name an argument, cannot say."""
    facts = context.facts
    for call, function in (*((call, call.func) for call in facts.module.calls), *initialised(facts)):
        known = facts.canonical(function)
        if known == _CHECKPOINT:
            standalone = names.flavour(facts.symbols.get(function, "")) == "keras"
            yield from _ignored(call, known if standalone else f"tensorflow.{known}")
            restart = keywords(call).get(_ON_RESTART)
            if restart is not None and (is_false(restart.value) or _never_restarts(call, restart, context)):
                message = f"the argument `{_ON_RESTART}` no longer exists; False is what Keras 3 does"
                yield CallChange(codes.CALLBACK_ARGUMENTS, restart, message, Revision(call, dropped=(_ON_RESTART,)))
        elif known == _PROGRESS and any(arg.keyword is None and not arg.star for arg in call.args):
            message = "ProgbarLogger takes no arguments in Keras 3; they said what the progress bar shows"
            yield CallChange(codes.CALLBACK_ARGUMENTS, call, message, Arguments(call, ()))


def _never_restarts(call: cst.Call, restart: cst.Arg, context: Context) -> bool:
    """Whether all objects of the class in whose __init__ a call stands have False there."""
    if context.facts.values.get(restart.value) == Literal(False):
        return True
    given = [made.given(_ON_RESTART) for made in context.migration.once(checkpoints).made if made.handed is call]
    return bool(given) and all(one is not None and one.node is not None and is_false(one.node) for one in given)


def _ignored(call: cst.Call, name: str) -> Iterator[CallChange]:
    """Keywords that no version of a class knows, where those it was called in took any.

    `name`: the public one, for of private places only the names are known, and not the arguments.
    """
    versions = _versions(name)
    if not versions or not all(entry.takes_any for version, entry in versions.items() if _is_old(name, version)):
        return
    named = sorted({keyword for entry in versions.values() for keyword in entry.keywords or ()})
    for keyword, arg in keywords(call).items():
        if keyword not in named:
            near = difflib.get_close_matches(keyword, named, n=1, cutoff=0.7)
            meant = f" (did you mean `{near[0]}`?)" if near else ""
            message = f"the argument `{keyword}` was ignored{meant}; Keras 3 rejects it"
            yield CallChange(codes.CALLBACK_ARGUMENTS, arg, message, Revision(call, dropped=(keyword,)))


def _versions(name: str) -> dict[str, Entry]:
    """What a name is in each measured version that has it."""
    index = public_names()
    found = {version: index.entry(name, version) for version in index.versions(name)}
    return {version: entry for version, entry in found.items() if entry is not None}


def _is_old(name: str, version: str) -> bool:
    """Whether a version of the package of a name has multi_gpu_model, so that the program may be for it."""
    home = name.partition(".callbacks.")[0]
    return public_names().entry(f"{home}.utils.multi_gpu_model", version) is not None
