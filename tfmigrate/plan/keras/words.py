"""Losses and metrics that compile() is given as words which Keras 3 does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.old_keras import LOSS_WORDS, SHORT_LOSSES
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.flavours import flavour_of
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.keras.named_elsewhere import words_named
from tfmigrate.plan.keras.saved_models import Saved, saved_to_hdf5
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts, Use

METRICS: Mapping[str, str] = {"kullback_leibler_divergence": "KLDivergence", "logcosh": "LogCoshError"}
"""The classes that compute them; Keras 3 knows no word, or gives the metric another name."""
TURNED = frozenset({"cosine_proximity", "cosine"})
"""Whose sign was one or the other: as a loss of tf.keras (1.15: positive), as a metric of Keras 2.2 (negative)."""


def check(context: Context) -> Iterator[CallChange]:
    yield from old_words(context.facts, context.migration, context.tf)
    saved = context.migration.once(saved_to_hdf5)
    if saved:
        yield from loss_aliases(context.facts, context.migration, saved)


def loss_aliases(facts: Facts, migration: Migration, saved: Saved) -> Iterator[CallChange]:
    """`compile(loss='mse')` of a model that is saved to HDF5: Keras 3 writes the short name there and does not know it
    when it loads the model (3.15.1; each of them measured, and none of the metrics of these names)."""
    for use in keras_calls(facts, "compile"):
        if not any(saved.may_be(other.models) for other in facts.uses if other.call is use.call):
            continue
        named = named_arguments(use.call, COMPILE) or {}
        for node in _written(named["loss"].value) if "loss" in named else ():
            word = text_of(node)
            if word is not None and word.lower() in SHORT_LOSSES and isinstance(node, cst.SimpleString):
                new = SHORT_LOSSES[word.lower()]
                message = f"Keras 3 cannot load a model with the loss {word!r} from an HDF5 file: {new!r} is written"
                edit = Replace(node, f"{node.prefix}{node.quote}{new}{node.quote}")
                yield CallChange(codes.LOSS_ALIAS, node, message, edit)
            elif word is None:
                for option in words_named(node, use, migration):
                    if option.lower() in SHORT_LOSSES:
                        message = (
                            f"the loss may be {option!r}, and then Keras 3 cannot load the model from an HDF5 file: "
                            f"write {SHORT_LOSSES[option.lower()]!r}"
                        )
                        yield CallChange(codes.LOSS_ALIAS, node, message, action="warn")


def old_words(facts: Facts, migration: Migration, tf: str) -> Iterator[CallChange]:
    """`compile(loss='logcosh', metrics=['kullback_leibler_divergence'])`."""
    for use in keras_calls(facts, "compile"):
        named = named_arguments(use.call, COMPILE) or {}
        if "loss" in named:
            yield from _losses(use, named["loss"].value, facts, migration)
        if "metrics" in named:
            yield from _metrics(named["metrics"].value, tf)


def _losses(use: Use, argument: cst.BaseExpression, facts: Facts, migration: Migration) -> Iterator[CallChange]:
    for node in _written(argument):
        word = text_of(node)
        if word is None:
            for option in words_named(node, use, migration):
                if option in LOSS_WORDS:
                    message = (
                        f"the loss may be {option!r}, which Keras 3 does not know: it is {LOSS_WORDS[option]!r} now"
                    )
                    yield CallChange(codes.OLD_WORDS, node, message, action="warn")
        elif word in TURNED and flavour_of(use, facts) != "keras":
            message = (
                f"Keras 3 does not know the loss {word!r}, whose sign depended on the version of tf.keras: "
                "'cosine_similarity' is -1 if both agree"
            )
            yield CallChange(codes.OLD_WORDS, node, message, action="warn")
        elif word in LOSS_WORDS and isinstance(node, cst.SimpleString):
            message = f"the loss {word!r} is called {LOSS_WORDS[word]!r} now"
            yield CallChange(codes.OLD_WORDS, node, message, Replace(node, node.value.replace(word, LOSS_WORDS[word])))


def _metrics(argument: cst.BaseExpression, tf: str) -> Iterator[CallChange]:
    for node in _written(argument):
        word = text_of(node)
        if word is not None and word in METRICS and isinstance(node, cst.SimpleString):
            message = f"Keras 3 knows no metric {word!r}: {METRICS[word]} computes it, under its old name"
            code = f"{tf}.keras.metrics.{METRICS[word]}(name={node.value})"
            yield CallChange(codes.OLD_WORDS, node, message, Replace(node, code))
        elif word in TURNED:
            message = (
                f"Keras 3 knows no metric {word!r}: metrics.CosineSimilarity() computes it, with the opposite sign "
                "of Keras 2.2"
            )
            yield CallChange(codes.OLD_WORDS, node, message, action="warn")


def _written(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An argument, or all that stands in its lists and dicts."""
    if isinstance(node, cst.List | cst.Tuple | cst.Dict):
        for element in node.elements:
            yield from _written(element.value)
    else:
        yield node
