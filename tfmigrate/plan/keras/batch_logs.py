"""`on_batch_end(self, batch, log)`: Keras gives callbacks the logs of a batch by the name `logs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.syntax import called_on, index_of, last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk

_HOOKS = frozenset(
    {"on_batch_begin", "on_batch_end"}
    | {f"on_{stage}_batch_{end}" for stage in ("train", "test", "predict") for end in ("begin", "end")}
)
"""Those of epochs and of the whole training get them by their place."""
_LOGS = "logs"
_FAILS = "since 2.3, Keras passes the logs to {}() as `logs=`"


def check(context: Context) -> Iterator[CallChange]:
    module = context.facts.module
    methods = {
        member.node: name
        for cls in context.facts.classes
        if cls.is_callback()
        for name, member in cls.members.items()
        if name in _HOOKS and isinstance(member, FunctionValue) and member.module is module
    }
    for method, hook in methods.items():
        given = positional(method.params)[1:]
        yield from _named(hook, method, given, context)
        yield from _gone(method, given)
    for call in context.facts.module.calls:
        if context.facts.canonical(call.func) == "keras.callbacks.LambdaCallback":
            for hook, arg in keywords(call).items():
                if hook in _HOOKS and isinstance(arg.value, cst.Lambda):
                    given = positional(arg.value.params)
                    yield from _named(hook, arg.value, given, context)
                    yield from _gone(arg.value, given)


def _gone(function: cst.FunctionDef | cst.Lambda, given: Sequence[cst.Param]) -> Iterator[CallChange]:
    """What the logs of a batch no longer hold: `logs.get("size")`."""
    logs = given[1].name.value if len(given) > 1 else _LOGS
    for node in walk(function.body):
        holder: cst.BaseExpression | None = None
        key: cst.BaseExpression | None = None
        if isinstance(node, cst.Subscript):
            holder, key = node.value, index_of(node)
        elif isinstance(node, cst.Call) and last_attribute(node.func) == "get" and node.args:
            holder, key = called_on(node), node.args[0].value
        text = text_of(key) if key is not None else None
        if isinstance(holder, cst.Name) and holder.value == logs and text in _GONE:
            instead = _GONE[text].format(batch=given[0].name.value if given else "batch")
            message = (
                f"unlike in standalone Keras, the logs of a batch have no {text!r} since TensorFlow 2.2: "
                f"a KeyError, or the default of get(); {instead}"
            )
            yield CallChange(codes.BATCH_LOGS, node, message, action="warn")


_GONE = {
    "size": "pass the batch size to the callback when creating it",
    "batch": "its index is the first argument, `{batch}`",
}
"""What standalone Keras put into the logs of a batch beside the loss and the metrics, and what there is instead."""


def _named(
    hook: str, function: cst.FunctionDef | cst.Lambda, given: Sequence[cst.Param], context: Context
) -> Iterator[CallChange]:
    """The change of a function whose parameters for the batch and its logs are `given`."""
    params = function.params
    if params.star_kwarg is not None or any(param.name.value == _LOGS for param in params.kwonly_params):
        return
    if len(given) < 2:
        if isinstance(params.star_arg, cst.Param):
            message = f"{_FAILS.format(hook)}: write `logs=None` for `*{params.star_arg.name.value}`"
            yield CallChange(codes.BATCH_LOGS, params.star_arg.name, message, action="warn")
        return
    name = given[1].name
    if given[1] in params.posonly_params:
        message = f"{_FAILS.format(hook)}: remove the `/` from its parameters, and call the second one `logs`"
        yield CallChange(codes.BATCH_LOGS, name, message, action="warn")
        return
    if name.value == _LOGS:
        return
    scope = context.scopes.by_node[function]
    if context.scopes.of_variable(_LOGS, scope):
        message = f"{_FAILS.format(hook)}: rename the parameter `{name.value}` to `logs`"
        yield CallChange(codes.BATCH_LOGS, name, message, action="warn")
        return
    mentions = context.scopes.of_variable(name.value, scope)
    uses = [mention.node for mention in mentions if mention.node is not name]
    edits = [Replace(use, _LOGS) for use in uses if isinstance(use, cst.Name)]
    message = f"{_FAILS.format(hook)}: the parameter `{name.value}` is renamed"
    yield CallChange(codes.BATCH_LOGS, name, message, Replace(name, _LOGS), more=tuple(edits))
