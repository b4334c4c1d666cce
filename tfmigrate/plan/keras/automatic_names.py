"""Names that Keras gives by itself: standalone Keras began with `dense_1`, tf.keras and Keras 3 begin with `dense`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords, passed_as, quoted, text_of
from tfmigrate.plan.change.functions import place_for_function
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.plan.keras.layer_places import models_by_node
from tfmigrate.plan.keras.loads_by_name import NamesRead
from tfmigrate.plan.keras.names_depended_on import DependedOn, depended_on, snake
from tfmigrate.plan.keras.one_more import layer_of, modules_by_kind
from tfmigrate.plan.keras.texts_of_names import Mention, given_names
from tfmigrate.plan.keras.unnamed_layers import kind_of, unnamed_layers
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import last_attribute


def check(context: Context) -> Iterator[CallChange]:
    """A layer whose automatic name the program mentions is given it; where it cannot be counted, that is reported."""
    if (context.settings.written_for("keras") or ()) >= (3,):
        return
    yield from _models_looked_up(context)
    found, begun = context.migration.once(depended_on), context.migration.once(_begun)
    yield from _one_more(begun, context)
    for call, kind, name in context.migration.once(_clashes):
        if call in context.facts.module.calls and kind not in begun:
            message = (
                f"Keras 3 also calls the first unnamed {kind} {text_of(name)!r}, and rejects two layers of the "
                "same name in a model: give this one another name"
            )
            yield CallChange(codes.AUTOMATIC_NAMES, name, message, action="warn")
    for call in context.facts.module.calls:
        if call in found.named:
            yield _named(call, found.named[call], found, context)
    for mention in found.uncounted.get(context.facts.module, ()):
        if not (mention.is_of_layer and any(snake(kind) == mention.prefix for kind in begun)):
            yield CallChange(codes.AUTOMATIC_NAMES, mention.node, _advice(mention), action="warn")
    for read in found.read:
        left = {kind: calls for kind, calls in read.layers.items() if kind not in begun}
        if read.module is context.facts.module and left:
            advice = _advice_of_names(replace(read, layers=left))
            yield CallChange(codes.AUTOMATIC_NAMES, read.node, advice, action="warn")


def _one_more(begun: Mapping[str, Module], context: Context) -> Iterator[CallChange]:
    """An unused layer of some kinds is made before all others of this module, and takes the name without a number."""
    facts = context.facts
    kinds = sorted(kind for kind, module in begun.items() if module is facts.module)
    if not kinds:
        return
    made = [call for call in facts.module.calls if kind_of(call, facts) in kinds]
    first = snake(kinds[0])
    lines = [
        f"{context.tf}.{layer_of(kind, context.quote)}  # takes the name {snake(kind)}: the next is {snake(kind)}_1"
        for kind in kinds
    ]
    message = (
        f"old Keras called the first of these layers '{first}_1', today's Keras calls it {first!r}, and the program "
        f"uses such names: one unused {' and '.join(kinds)} before the others takes the name without a number"
    )
    insert = Insert(place_for_function(facts.module, made), "\n".join(lines), rank=Rank.RULE)
    yield CallChange(codes.AUTOMATIC_NAMES, made[0], message, insert)


def _begun(migration: Migration) -> Mapping[str, Module]:
    """The kinds of layers of which an unused one is made first, and the module that makes it: those whose names matter,
    and of which no layer is given a name."""
    found = migration.once(depended_on)
    prefixes = {mention.prefix for each in found.uncounted.values() for mention in each if mention.is_of_layer}
    concerned = {kind for _, kind, _ in migration.once(_clashes)}.union(*(read.layers for read in found.read))
    named = set(found.named.values())
    return {
        kind: module
        for kind, module in migration.once(modules_by_kind).items()
        if (kind in concerned or snake(kind) in prefixes)
        and not any(name.startswith(f"{snake(kind)}_") for name in named)
        and _may_change(kind, module, migration)
    }


def _may_change(kind: str, module: Module, migration: Migration) -> bool:
    """Whether no layer of a kind is excluded by the user's selection or a comment."""
    facts, draft = migration.facts.modules[module], migration.drafts[module]
    return all(draft.allows(codes.AUTOMATIC_NAMES, call) for call in module.calls if kind_of(call, facts) == kind)


def _clashes(migration: Migration) -> list[tuple[cst.Call, str, cst.BaseExpression]]:
    """Layers with the name that Keras 3 gives the first one without: standalone Keras counted from `conv2d_1`. Where
    all layers of a kind in a model have names, there are none."""
    unnamed = migration.once(unnamed_layers)
    found = []
    for facts in migration.facts.modules.values():
        for call in facts.module.calls:
            kind, name = kind_of(call, facts), keywords(call).get("name")
            if not kind or kind == "Input" or name is None or text_of(name.value) != snake(kind):
                continue
            others = (other for other, surely in unnamed.get(kind, {}).items() if surely)
            if any(_may_meet(call, other, migration) for other in others):
                found.append((call, kind, name.value))
    return found


_OF_MODEL = re.compile(r"(model|functional|sequential)(_\d+)?").fullmatch


def _models_looked_up(context: Context) -> Iterator[CallChange]:
    """`get_layer("model_1")`, a model in the model; tf.keras called a Sequential as Keras 3 does."""
    facts = context.facts
    for call in facts.module.calls:
        given = passed_as("name", 0, call) if last_attribute(call.func) == "get_layer" else None
        text = text_of(given.value) if given is not None else None
        found = _OF_MODEL(text) if text is not None else None
        if given is None or found is None or text in context.migration.once(given_names):
            continue
        if found[1] != "sequential" or context.migration.once(_makes_old_sequential):
            message = (
                f"{text!r} is a name that old Keras gave a model; Keras 3 calls unnamed models 'functional', "
                "'functional_1', ... and 'sequential', 'sequential_1', ...: name the model, and use that name here"
            )
            yield CallChange(codes.AUTOMATIC_NAMES, given.value, message, action="warn")


def _makes_old_sequential(migration: Migration) -> bool:
    """Whether the program makes a Sequential of standalone Keras, which counted from 1."""
    return any(
        names.flavour(name) == "keras" and names.canonical(name).endswith(".Sequential")
        for facts in migration.facts.modules.values()
        for name in set(facts.symbols.values())
    )


def _may_meet(call: cst.Call, other: cst.Call, migration: Migration) -> bool:
    """Whether two layers may be in one model: those of which it does not show into which models they go may."""
    models = migration.once(models_by_node)
    here, there = models.get(call), models.get(other)
    return here is None or there is None or not here.isdisjoint(there)


def names_kept(migration: Migration) -> Mapping[cst.Call, str]:
    """The layers without names that get those that Keras gave them."""
    named = migration.once(depended_on).named
    drafts = migration.drafts.values()
    return {
        call: name
        for call, name in named.items()
        if any(call in draft.module.calls and draft.allows(codes.AUTOMATIC_NAMES, call) for draft in drafts)
    }


def _named(call: cst.Call, name: str, found: DependedOn, context: Context) -> CallChange:
    kind = kind_of(call, context.facts)
    today = "input_layer" if kind == "Input" else snake(kind)
    message = f"old Keras called this layer {name!r}, today's Keras counts from {today!r}: "
    if call in found.because:
        module, node = found.because[call]
        how = "which is mentioned" if isinstance(node, cst.BaseString) else "which is read"
        message += f"it gets that name, {how} at {module.place(node, context.facts.module)}"
    else:
        message += "it gets that name because it would clash with another layer of its kind that does"
    edit = Revision(call, set=(("name", quoted(name, context.quote)),))
    return CallChange(codes.AUTOMATIC_NAMES, call, message, edit)


def _advice_of_names(read: NamesRead) -> str:
    kinds = sorted(read.layers)
    first = snake(kinds[0])
    listed = " and ".join(kinds)
    advice = f"Name each {listed}, or create an unused one before the first, which takes the name without a number"
    if read.by_file:
        return (
            f"weights are loaded by layer name: a file from old Keras counts unnamed layers from '{first}_1', "
            f"today's Keras from {first!r}, so layers silently get no weights or those of another layer. {advice}"
        )
    return (
        f"this reads names that Keras gives to layers: old Keras counted from '{first}_1', today's Keras starts "
        f"with {first!r}, which has no number. {advice}"
    )


def _advice(mention: Mention) -> str:
    if mention.number is None:
        called = f"names that begin with {mention.prefix + '_'!r}"
    else:
        called = f"the name {f'{mention.prefix}_{mention.number}'!r}"
    if mention.prefix == "input":
        return (
            f"Keras 3 never names an input {called}, but 'input_layer', and so on: name the Input, and use that name "
            "here"
        )
    counts = f"standalone Keras gave {called} to unnamed layers, today's Keras counts from {mention.prefix!r}"
    if mention.is_of_layer:
        return f"{counts}: name the intended layer, and use that name here"
    return f"{counts}, and tensors have other names than those derived from it: find the tensor through its layer"
