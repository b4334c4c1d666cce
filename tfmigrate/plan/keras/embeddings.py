"""Embedding layers: Keras 3's optimizers take a row that occurs twice in a batch for two gradients."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_false, keywords
from tfmigrate.plan.edits import Remark
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.values import Literal, Made, Value, options

_WHY = "L2(0.0): the gradients of repeated rows are summed before they are squared, as in Keras 2"
_GIVEN = ("embeddings_regularizer", "W_regularizer")


def check(context: Context) -> Iterator[CallChange]:
    """A regularizer of strength 0 makes the gradient dense, which is what Keras 2 made of it by adding up the rows."""
    facts, tf = context.facts, context.tf
    if context.migration.once(_takes_plain_steps):
        return
    explained = False
    for call in facts.module.calls:
        if facts.canonical(call.func) != "keras.layers.Embedding" or has_stars(call):
            continue
        present = keywords(call)
        frozen = "trainable" in present and is_false(present["trainable"].value)
        positional = sum(arg.keyword is None for arg in call.args)
        if frozen or positional > 3 or any(name in present for name in _GIVEN):
            continue
        edit = Revision(call, set=(("embeddings_regularizer", f"{tf}.keras.regularizers.L2(0.0)"),))
        message = (
            "Adam, RMSprop and Adagrad of Keras 3 square the gradients of a repeated row one by one: a regularizer "
            "of strength 0 makes Keras add them up first, as before"
        )
        why = () if explained else (Remark(call, _WHY),)
        explained |= context.draft.allows(codes.EMBEDDING_GRADIENTS, call)
        yield CallChange(codes.EMBEDDING_GRADIENTS, call, message, edit, more=why)


def _takes_plain_steps(migration: Migration) -> bool:
    """Whether every model of the program trains by SGD, which squares no gradient, and clips none."""
    compiles = [use for facts in migration.facts.modules.values() for use in facts.uses if use.method == "compile"]
    return bool(compiles) and all(map(_is_plain, compiles))


def _is_plain(use: Use) -> bool:
    value = use.argument(0, "optimizer")
    return value is not None and all(
        (isinstance(option, Literal) and str(option.value).lower() == "sgd") or _is_made_plain(option)
        for option in options(value)
    )


def _is_made_plain(value: Value) -> bool:
    call = value.config if isinstance(value, Made) and value.name == "keras.optimizers.SGD" else None
    return call is not None and not has_stars(call) and not any("clip" in name for name in keywords(call))
