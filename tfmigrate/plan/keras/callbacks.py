"""The names of metrics and of the learning rate by which callbacks and logs are asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.change.paths import ending_of, with_gaps
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.log_keys import LogKeys
from tfmigrate.plan.keras.open_fields import OpenFields, Text, template_of
from tfmigrate.plan.keras.saved_files import files_of
from tfmigrate.plan.keras.watchers import watching
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Items, Literal, Value, options
from tfmigrate.walk import nodes_in, words_in
from tfmigrate.written import Code

_LOGGED = {
    "acc": "accuracy",
    "mean_squared_error": "mse",
    "mean_absolute_error": "mae",
    "mean_absolute_percentage_error": "mape",
    "mean_squared_logarithmic_error": "msle",
}
"""What a metric was logged as -> what compile() calls it, as TensorFlow 2 logs it."""


def check(context: Context) -> Iterator[CallChange]:
    yield from metric_keys(context, changed_keys(context))
    yield from rate_keys(context.facts, context.scopes)
    if codes.METRIC_KEYS in context.tables.wanted:
        yield from _rates_in_names(context)


def _reader(context: Context) -> LogKeys:
    """The keys and paths of a module, with those that its callbacks are given."""
    reader = LogKeys(context.facts, context.scopes)
    followed = context.migration.once(files_of).paths
    for made in context.migration.once(watching).all():
        reader.begins_with(made, followed)
    return reader


def metric_keys(context: Context, keys: Mapping[str, str]) -> Iterator[CallChange]:
    """`'acc'` and `'val_acc'` in monitor=, logs[...], history.history[...] and file names of checkpoints.

    `keys`: what `changed_keys` gives.
    """
    if not keys:
        return
    facts, scopes = context.facts, context.scopes
    reader = _reader(context)
    for literal in reader.found:
        old = text_of(literal)
        if old is not None and old in keys:
            yield _renamed(literal, literal.value.replace(old, keys[old]), old, keys[old])
    yield from _put_together(reader, keys)
    yield from _fields_put_together(reader, keys)
    filled = {settled(call.func.value, scopes) for call in facts.module.calls if isinstance(call.func, cst.Attribute)}
    paths = {part for path in reader.paths for part in (ending_of(path, facts, scopes), *reader.parts(path))}
    half = {template_of(part, scopes) for part in paths if part is not None}
    certain = (paths - filled) | half
    fields = OpenFields(facts, scopes, keys)
    for node in facts.module.all_of(cst.SimpleString, cst.FormattedString):
        written = facts.module.code(node)
        as_it_is = node in paths - half
        if (new := fields.today(node, as_it_is=as_it_is)) == written:
            continue
        old = next(old for old in keys if "{" + old in written and "{" + keys[old] in new)
        if node in certain:
            yield _renamed(node, new, old, keys[old])
        elif node in paths or node not in filled:  # by format(), and by names of the program's own
            message = (
                f"TensorFlow 2 logs {old!r} as {keys[old]!r}: if this is the file name of a checkpoint, which is "
                f"filled in from the logs, write `{new}`"
            )
            yield CallChange(codes.METRIC_KEYS, node, message, action="warn")


def _put_together(reader: LogKeys, keys: Mapping[str, str]) -> Iterator[CallChange]:
    """Names of metrics that are joined from parts: `"val_" + output + "acc"`, `"val_%s" % "acc"`."""
    changed = [literal for literal in reader.found if text_of(literal) in keys]
    for node in reader.joined:
        whole = reader.text(node)
        if whole is not None:
            old = _key_at_end(whole, keys)
            if old is not None:
                quote = next(part.value[-1] for part in nodes_in(node, cst.SimpleString))
                new = whole.removesuffix(old) + keys[old]
                message = f"TensorFlow 2 logs the metric under the name given to compile(): {whole!r} is {new!r} now"
                yield CallChange(codes.METRIC_KEYS, node, message, Replace(node, f"{quote}{new}{quote}"))
            continue
        added = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add)
        last = node.right if added and isinstance(node, cst.BinaryOperation) else None
        text = text_of(last) if last is not None else None
        old = _key_at_end(text, keys) if text is not None else None
        if old is not None and isinstance(last, cst.SimpleString):
            if last not in changed:
                yield _renamed(last, f"{last.value[: -1 - len(old)]}{keys[old]}{last.value[-1]}", old, keys[old])
        elif text is None:
            pairs = ", ".join(f"{key!r} is {new!r}" for key, new in keys.items() if not key.startswith("val_"))
            message = (
                f"TensorFlow 2 logs metrics under the names given to compile() ({pairs} now), and the name of this "
                "one is computed: make sure that it is one of these, otherwise the callback never acts"
            )
            yield CallChange(codes.METRIC_KEYS, node, message, action="warn")


def _fields_put_together(reader: LogKeys, keys: Mapping[str, str]) -> Iterator[CallChange]:
    """`"{val_" + output + "acc:.2f}"` in the file name of a checkpoint: the part that ends the field."""
    seen: set[cst.SimpleString] = set()
    for path in reader.paths:
        is_open = False
        for part in reader.parts(path):
            text = text_of(part) or ""
            end = _FIELD_END.search(text)
            head = text[: end.start()] if is_open and end is not None else ""
            old = _key_at_end(head, keys)
            if old is not None and isinstance(part, cst.SimpleString) and part not in seen and head in part.value:
                seen.add(part)
                new = part.value.replace(head, head.removesuffix(old) + keys[old], 1)
                yield _renamed(part, new, old, keys[old])
            if text:
                is_open = text.rfind("{") > text.rfind("}") if "{" in text or "}" in text else is_open


_FIELD_END = re.compile("[:!}]")
_RATE = re.compile(r"\{lr[:!}]")


def _rates_in_names(context: Context) -> Iterator[CallChange]:
    """`ModelCheckpoint("{epoch}-{lr:.5f}.h5")`: each Keras knows the rate by one name alone."""
    if any(text_of(key) == "lr" for key in _written(context.facts)):
        return  # The program logs it itself.
    reader = _reader(context)
    for part in dict.fromkeys(part for path in reader.paths for part in reader.parts(path)):
        if _RATE.search(_left_open(part)):
            message = (
                "Keras 3 logs the learning rate as 'learning_rate', and ModelCheckpoint stops (KeyError) on `{lr}` in "
                "the name of its file: write `{learning_rate}`, which Keras 2 does not have, or leave it out"
            )
            yield CallChange(codes.METRIC_KEYS, part, message, action="warn")


def _left_open(part: cst.BaseExpression) -> str:
    """The text of a part of a path, with the fields in it that are filled in later."""
    if isinstance(part, cst.FormattedString):
        return with_gaps(part)
    if isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value == "format":
        return "".join(found[1] for found in _DOUBLED.finditer(text_of(part.func.value) or ""))
    return text_of(part) or ""


_DOUBLED = re.compile(r"\{(\{[^{}]*\})\}")


def _key_at_end(text: str, keys: Mapping[str, str]) -> str | None:
    """The old key that a name is, or ends with behind the name of an output."""
    return next((key for key in keys if text == key or text.endswith(f"_{key}")), None)


def _renamed(literal: Text, new: str, old: str, key: str) -> CallChange:
    message = f"TensorFlow 2 logs the metric under the name given to compile(): {old!r} is {key!r} now"
    return CallChange(codes.METRIC_KEYS, literal, message, Replace(literal, new))


def rate_keys(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """`history.history["lr"]`: Keras 3 logs the rate that a callback sets as `learning_rate`, Keras 2 as `lr`."""
    written = set(_written(facts))
    own = {facts.module.code(log) for key, log in _filled(facts) if text_of(key) == "lr"}
    for key, log, node in LogKeys(facts, scopes).reads:
        if text_of(key) == "lr" and key not in written and is_pure(log) and facts.module.code(log) not in own:
            yield rate_asked(key, log, node)


def _written(facts: Facts) -> Iterator[cst.BaseExpression]:
    """The key of each `logs[key] = value`."""
    for node in facts.module.all_of(cst.AssignTarget):
        if isinstance(node.target, cst.Subscript) and isinstance(node.target.slice[0].slice, cst.Index):
            yield node.target.slice[0].slice.value


def rate_asked(key: cst.SimpleString, log: cst.BaseExpression, node: cst.BaseExpression) -> CallChange:
    """The learning rate under the key that a log has: `node` asks the log for it, or whether it is there."""
    message = "Keras 3 logs the learning rate as 'learning_rate', Keras 2 as 'lr': written so that both work"
    new = f"{key.value[-1]}learning_rate{key.value[-1]}"
    asked: cst.BaseExpression = key
    code: Code = (f"{new} if {new} in ", log, " else ", key)
    if isinstance(node, cst.Comparison):
        words = ("in", "or") if isinstance(node.comparisons[0].operator, cst.In) else ("not in", "and")
        asked, code = node, (f"({new} {words[0]} ", log, f" {words[1]} ", key, f" {words[0]} ", log, ")")
    elif isinstance(node, cst.Attribute):
        asked, code = node, (log, "[", *code[:-1], key.value, "]")
    return CallChange(
        codes.RATE_IN_LOGS, node if isinstance(node, cst.Attribute) else key, message, Replace(asked, code)
    )


def _filled(facts: Facts) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """`self.history.setdefault("lr", [])`: what the program itself keeps under a key, each with where it does."""
    for call in facts.module.calls:
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value == "setdefault" and call.args:
            yield call.args[0].value, func.value


def changed_keys(context: Context) -> Mapping[str, str]:
    """Old metric key -> new one, where every compile() that names its metrics says 'accuracy' and none 'acc'.

    TensorFlow 2 logs a metric under the very name that compile() gives, so `metrics=['acc']` still logs `acc`, and
    'mse' is no longer written out. Where this module compiles nothing, the whole program is asked.
    """
    if codes.METRIC_KEYS not in context.tables.wanted:
        return {}
    asked = [context.facts] if metrics_given(context.facts) else list(context.modules.values())
    metrics = [value for known in asked for value in metrics_given(known)]
    named = {text_of(node) for value in metrics for node in _strings(value)}
    named |= {name for known in asked for value in metrics_given(known) for name in _held(known.values.get(value))}
    functions = words_in(*metrics)
    return {
        f"{when}{output}{old}": f"{when}{output}{new}"
        for old, new in _LOGGED.items()
        if new in named and not {old} & (named | functions)
        for output in ("", *_outputs(metrics, new))
        for when in ("", "val_")
    }


def metrics_given(facts: Facts) -> list[cst.BaseExpression]:
    """metrics= of every compile() in the module that has one."""
    return [
        keywords(call)["metrics"].value
        for call in facts.module.calls
        if last_attribute(call.func) == "compile" and "metrics" in keywords(call)
    ]


def _held(value: Value | None) -> Iterator[str]:
    """The names in a list that a variable holds, a parameter that the callers give, say."""
    for option in options(value) if value is not None else ():
        for element in option.values if isinstance(option, Items) else ():
            if isinstance(element, Literal) and isinstance(element.value, str):
                yield element.value


def _outputs(metrics: Iterable[cst.BaseExpression], name: str) -> Iterator[str]:
    """`out_` for each output of `{'out': 'accuracy'}`, as the keys of a model with several begin."""
    for value in metrics:
        for element in value.elements if isinstance(value, cst.Dict) else ():
            if isinstance(element, cst.DictElement) and (output := text_of(element.key)) is not None:
                if name in map(text_of, _strings(element.value)):
                    yield f"{output}_"


def _strings(node: cst.BaseExpression) -> Iterator[cst.SimpleString]:
    return iter(nodes_in(node, cst.SimpleString))
