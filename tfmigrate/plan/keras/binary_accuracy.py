"""`metrics=['accuracy']` with binary_crossentropy: old Keras went by the loss, today's by the width of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import libcst as cst

from tfmigrate.old_keras import FIRST_WITH_ACCURACY_BY_WIDTH
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, named_items, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.flavours import flavour_of
from tfmigrate.plan.keras.methods import COMPILE, keras_calls
from tfmigrate.plan.keras.named_elsewhere import words_of_command_line
from tfmigrate.plan.keras.output_widths import Output, outputs_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import Items, Literal, Symbol, Value, options
from tfmigrate.understand.values import Mapping as Known

_LOSS = "binary_crossentropy"
_LOSSES = frozenset(f"keras.{room}.{_LOSS}" for room in ("losses", "objectives", "metrics"))
_CLASSES: Mapping[str, str] = {
    "accuracy": "BinaryAccuracy",
    "acc": "BinaryAccuracy",
    "crossentropy": "BinaryCrossentropy",
    "ce": "BinaryCrossentropy",
}
"""Words that stand for one of several metrics, and the class of the one that old Keras took with this loss."""


class _Kind(Enum):
    """What the words mean with the loss of one output."""

    BINARY = "a different metric if the output is wider than one"
    ALIKE = "what they meant"
    OTHER = "what they meant, and no binary metric"


@dataclass(frozen=True)
class _Word:
    """A word in metrics= for one of several metrics, and the losses of all outputs that it is computed for."""

    node: cst.SimpleString
    kinds: frozenset[_Kind]

    @property
    def text(self) -> str:
        return str(self.node.evaluated_value)


def check(context: Context) -> Iterator[CallChange]:
    """The metric is written out under the name of the word, so that every key stays."""
    for use in keras_calls(context.facts, "compile"):
        named = named_arguments(use.call, COMPILE) or {}
        losses = named.get("loss")
        lists = [named[name].value for name in ("metrics", "weighted_metrics") if name in named]
        if losses is None or not lists or not _goes_by_loss(use, context):
            continue
        kinds = _kinds_of(losses.value, _outputs(use, context), context)
        if _Kind.BINARY not in kinds.all:
            yield from _of_command_line(losses.value, lists, use, context)
        for metrics in lists:
            if isinstance(metrics, cst.Name | cst.Attribute):
                yield from _named_elsewhere(metrics, kinds, context)
            for word in _words(metrics, kinds):
                yield from _written_out(word, use, context)


def _goes_by_loss(use: Use, context: Context) -> bool:
    """Whether the program may be from a time when the loss decided."""
    return _before(use, context) is not False


def _before(use: Use, context: Context) -> bool | None:
    flavour = flavour_of(use, context.facts)
    before = context.settings.written_before(flavour, FIRST_WITH_ACCURACY_BY_WIDTH)
    return True if before is None and flavour == "keras" else before


def _written_out(word: _Word, use: Use, context: Context) -> Iterator[CallChange]:
    if _Kind.BINARY not in word.kinds:
        return
    metric = f"{context.tf}.keras.metrics.{_CLASSES[word.text]}(name={word.node.value})"
    story = f"with {_LOSS}, {word.text!r} was the binary metric"
    if _before(use, context) is None:
        message = (
            f"{story} before TensorFlow 2.2, and depends on the width of the output since: pass --from "
            f"tensorflow==VERSION, or write {metric} if the binary one is meant"
        )
        yield CallChange(codes.BINARY_ACCURACY, word.node, message, action="warn")
    elif _Kind.OTHER in word.kinds:
        message = (
            f"{story} of that output, and now depends on the width of the output: list the metrics of each output, "
            f"and give this one {metric}"
        )
        yield CallChange(codes.BINARY_ACCURACY, word.node, message, action="warn")
    else:
        message = f"{story}, and now depends on the width of the output: written out under the same name"
        yield CallChange(codes.BINARY_ACCURACY, word.node, message, Replace(word.node, metric))


def _of_command_line(
    loss: cst.BaseExpression, lists: Sequence[cst.BaseExpression], use: Use, context: Context
) -> Iterator[CallChange]:
    """A loss that an option of the command line chooses, for an output that is more than one wide in all likelihood."""
    words = [word.text for metrics in lists for word in _words(metrics, _OfOutputs(frozenset()))]
    if not words or _are_one_wide(_outputs(use, context)):
        return
    if any(map(_is_word, words_of_command_line(loss, use, context.migration))):
        quote = context.quote
        metric = f"{context.tf}.keras.metrics.{_CLASSES[words[0]]}(name={quote}{words[0]}{quote})"
        message = (
            f"the loss may be {_LOSS!r}, with which {words[0]!r} was the binary metric, and now depends on the width "
            f"of the output: write {metric} where that loss is chosen"
        )
        yield CallChange(codes.BINARY_ACCURACY, loss, message, action="warn")


def _named_elsewhere(metrics: cst.BaseExpression, kinds: _OfOutputs, context: Context) -> Iterator[CallChange]:
    """Metrics by a name: an object must be made in the scope, where the list may not be."""
    words = sorted({word for value in context.facts.options(metrics) for word in _words_in(value)})
    if words and _Kind.BINARY in kinds.all:
        message = (
            f"with {_LOSS}, {words[0]!r} was the binary metric, and now depends on the width of the output: pass "
            f"{context.tf}.keras.metrics.{_CLASSES[words[0]]}(name={context.quote}{words[0]}{context.quote}) here, "
            "where it is created in the scope"
        )
        yield CallChange(codes.BINARY_ACCURACY, metrics, message, action="warn")


def _words_in(value: Value) -> Iterator[str]:
    if isinstance(value, Literal) and value.value in _CLASSES:
        yield str(value.value)
    elif isinstance(value, Items | Known):
        for part in value.values:
            for option in options(part):
                yield from _words_in(option)


def _outputs(use: Use, context: Context) -> list[Output] | None:
    """The outputs of the model, or of each of several that are alike."""
    models = context.models_of(use.call)
    known = [outputs_of(model, context.migration) for model in models]
    return known[0] if known and all(outputs == known[0] for outputs in known) else None


def _are_one_wide(outputs: Sequence[Output] | None) -> bool:
    """Whether it is known of all outputs of a model that they are."""
    return bool(outputs) and all(output.is_one_wide for output in outputs or ())


@dataclass(frozen=True)
class _OfOutputs:
    """What the words mean for each output, as far as the losses tell the outputs apart."""

    all: frozenset[_Kind]
    listed: Sequence[_Kind] | None = None
    named: Mapping[str, _Kind] | None = None


def _kinds_of(loss: cst.BaseExpression, outputs: Sequence[Output] | None, context: Context) -> _OfOutputs:
    loss = settled(loss, context.scopes)
    items = named_items(loss)
    if items is not None:
        narrow = {output.name for output in outputs or () if output.is_one_wide}
        named = {name: _kind(node, name in narrow, context) for name, node in items.items()}
        return _OfOutputs(frozenset(named.values()), named=named)
    if isinstance(loss, cst.List | cst.Tuple):
        nodes = [element.value for element in loss.elements]
        if outputs is None or len(outputs) != len(nodes):
            outputs = [Output(None, is_one_wide=False)] * len(nodes)
        listed = [_kind(node, output.is_one_wide, context) for node, output in zip(nodes, outputs)]
        named = {output.name: kind for output, kind in zip(outputs, listed) if output.name}
        return _OfOutputs(frozenset(listed), listed, named)
    return _OfOutputs(frozenset((_kind(loss, _are_one_wide(outputs), context),)))


def _kind(loss: cst.BaseExpression, narrow: bool, context: Context) -> _Kind:
    node = settled(loss, context.scopes)
    made = context.facts.called(node)
    surely = names.canonical(made) == "keras.losses.BinaryCrossentropy"
    values = context.facts.options(loss)
    if text_of(node) is not None:
        surely = _is_word(text_of(node))
    elif values:
        surely = surely or all(map(_is_binary, values))
    if not surely:
        return _Kind.OTHER
    return _Kind.ALIKE if narrow else _Kind.BINARY


def _is_word(word: object) -> bool:
    return word in (_LOSS, "bce", "BCE")


def _is_binary(value: Value) -> bool:
    if isinstance(value, Literal):
        return _is_word(value.value)
    return isinstance(value, Symbol) and names.canonical(value.name) in _LOSSES


def _words(metrics: cst.BaseExpression, kinds: _OfOutputs) -> Iterator[_Word]:
    """The words in an argument, each with what the losses make of it."""
    items = named_items(metrics)
    if items is not None:
        for name, node in items.items():
            known = kinds.named.get(name) if kinds.named is not None else None
            yield from _flat(node, frozenset((known,)) if known is not None else kinds.all)
    elif isinstance(metrics, cst.List | cst.Tuple) and _is_of_each(metrics) and kinds.listed is not None:
        for element, kind in zip(metrics.elements, kinds.listed):
            yield from _flat(element.value, frozenset((kind,)))
    else:
        yield from _flat(metrics, kinds.all)


def _is_of_each(metrics: cst.List | cst.Tuple) -> bool:
    """Whether it lists the metrics of each output."""
    return any(isinstance(element.value, cst.List | cst.Tuple) for element in metrics.elements)


def _flat(node: cst.BaseExpression, kinds: frozenset[_Kind]) -> Iterator[_Word]:
    if isinstance(node, cst.SimpleString):
        if text_of(node) in _CLASSES:
            yield _Word(node, kinds)
    elif isinstance(node, cst.List | cst.Tuple):
        for element in node.elements:
            yield from _flat(element.value, kinds)
    elif isinstance(node, cst.BinaryOperation):
        yield from _flat(node.left, kinds)
        yield from _flat(node.right, kinds)
